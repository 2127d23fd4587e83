"""The simple commands of a line as they are read, and what the line says of its own names and variables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from sidecar.adapters.grammar import text_of
from sidecar.adapters.shell.builtins import SPECIAL
from sidecar.adapters.shell.forms import Form
from sidecar.adapters.shell.words import assigned, globs, hides, is_open, word, words_of
from sidecar.model.command import Run
from sidecar.policy.peeling import base

if TYPE_CHECKING:
    from sidecar.adapters.grammar import Node

RUNS: Final = 50
WORDS: Final = 200
"""Words of one command that are kept."""
TEXT: Final = 500
"""Characters of a command's text that are kept."""
LEAVES: Final = frozenset({"exit", "return", "exec", "eval", "break", "continue"})
INTERPRETERS: Final = ("python", "pytest", "npm", "pnpm", "yarn")
"""What a variable in the place of a command's name may begin with and be no builtin."""


class Place(NamedTuple):
    """Where a form stands."""

    depth: int = 0
    silenced: bool = False
    conditional: bool = False
    background: bool = False

    def deeper(self) -> Place:
        """Inside another form."""
        return self._replace(depth=self.depth + 1)

    def maybe(self) -> Place:
        """What comes next may not run."""
        return self._replace(conditional=True)


class Listing:
    """What one line names.

    `runs` are its simple commands, `functions` and `aliases` what it defines (None: not for sure, or more
    than once), `values` the variables that it assigns ("" where the value is not known for sure), `paths`
    what it makes of PATH, `called` the names it has used so far. `broken`: it does not parse.
    """

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.functions: dict[str, Form | None] = {}
        self.aliases: set[str] = set()
        self.values: dict[str, str] = {}
        self.paths: list[str] = []
        self.called: set[str] = set()
        self.broken = False

    @property
    def redefines(self) -> bool:
        """Whether the line gives a new meaning to a builtin that we rely on."""
        return bool(SPECIAL & {*self.functions, *self.aliases})

    def remember(self, node: Node) -> None:
        """Keep the value of a variable that the line assigns; "" where it is not known for sure."""
        name, value = assigned(node)
        node_value = node.child_by_field_name("value")
        sure = node_value is not None and not is_open(node_value) and name not in self.values
        self.values[name] = word(node_value) if sure and node_value is not None else ""
        if re.search(r"\s", value):
            self.values[name] = ""
        if name == "PATH":
            self.paths.append(f"PATH={value}")

    def list_run(self, node: Node, at: Place, *, listed: bool = True) -> tuple[int, Run]:
        """List a command; its place is -1 where it is not listed, or the list is full."""
        argv = tuple(word(child) for child in words_of(node)[:WORDS])
        sights = [hides(child) for child in node.children if child.type == "file_redirect"]
        run = Run(
            argv=argv,
            text=text_of(node)[:TEXT],
            assignments=tuple(word(c) for c in node.children if c.type == "variable_assignment"),
            silenced=at.silenced or any(out or err for out, err in sights),
            conditional=at.conditional,
            background=at.background,
        )
        if not listed or not argv or len(self.runs) >= RUNS:
            return -1, run
        self.runs.append(run)
        return len(self.runs) - 1, run

    def known(self, name: Node, argv: tuple[str, ...]) -> bool:
        """Whether we know what kind of command the name is: one of the shell's own, or another."""
        if not is_open(name):
            return "/" in argv[0] or not globs(name)
        if LEAVES & set(argv):
            return False
        variables = re.findall(r"\$\{?(\w+)", text_of(name))
        if "/" in argv[0] and "(" not in argv[0]:
            return all(self.values.get(each, "-") for each in variables)
        whole = re.fullmatch(r"\$\{?(\w+)\}?", argv[0])
        value = self.values.get(whole[1], "") if whole else ""
        return "/" in value or base(value).startswith(INTERPRETERS)
