"""Runs gates: a single gate as a shell line in its folder, and the gates of one stop as a batch.

Rules for a single run:

- It gets the session's environment, with the project's virtual environment first and without variables that
  mark an agent session.
- Reports are written to a temporary folder; no file of ours is written into the project.
- If a tool does not know the flags that request a report, or cannot write it (pytest, where the name of a
  test file is not UTF-8), it is run again without them.
- Of watched files it tells which any process opened while the command ran. Gates that run in parallel each
  tell what all of them opened.
- A folder outside the project is refused, because a configuration file in the repository can name it.

Rules for the outcome:

- "Could not run" is neither passed nor failed. It applies to a command that is missing, killed, timed out, or
  called wrongly, or that stopped before it checked anything.
- A test runner that succeeds without executing any test has not passed. All tests skipped counts as none.
- What succeeds because it had nothing to do, replayed a cache or only printed could not run.
- Too little coverage is a failure; coverage that is not reported is "could not run".
"""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.gates.cache import without_result_caches
from sidecar.evidence.gates.idle import explain_idle_run, up_to_date_question
from sidecar.evidence.gates.installed import describe_runner, with_remedy
from sidecar.evidence.gates.origins import (
    IMPORT_FAILED,
    NAMED_CHANGES,
    find_changed_surroundings,
    find_loaded_copies,
    find_other_copy,
    find_unexplained_changes,
    with_origins_plugin,
)
from sidecar.evidence.ports import GateContext
from sidecar.evidence.reports import measures, runners, text, tools
from sidecar.evidence.reports.report import FAILURE_LENGTH, SHOWN_FAILURES, GateOutput, RunReport
from sidecar.evidence.reports.tools import UNKNOWN_FLAG, ReportingLine
from sidecar.kernel.gate import NOTHING_EXECUTED, Gate, GateOrigin, GateRun, Kind, Outcome
from sidecar.platform import processes
from sidecar.platform.environments import PythonMissingError, folders_up_to_project, with_project_python
from sidecar.platform.files import scratch_folder
from sidecar.platform.git import find_checkout
from sidecar.platform.processes import ProcessResult
from sidecar.platform.slots import HELD, HELD_VARIABLE
from sidecar.platform.watching import OpenedFiles

OUTPUT_LIMIT: Final = 1 << 18
"""Bytes of output kept while a gate runs; they must contain the summary."""


class _RunPlace(Struct, frozen=True, kw_only=True):
    """Where a line runs, and until when (a time of the event loop's clock)."""

    at: GateContext
    folder: Path
    scratch: Path
    environment: Mapping[str, str]
    until: float

    @property
    def watch(self) -> Mapping[Path, str]:
        return {Path(self.at.project, path): path for path in self.at.watch}


async def run_gate_once(gate: Gate, at: GateContext, seconds: float) -> GateRun:
    """Run a gate for at most `seconds`. Raises only CancelledError, after the process group was killed."""
    blank = GateRun(gate=gate, outcome=Outcome.COULD_NOT_RUN, tree=at.tree)
    until = asyncio.get_running_loop().time() + seconds
    if why := gate_folder_objection(gate, at.project):
        return replace(blank, reason=why)
    folder = Path(at.project, gate.folder)
    try:
        async with scratch_folder("gate") as scratch:
            line, environment = await with_project_python(
                gate.command, str(folder), at.environment, at.project, gate.python
            )
            own = {**without_result_caches(environment), HELD_VARIABLE: HELD.get()}
            place = _RunPlace(at=at, folder=folder, scratch=scratch, environment=own, until=until)
            run = await _run_with_origins(blank, line, place)
            run = replace(run, environment=await describe_runner(line, folder, environment, at.project))
    except (PythonMissingError, OSError) as error:
        run = replace(blank, reason=str(error))
    return await asyncio.to_thread(with_remedy, run, folders_up_to_project(str(folder), at.project))


