"""Reads a shell line: its syntax tree becomes forms, and its simple commands a list.

The grammar is read with suspicion. What it could not parse, what bash reads otherwise than the grammar (a
reserved word in the place of a command) and what is nested deeper than DEPTH is Lost; the commands in it are
listed all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sidecar.adapters.grammar import Tongue, descend, parse, text_of
from sidecar.adapters.shell.blocks import DEPTH, Blocks
from sidecar.adapters.shell.chains import Item, unrolled
from sidecar.adapters.shell.forms import (
    AndOr,
    Behind,
    Define,
    Form,
    Line,
    Lost,
    Not,
    Pipe,
    Script,
    Seq,
    Simple,
    Sub,
)
from sidecar.adapters.shell.listing import WORDS, Place
from sidecar.adapters.shell.words import (
    CHAINS,
    assigned,
    hides,
    is_open,
    shell_options,
    whole_word,
    word,
    words_of,
)
from sidecar.policy.peeling import base, peeled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from sidecar.adapters.grammar import Node

SCRIPTS: Final = 3
"""Lines within lines (`bash -c`) that are read."""
RESERVED: Final = frozenset(
    (
        *("if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "in"),
        *("select", "function", "coproc", "{", "}", "!", "[[", "]]", ";;", "(", ")"),
    )
)
SHELLS: Final = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
SUBSTITUTIONS: Final = frozenset({"command_substitution", "process_substitution"})


class Reader(Blocks):
    """Reads one line."""

    def __init__(self) -> None:
        super().__init__()
        self._scripts = 0
        self._forms: dict[str, Callable[[Node, Place], Form]] = {
            "command": self._command,
            **dict.fromkeys(CHAINS, self._chain),
            "subshell": lambda node, at: Sub(self.sequence(node.children, at)),
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

    def read(self, line: str) -> Line:
        """Read a line. Raises ValueError where it is too big to be parsed."""
        body = self._script(line, Place())
        return Line(body, self.functions, pipestatus="PIPESTATUS" in line)

    def _script(self, line: str, at: Place) -> Form:
        root = parse(Tongue.BASH, line).root_node
        if root.has_error:
            self.broken = True
            return self.lost(root, at)
        return self.sequence(root.children, at)

    def form(self, node: Node, at: Place) -> Form:
        known = self._forms.get(node.type)
        if known is None or at.depth > DEPTH:
            return self.lost(node, at)
        return known(node, at.deeper())

    def lost(self, node: Node, at: Place) -> Form:
        """List the commands of a form that is not followed."""
        for part in descend(node):
            if part.type == "command":
                self.list_run(part, at.maybe())
        return Lost()

    def sequence(self, nodes: Iterable[Node], at: Place) -> Form:
        parts: list[Form] = []
        statements = [node for node in nodes if node.is_named or node.type == "&"]
        for number, node in enumerate(statements):
            if node.type in {"comment", "&"}:
                continue
            behind = statements[number + 1 : number + 2]
            if behind and behind[0].type == "&":
                parts.append(Behind(self.form(node, at._replace(background=True))))
            else:
                parts.append(self.form(node, at))
        return Seq(tuple(parts))

    def _chain(self, node: Node, at: Place) -> Form:
        """A list of pipes."""
        items = unrolled(node)
        if items is None:
            return self.lost(node, at)
        pipes: list[list[Item]] = []
        for item in items:
            if item.sign in {"|", "|&"}:
                pipes[-1].append(item)
            else:
                pipes.append([item])
        form = self._pipe(pipes[0], at)
        for pipe in pipes[1:]:
            form = AndOr(form, self._pipe(pipe, at.maybe()), both=pipe[0].sign == "&&")
        return form

    def _pipe(self, items: list[Item], at: Place) -> Form:
        """What is read in a later part is seen where the last part's output is."""
        self.broken = self.broken or any(item.negated for item in items[1:])
        hidden = any(hides(each)[0] for each in items[-1].redirects if each.type == "file_redirect")
        early = at._replace(silenced=at.silenced or hidden)
        parts = tuple(self._item(item, at if item is items[-1] else early) for item in items)
        form = parts[0] if len(parts) == 1 else Pipe(parts)
        return Not(form) if items[0].negated else form

    def _item(self, item: Item, at: Place) -> Form:
        """A command, after the substitutions of its redirections, whose end nobody sees."""
        sights = [hides(each) for each in item.redirects if each.type == "file_redirect"]
        before = [sub for each in item.redirects for sub in self.inside(each, at)]
        at = at._replace(silenced=at.silenced or any(out or err for out, err in sights))
        form: Form = Simple(-1, ()) if item.node is None else self.form(item.node, at)
        return Seq((*(Seq((Sub(sub), Simple(-1, ("true",)))) for sub in before), form)) if before else form

    def _function(self, node: Node, at: Place) -> Form:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None or body is None:
            return Lost()
        label = text_of(name)
        top = node.parent is not None and node.parent.type == "program"
        sure = top and self._scripts == 0 and label not in {*self.functions, *self.called}
        form = self.form(body, at.maybe())
        self.functions[label] = form if sure else None
        return Define(label, form)

    def _declaration(self, node: Node, at: Place) -> Form:
        argv = tuple(word(child) for child in node.children[:WORDS])
        for child in node.children:
            if child.type == "variable_assignment":
                self.remember(child)
        return Simple(-1, argv, inside=self.inside(node, at))

    def _assignments(self, node: Node, at: Place) -> Form:
        each = [node] if node.type == "variable_assignment" else list(node.named_children)
        for child in each:
            self.remember(child)
        return Simple(-1, (), assigned=tuple(map(assigned, each)), inside=self.inside(node, at))

    def _command(self, node: Node, at: Place) -> Form:
        words = words_of(node)
        if not words or any(child.type == "subshell" for child in node.children):
            return self.lost(node, at)
        inside = self.inside(node, at)
        script = self._inner(words, at)
        place, run = self.list_run(node, at, listed=script is None)
        self.called.update(run.argv[:3])
        if run.argv[0] in RESERVED and text_of(words[0]) == run.argv[0]:
            return Lost()
        if run.argv[0] == "time" and set(run.argv[1:3]) & RESERVED:
            return Lost()
        if run.argv[0] == "alias":
            self.aliases.update(each.partition("=")[0] for each in run.argv[1:] if "=" in each)
        pairs = tuple(assigned(child) for child in node.children if child.type == "variable_assignment")
        return Simple(place, run.argv, self.known(words[0], run.argv), pairs, inside, script)

    def inside(self, node: Node, at: Place) -> tuple[Form, ...]:
        """The substitutions of a word, in order, without those inside others."""
        found: list[Form] = []
        waiting = [node]
        while waiting:
            part = waiting.pop()
            if part.type in SUBSTITUTIONS:
                deeper = at._replace(silenced=True, depth=at.depth + 1)
                found.append(
                    self.sequence(part.children, deeper) if at.depth <= DEPTH else self.lost(part, at)
                )
            else:
                waiting.extend(reversed(part.children))
        return tuple(found)

    def _inner(self, words: Sequence[Node], at: Place) -> Script | None:
        """Read what `bash -c` is given. Where the running shell fills it in, its commands are only listed."""
        full = tuple(whole_word(each) for each in words)
        argv = peeled(full)
        if not argv or base(argv[0]) not in SHELLS or self._scripts >= SCRIPTS:
            return None
        options, place = shell_options(argv)
        if place is None or argv[place] != full[place - len(argv)]:
            return None
        self._scripts += 1
        body = self._script(argv[place], at._replace(depth=at.depth + 1))
        self._scripts -= 1
        filled = is_open(words[place - len(argv)])
        return Script(Lost() if filled else body, "e" in options, "pipefail" in options)
