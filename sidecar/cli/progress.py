"""Shows what headless work tells of itself: text for people, one JSON object a line for scripts."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.table import Table
from rich.text import Text

from sidecar.cli.printing import echo_json_text, in_shell
from sidecar.cli.screen import Screen
from sidecar.kernel import runs
from sidecar.kernel.goal import ExitCode
from sidecar.kernel.limits import ServiceLimit
from sidecar.kernel.text import clean_line, counted
from sidecar.platform.limits import ServiceLimits, describe_limit
from sidecar.platform.paths import user_paths
from sidecar.platform.services import PlatformServices
from sidecar.platform.team.money import TeamSlots
from sidecar.systems.supervision.policy.journal import StyledLine, journal_lines
from sidecar.work import progress
from sidecar.work.progress import Progress, RunFinished, RunStarted, Step
from sidecar.work.report import GO_ON
from sidecar.workers.budget import Budget

SHOWN_LENGTH = 160
"""Characters shown of a goal, a task or a command."""
LINE_LENGTH: Final = 1_000
"""Characters shown of any other line; more, because it may say what to do."""
SAID_LENGTH = 2_000
"""Characters of an agent's output that are kept, from its end."""
LABEL_WIDTH: Final = 9
STYLES: Final = {
    **dict.fromkeys(("agent", "worker", "│"), "cyan"),
    **dict.fromkeys(("session", "task", "iteration"), "bold"),
    **dict.fromkeys(("verdict", "iterate", "escalate", "council", "waits", "warning"), "yellow"),
    **dict.fromkeys(("complete", "done", "✔"), "green"),
    **dict.fromkeys(("fail", "halt", "hook", "✘"), "red"),
    "?": "bold yellow",
}
"""Styles of what lines begin with, by its first word."""
END_MARKS: Final[dict[int, str]] = {ExitCode.ACHIEVED: "✔", ExitCode.JUDGED: "?"}
"""What the end begins with; any other code is a failure."""

Line = tuple[str, str]
"""What a line begins with, and its text, which may go on in others."""


class ProgressView:
    """Shows events; this one shows none. `board` is what stays on a terminal, None elsewhere."""

    board: RunBoard | None = None

    def tell(self, what: Progress) -> None:
        """Show an event."""

    def hear(self, line: str, iteration: int) -> None:
        """Show the line that the agent of this iteration is writing."""
        if self.board:
            self.board.hear(line, iteration)

    def close(self) -> None:
        """End, whatever happened."""


class JsonLines(ProgressView):
    """JSON lines on standard output, as docs/run.md describes them."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        """`now`: seconds since the epoch."""
        self._now = now

    def tell(self, what: Progress) -> None:
        if isinstance(what, progress.AgentEnded):
            what = msgspec.structs.replace(what, said=what.said[-SAID_LENGTH:])
        echo_json_text(f'{{"at":{self._now():.3f},{msgspec.json.encode(what).decode()[1:]}')


class TerminalView(ProgressView):
    """Lines for a person. On a terminal `board` stays below those of what has a session."""

    def __init__(self, console: Console | None = None, now: Callable[[], float] = time.time) -> None:
        """`console`: used instead of the terminal's, for tests. `now`: seconds since the epoch."""
        self._console = console or Screen(highlight=False)
        self._now = now
        self._several = False
        self.board = RunBoard(now) if self._console.is_terminal else None
        self._live = Live(self.board, console=self._console, transient=True) if self.board else None

    def close(self) -> None:
        if self._live:
            self._live.stop()

    def tell(self, what: Progress) -> None:
        if self.board:
            self.board.tell(what)
        if isinstance(what, RunFinished):
            self.close()
        self._several |= isinstance(what, RunStarted) and what.jobs > 0
        own = isinstance(what, progress.AgentPrinted)
        for label, text in progress_lines(what, several=self._several):
            for number, line in enumerate((text if own else in_shell(text)).strip().splitlines() or [""]):
                self._print("" if number else label, clean_line(line, LINE_LENGTH))
        if isinstance(what, Step):
            for line in what.output.splitlines():
                self._console.print(Text(f"  {clean_line(line, LINE_LENGTH)}"), soft_wrap=True)
        if isinstance(what, RunStarted) and self._live:
            self._live.start()

    def _print(self, label: str, text: str) -> None:
        """Print a line; on a terminal long text goes on below itself, but commands are for copying."""
        when = Text(time.strftime("%H:%M:%S", time.localtime(self._now())), "dim")
        begins = Text(f"{label:<{LABEL_WIDTH}}", STYLES.get(label.partition(" ")[0], ""))
        if self._console.is_terminal and label != GO_ON:
            line = Table.grid(padding=(0, 1, 0, 0))
            line.add_row(when, begins, Text(text, overflow="fold"))
            self._console.print(line)
        else:
            self._console.print(Text(" ").join((when, begins, Text(text))), soft_wrap=True)