def gate_folder_objection(gate: Gate, project: str) -> str:
    """Say why a gate cannot run in its folder; "" where it can."""
    if not gate.folder:
        return ""
    try:
        root = Path(project).resolve()
        place = (root / gate.folder).resolve()
    except (OSError, RuntimeError, ValueError):
        return f"the folder {gate.folder!r} cannot be resolved"
    checkout = find_checkout(root) if gate.origin is GateOrigin.DETECTED else None
    if not place.is_relative_to(checkout.top if checkout else root):
        return f"the folder {gate.folder!r} is outside the project"
    return "" if place.is_dir() else f"the folder {gate.folder!r} is not there"


async def _run_with_origins(blank: GateRun, line: str, place: _RunPlace) -> GateRun:
    """Run the line; a result for another copy says nothing."""
    async with scratch_folder("origins") as written:
        probed = replace(place, environment=with_origins_plugin(place.environment, written))
        run = await _run_with_report(blank, line, probed)
        if IMPORT_FAILED in run.output:
            return await _run_with_report(blank, line, place)
        if run.outcome is Outcome.COULD_NOT_RUN:
            return run
        other = await asyncio.to_thread(find_other_copy, written, place.folder, Path(place.at.project))
        if run.opened is not None:
            copied = await asyncio.to_thread(find_loaded_copies, written, place.watch.keys())
            names = {*run.opened, *(place.watch[file] for file in copied)}
            run = replace(run, opened=tuple(name for name in place.at.watch if name in names))
        if place.at.since and run.outcome is Outcome.PASSED:
            found = await asyncio.to_thread(_unexplained_changes, line, place, written)
            run = replace(run, unexplained=found)
    if not other:
        return run
    reason = f"it tested another copy: {other}; install this one, for example with: pip install -e ."
    return replace(run, outcome=Outcome.COULD_NOT_RUN, reason=reason, failures=(), failing=())


def _unexplained_changes(line: str, place: _RunPlace, written: Path) -> tuple[str, ...]:
    """Return what a pass rests on outside the project, that changed since and that no record explains."""
    project, since = Path(place.at.project), place.at.since
    loaded = find_unexplained_changes(written, project, since, place.environment.get("VIRTUAL_ENV", ""))
    around = find_changed_surroundings(line, place.folder, place.environment, project, since)
    return (*loaded, *islice((file for file in around if file not in loaded), NAMED_CHANGES))


async def _run_with_report(blank: GateRun, line: str, place: _RunPlace) -> GateRun:
    """Run the line with flags that request a report, and without them if its tool cannot write one."""
    if question := await asyncio.to_thread(up_to_date_question, line, place.folder):
        asked, _ = await _run_line(ReportingLine(question), place)
        if asked.exit_code == 0:
            reason = f"{NOTHING_EXECUTED}: for `{blank.gate.command}` everything is up to date already"
            return replace(
                blank, outcome=Outcome.COULD_NOT_RUN, reason=reason, seconds=asked.seconds, idle=True
            )
    order = await asyncio.to_thread(tools.add_report_flags, line, place.folder, place.scratch)
    files = OpenedFiles(place.watch.keys())
    await asyncio.to_thread(files.begin)
    try:
        done, written = await _run_line(order, place)
        if order.line != line and await asyncio.to_thread(tool_cannot_report, done, order, written):
            order = replace(order, line=line)
            done, written = await _run_line(order, place)
        opened = await asyncio.to_thread(files.end)
    finally:
        await asyncio.to_thread(files.close)
    if opened is not None:
        blank = replace(blank, opened=tuple(name for file, name in place.watch.items() if file in opened))
    # In a thread, because a report may have many megabytes.
    run = await asyncio.to_thread(complete_gate_run, blank, done, order, written)
    run = run if place.at.names else replace(run, ran=None)
    return run if place.at.whole else replace(run, output=run.output[-text.OUTPUT_TAIL :])


