"""What the end of a gate's command means. Reads, and starts nothing.

The laws of this file:

- Could not run is neither passed nor failed: missing, ended from outside, late, called wrongly, or stopped
  before it looked at anything.
- A test runner that is green with nothing executed has not passed. All skipped is nothing executed.
- Too little coverage is a failure, and coverage that nobody told could not be measured.
"""

from __future__ import annotations

import re
import signal
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.adapters.processes import Finished
from sidecar.adapters.reports import coverage, pytest, starts, text
from sidecar.adapters.reports.report import FAILURE_LIMIT, FAILURES, Report, Written
from sidecar.adapters.reports.tools import PYTEST, UNKNOWN_FLAG, Order
from sidecar.model.gate import GateRun, Kind, Outcome

UNRUN: Final = {126: "the command cannot be executed", 127: "the command was not found"}
"""Exit codes by which a shell says that there was nothing to run."""
FROM_OUTSIDE: Final = frozenset((signal.SIGHUP, signal.SIGINT, signal.SIGKILL, signal.SIGTERM))
"""Signals that end a healthy command: an interrupt, a shutdown, want of memory."""
SHELL_SIGNAL: Final = 128
"""What a shell adds to the number of the signal that ended its command."""
NOTHING: Final = "nothing was executed"
TELLING: Final = re.compile(r"error|invalid|cannot|could not|not found|fail", re.IGNORECASE)
"""Words of the line that says why a tool gave up."""


class Read(Struct, frozen=True, kw_only=True):
    """One finished command, and what was read of it. `exact`: a report told it, not only the text."""

    done: Finished
    order: Order
    words: str
    report: Report
    exact: bool = False
    percent: float | None = None


class Ruling(Struct, frozen=True):
    """The outcome, and the reason where the exit code alone does not tell it."""

    outcome: Outcome
    reason: str = ""


def ruled(blank: GateRun, done: Finished, order: Order, written: Written) -> GateRun:
    """Fill in a run that has ended. May take a while where a report has many megabytes."""
    read = _read(blank, done, order, written)
    ruling = _ruling(blank, read)
    failed = ruling.outcome is Outcome.FAILED
    failures = tuple(filter(None, (ruling.reason, *read.report.failures)))[:FAILURES]
    return replace(
        blank,
        outcome=ruling.outcome,
        exit_code=done.exit_code,
        seconds=done.seconds,
        output=(read.report.text or "")[-text.TAIL :],
        failures=failures if failed else (),
        failing=_named(ruling.reason, read.report) if failed else (),
        executed=read.report.executed,
        skipped=read.report.skipped,
        percent=read.percent,
        reason=ruling.reason,
    )


def refused(done: Finished, order: Order, written: Written) -> bool:
    """Whether the tool did not know the flags that were added, so that the line is to be run without them."""
    if order.tool is None or not done.exit_code or any(written.scratch.iterdir()):
        return False
    return UNKNOWN_FLAG.search(written.text[:4_000] + written.text[-4_000:]) is not None


def _read(blank: GateRun, done: Finished, order: Order, written: Written) -> Read:
    exact = order.tool.read(written) if order.tool else None
    shown = written.text if exact is None or exact.text is None else exact.text
    told = text.read(shown if exact is None else written.text, written.folder)
    return Read(
        done=done,
        order=order,
        words=written.text,
        report=replace(_both(exact, told), text=shown),
        exact=exact is not None,
        percent=coverage.percent(written) if _measures(blank) else None,
    )


def _both(exact: Report | None, told: Report) -> Report:
    """The report, and the text where it leaves something out."""
    if exact is None:
        return told
    source = exact if exact.failing else told
    counts = exact if exact.executed is not None else told
    return Report(
        executed=counts.executed, skipped=counts.skipped, failures=source.failures, failing=source.failing
    )


def _measures(blank: GateRun) -> bool:
    return blank.gate.kind is Kind.COVERAGE or blank.gate.least is not None


def _named(reason: str, report: Report) -> tuple[str, ...]:
    """What fails; where it has no name, the reason is one."""
    return report.failing or ((re.sub(r"\d+(?:\.\d+)?", "...", reason),) if reason else ())


# --- ruling -------------------------------------------------------------------------------------------------


def _ruling(blank: GateRun, read: Read) -> Ruling:
    code = read.done.exit_code
    if code is None:
        return Ruling(Outcome.COULD_NOT_RUN, read.done.reason)
    if why := _unrun(code, read) or _unsaid(code, read):
        return Ruling(Outcome.COULD_NOT_RUN, why[:FAILURE_LIMIT])
    if _empty(blank, read):
        if code == 0 or (read.order.tool is PYTEST and code == pytest.NOTHING_COLLECTED):
            scanner = read.order.tool is not None and read.order.tool.reports
            return Ruling(Outcome.COULD_NOT_RUN if scanner else Outcome.FAILED, NOTHING)
    elif code == 0 and blank.gate.least is not None:
        return _enough(read.percent, blank.gate.least)
    return Ruling(Outcome.PASSED) if code == 0 else Ruling(Outcome.FAILED, _crash(code))


def _empty(blank: GateRun, read: Read) -> bool:
    """Whether it was to execute something and did not. A report that counts says so for any gate."""
    return read.report.executed == 0 and (blank.gate.counts or read.exact or read.order.tool is PYTEST)


def _enough(percent: float | None, least: float) -> Ruling:
    if percent is None:
        return Ruling(Outcome.COULD_NOT_RUN, "no coverage was told: let the command print or write a report")
    if percent < least:
        return Ruling(Outcome.FAILED, f"the coverage is {percent:.2f} %, less than {least:g} %")
    return Ruling(Outcome.PASSED)


def _unrun(code: int, read: Read) -> str:
    """Why a shell's exit code says that the command did not come to an end of its own."""
    if code in UNRUN:
        return f"{UNRUN[code]}: {read.words.strip().rpartition(chr(10))[2]}"
    number = _signal(code)
    return f"it was ended by {number.name}" if number in FROM_OUTSIDE else ""


def _unsaid(code: int, read: Read) -> str:
    """Why a tool's own end says nothing of what it was to check; "" where it does."""
    tool = read.order.tool
    if code == 0:
        return ""
    if tool is PYTEST and (why := pytest.could_not_run(code, read.words)):
        return why
    if tool is not None and not (read.exact and read.report.failing):
        gave_up = tool.reports and not read.exact
        if code in tool.unsaid or gave_up:
            return f"{tool.names[0]} gave up: {_telling(read.words)}"
    others = (name for name in read.report.failing if not starts.could_not_start(name))
    return "" if any(others) else starts.could_not_start(read.words)


def _telling(words: str) -> str:
    """The line that says why."""
    lines = [line.strip() for line in words[:20_000].split("\n") if line.strip()]
    return next(filter(TELLING.search, lines), lines[-1] if lines else "it says nothing")


def _crash(code: int) -> str:
    number = _signal(code)
    return f"it crashed with {number.name}" if number else ""


def _signal(code: int) -> signal.Signals | None:
    try:
        return signal.Signals(-code if code < 0 else code - SHELL_SIGNAL)
    except ValueError:
        return None