def open_budget(shared: PlatformServices, tell: Callable[[Progress], None], **limits: Any) -> Budget:  # noqa: ANN401 - its fields
    """Return the budget of what tells its progress so, and waits for its services."""

    def waits(limit: ServiceLimit) -> None:
        text = describe_limit(limit, shared.clock.now())
        tell(progress.Limited(account=limit.account, until=limit.until, text=text))

    mask, slots = shared.secrets.masker(os.environ), TeamSlots(user_paths().state)
    return Budget(
        shared.spending,
        lambda limit: tell(progress.BudgetUsed(what=limit.unit, used=limit.used, limit=limit.most)),
        lambda text: tell(progress.RunWarning(text=text)),
        **limits,
        limits=ServiceLimits(shared.log, shared.clock, waits, mask, slots=slots),
    )


def progress_lines(what: Progress, *, several: bool = False) -> Iterator[Line]:  # noqa: C901, PLR0912 - a case per event
    """Yield the lines of an event. `several`: agents work at once, so that it is said whose line it is."""
    whose = f" {getattr(what, 'iteration', '')}" if several else ""
    match what:
        case Step():
            yield f"{what.kind} {what.task}".rstrip() if several else what.kind, what.text
        case RunStarted():
            yield "session", f"{what.session}{_limits(what)}"
            yield "goal", f"{clean_line(what.goal, SHOWN_LENGTH)}\n{what.decides}"
        case progress.IterationStarted():
            task = f": {clean_line(what.task, SHOWN_LENGTH)}" if what.task else ""
            yield "iteration", f"{what.iteration}/{what.most}{task}"
        case progress.AgentPrinted():
            yield f"│{whose}", what.text
        case progress.AgentEnded():
            yield f"agent{whose}", ", ".join((f"{what.seconds:.0f} s", *_spent(what.tokens, what.cents)))
            if what.trouble or what.exit_code not in (0, None):
                yield f"✘ agent{whose}", what.trouble or f"it ended with exit code {what.exit_code}"
        case progress.IterationJudged():
            words = what.note or f"{what.decision}: {what.reason} {what.detail}"
            yield f"verdict{whose}", "\n".join(x.removeprefix("Supervisor: ") for x in words.splitlines())
        case progress.TaskCompleted():
            yield "task", f"✔ {what.id} {clean_line(what.content, SHOWN_LENGTH)}"
        case progress.HookRan() if what.exit_code != 0:
            how = what.trouble or f"exit code {what.exit_code}"
            yield "hook", f"{what.name}: {how}: {clean_line(what.command, SHOWN_LENGTH)}"
        case progress.Limited():
            yield "waits", what.text
        case progress.RunWarning() | progress.BudgetUsed():
            yield "warning", what.text
        case RunFinished():
            times = (counted(what.iterations, "iteration"),) if what.iterations else ()
            spent = ", ".join((*times, *_spent(what.tokens, what.cents)))
            why = "" if what.exit_code == ExitCode.ACHIEVED or not what.detail else f": {what.detail}"
            said = f"{what.outcome}{f' after {spent}' if spent else ''}{why}"
            yield f"{END_MARKS.get(what.exit_code, '✘')} end", said
        case _:
            return


def _limits(what: RunStarted) -> str:
    """Say whether it goes on, and how long at most."""
    minutes = f", {what.minutes} minutes of work" if what.minutes else ""
    most = f" (at most {what.most} iterations{minutes})" if what.most else ""
    return f"{' goes on' if what.resumed else ''}{most}"


def _spent(tokens: int, cents: float | None) -> list[str]:
    """Say what is known of what agents spent."""
    priced = [] if cents is None else [f"{cents:.2f} cents"]
    return [f"{tokens:,} tokens", *priced] if tokens else priced if cents else []


# --- what stays on a terminal -------------------------------------------------------------------------------


TASK_ENDS: Final = frozenset({"complete", "done", "fail", "halt"})
"""Kinds of steps after which nobody is at work on their task."""
SILENT_S: Final = 10.0
"""Seconds without output after which that is said."""
TASKS_SHOWN: Final = 8
OTHER_LINES: Final = 8
"""Lines of a terminal that are left to other things than tasks."""


@dataclass
class _Agent:
    """One agent at work, or being judged: since when, and when it was heard last."""

    iteration: int
    task: str
    begun: float
    heard_at: float
    line: str = ""
    doing: str = "the agent works"
    works: bool = True


