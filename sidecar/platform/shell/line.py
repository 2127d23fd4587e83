"""Reads a shell line: lists its simple commands, and classifies what becomes of the failure of each.

Followed are sequences, `&&` and `||` lists, pipelines, groups, `bash -c` and a plain `set -e` or
`set -o pipefail`. What stands in an `if` or a loop is UNKNOWN. A line with anything else that can change
which command its exit code is of (a function, `trap`, `eval`, most of `exit`) is not followed: its commands
are listed, and UNKNOWN. So DECIDES is never wrong, and SWALLOWED says that a command can fail while the line
succeeds.

The grammar is not trusted: what bash reads differently (a reserved word in the place of a command) and what
is nested deeper than DEPTH_LIMIT is not followed either.

Output that goes through a pipe counts as seen, because what `tail`, `grep` or `tee` leave of it is in the
result. Output that is redirected to a file or captured by `$(...)` is silenced, even if the line shows the
file later.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from sidecar.kernel.turn import CommandRun, FailureHandling
from sidecar.platform.shell.commands import WORDS_LIMIT, command_basename, known_commands, unwrap_command
from sidecar.platform.shell.words import (
    ChainItem,
    command_word_nodes,
    full_word_text,
    has_hidden_output,
    is_dynamic_word,
    node_text,
    parse_shell_line,
    unroll_chain,
    walk_nodes,
    word_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tree_sitter import Node


DECIDES, SWALLOWED, UNKNOWN = FailureHandling.DECIDES, FailureHandling.SWALLOWED, FailureHandling.UNKNOWN
LINE_LIMIT: Final = 8 * 1024
"""Maximum characters of a line that is parsed; a longer one gives no commands."""
RUNS_LIMIT: Final = 50
"""Maximum commands of one line that are listed."""
COMMAND_TEXT_LIMIT: Final = 500
"""Maximum characters of a command's text that are kept."""
DEPTH_LIMIT: Final = 24
"""Maximum nesting of forms that is followed."""
SHELLS: Final = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
ASSIGNMENT: Final = "variable_assignment"
SUBSTITUTIONS: Final = frozenset({"command_substitution", "process_substitution"})
SETTINGS: Final = frozenset(
    {
        *("declaration_command", "unset_command", "test_command"),
        *("variable_assignment", "variable_assignments"),
    }
)
"""Conditions and what sets variables: they run no command of their own."""
FAILING_EXIT: Final = re.compile(r"exit(?: +(?:[1-9]\d?|1\d\d|2[0-4]\d|25[0-5]|\"?\$\?\"?))?")
"""Behind `||` it ends the shell with a failure."""
SET_OPTIONS: Final = re.compile(r"(?:-[euxE]*o (?:pipefail|errexit|nounset|xtrace) ?|-[euxE]+ ?)+")
SHELL_OPTIONS: Final = re.compile(r"(?:-[euxil]*o (?:pipefail|errexit|nounset|xtrace) ?|-[euxilc]+ ?)+")
PLAIN_OPTIONS: Final = re.compile(r"-[uxil]*c")
"""Options of a shell that change none of what is followed."""
READ_ONLY_VARIABLE: Final = re.compile(r"(?:E?UID|PPID|BASH\w*|SHELLOPTS|status)\+?")
"""Assigning one of these ends the shell."""
PATH_WITH_VARIABLES: Final = re.compile(r"(?:\$\{?\w+\}?|[\w.-]+)?(?:/[\w.-]+)+")
"""The name of a command that is none of the shell's own, whatever its variables are."""
COMPOUNDS: Final = frozenset({"if_statement", "while_statement", "for_statement"})
CLAUSES: Final = frozenset({"elif_clause", "else_clause", "do_group"})


@lru_cache(maxsize=512)
def parse_simple_commands(line: str) -> tuple[CommandRun, ...]:
    """The simple commands of a line, at most 50, in the order in which the shell reaches them."""
    if not line.strip() or len(line) > LINE_LIMIT:
        return ()
    return ShellLineReader().read(line)


class Place(NamedTuple):
    """Where in a line a form stands.

    `fate` is what becomes of its failure. `implied`: if the line succeeds, the form ran. `top`: it is always
    reached, in the shell that reads the line.
    """

    fate: FailureHandling = DECIDES
    implied: bool = True
    silenced: bool = False
    background: bool = False
    top: bool = True
    depth: int = 0

    def apart(self, fate: FailureHandling) -> Place:
        """The place of a form in a shell of its own."""
        return self._replace(fate=fate, top=False)

    def maybe(self) -> Place:
        """The place of a form that may not run."""
        return self._replace(fate=UNKNOWN, implied=False, top=False)


