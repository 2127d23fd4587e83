"""The table of tools: how each is asked for a report, who reads it, and which of its ends say nothing."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.adapters.reports import (
    diagnostics,
    go_json,
    junit,
    jvm,
    pytest,
    script_tests,
    security,
    trx,
)
from sidecar.adapters.reports.line import Call, call
from sidecar.adapters.reports.report import Reader
from sidecar.adapters.reports.scripts import Script, script_of

Flags = Callable[[Sequence[str]], str]
MUCH: Final = 16 << 20
"""Bytes of output kept of a tool whose output is the report."""
UNKNOWN_FLAG: Final = re.compile(
    r"(?:unrecogni[sz]ed|unknown|unexpected|invalid|no such|bad|illegal) (?:command[- ]line )?"
    r"(?:argument|option|flag)|flag provided but not defined|CACError|ambiguous option|bad option",
    re.IGNORECASE,
)
"""What tools say of a flag that their version does not know."""


class Tool(Struct, frozen=True, kw_only=True):
    """One tool.

    `names` are its programs, `after` the words that must follow. `flags` go behind those; `{report}` in them
    is our file and `{folder}` the folder it is in. With a word of `unless` the line is left alone; a `*`
    there stands for any end. `read` gives the report. `anywhere`: flags may stand at the end, as those of an
    npm script must. `output`: the output is the report. `unsaid` are exit codes that say nothing of the code
    unless the report names a fault; `reports`: it always writes its report when it comes to an end.
    """

    names: tuple[str, ...]
    flags: Flags
    read: Reader
    after: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    anywhere: bool = True
    output: bool = False
    unsaid: tuple[int, ...] = ()
    reports: bool = False


class Order(Struct, frozen=True):
    """A line that reports. `tool` is None where nothing was added and the text alone is read."""

    line: str
    tool: Tool | None = None


def always(flags: str) -> Flags:
    """The same flags, whatever the line says."""
    return lambda _words: flags


def _rspec(words: Sequence[str]) -> str:
    """The usual form must be named again where another one is asked for."""
    named = any(word.startswith(("-f", "--format")) for word in words)
    return f"{'' if named else '--format progress '}--format json --out {{report}}"


def _go(words: Sequence[str]) -> str:
    covers = any(word.lstrip("-") in ("cover", "cover=true") for word in words)
    named = any(word.lstrip("-").startswith("coverprofile") for word in words)
    return f"-json{' -coverprofile={folder}/coverage.out' if covers and not named else ''}"


PYTEST: Final = Tool(
    names=("pytest", "py.test"),
    flags=pytest.flags,
    read=junit.read_pytest,
    unless=("--junit*", "--collect-only"),
)
TOOLS: Final = (
    PYTEST,
    Tool(
        names=("vitest",),
        flags=always("--reporter=default --reporter=junit --outputFile.junit={report}"),
        read=junit.read,
        unless=(
            "--reporter",
            "--outputFile*",
            "list",
            "bench",
            "typecheck",
            "init",
            "--watch",
            "watch",
            "dev",
        ),
    ),
    Tool(
        names=("jest",),
        flags=always("--json --outputFile={report}"),
        read=script_tests.read_jest,
        unless=("--json", "--outputFile", "--watch*", "--listTests", "--showConfig", "--init"),
    ),
    Tool(
        names=("mocha",),
        flags=always("--reporter json --reporter-option output={report}"),
        read=script_tests.read_mocha,
        unless=("--reporter", "-R", "-O", "--watch", "-w", "--dry-run"),
    ),
    Tool(
        names=("node",),
        after=("--test",),
        flags=always(
            "--test-reporter=spec --test-reporter-destination=stdout"
            " --test-reporter=junit --test-reporter-destination={report}"
        ),
        read=junit.read,
        unless=("--test-reporter*", "--watch"),
        anywhere=False,
    ),
    Tool(
        names=("bun",),
        after=("test",),
        flags=always("--reporter=junit --reporter-outfile={report}"),
        read=junit.read,
        unless=("--reporter", "--watch"),
    ),
    Tool(
        names=("go",),
        after=("test",),
        flags=_go,
        read=go_json.read,
        unless=("-json", "--json", "-c", "-bench", "-fuzz", "-list"),
        anywhere=False,
        output=True,
    ),
    Tool(names=("rspec",), flags=_rspec, read=script_tests.read_rspec, unless=("--out", "-o", "--dry-run")),
    Tool(
        names=("phpunit", "pest"),
        flags=always("--log-junit {report}"),
        read=junit.read,
        unless=("--log-junit", "--list*"),
    ),
    Tool(
        names=("dotnet",),
        after=("test",),
        flags=always("--logger trx --results-directory {folder}"),
        read=trx.read,
        unless=("--results-directory", "-r", "--list-tests", "-t"),
        anywhere=False,
    ),
    Tool(names=("mvn", "mvnw", "gradle", "gradlew"), flags=always(""), read=jvm.read),
    Tool(
        names=("ruff",),
        after=("check",),
        flags=always("--output-format=json --output-file={report}"),
        read=diagnostics.read_ruff,
        unless=(
            "--output*",
            "-o",
            "--watch",
            "-w",
            "--fix*",
            "--diff",
            "--statistics",
            "--show*",
            "--add-noqa",
        ),
        unsaid=(2,),
    ),
    Tool(
        names=("eslint",),
        flags=always("-f json -o {report}"),
        read=diagnostics.read_eslint,
        unless=("-f", "--format", "-o", "--output-file", "--init", "--print-config"),
        unsaid=(2,),
    ),
    Tool(
        names=("mypy",),
        flags=always("--output json"),
        read=diagnostics.read_mypy,
        unless=("--output", "-O", "--junit-xml", "--install-types"),
        output=True,
        unsaid=(2,),
    ),
    Tool(
        names=("pyright", "basedpyright"),
        flags=always("--outputjson"),
        read=diagnostics.read_pyright,
        unless=("--outputjson", "-w", "--watch", "--stats", "--verbose", "--createstub", "--verifytypes"),
        output=True,
        unsaid=(2, 3, 4),
    ),
    Tool(
        names=("bandit",),
        flags=always("-f json -o {report}"),
        read=security.read_bandit,
        unless=("-f", "--format", "-o", "--output", "--exit-zero"),
        unsaid=(2,),
        reports=True,
    ),
    Tool(
        names=("pip-audit", "pip_audit"),
        flags=always("-f json -o {report}"),
        read=security.read_pip_audit,
        unless=("-f", "--format", "-o", "--output", "--fix", "--dry-run"),
        reports=True,
    ),
    Tool(
        names=("golangci-lint",),
        after=("run",),
        flags=always("--output.text.path=stdout --output.sarif.path={report}"),
        read=security.read_sarif,
        unless=("--out*", "--fix"),
        unsaid=(2, 3, 4, 5, 6, 7),
    ),
)


def order(line: str, folder: Path, scratch: Path) -> Order:
    """Make a line report into `scratch`, if it is one simple command of a tool that can.

    `folder` is where it is to run: a script of its package.json may be the tool's.
    """
    simple = call(line)
    if simple is None:
        return Order(line)
    if script := script_of(simple, folder):
        return _by_script(line, script, scratch)
    simple = _through_manager(simple)
    tool = tool_of(simple)
    if tool is None or _refuses(tool, simple.arguments):
        return Order(line)
    flags = _filled(tool.flags(simple.arguments), scratch)
    return Order(simple.with_flags(flags, len(tool.after)) if flags else line, tool)


def _through_manager(simple: Call) -> Call:
    """`yarn jest`: what is no script is a program of the project's."""
    at = simple.program + (simple.arguments[:1] == ("run",))
    if simple.name in ("pnpm", "yarn") and at + 1 < len(simple.words):
        return replace(simple, program=at + 1)
    return simple


def tool_of(simple: Call) -> Tool | None:
    """Whose command it is."""
    for tool in TOOLS:
        if simple.name in tool.names and simple.arguments[: len(tool.after)] == tool.after:
            return tool
    return None


def _by_script(line: str, script: Script, scratch: Path) -> Order:
    """A package manager hands what is added at the end of its line on to the script."""
    simple = call(script.text)
    tool = tool_of(simple) if simple else None
    words = (*simple.arguments, *script.more) if simple else ()
    if tool is None or not tool.anywhere or "--" in words or _refuses(tool, words):
        return Order(line)
    flags = _filled(tool.flags(words), scratch)
    return Order(f"{line}{script.before_flags} {flags}" if flags else line, tool)


def _refuses(tool: Tool, words: Sequence[str]) -> bool:
    return any(_is(word, name) for word in words for name in tool.unless)


def _is(word: str, name: str) -> bool:
    return word.startswith(name[:-1]) if name.endswith("*") else word == name or word.startswith(f"{name}=")


def _filled(flags: str, scratch: Path) -> str:
    return flags.format(report=shlex.quote(str(scratch / "report")), folder=shlex.quote(str(scratch)))