async def _run_line(order: ReportingLine, place: _RunPlace) -> tuple[processes.ProcessResult, GateOutput]:
    since = place.scratch.stat().st_mtime_ns
    done = await processes.run_process(
        order.line,
        cwd=str(place.folder),
        environment=place.environment,
        seconds=round(max(place.until - asyncio.get_running_loop().time(), 0), 2),
        keep=tools.REPORT_OUTPUT_LIMIT if order.request and order.request.output else OUTPUT_LIMIT,
        hear=place.at.hear,
        tied=True,
    )
    lines = (await asyncio.to_thread(text.strip_terminal_codes, done.output)).split("\n")
    # Our report folder has another name in every run.
    words = "\n".join(line for line in lines if place.scratch.name not in line)
    return done, GateOutput(scratch=place.scratch, folder=place.folder, text=words, since=since)


# --- the outcome of a finished command ----------------------------------------------------------------------


NOT_RUN_CODES: Final = {126: "the command cannot be executed", 127: "the command was not found"}
"""Exit codes with which a shell reports that there was nothing to run."""
OUTSIDE_SIGNALS: Final = frozenset((signal.SIGHUP, signal.SIGINT, signal.SIGKILL, signal.SIGTERM))
"""Signals that end a healthy command: interrupt, shutdown, out of memory."""
SHELL_SIGNAL_OFFSET: Final = 128
"""What a shell adds to the number of the signal that ended its command."""
ERROR_WORDS: Final = re.compile(r"error|invalid|cannot|could not|not found|fail", re.IGNORECASE)
"""Words in the line that explains why a tool gave up."""


class FinishedCommand(Struct, frozen=True, kw_only=True):
    """A finished command and what was read of it. `exact`: from a report file, not only from its output.

    `idle` says why it executed nothing though it ended well.
    """

    done: ProcessResult
    order: ReportingLine
    words: str
    report: RunReport
    exact: bool = False
    percent: float | None = None
    idle: str = ""


def complete_gate_run(
    blank: GateRun, done: ProcessResult, order: ReportingLine, written: GateOutput
) -> GateRun:
    """Complete a finished run. May take a while if a report has many megabytes."""
    read = _read_finished_command(blank, done, order, written)
    run = _decide_outcome(blank, read)
    failed = run.outcome is Outcome.FAILED
    unnamed = (re.sub(r"\d+(?:\.\d+)?", "...", run.reason),) if run.reason else ()
    failures = tuple(filter(None, (run.reason, *read.report.failures)))[:SHOWN_FAILURES]
    return replace(
        run,
        exit_code=done.exit_code,
        seconds=done.seconds,
        output=read.report.text or "",
        failures=failures if failed else (),
        failing=(read.report.failing or unnamed) if failed else (),
        executed=read.report.executed,
        skipped=read.report.skipped,
        percent=read.percent,
        ran=read.report.ran,
        warnings=read.report.warnings,
    )


def tool_cannot_report(done: ProcessResult, order: ReportingLine, written: GateOutput) -> bool:
    """Whether the tool rejected our flags or broke off its report, so that the line must run without them."""
    if order.tool is None or not done.exit_code:
        return False
    if any(written.scratch.iterdir()):
        return order.read(written) is None
    return UNKNOWN_FLAG.search(written.text[:4_000] + written.text[-4_000:]) is not None


def _read_finished_command(
    blank: GateRun, done: ProcessResult, order: ReportingLine, written: GateOutput
) -> FinishedCommand:
    exact = order.read(written)
    shown = written.text if exact is None or exact.text is None else exact.text
    told = text.read_text_report(written.text, written.folder)
    measured = blank.gate.kind is Kind.COVERAGE or blank.gate.least is not None
    report = replace(_merge_reports(exact, told), text=shown)
    ended_well = done.exit_code == 0
    return FinishedCommand(
        done=done,
        order=order,
        words=written.text,
        report=report,
        exact=exact is not None,
        percent=measures.read_coverage_percent(written) if measured else None,
        idle=explain_idle_run(blank.gate, written.folder, shown, report.executed) if ended_well else "",
    )


