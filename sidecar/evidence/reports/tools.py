"""Asks the tools of the catalogue for reports: flags that need code, and the readers by name."""

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
from sidecar.evidence.reports.report import GateOutput, ReportReader, RunReport
from sidecar.platform.tools import ReportRequest, Tool, find_tool

FlagsBuilder = Callable[[Sequence[str]], str]
REPORT_OUTPUT_LIMIT: Final = 16 << 20
"""Bytes of output that are stored for a tool whose output is the report."""
UNKNOWN_FLAG: Final = re.compile(
    r"(?:unrecogni[sz]ed|unknown|unexpected|invalid|no such|bad|illegal) (?:command[- ]line )?"
    r"(?:argument|option|flag)|flag provided but not defined|CACError|ambiguous option|bad option",
    re.IGNORECASE,
)
"""Messages of tools about a flag that their version does not support."""


class ReportingLine(Struct, frozen=True):
    """A line that may report. `tool` is None if nothing was added and only the output text is read."""

    line: str
    tool: Tool | None = None

    @property
    def request(self) -> ReportRequest | None:
        return self.tool.report if self.tool else None

    @property
    def runs_pytest(self) -> bool:
        return self.tool is not None and self.tool.name == "pytest"

    def read(self, written: GateOutput) -> RunReport | None:
        """Read the tool's report; None where there is none, or no complete one."""
        return READERS[self.request.reader](written) if self.request else None


def _rspec_flags(words: Sequence[str]) -> str:
    """Return the flags of rspec; the default format must be named if another one is requested."""
    named = any(word.startswith(("-f", "--format")) for word in words)
    return f"{'' if named else '--format progress '}--format json --out {{report}}"


def _go_flags(words: Sequence[str]) -> str:
    covers = any(word.lstrip("-") in ("cover", "cover=true") for word in words)
    named = any(word.lstrip("-").startswith("coverprofile") for word in words)
    return f"-json{' -coverprofile={folder}/coverage.out' if covers and not named else ''}"


FLAGS: Final[dict[str, FlagsBuilder]] = {
    "go": _go_flags,
    "pytest": junit.build_pytest_flags,
    "rspec": _rspec_flags,
}
"""By `flags_from` of an entry."""
READERS: Final[dict[str, ReportReader]] = {
    "bandit": diagnostics.read_bandit_report,
    "eslint": diagnostics.read_eslint_report,
    "go": json_tests.read_go_report,
    "jest": json_tests.read_jest_report,
    "junit": junit.read_junit_report,
    "jvm": junit.read_jvm_report,
    "mocha": json_tests.read_mocha_report,
    "mypy": diagnostics.read_mypy_report,
    "pip-audit": diagnostics.read_pip_audit_report,
    "pyright": diagnostics.read_pyright_report,
    "pytest": junit.read_pytest_report,
    "rspec": json_tests.read_rspec_report,
    "ruff": diagnostics.read_ruff_report,
    "sarif": diagnostics.read_sarif_report,
    "trx": junit.read_trx_report,
}
"""By `reader` of an entry."""


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
    tool = _find_reporting_tool(simple)
    if tool is None or tool.report is None or _forbids_flags(tool.report, simple.arguments):
        return ReportingLine(line)
    flags = _report_flags(tool.report, simple.arguments, scratch)
    return ReportingLine(simple.with_flags(flags, len(tool.report.after)) if flags else line, tool)


def _skip_package_manager(simple: ToolCommand) -> ToolCommand:
    """Skip the package manager in a line such as `yarn jest`: what is not a script is a program."""
    at = simple.program + (simple.arguments[:1] == ("run",))
    if simple.name in ("pnpm", "yarn") and at + 1 < len(simple.words):
        return replace(simple, program=at + 1)
    return simple


def _find_reporting_tool(simple: ToolCommand) -> Tool | None:
    """Return the tool that the command starts, if it can report on such a command."""
    tool = find_tool(simple.name)
    if tool is None or tool.report is None:
        return None
    return tool if simple.arguments[: len(tool.report.after)] == tool.report.after else None


def _add_script_flags(line: str, script: PackageScript, scratch: Path) -> ReportingLine:
    """Add flags at the end of the line, from where a package manager passes them on to the script."""
    simple = parse_tool_command(script.text)
    tool = _find_reporting_tool(simple) if simple else None
    request = tool.report if tool else None
    words = (*simple.arguments, *script.more) if simple else ()
    if request is None or not request.anywhere or "--" in words or _forbids_flags(request, words):
        return ReportingLine(line)
    flags = _report_flags(request, words, scratch)
    return ReportingLine(f"{line}{script.before_flags} {flags}" if flags else line, tool)


def _forbids_flags(request: ReportRequest, words: Sequence[str]) -> bool:
    return any(_matches_word(word, name) for word in words for name in request.unless)


def _matches_word(word: str, name: str) -> bool:
    return word.startswith(name[:-1]) if name.endswith("*") else word == name or word.startswith(f"{name}=")


def _report_flags(request: ReportRequest, words: Sequence[str], scratch: Path) -> str:
    flags = FLAGS[request.flags_from](words) if request.flags_from else request.flags
    return flags.format(report=shlex.quote(str(scratch / "report")), folder=shlex.quote(str(scratch)))
