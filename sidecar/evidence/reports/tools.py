"""Table of tools: how each is asked for a report, what reads it, and which exit codes say nothing."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.reports import diagnostics, json_tests, junit
from sidecar.evidence.reports.command_line import (
    PackageScript,
    ToolCommand,
    find_package_script,
    parse_tool_command,
)
from sidecar.evidence.reports.report import ReportReader

FlagsBuilder = Callable[[Sequence[str]], str]
REPORT_OUTPUT_LIMIT: Final = 16 << 20
"""Bytes of output that are stored for a tool whose output is the report."""
UNKNOWN_FLAG: Final = re.compile(
    r"(?:unrecogni[sz]ed|unknown|unexpected|invalid|no such|bad|illegal) (?:command[- ]line )?"
    r"(?:argument|option|flag)|flag provided but not defined|CACError|ambiguous option|bad option",
    re.IGNORECASE,
)
"""Messages of tools about a flag that their version does not support."""


class ReportingTool(Struct, frozen=True, kw_only=True):
    """One tool.

    `names` are its programs, `after` the words that must follow. `flags` are inserted after those; `{report}`
    in them stands for our file and `{folder}` for its folder. A line with a word of `unless` is left alone; a
    `*` there matches any ending. `read` reads the report. `anywhere`: flags may also be at the end, as an npm
    script needs. `output`: the output is the report. `unsaid` are exit codes that say nothing about the code
    unless the report names a fault. `reports`: the tool always writes its report when it finishes.
    """

    names: tuple[str, ...]
    flags: FlagsBuilder
    read: ReportReader
    after: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    anywhere: bool = True
    output: bool = False
    unsaid: tuple[int, ...] = ()
    reports: bool = False


class ReportingLine(Struct, frozen=True):
    """A line that may report. `tool` is None if nothing was added and only the output text is read."""

    line: str
    tool: ReportingTool | None = None


def constant_flags(flags: str) -> FlagsBuilder:
    """Return a builder of the same flags for every line."""
    return lambda _words: flags


def _rspec_flags(words: Sequence[str]) -> str:
    """Return the flags of rspec; the default format must be named if another one is requested."""
    named = any(word.startswith(("-f", "--format")) for word in words)
    return f"{'' if named else '--format progress '}--format json --out {{report}}"


def _go_flags(words: Sequence[str]) -> str:
    covers = any(word.lstrip("-") in ("cover", "cover=true") for word in words)
    named = any(word.lstrip("-").startswith("coverprofile") for word in words)
    return f"-json{' -coverprofile={folder}/coverage.out' if covers and not named else ''}"


PYTEST_TOOL: Final = ReportingTool(
    names=("pytest", "py.test"),
    flags=junit.build_pytest_flags,
    read=junit.read_pytest_report,
    unless=("--junit*", "--collect-only"),
)
REPORTING_TOOLS: Final = (
    PYTEST_TOOL,
    ReportingTool(
        names=("vitest",),
        flags=constant_flags("--reporter=default --reporter=junit --outputFile.junit={report}"),
        read=junit.read_junit_report,
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
    ReportingTool(
        names=("jest",),
        flags=constant_flags("--json --outputFile={report}"),
        read=json_tests.read_jest_report,
        unless=("--json", "--outputFile", "--watch*", "--listTests", "--showConfig", "--init"),
    ),
    ReportingTool(
        names=("mocha",),
        flags=constant_flags("--reporter json --reporter-option output={report}"),
        read=json_tests.read_mocha_report,
        unless=("--reporter", "-R", "-O", "--watch", "-w", "--dry-run"),
    ),
    ReportingTool(
        names=("node",),
        after=("--test",),
        flags=constant_flags(
            "--test-reporter=spec --test-reporter-destination=stdout"
            " --test-reporter=junit --test-reporter-destination={report}"
        ),
        read=junit.read_junit_report,
        unless=("--test-reporter*", "--watch"),
        anywhere=False,
    ),
    ReportingTool(
        names=("bun",),
        after=("test",),
        flags=constant_flags("--reporter=junit --reporter-outfile={report}"),
        read=junit.read_junit_report,
        unless=("--reporter", "--watch"),
    ),
    ReportingTool(
        names=("go",),
        after=("test",),
        flags=_go_flags,
        read=json_tests.read_go_report,
        unless=("-json", "--json", "-c", "-bench", "-fuzz", "-list"),
        anywhere=False,
        output=True,
    ),
    ReportingTool(
        names=("rspec",),
        flags=_rspec_flags,
        read=json_tests.read_rspec_report,
        unless=("--out", "-o", "--dry-run"),
    ),
    ReportingTool(
        names=("phpunit", "pest"),
        flags=constant_flags("--log-junit {report}"),
        read=junit.read_junit_report,
        unless=("--log-junit", "--list*"),
    ),
    ReportingTool(
        names=("dotnet",),
        after=("test",),
        flags=constant_flags("--logger trx --results-directory {folder}"),
        read=junit.read_trx_report,
        unless=("--results-directory", "-r", "--list-tests", "-t"),
        anywhere=False,
    ),
    ReportingTool(
        names=("mvn", "mvnw", "gradle", "gradlew"), flags=constant_flags(""), read=junit.read_jvm_report
    ),
    ReportingTool(
        names=("ruff",),
        after=("check",),
        flags=constant_flags("--output-format=json --output-file={report}"),
        read=diagnostics.read_ruff_report,
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
    ReportingTool(
        names=("eslint",),
        flags=constant_flags("-f json -o {report}"),
        read=diagnostics.read_eslint_report,
        unless=("-f", "--format", "-o", "--output-file", "--init", "--print-config"),
        unsaid=(2,),
    ),
    ReportingTool(
        names=("mypy",),
        flags=constant_flags("--output json"),
        read=diagnostics.read_mypy_report,
        unless=("--output", "-O", "--junit-xml", "--install-types"),
        output=True,
        unsaid=(2,),
    ),
    ReportingTool(
        names=("pyright", "basedpyright"),
        flags=constant_flags("--outputjson"),
        read=diagnostics.read_pyright_report,
        unless=("--outputjson", "-w", "--watch", "--stats", "--verbose", "--createstub", "--verifytypes"),
        output=True,
        unsaid=(2, 3, 4),
    ),
    ReportingTool(
        names=("bandit",),
        flags=constant_flags("-f json -o {report}"),
        read=diagnostics.read_bandit_report,
        unless=("-f", "--format", "-o", "--output", "--exit-zero"),
        unsaid=(2,),
        reports=True,
    ),
    ReportingTool(
        names=("pip-audit", "pip_audit"),
        flags=constant_flags("-f json -o {report}"),
        read=diagnostics.read_pip_audit_report,
        unless=("-f", "--format", "-o", "--output", "--fix", "--dry-run"),
        reports=True,
    ),
    ReportingTool(
        names=("golangci-lint",),
        after=("run",),
        flags=constant_flags("--output.text.path=stdout --output.sarif.path={report}"),
        read=diagnostics.read_sarif_report,
        unless=("--out*", "--fix"),
        unsaid=(2, 3, 4, 5, 6, 7),
    ),
)


def add_report_flags(line: str, folder: Path, scratch: Path) -> ReportingLine:
    """Make a line write a report into `scratch` if it is one simple command of a tool that supports it.

    `folder` is its working directory, whose package.json may have a script that calls the tool.
    """
    simple = parse_tool_command(line)
    if simple is None:
        return ReportingLine(line)
    if script := find_package_script(simple, folder):
        return _add_script_flags(line, script, scratch)
    simple = _skip_package_manager(simple)
    tool = find_reporting_tool(simple)
    if tool is None or _forbids_flags(tool, simple.arguments):
        return ReportingLine(line)
    flags = _fill_placeholders(tool.flags(simple.arguments), scratch)
    return ReportingLine(simple.with_flags(flags, len(tool.after)) if flags else line, tool)


def _skip_package_manager(simple: ToolCommand) -> ToolCommand:
    """Skip the package manager in a line such as `yarn jest`: what is not a script is a program."""
    at = simple.program + (simple.arguments[:1] == ("run",))
    if simple.name in ("pnpm", "yarn") and at + 1 < len(simple.words):
        return replace(simple, program=at + 1)
    return simple


def find_reporting_tool(simple: ToolCommand) -> ReportingTool | None:
    """Return the tool that the command starts."""
    for tool in REPORTING_TOOLS:
        if simple.name in tool.names and simple.arguments[: len(tool.after)] == tool.after:
            return tool
    return None


def _add_script_flags(line: str, script: PackageScript, scratch: Path) -> ReportingLine:
    """Add flags at the end of the line, from where a package manager passes them on to the script."""
    simple = parse_tool_command(script.text)
    tool = find_reporting_tool(simple) if simple else None
    words = (*simple.arguments, *script.more) if simple else ()
    if tool is None or not tool.anywhere or "--" in words or _forbids_flags(tool, words):
        return ReportingLine(line)
    flags = _fill_placeholders(tool.flags(words), scratch)
    return ReportingLine(f"{line}{script.before_flags} {flags}" if flags else line, tool)


def _forbids_flags(tool: ReportingTool, words: Sequence[str]) -> bool:
    return any(_matches_word(word, name) for word in words for name in tool.unless)


def _matches_word(word: str, name: str) -> bool:
    return word.startswith(name[:-1]) if name.endswith("*") else word == name or word.startswith(f"{name}=")


def _fill_placeholders(flags: str, scratch: Path) -> str:
    return flags.format(report=shlex.quote(str(scratch / "report")), folder=shlex.quote(str(scratch)))