def _merge_reports(exact: RunReport | None, told: RunReport) -> RunReport:
    """Combine the report with what the output says, where the report is incomplete."""
    if exact is None:
        return told
    if exact.executed is None:
        exact = replace(exact, executed=told.executed, skipped=told.skipped)
    return exact if exact.failing else replace(exact, failures=told.failures, failing=told.failing)


# --- Deciding the outcome -----------------------------------------------------------------------------------


def _decide_outcome(blank: GateRun, read: FinishedCommand) -> GateRun:
    """Return the outcome, and the reason where the exit code alone does not explain it."""
    code = read.done.exit_code
    if code is None:
        return replace(blank, reason=read.done.reason)
    if why := read.idle or _why_not_run(code, read) or _why_inconclusive(code, read):
        return replace(blank, reason=why[:FAILURE_LENGTH], idle=bool(read.idle))
    should = blank.gate.counts or read.exact or read.order.runs_pytest  # exact counts apply to any gate
    if read.report.executed == 0 and should:
        if code == 0 or (read.order.runs_pytest and code == runners.NOTHING_COLLECTED):
            scanner = read.order.request is not None and read.order.request.always
            outcome = Outcome.COULD_NOT_RUN if scanner else Outcome.FAILED
            return replace(blank, outcome=outcome, reason=NOTHING_EXECUTED, idle=True)
    elif code == 0 and blank.gate.least is not None:
        return _with_coverage(blank, read.percent, blank.gate.least)
    if code == 0:
        return replace(blank, outcome=Outcome.PASSED)
    number = _exit_signal(code)
    return replace(blank, outcome=Outcome.FAILED, reason=f"it crashed with {number.name}" if number else "")


def _with_coverage(blank: GateRun, percent: float | None, least: float) -> GateRun:
    if percent is None:
        return replace(blank, reason="no coverage was told: let the command print or write a report")
    if percent < least:
        reason = f"the coverage is {percent:.2f} %, less than {least:g} %"
        return replace(blank, outcome=Outcome.FAILED, reason=reason)
    return replace(blank, outcome=Outcome.PASSED)


def _why_not_run(code: int, read: FinishedCommand) -> str:
    """Explain a shell exit code that shows that the command did not finish on its own."""
    if code in NOT_RUN_CODES:
        return f"{NOT_RUN_CODES[code]}: {read.words.strip().rpartition(chr(10))[2]}"
    number = _exit_signal(code)
    return f"it was ended by {number.name}" if number in OUTSIDE_SIGNALS else ""


def _why_inconclusive(code: int, read: FinishedCommand) -> str:
    """Explain why a tool's exit says nothing about what it should check; "" where it does."""
    tool, request = read.order.tool, read.order.request
    if code == 0:
        return ""
    if read.order.runs_pytest and (why := runners.explain_pytest_error(code, read.words)):
        return why
    if tool and request and not (read.exact and read.report.failing):
        gave_up = request.always and not read.exact
        if code in request.unsaid or gave_up:
            return f"{tool.name} gave up: {_explaining_line(read.words)}"
    others = (name for name in read.report.failing if not tools.find_start_failure(name))
    return "" if any(others) else tools.find_start_failure(read.words)


def _explaining_line(words: str) -> str:
    """Return the output line that explains the failure."""
    lines = [line.strip() for line in words[:20_000].split("\n") if line.strip()]
    return next(filter(ERROR_WORDS.search, lines), lines[-1] if lines else "it says nothing")


def _exit_signal(code: int) -> signal.Signals | None:
    try:
        return signal.Signals(-code if code < 0 else code - SHELL_SIGNAL_OFFSET)
    except ValueError:
        return None
