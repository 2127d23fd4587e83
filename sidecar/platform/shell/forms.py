"""The forms of a shell line that are followed: the output of `reading` and the input of `walk`."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct


class SimpleCommand(Struct, frozen=True):
    """A simple command, or assignments alone if `argv` is empty.

    `at` is its index in the line's runs, -1 if it is not listed. `fixed`: its name is written out, not left
    to the running shell. `assigned` are names and values as written. `inside` are its substitutions. `script`
    is the line that it passes to another shell, with the options of that shell.
    """

    at: int
    argv: tuple[str, ...]
    fixed: bool = True
    assigned: tuple[tuple[str, str], ...] = ()
    inside: tuple[ShellForm, ...] = ()
    script: InlineScript | None = None


class InlineScript(Struct, frozen=True):
    """The script that `bash -c` runs."""

    body: ShellForm
    errexit: bool = False
    pipefail: bool = False


class ConditionTest(Struct, frozen=True):
    """A condition: `[ ... ]`, `[[ ... ]]`, `((...))`, as written."""

    __test__ = False  # not a test class of pytest

    text: str
    inside: tuple[ShellForm, ...] = ()


class CommandSequence(Struct, frozen=True):
    """Commands one after another, in the same shell."""

    parts: tuple[ShellForm, ...]


class AndOrList(Struct, frozen=True):
    """`left && right` if `both`, else `left || right`."""

    left: ShellForm
    right: ShellForm
    both: bool


class Pipeline(Struct, frozen=True):
    """A pipeline; each part runs in a shell of its own."""

    parts: tuple[ShellForm, ...]


class Negation(Struct, frozen=True):
    """`! body`."""

    body: ShellForm


class Subshell(Struct, frozen=True):
    """`(body)`."""

    body: ShellForm


class IfClause(Struct, frozen=True):
    """`if condition; then body; else otherwise; fi`."""

    condition: ShellForm
    body: ShellForm
    otherwise: ShellForm | None = None


class LoopClause(Struct, frozen=True):
    """`while` or `until`; without a condition `for` or `select`, which assign `name`."""

    body: ShellForm
    condition: ShellForm | None = None
    name: str = ""
    inside: tuple[ShellForm, ...] = ()


class CaseClause(Struct, frozen=True):
    """`case`: one of the bodies runs, or none."""

    bodies: tuple[ShellForm, ...]
    inside: tuple[ShellForm, ...] = ()


class BackgroundCommand(Struct, frozen=True):
    """`body &`."""

    body: ShellForm


class FunctionDefinition(Struct, frozen=True):
    """A function definition."""

    name: str
    body: ShellForm


class UnknownForm(Struct, frozen=True):
    """A form that is not followed."""


ShellForm: TypeAlias = (
    SimpleCommand
    | ConditionTest
    | CommandSequence
    | AndOrList
    | Pipeline
    | Negation
    | Subshell
    | IfClause
    | LoopClause
    | CaseClause
    | BackgroundCommand
    | FunctionDefinition
    | UnknownForm
)


class ParsedLine(Struct, frozen=True):
    """A whole line. `functions` are its definitions by name, None if a definition is uncertain."""

    body: ShellForm
    functions: dict[str, ShellForm | None]
    pipestatus: bool = False
