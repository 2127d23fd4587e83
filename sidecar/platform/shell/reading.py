"""Reads a shell line: turns its syntax tree into forms and lists its simple commands.

The grammar is not trusted. What it could not parse, what bash reads differently (a reserved word in the place
of a command) and what is nested deeper than DEPTH_LIMIT becomes UnknownForm; the commands in it are listed
all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sidecar.platform.grammar import SourceLanguage, node_text, parse_source, walk_nodes
from sidecar.platform.shell.compound import DEPTH_LIMIT, ChainItem, CompoundReader, unroll_chain
from sidecar.platform.shell.forms import (
    AndOrList,
    BackgroundCommand,
    CommandSequence,
    FunctionDefinition,
    InlineScript,
    Negation,
    ParsedLine,
    Pipeline,
    ShellForm,
    SimpleCommand,
    Subshell,
    UnknownForm,
)
from sidecar.platform.shell.words import (
    CHAIN_NODES,
    WORDS_LIMIT,
    CommandContext,
    command_word_nodes,
    full_word_text,
    hides_outputs,
    is_dynamic_word,
    parse_shell_options,
    split_assignment,
    word_text,
)
from sidecar.platform.shell.wrappers import command_basename, unwrap_command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from sidecar.platform.grammar import Node


SCRIPTS_LIMIT: Final = 3
"""Maximum nesting of lines within lines (`bash -c`) that are read."""
RESERVED: Final = frozenset(
    (
        *("if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "in"),
        *("select", "function", "coproc", "{", "}", "!", "[[", "]]", ";;", "(", ")"),
    )
)
SHELLS: Final = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
SUBSTITUTIONS: Final = frozenset({"command_substitution", "process_substitution"})


class ShellLineReader(CompoundReader):
    """Reads one line."""

    def __init__(self) -> None:
        super().__init__()
        self._scripts = 0
        self._forms: dict[str, Callable[[Node, CommandContext], ShellForm]] = {
            "command": self._command,
            **dict.fromkeys(CHAIN_NODES, self._chain),
            "subshell": lambda node, at: Subshell(self.sequence(node.children, at)),
            "compound_statement": self.read_compound,
            "do_group": lambda node, at: self.sequence(node.children, at),
            "if_statement": lambda node, at: self.read_if(node.children, at),
            "while_statement": self.read_while,
            "for_statement": self.read_for,
            "c_style_for_statement": self.read_for,
            "case_statement": self.read_case,
            "function_definition": self._function,
            "test_command": self.read_test,
            "declaration_command": self._declaration,
            "unset_command": self._declaration,
            "variable_assignment": self._assignments,
            "variable_assignments": self._assignments,
        }

    def read(self, line: str) -> ParsedLine:
        """Read a line. Raises ValueError if it is too big to be parsed."""
        body = self._script(line, CommandContext())
        return ParsedLine(body, self.functions, pipestatus="PIPESTATUS" in line)

    def _script(self, line: str, at: CommandContext) -> ShellForm:
        root = parse_source(SourceLanguage.BASH, line).root_node
        if root.has_error:
            self.broken = True
            return self.lost(root, at)
        return self.sequence(root.children, at)

    def form(self, node: Node, at: CommandContext) -> ShellForm:
        known = self._forms.get(node.type)
        if known is None or at.depth > DEPTH_LIMIT:
            return self.lost(node, at)
        return known(node, at.deeper())

    def lost(self, node: Node, at: CommandContext) -> ShellForm:
        """List the commands of a form that is not followed."""
        for part in walk_nodes(node):
            if part.type == "command":
                self.list_run(part, at.maybe())
        return UnknownForm()

    def sequence(self, nodes: Iterable[Node], at: CommandContext) -> ShellForm:
        parts: list[ShellForm] = []
        statements = [node for node in nodes if node.is_named or node.type == "&"]
        for number, node in enumerate(statements):
            if node.type in {"comment", "&"}:
                continue
            behind = statements[number + 1 : number + 2]
            if behind and behind[0].type == "&":
                parts.append(BackgroundCommand(self.form(node, at._replace(background=True))))
            else:
                parts.append(self.form(node, at))
        return CommandSequence(tuple(parts))

    def _chain(self, node: Node, at: CommandContext) -> ShellForm:
        """Read a list of pipelines."""
        items = unroll_chain(node)
        if items is None:
            return self.lost(node, at)
        pipes: list[list[ChainItem]] = []
        for item in items:
            if item.sign in {"|", "|&"}:
                pipes[-1].append(item)
            else:
                pipes.append([item])
        form = self._pipe(pipes[0], at)
        for pipe in pipes[1:]:
            form = AndOrList(form, self._pipe(pipe, at.maybe()), both=pipe[0].sign == "&&")
        return form

    def _pipe(self, items: list[ChainItem], at: CommandContext) -> ShellForm:
        """Output that a later part of the pipeline reads is seen if the last part's output is."""
        self.broken = self.broken or any(item.negated for item in items[1:])
        hidden = any(hides_outputs(each)[0] for each in items[-1].redirects if each.type == "file_redirect")
        early = at._replace(silenced=at.silenced or hidden)
        parts = tuple(self._item(item, at if item is items[-1] else early) for item in items)
        form = parts[0] if len(parts) == 1 else Pipeline(parts)
        return Negation(form) if items[0].negated else form

    def _item(self, item: ChainItem, at: CommandContext) -> ShellForm:
        """A command, after the substitutions of its redirections, whose exit codes have no effect."""
        sights = [hides_outputs(each) for each in item.redirects if each.type == "file_redirect"]
        before = [sub for each in item.redirects for sub in self.inside(each, at)]
        at = at._replace(silenced=at.silenced or any(out or err for out, err in sights))
        form: ShellForm = SimpleCommand(-1, ()) if item.node is None else self.form(item.node, at)
        return (
            CommandSequence(
                (*(CommandSequence((Subshell(sub), SimpleCommand(-1, ("true",)))) for sub in before), form)
            )
            if before
            else form
        )

    def _function(self, node: Node, at: CommandContext) -> ShellForm:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None or body is None:
            return UnknownForm()
        label = node_text(name)
        top = node.parent is not None and node.parent.type == "program"
        sure = top and self._scripts == 0 and label not in {*self.functions, *self.called}
        form = self.form(body, at.maybe())
        self.functions[label] = form if sure else None
        return FunctionDefinition(label, form)

    def _declaration(self, node: Node, at: CommandContext) -> ShellForm:
        argv = tuple(word_text(child) for child in node.children[:WORDS_LIMIT])
        for child in node.children:
            if child.type == "variable_assignment":
                self.remember(child)
        return SimpleCommand(-1, argv, inside=self.inside(node, at))

    def _assignments(self, node: Node, at: CommandContext) -> ShellForm:
        each = [node] if node.type == "variable_assignment" else list(node.named_children)
        for child in each:
            self.remember(child)
        return SimpleCommand(
            -1, (), assigned=tuple(map(split_assignment, each)), inside=self.inside(node, at)
        )

    def _command(self, node: Node, at: CommandContext) -> ShellForm:
        words = command_word_nodes(node)
        if not words or any(child.type == "subshell" for child in node.children):
            return self.lost(node, at)
        inside = self.inside(node, at)
        script = self._inner(words, at)
        place, run = self.list_run(node, at, listed=script is None)
        self.called.update(run.argv[:3])
        if run.argv[0] in RESERVED and node_text(words[0]) == run.argv[0]:
            return UnknownForm()
        if run.argv[0] == "time" and set(run.argv[1:3]) & RESERVED:
            return UnknownForm()
        if run.argv[0] == "alias":
            self.aliases.update(each.partition("=")[0] for each in run.argv[1:] if "=" in each)
        pairs = tuple(
            split_assignment(child) for child in node.children if child.type == "variable_assignment"
        )
        return SimpleCommand(place, run.argv, self.known(words[0], run.argv), pairs, inside, script)

    def inside(self, node: Node, at: CommandContext) -> tuple[ShellForm, ...]:
        """Read the substitutions of a word in order, without nested ones."""
        found: list[ShellForm] = []
        waiting = [node]
        while waiting:
            part = waiting.pop()
            if part.type in SUBSTITUTIONS:
                deeper = at._replace(silenced=True, depth=at.depth + 1)
                found.append(
                    self.sequence(part.children, deeper) if at.depth <= DEPTH_LIMIT else self.lost(part, at)
                )
            else:
                waiting.extend(reversed(part.children))
        return tuple(found)

    def _inner(self, words: Sequence[Node], at: CommandContext) -> InlineScript | None:
        """Read the script of `bash -c`. If the running shell expands it, its commands are only listed."""
        full = tuple(full_word_text(each) for each in words)
        argv = unwrap_command(full)
        if not argv or command_basename(argv[0]) not in SHELLS or self._scripts >= SCRIPTS_LIMIT:
            return None
        options, place = parse_shell_options(argv)
        if place is None or argv[place] != full[place - len(argv)]:
            return None
        self._scripts += 1
        body = self._script(argv[place], at._replace(depth=at.depth + 1))
        self._scripts -= 1
        filled = is_dynamic_word(words[place - len(argv)])
        return InlineScript(UnknownForm() if filled else body, "e" in options, "pipefail" in options)
