"""Runs the project's own checks: a shell line in the project, whose exit code decides.

The laws of this file:

- Three outcomes. A command that is missing, killed from outside or late could not run; it has not failed.
- A test runner that is green with nothing executed has not passed.
- The session's own environment holds, the project's virtual environment first, without marks of agents.
- Passes are remembered for the same tree only, failures only to tell what is flaky. A pass during which the
  files moved is a pass on no tree that anyone has seen: it is not remembered.
- One run at a time for each project; the deadline counts the wait for one's turn.
"""

from __future__ import annotations

import asyncio
import shlex
import signal
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from msgspec import Struct
from msgspec.structs import replace

from sidecar.adapters import processes, pytest_runs
from sidecar.adapters.gate_memory import GateMemory, circumstances
from sidecar.adapters.gate_output import FAILURE_LIMIT, FAILURES, TAIL, Report, plain, read_junit, read_text
from sidecar.adapters.project_python import PythonMissingError, at_home, interpreter
from sidecar.adapters.runners import PYTEST, detect
from sidecar.model.gate import Gate, GateRun, Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sidecar.adapters.processes import Finished

KEEP: Final = 1 << 18
"""Bytes of output kept while a gate runs; the summary is looked for in them."""
UNRUN: Final = {126: "the command cannot be executed", 127: "the command was not found"}
"""Exit codes by which a shell says that there was nothing to run."""
FROM_OUTSIDE: Final = frozenset((signal.SIGHUP, signal.SIGINT, signal.SIGKILL, signal.SIGTERM))
"""Signals that end a healthy command: an interrupt, a shutdown, want of memory."""
SHELL_SIGNAL: Final = 128
"""What a shell adds to the number of the signal that ended its command."""
NOTHING: Final = "nothing was executed"


Look = Callable[[str, "Mapping[str, str]"], Awaitable[str]]
"""Takes a project and the session's environment; see ports.Workspace."""


class _Order(Struct, frozen=True):
    """A gate made ready: its line, its whole environment, and where pytest reports if it is pytest."""

    line: str
    environment: Mapping[str, str]
    report: Path | None = None


class ProjectGates:
    """Implements `GateRunner`."""

    def __init__(self, memory: GateMemory | None = None, look: Look | None = None) -> None:
        """`look` tells the tree as it is now; without it the caller's word holds for the whole run."""
        self._memory = memory or GateMemory()
        self._look = look
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def detect_tests(self, project: str) -> Gate | None:
        return detect(Path(project))

    async def run(
        self, gate: Gate, project: str, tree: str, environment: Mapping[str, str], seconds: float
    ) -> GateRun:
        """Run one gate, after those of the same project that came before, within `seconds` all together."""
        blank = GateRun(gate=gate, outcome=Outcome.COULD_NOT_RUN, tree=tree)
        clock = asyncio.get_running_loop().time
        until = clock() + seconds
        turn = self._turns.setdefault(project, asyncio.Lock())
        try:
            async with asyncio.timeout(seconds):
                await turn.acquire()
        except TimeoutError:
            return replace(blank, reason=f"other checks of this project took all of {seconds:g} s")
        try:
            at = circumstances(gate, project, tree, environment)
            if known := self._memory.recall(at, gate):
                return known
            run = await _run(blank, project, environment, until - clock())
            if (
                self._look
                and run.outcome is Outcome.PASSED
                and await self._look(project, environment) != tree
            ):
                return run
            return self._memory.note(at, run)
        finally:
            turn.release()


async def _run(blank: GateRun, project: str, environment: Mapping[str, str], seconds: float) -> GateRun:
    try:
        with tempfile.TemporaryDirectory(prefix="supervisor-gate-", ignore_cleanup_errors=True) as scratch:
            order = await _order(blank.gate, project, environment, Path(scratch, "junit.xml"))
            done = await processes.run(
                order.line, cwd=project, environment=order.environment, seconds=seconds, keep=KEEP
            )
            # In a thread, for a report may have many megabytes.
            return await asyncio.to_thread(_outcome, blank, order, done)
    except (PythonMissingError, OSError) as error:
        return replace(blank, reason=str(error))


async def _order(gate: Gate, project: str, environment: Mapping[str, str], report: Path) -> _Order:
    """Make a gate ready. Raises PythonMissingError."""
    if not pytest_runs.is_pytest(gate.command):
        return _Order(gate.command, at_home(project, environment))
    line, own = gate.command, at_home(project, environment)
    if gate.command == PYTEST:
        python, own = await interpreter(project, environment)
        line = shlex.quote(python) + PYTEST.removeprefix("python")
    return _Order(pytest_runs.reporting(line, report), own, report)


def _outcome(blank: GateRun, order: _Order, done: Finished) -> GateRun:
    text = _without(plain(done.output), order.report)
    report = _report(order, text)
    counts = blank.gate.counts or order.report is not None
    outcome, reason = _ruled(done, text, report, pytest=order.report is not None, counts=counts)
    failures = tuple(filter(None, (reason, *report.failures)))[:FAILURES]
    return replace(
        blank,
        outcome=outcome,
        exit_code=done.exit_code,
        seconds=done.seconds,
        output=text[-TAIL:],
        failures=failures if outcome is Outcome.FAILED else (),
        executed=report.executed,
        reason=reason,
    )


def _without(text: str, report: Path | None) -> str:
    """The text without the line in which pytest names our report: it is another one in every run."""
    return "\n".join(line for line in text.split("\n") if not report or str(report) not in line)


def _report(order: _Order, text: str) -> Report:
    """What pytest reported, else what the text says; the text fills in what a report leaves out."""
    told = read_text(text)
    exact = read_junit(order.report) if order.report else None
    return Report(exact.executed, exact.failures or told.failures) if exact else told


def _ruled(done: Finished, text: str, report: Report, *, pytest: bool, counts: bool) -> tuple[Outcome, str]:
    """The outcome, and the reason where the exit code alone does not tell it."""
    code = done.exit_code
    if code is None:
        return Outcome.COULD_NOT_RUN, done.reason
    why = _unrun(code, text) or (pytest_runs.could_not_run(code, text) if pytest else "")
    if why:
        return Outcome.COULD_NOT_RUN, why[:FAILURE_LIMIT]
    empty = report.executed == 0 and counts
    if empty and (code == 0 or (pytest and code == pytest_runs.NOTHING_COLLECTED)):
        return Outcome.FAILED, NOTHING
    return (Outcome.PASSED, "") if code == 0 else (Outcome.FAILED, _crash(code))


def _unrun(code: int, text: str) -> str:
    """Why a shell's exit code says that the command did not come to an end of its own."""
    if code in UNRUN:
        return f"{UNRUN[code]}: {text.strip().rpartition(chr(10))[2]}"
    number = _signal(code)
    return f"it was ended by {number.name}" if number in FROM_OUTSIDE else ""


def _crash(code: int) -> str:
    number = _signal(code)
    return f"it crashed with {number.name}" if number else ""


def _signal(code: int) -> signal.Signals | None:
    try:
        return signal.Signals(-code if code < 0 else code - SHELL_SIGNAL)
    except ValueError:
        return None