class RunBoard:
    """Implements rich's `ConsoleRenderable`. Of several agents each that is not judged yet has a row."""

    def __init__(self, now: Callable[[], float]) -> None:
        """`now`: a clock in seconds."""
        self._now = now
        self._begun = self._counted_at = now()
        self._last = _Agent(0, "", now(), now(), doing="begins", works=False)
        self._agents: dict[int, _Agent] = {}
        self._most = self._jobs = self._tokens = 0
        self._cents: float | None = None
        self._steps: dict[str, tuple[Step, float]] = {}
        self._spent: list[str] | None = None
        self.status = runs.RunStatus()
        self.keys: Callable[[], str] = str

    def tell(self, what: Progress) -> None:
        """Take what the run tells."""
        match what:
            case Step():
                key, self._spent = what.task if self._jobs else "", _spent(what.tokens, what.cents)
                self._steps.pop(key, None)  # the newest stands last
                if not self._jobs or (key and what.kind not in TASK_ENDS):
                    self._steps[key] = what, self._now()
            case RunStarted():
                self._most, self._jobs = what.most, what.jobs
                self._tokens, self._cents = what.tokens, what.cents
            case progress.IterationStarted():
                self._most, now = what.most, self._now()
                self._last = _Agent(what.iteration, what.task, now, now)
                self._agents = {**(self._agents if self._jobs else {}), what.iteration: self._last}
            case progress.AgentPrinted():
                self.hear("", what.iteration)
            case progress.AgentEnded():
                agent = self._agents.get(what.iteration, self._last)
                agent.line, agent.doing, agent.works = "", "Supervisor judges", False
                self._tokens += what.tokens
                if what.cents is not None:
                    self._cents = (self._cents or 0.0) + what.cents
            case progress.IterationJudged():
                self._counted_at = self._now()
                self._agents.pop(what.iteration, self._last).doing = "hooks"
            case _:
                pass

    def hear(self, line: str, iteration: int = 0) -> None:
        """Take the line that the agent of this iteration is writing, or the one that began last."""
        agent = self._agents.get(iteration, self._last)
        agent.line, agent.heard_at = line[-LINE_LENGTH:], self._now()

    def lines(self, height: int) -> Iterator[StyledLine]:
        """Return the lines for a terminal of this height."""
        if self._spent is not None:
            yield from self._step_lines(self._spent, self._now())
            return
        now, last, agents = self._now(), self._last, self._agents.values()
        since = self._counted_at if self._jobs else last.begun
        left = self.status.seconds_left - (now - since if any(one.works for one in agents) else 0.0)
        head = (
            (f"iteration {last.iteration}/{self._most}, at most {self._jobs} at once",)
            if self._jobs
            else (f"iteration {last.iteration}/{self._most}: {last.doing}", format_duration(now - last.begun))
        )
        run = f"run {format_duration(now - self._begun)}"
        times = (*head, run, f"{format_duration(left)} left" if self.status.project else "")
        sent = f"sent back {self.status.continuations + bool(self.status.pending)} of {self.status.budget}"
        yield StyledLine(" · ".join(filter(None, times)), "bold")
        yield StyledLine(" · ".join((sent, *_spent(self._tokens, self._cents))))
        for agent in agents:
            about = f"{agent.iteration} · {format_duration(now - agent.begun)} · " if self._jobs else ""
            line = clean_line(agent.line)
            if agent.works and now - agent.heard_at >= SILENT_S:
                yield StyledLine(f"{about}no output for {format_duration(now - agent.heard_at)}", "yellow")
            elif line or about:
                said = line or (clean_line(agent.task) if agent.works else agent.doing)
                yield StyledLine(about + said, "dim")
        room = height - OTHER_LINES - max(0, self._jobs - 1)
        yield from journal_lines(self.status.journal, max(1, min(TASKS_SHOWN, room)), now)
        if keys := self.keys():
            yield StyledLine(keys, "reverse")

    def _step_lines(self, spent: list[str], now: float) -> Iterator[StyledLine]:
        """Yield what was spent, and what is being done, since when."""
        newest = list(self._steps.values())[-max(1, self._jobs) :]
        yield StyledLine(" · ".join((format_duration(now - self._begun), *spent)), "bold")
        for step, at in newest:
            about = (step.task, format_duration(now - at), f"{step.kind}: {clean_line(step.text)}")
            yield StyledLine(" · ".join(filter(None, about)), "dim")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in (StyledLine("─" * (options.max_width - 1), "dim"), *self.lines(console.height)):
            text = Text(line.text, style=line.style, no_wrap=True)
            text.truncate(options.max_width - 1, overflow="ellipsis")
            yield text


def format_duration(seconds: float) -> str:
    """Return minutes and seconds, and hours where there are any."""
    minutes, rest = divmod(max(0, int(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"