class ShellLineReader:
    """Reads one line. `read` gives its simple commands.

    `_unfollowed`: it has a form that is not followed. `_deciders` are the commands with whose failure the
    line can fail, -1 for a condition or a loop, without those that only prepare.
    """

    def __init__(self) -> None:
        self._runs: list[CommandRun] = []
        self._unfollowed = False
        self._deciders: set[int] = set()
        self._known = known_commands().shell
        self._errexit = self._pipefail = False

    def read(self, line: str) -> tuple[CommandRun, ...]:
        """List the commands of a line."""
        self._script(line, Place())
        if self._unfollowed:
            return tuple(replace(run, fate=UNKNOWN, implied=False) for run in self._runs)
        decides = [run.fate is DECIDES for run in self._runs]
        return tuple(
            replace(run, implied=decides[at] and run.implied, blamed=decides[at] and self._deciders <= {at})
            for at, run in enumerate(self._runs)
        )

    def _script(self, line: str, place: Place) -> None:
        root = parse_shell_line(line)
        if root.has_error:
            self._leave(root, place)
        else:
            self._sequence(root.children, place)

    def _leave(self, node: Node, place: Place) -> None:
        """List the commands of a form that is not followed."""
        self._unfollowed = True
        for part in walk_nodes(node):
            if part.type == "command" and len(self._runs) < RUNS_LIMIT:
                self._list(part, place)

    def _note_decider(self, place: Place, number: int = -1) -> None:
        if place.fate is not SWALLOWED:
            self._deciders.add(number)

    # --- Sequences, lists and pipelines ---------------------------------------------------------------------

    def _sequence(self, nodes: Iterable[Node], place: Place) -> None:
        """Read statements one after another; the last one's failure is that of the sequence."""
        parts = [node for node in nodes if node.type == "&" or (node.is_named and node.type != "comment")]
        for node, behind in zip(parts, [*parts[1:], None], strict=True):
            if node.type == "&":
                continue
            if behind is None:
                self._list_of_pipelines(node, place)
            elif behind.type == "&":
                self._list_of_pipelines(node, place.apart(SWALLOWED)._replace(background=True))
            else:
                self._list_of_pipelines(node, place._replace(fate=UNKNOWN if self._errexit else SWALLOWED))

    def _list_of_pipelines(self, node: Node, place: Place) -> None:
        """Read pipelines joined by `&&` and `||`, which bind equally."""
        pipes: list[list[ChainItem]] = []
        for item in unroll_chain(node):
            if item.sign in {"|", "|&"}:
                pipes[-1].append(item)
            else:
                pipes.append([item])
        if not pipes:
            self._leave(node, place)
        for number, pipe in enumerate(pipes):
            here = place
            if rescue := next((each for each in pipes[number + 1 :] if each[0].sign == "||"), None):
                exits = DECIDES if place.fate is DECIDES else UNKNOWN
                here = place._replace(fate=exits if _is_failing_exit(rescue) else SWALLOWED)
            if number:
                before = all(each[0].sign == "&&" for each in pipes[1 : number + 1])
                sure = before and here.fate is DECIDES
                here = here._replace(implied=here.implied and sure, top=False)
            if not (pipe[0].sign == "||" and _is_failing_exit(pipe)):
                self._pipeline(pipe, here)

    def _pipeline(self, items: list[ChainItem], place: Place) -> None:
        """Output that a later part of the pipeline reads is seen if the last part's output is."""
        # bash does not parse `a | ! b` as the grammar does.
        self._unfollowed = self._unfollowed or any(item.negated for item in items[1:])
        if items[0].negated:
            self._note_decider(place)
            place = place._replace(fate=SWALLOWED)
        *early, last = items
        for item in items:
            here = place
            if early:
                here = here.apart(here.fate if item is last or self._pipefail else SWALLOWED)
            hides = has_hidden_output(item.redirects) or (
                item is not last and has_hidden_output(last.redirects, "1")
            )
            for redirect in item.redirects:
                self._substitutions(redirect, here)
            if item.node is not None:
                self._form(item.node, here._replace(silenced=here.silenced or hides))

    # --- Forms ----------------------------------------------------------------------------------------------

    def _form(self, node: Node, place: Place) -> None:
        place = place._replace(depth=place.depth + 1)
        arithmetic = node.type == "compound_statement" and node.children[0].type == "(("
        if place.depth > DEPTH_LIMIT:
            self._leave(node, place)
        elif node.type == "command":
            self._command(node, place)
        elif node.type == "subshell":
            self._sequence(node.children, place.apart(place.fate))
        elif arithmetic or node.type in SETTINGS:
            self._setting(node, place)
        elif node.type == "compound_statement":
            self._sequence(node.children, place._replace(top=False))
        elif node.type in COMPOUNDS:
            self._note_decider(place)
            self._compound(node, place.maybe())
        else:
            self._leave(node, place)

    def _compound(self, node: Node, place: Place) -> None:
        """List the commands of an `if` or a loop, of which it is open what runs."""
        for child in node.children:
            if child.type in CLAUSES:
                self._compound(child, place)
            elif node.type == "for_statement":
                self._substitutions(child, place)
            elif child.is_named and child.type != "comment":
                self._sequence([child], place)

    def _setting(self, node: Node, place: Place) -> None:
        """Read a condition or assignments, which fail without a command that is listed."""
        self._note_decider(place)
        text = node_text(node)
        self._unfollowed |= "$?" in text or text.partition(" ")[0] in self._known.unfollowed
        for part in walk_nodes(node):
            if part.type == ASSIGNMENT:
                self._assign(part)
        lost = place.fate is not SWALLOWED
        self._substitutions(node, place, UNKNOWN if lost else SWALLOWED)

    def _assign(self, node: Node) -> str:
        name, _, value = word_text(node).partition("=")
        strange = name == "PATH" and any(
            folder and not re.fullmatch(self._known.homes_of_tools, folder) for folder in value.split(":")
        )
        self._unfollowed |= strange or READ_ONLY_VARIABLE.fullmatch(name) is not None
        return f"{name}={value}"

    def _substitutions(self, node: Node, place: Place, fate: FailureHandling = SWALLOWED) -> None:
        """Read the substitutions of a word in order."""
        inner = place.apart(fate)._replace(silenced=True, depth=place.depth + 1)
        waiting = [node]
        while waiting:
            part = waiting.pop()
            if part.type not in SUBSTITUTIONS:
                waiting.extend(reversed(part.children))
            elif inner.depth > DEPTH_LIMIT:
                self._leave(part, inner)
            else:
                self._sequence(part.children, inner)

    # --- Commands -------------------------------------------------------------------------------------------

    def _command(self, node: Node, place: Place) -> None:
        words = command_word_nodes(node)
        if not words or any(child.type == "subshell" for child in node.children):
            self._leave(node, place)
            return
        self._substitutions(node, place)
        if self._inline_script(words, place):
            return
        argv = self._list(node, place)
        name, *rest = [word for word in argv if word not in self._known.prefixes] or [""]
        if name == "set":
            options = " ".join(rest)
            self._errexit |= re.search(r"-\w*e|errexit", options) is not None
            self._pipefail |= "pipefail" in options
            self._unfollowed |= not (place.top and SET_OPTIONS.fullmatch(options))
        elif name in {"source", "."}:
            self._unfollowed |= command_basename("".join(rest[:1])) not in self._known.startup_files
        elif name in {"exec", "wait"}:
            self._unfollowed |= bool(rest)
        self._unfollowed |= name in self._known.unfollowed or (name == "test" and "$?" in rest)
        self._unfollowed |= not self._has_fixed_name(words[0], argv)
        if name not in self._known.preparing:
            self._note_decider(place, len(self._runs) - 1)

    def _inline_script(self, words: Sequence[Node], place: Place) -> bool:
        """Read the script of `bash -c`. If the running shell expands it, its commands are only listed."""
        full = tuple(full_word_text(each) for each in words)
        argv = unwrap_command(full)
        if not argv or command_basename(argv[0]) not in SHELLS:
            return False
        at = next((n for n, word in enumerate(argv) if re.fullmatch(r"-[a-z]*c[a-z]*", word)), len(argv)) + 1
        options = " ".join(argv[1:at])
        if not SHELL_OPTIONS.fullmatch(options) or argv[at:] != full[at - len(argv) :]:
            return False
        plain = PLAIN_OPTIONS.fullmatch(options) and not self._pipefail
        self._unfollowed |= not plain or is_dynamic_word(words[at - len(argv)])
        self._script(argv[at], place.apart(place.fate))
        return True

    def _list(self, node: Node, place: Place) -> tuple[str, ...]:
        """List a command and return its words."""
        argv = tuple(word_text(child) for child in command_word_nodes(node)[:WORDS_LIMIT])
        run = CommandRun(
            argv=argv,
            text=node_text(node)[:COMMAND_TEXT_LIMIT],
            assignments=tuple(self._assign(each) for each in node.children if each.type == ASSIGNMENT),
            fate=place.fate,
            silenced=place.silenced or has_hidden_output(node.children),
            background=place.background,
            implied=place.implied,
        )
        if argv and len(self._runs) < RUNS_LIMIT:
            self._runs.append(run)
        else:
            self._unfollowed = True
        return argv

    def _has_fixed_name(self, name: Node, argv: tuple[str, ...]) -> bool:
        """Whether the name of a command is known, or at least that it is none of the shell's own."""
        own = self._known.unfollowed | self._known.prefixes
        if not is_dynamic_word(name):
            return "/" in argv[0] or name.type == "raw_string" or not re.search(r"[*?{]", node_text(name))
        return PATH_WITH_VARIABLES.fullmatch(argv[0]) is not None and own.isdisjoint(argv)


def _is_failing_exit(pipe: Sequence[ChainItem]) -> bool:
    node = pipe[0].node
    text = "" if node is None or len(pipe) > 1 or pipe[0].negated else node_text(node)
    return FAILING_EXIT.fullmatch(text) is not None
