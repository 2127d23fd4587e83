"""The forms of a shell line that we follow: what the reader gives and the walk goes through.

Nothing here knows the grammar, and nothing here knows what an exit code is.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct


class Simple(Struct, frozen=True):
    """A simple command, or assignments alone where `argv` is empty.

    `at` is its place among the line's runs, -1 where it is not listed. `fixed`: its name is written out, not
    left to the running shell. `assigned` are names and values as written. `inside` are its substitutions.
    `script` is the line that it hands to another shell, with the options of that shell.
    """

    at: int
    argv: tuple[str, ...]
    fixed: bool = True
    assigned: tuple[tuple[str, str], ...] = ()
    inside: tuple[Form, ...] = ()
    script: Script | None = None


class Script(Struct, frozen=True):
    """What `bash -c` is given."""

    body: Form
    errexit: bool = False
    pipefail: bool = False


class Test(Struct, frozen=True):
    """A condition: `[ ... ]`, `[[ ... ]]`, `((...))`, as written."""

    __test__ = False  # not one of pytest's

    text: str
    inside: tuple[Form, ...] = ()


class Seq(Struct, frozen=True):
    """One after another, in this shell."""

    parts: tuple[Form, ...]


class AndOr(Struct, frozen=True):
    """`left && right`, `left || right` where not `both`."""

    left: Form
    right: Form
    both: bool


class Pipe(Struct, frozen=True):
    """Each part in a shell of its own."""

    parts: tuple[Form, ...]


class Not(Struct, frozen=True):
    """`! body`."""

    body: Form


class Sub(Struct, frozen=True):
    """`(body)`."""

    body: Form


class If(Struct, frozen=True):
    """`if condition; then body; else otherwise; fi`."""

    condition: Form
    body: Form
    otherwise: Form | None = None


class Loop(Struct, frozen=True):
    """`while`, `until`; `for` and `select` where there is no condition; they assign `name`."""

    body: Form
    condition: Form | None = None
    name: str = ""
    inside: tuple[Form, ...] = ()


class Case(Struct, frozen=True):
    """One of the bodies, or none."""

    bodies: tuple[Form, ...]
    inside: tuple[Form, ...] = ()


class Behind(Struct, frozen=True):
    """`body &`."""

    body: Form


class Define(Struct, frozen=True):
    """A function."""

    name: str
    body: Form


class Lost(Struct, frozen=True):
    """A form that we do not follow."""


Form: TypeAlias = Simple | Test | Seq | AndOr | Pipe | Not | Sub | If | Loop | Case | Behind | Define | Lost


class Line(Struct, frozen=True):
    """A whole line. `functions` are its definitions by name, None where there is more than one."""

    body: Form
    functions: dict[str, Form | None]
    pipestatus: bool = False
