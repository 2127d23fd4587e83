"""Asks the tools of the catalogue for reports: parses the line, adds flags, and names the reader.

Only a line that is one simple command is attributed to a tool. In a longer line the exit code may come from
another command, and nothing may be added. Also finds messages that a check never started.
"""

from __future__ import annotations

import fnmatch
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.commands.kinds import command
from sidecar.evidence.reports import diagnostics, runners
from sidecar.evidence.reports.report import GateOutput, ReportReader, RunReport, read_report_bytes
from sidecar.kernel.turn import CommandRun
from sidecar.platform.data import load_data
from sidecar.platform.formats import parse_json_table, script_texts
from sidecar.platform.shell.commands import command_basename
from sidecar.platform.shell.words import command_word_nodes, full_word_text, parse_shell_line
from sidecar.platform.tools import ReportRequest, Tool, find_tool, is_package_manager, known_tools

COMPOUND_SYNTAX: Final = re.compile(r"[\n`#]|\$\(")
"""Syntax, besides the operators, that makes a line more than one simple command."""


class ToolCommand(Struct, frozen=True):
    """A simple command. `program` is the index of the tool's name in `words`; `ends` are the words' ends."""

    text: str
    words: tuple[str, ...]
    ends: tuple[int, ...]
    program: int

    @property
    def name(self) -> str:
        """The tool's name: the last part of a path, or the module of a `python -m`."""
        return command(CommandRun(argv=self.words[self.program :], text=self.text))[0]

    @property
    def arguments(self) -> tuple[str, ...]:
        return self.words[self.program + 1 :]

    def with_flags(self, flags: str, after: int = 0) -> str:
        """Return the line with flags added after the program and the first `after` of its arguments."""
        end = self.ends[self.program + after]
        return f"{self.text[:end]} {flags}{self.text[end:]}"


def parse_tool_command(line: str) -> ToolCommand | None:
    """Parse a line; None if it is more than one simple command, or starts no program here."""
    root = parse_shell_line(line)
    if root.has_error or COMPOUND_SYNTAX.search(line) or [node.type for node in root.children] != ["command"]:
        return None
    nodes, raw = command_word_nodes(root.children[0]), line.encode("utf-8", "surrogatepass")
    words = tuple(map(full_word_text, nodes))
    started = command(CommandRun(argv=words, text=line))
    before = words[: len(words) - len(started)]
    if not started or not known_tools().elsewhere.isdisjoint(map(command_basename, before)):
        return None
    ends = tuple(len(raw[: node.end_byte].decode("utf-8", "surrogatepass")) for node in nodes)
    return ToolCommand(line, words, ends, len(before))


# --- package.json scripts, as run by `npm test` and the like ------------------------------------------------


TEST_ALIASES: Final = {"t": "test", "tst": "test"}
"""Other names of `test` in npm and pnpm."""


class PackageScript(Struct, frozen=True):
    """A script's text, the words that the caller adds, and what must precede flags that we add."""

    text: str
    more: tuple[str, ...] = ()
    before_flags: str = ""


def find_package_script(call: ToolCommand, folder: Path) -> PackageScript | None:
    """Return the script that this call runs, None if it runs none. `bun test` is a command of bun itself."""
    if not is_package_manager(call.name) or not call.arguments:
        return None
    words = list(call.arguments)
    explicit = words[0] in ("run", "run-script")
    if explicit:
        words = words[1:]
    if not words or words[0].startswith("-"):
        return None
    name, more = words[0], tuple(words[1:])
    if not explicit and (call.name == "bun" or (call.name == "npm" and name not in ("test", *TEST_ALIASES))):
        return None
    manifest = (read_report_bytes(folder / "package.json") or b"").decode("utf-8", "replace")
    scripts = script_texts(parse_json_table(manifest))
    text = scripts.get(name if explicit else TEST_ALIASES.get(name, name))
    return _script_with_arguments(call.name, text, more) if text else None


def find_started_tool(line: str, folder: Path) -> ToolCommand | None:
    """Return the simple command of a line, or of the script of package.json that it runs."""
    simple = parse_tool_command(line)
    script = find_package_script(simple, folder) if simple else None
    return parse_tool_command(script.text) if script else simple


def _script_with_arguments(manager: str, text: str, more: tuple[str, ...]) -> PackageScript | None:
    """Return the script and its arguments: npm takes flags before `--` itself, the others pass all on."""
    if manager != "npm":
        return PackageScript(text, more)
    if "--" in more:
        return PackageScript(text, more[more.index("--") + 1 :])
    return None if any(word.startswith("-") for word in more) else PackageScript(text, more, " --")


# --- messages that a check never started: data/start_failures.toml ------------------------------------------


LINE_LENGTH: Final = 500
"""Characters of a line that are examined."""
START_LINE_LIMIT: Final = 400
"""Number of lines that are examined, from the end."""


class StartFailures(Struct, frozen=True, forbid_unknown_fields=True):
    """The data file."""

    lines: tuple[str, ...]


def find_start_failure(text: str) -> str:
    """Return the line that shows that the check never started; "" if there is none."""
    patterns = load_data("start_failures", StartFailures).lines
    for line in text.split("\n")[-START_LINE_LIMIT:]:
        said = line[:LINE_LENGTH].strip()
        if any(re.match(pattern, said) for pattern in patterns):
            return said
    return ""


# --- asking for a report ------------------------------------------------------------------------------------


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
        return READERS[self.request.reader](written) if self.request and self.request.reader else None


READERS: Final[dict[str, ReportReader]] = {
    "bandit": diagnostics.read_bandit_report,
    "eslint": diagnostics.read_eslint_report,
    "go": runners.read_go_report,
    "jest": runners.read_jest_report,
    "junit": runners.read_junit_report,
    "jvm": runners.read_jvm_report,
    "mypy": diagnostics.read_mypy_report,
    "pip-audit": diagnostics.read_pip_audit_report,
    "pyright": diagnostics.read_pyright_report,
    "pytest": runners.read_pytest_report,
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
    """Whether a word is one of these, alone or with a value."""
    names = {*words, *(word.partition("=")[0] for word in words)}
    return any(fnmatch.filter(names, name) for name in request.unless)


def _report_flags(request: ReportRequest, words: Sequence[str], scratch: Path) -> str:
    flags = runners.build_pytest_flags(words) if request.reader == "pytest" else request.flags
    return flags.format(report=shlex.quote(str(scratch / "report")), folder=shlex.quote(str(scratch)))
