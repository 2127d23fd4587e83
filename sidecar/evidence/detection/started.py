"""What the lines of a script or target start, and which kind of check that is.

A script can pass without checking anything: it prints a text, or only compiles. Its commands tell.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any, Final

import msgspec
from msgspec import Struct

from sidecar.evidence.claims.check_runs import CheckScope, find_check_scope
from sidecar.evidence.commands.kinds import Kinds, command, kinds_of, plain_words
from sidecar.kernel.gate import Kind
from sidecar.platform.shell.commands import known_commands
from sidecar.platform.shell.line import parse_simple_commands
from sidecar.platform.tools import Tool, find_tool, known_tools

SCRIPT_SOURCES: Final = frozenset(("scripts", "targets"))
STEP_KEYS: Final = frozenset(("run", "script", "command"))
"""Of a CI file: what its steps run."""
RUN_WORDS: Final = frozenset(("run", "run-script"))


class StartedCommand(Struct, frozen=True, kw_only=True):
    """A simple command. `place`: where a `cd` before it went. `program`: it is none that we know.

    `idle`: it prints or prepares, or is a tool that is only asked for its help or a list. `part`: it leaves
    tests out.
    """

    text: str
    name: str
    kinds: Kinds
    place: str = ""
    program: bool = False
    idle: bool = False
    part: bool = False

    @property
    def tests(self) -> bool:
        """Whether it may test something."""
        return self.program or Kind.TESTS in self.kinds


def list_started_commands(
    lines: Iterable[str], own: Container[str] = (), source: str = ""
) -> Iterator[StartedCommand]:
    """Yield the commands of shell lines, except calls of the project's `own` scripts or targets."""
    for line in lines:
        place = ""
        for run in parse_simple_commands(line):
            argv = command(run)
            if argv[:1] == ("cd",):
                place = " ".join(argv[1:2])
            elif argv and (place or not _are_own(scripts_called_here(argv, source), own)):
                tool, scope = find_tool(argv[0]), find_check_scope(run, Kind.TESTS)
                idle = _is_idle(argv) or (tool is not None and scope is CheckScope.NOTHING)
                kinds = frozenset[Kind]() if idle else kinds_of(run)
                program = not idle and not kinds and _may_be_program(argv)
                calls = called_names(tool, argv[1:]) if tool and tool.kinds_from in SCRIPT_SOURCES else ()
                yield StartedCommand(
                    text=run.text,
                    name=" ".join((argv[0], *calls)),
                    kinds=kinds,
                    place=place,
                    program=program,
                    idle=idle,
                    part=scope is CheckScope.PART,
                )


def scripts_called_here(argv: tuple[str, ...], source: str) -> tuple[str, ...]:
    """Return the scripts or targets that a command runs in this folder, () where it is about another one."""
    tool, common = find_tool(argv[0]), known_tools().common
    if tool is None or not source or tool.kinds_from != source or _is_own_runner(tool, argv):
        return ()
    words = argv[1 : argv.index("--")] if "--" in argv else argv[1:]
    options = [word.partition("=")[0] for word in words if word.startswith("-")]
    here = all(option in common.alone and option not in common.valued for option in options)
    return called_names(tool, argv[1:]) if here else ()


def kind_of_commands(commands: Iterable[StartedCommand], named: Kind) -> Kind | None:
    """Return what kind of check these commands are, if they are called one of tests; None for no check.

    A script without any command that could be read is what its name says.
    """
    found = tuple(commands)
    if named is not Kind.TESTS or not found or any(one.tests for one in found):
        return named
    kinds = frozenset[Kind]().union(*(one.kinds for one in found))
    return Kind.BUILD if Kind.BUILD in kinds else min(kinds, default=None)


def _is_idle(argv: tuple[str, ...]) -> bool:
    """Whether a command prints, prepares, or lists the scripts of a package."""
    known, tool = known_commands(), find_tool(argv[0])
    if argv[0] in known.shell.preparing | known.printing | known.file_writing or argv[0] == "exit":
        return True
    return tool is not None and tool.kinds_from == "scripts" and not called_names(tool, argv[1:])


def _are_own(names: tuple[str, ...], own: Container[str]) -> bool:
    return bool(names) and all(name in own for name in names)


def _may_be_program(argv: tuple[str, ...]) -> bool:
    """Whether a command that is no check we know may test: only what never tests is known not to."""
    known, tool = known_commands(), find_tool(argv[0])
    if tool is None:
        return argv[0] not in known.tooling
    kinds = frozenset[Kind]().union(*tool.kinds_by_words.values())
    starts = argv[0] in known.interpreters or not {*argv[1:2]}.isdisjoint(known.starters.get(argv[0], ()))
    return starts or not kinds or Kind.TESTS in kinds or bool(tool.kinds_from)


def _is_own_runner(tool: Tool, argv: tuple[str, ...]) -> bool:
    """Whether a package manager runs the tests itself, as `bun test` does."""
    return tool.report is not None and bool(tool.report.after) and argv[1:2] == tool.report.after


def called_names(tool: Tool, words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the script or the targets that a command names."""
    plain = plain_words(words)
    if tool.kinds_from == "targets":
        return plain
    return (plain[1:] if plain[:1] and plain[0] in RUN_WORDS else plain)[:1]


def list_ci_steps(
    text: str, hides: Callable[[str, object], bool] = lambda *_: False
) -> Iterator[tuple[str, bool]]:
    """Yield the commands of a CI file, and whether a key above hides their failure."""
    try:
        yield from _steps_below(msgspec.yaml.decode(text), hides, set(), hidden=False)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return


def _steps_below(
    node: Any,  # noqa: ANN401 - any YAML
    hides: Callable[[str, object], bool],
    seen: set[int],
    *,
    hidden: bool,
) -> Iterator[tuple[str, bool]]:
    """Yield the steps of a part of a CI file. The services run lines with `-e`."""
    if not isinstance(node, dict | list) or id(node) in seen:  # an alias
        return
    seen.add(id(node))
    if isinstance(node, dict):
        hidden = hidden or any(hides(str(key), value) for key, value in node.items())
        for key, value in node.items():
            listed = value if isinstance(value, list) else [value]
            if key in STEP_KEYS and all(isinstance(one, str) for one in listed):
                lines = "\n".join(listed)
                yield f"set -e\n{lines}" if "\n" in lines.strip() else lines, hidden
            else:
                yield from _steps_below(value, hides, seen, hidden=hidden)
    else:
        for one in node:
            yield from _steps_below(one, hides, seen, hidden=hidden)
