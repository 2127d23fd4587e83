"""What a stop costs in OpenCode: from the event that a session rests to the end of what the plugin does then.

The plugin is the real one, in Node, with a host around it whose API answers at once (opencode_host.mjs); the
sidecar and the socket are real. Rules decide. The peer is the same plugin at a socket where every request is
answered with nothing (peer_echo.mjs): what it then costs is the plugin, JSON and the socket.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, Self

import msgspec
from measure import Figure, Report, Series, in_turn, rounds
from memory import resident
from msgspec import Struct
from opencode_history import Author
from stage import HERE, Line, Stage, Unfit, staged

from sidecar.kernel.session import SessionKey
from sidecar.platform.event_log import EventLogFile
from sidecar.platform.installation import plugin_root
from sidecar.platform.log_readings import read_record
from sidecar.platform.ports import SystemClock

ROUNDS: Final = 300
LATE: Final = 0.99
ONE: Final = 1000
"""Stops of one session, for the memory; a tenth of them first."""
CROWD: Final = 200
"""Sessions, for the memory."""
LONG: Final = 500
"""Messages of a long session, and of a long turn."""
PEER: Final = "the plugin at an echoing socket"
CLAIM: Final = "The parser accepts comments now, and all tests pass."


class Case(Struct, frozen=True):
    """A kind of stop: the history that it ends, and how rules decide it.

    `before`: the history of a stop that comes first and is not measured; a prompt comes before that, and what
    it began is over when that stop is, for it looks at the project too. `changed`: a file was, after that.
    """

    name: str
    history: Path
    decided: str
    before: Path | None = None
    changed: bool = False


class Told(Struct, frozen=True):
    """What the host saw of one event: milliseconds, calls of its API, and what came of it."""

    ms: float
    asked: int
    said: str
    shown: str


class Host:
    """One OpenCode of ours: a process that keeps one plugin."""

    def __init__(self, stage: Stage, state: Path) -> None:
        """Start it; its sidecar is the one that listens below `state`."""
        plugin = stage.folder / "plugin.mjs"
        shutil.copy(plugin_root() / "hooks" / "opencode.js", plugin)
        kept = {name: value for name, value in stage.environment.items() if not name.startswith("CLAUDE")}
        environment = {**kept, "AGENT": "1", "OPENCODE": "1", "XDG_STATE_HOME": str(state)}
        command = [stage.program("node"), str(HERE / "opencode_host.mjs"), str(plugin), str(stage.project)]
        self._process = subprocess.Popen(  # noqa: S603 - our own script
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def prompt(self, session: str) -> None:
        """A person typed something."""
        self._order({"prompt": session})

    def idle(self, session: str, history: Path) -> Told:
        """The session rests. Raises RuntimeError where the plugin had no answer."""
        told = self._order({"idle": session, "history": str(history)})
        if "not judged" in told.shown:
            raise RuntimeError(told.shown)
        return told

    def _order(self, order: dict[str, str]) -> Told:
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("no pipes")
        self._process.stdin.write(msgspec.json.encode(order) + b"\n")
        self._process.stdin.flush()
        if not (line := self._process.stdout.readline()):
            raise RuntimeError("the host of the plugin has ended")
        return msgspec.json.decode(line, type=Told)


def measured(*, quick: bool) -> Report:
    """Time of each kind of stop against the echo; then memory."""
    with staged() as stage, ExitStack() as ended:
        cases = _cases(stage)
        stage.start()
        with Line(stage) as line:
            line.await_built()
        ours = ended.enter_context(Host(stage, stage.home / ".local" / "state"))
        echo = ended.enter_context(_echoing(stage))
        pairs = [_pair(stage, ours, echo, case, rounds(ROUNDS, quick=quick)) for case in cases]
        figures = [
            figure for case, pair in zip(cases, pairs, strict=True) for figure in _figures(case, *pair)
        ]
        figures += _memory(stage, ours, cases[1].history, quick=quick) if sys.platform == "linux" else []
        return Report(tuple(figures))


def _cases(stage: Stage) -> tuple[Case, ...]:
    talk, clean, failed, passed, session, turn = (Author() for _ in range(6))
    talk.talk()
    clean.turn(3)
    failed.tested(1, CLAIM)
    passed.tested(0, CLAIM)
    while len(session.messages) < LONG - 5:
        session.turn(4)
    session.turn(LONG - len(session.messages) - 1)
    turn.turn(LONG - 1)

    def saved(author: Author, name: str) -> Path:
        return author.save(stage.folder / f"{name}.json")

    before, clean_again, changed = saved(passed, "passed"), saved(clean, "again"), saved(clean, "changed")
    return (
        Case("only talk", saved(talk, "talk"), "only-talk"),
        Case("a clean stop", saved(clean, "clean"), "nothing-suspicious"),
        Case("a clean stop after a prompt", clean_again, "nothing-suspicious", before),
        Case("a clean stop, a file changed", changed, "nothing-suspicious", before, changed=True),
        Case("a clean stop, 500 messages", saved(session, "session"), "nothing-suspicious"),
        Case("a clean stop, a turn of 500 messages", saved(turn, "turn"), "nothing-suspicious"),
        Case("sent back", saved(failed, "failed"), "continue", before),
    )


@contextmanager
def _echoing(stage: Stage) -> Iterator[Host]:
    """A host whose plugin speaks to the echo."""
    state = stage.folder / "echo"
    run = state / "supervisor" / "run"
    run.mkdir(parents=True)
    command = [stage.program("node"), str(HERE / "peer_echo.mjs"), str(run)]
    with subprocess.Popen(  # noqa: S603 - our own script
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        if process.stdout is None or process.stdout.read() or not (run / "sidecar.sock").exists():
            raise Unfit("the echo does not listen")
        with Host(stage, state) as host:
            yield host
        process.communicate()


def _pair(stage: Stage, ours: Host, echo: Host, case: Case, times: int) -> tuple[Series, Series]:
    """Measure one kind of stop in a session of its own. Raises RuntimeError where it was another kind."""
    session = f"ses_{case.history.stem}"

    def stop() -> float:
        if case.before is not None:
            ours.prompt(session)
            ours.idle(session, case.before)
        if case.changed:
            (stage.project / "changed.txt").write_text(str(time.time_ns()), encoding="utf-8")
        told = ours.idle(session, case.history)
        if bool(told.said) != (case.decided == "continue"):
            raise RuntimeError(f"{case.name}: the agent was told {told.said!r}")
        return told.ms

    found, floor = in_turn(times, stop, lambda: echo.idle(session, case.history).ms)
    _checked(stage, session, case.decided)
    return found, floor


def _checked(stage: Stage, session: str, wanted: str) -> None:
    entries = read_record(EventLogFile(stage.run.parent, SystemClock()), SessionKey("opencode", session))
    decided = [entry.decided for entry in entries if entry.event == "stop"]
    if decided[-1:] != [wanted]:
        raise RuntimeError(f"{session}: decided as {decided[-3:]}, and the benchmark is about {wanted!r}")


def _figures(case: Case, ours: Series, peer: Series) -> tuple[Figure, Figure]:
    """The median, and the 99th percentile."""
    return (
        Figure(name=case.name, ours=ours, against=PEER, peer=peer),
        Figure(name=f"{case.name}, 99th percentile", ours=ours, against=PEER, peer=peer, part=LATE),
    )


def _memory(stage: Stage, host: Host, history: Path, *, quick: bool) -> list[Figure]:
    """What the sidecar holds after many stops of one session, and after those of many sessions."""
    many, crowd = rounds(ONE, quick=quick), rounds(CROWD, quick=quick)
    idle, few = _held(stage, host, history, ["one"] * (many // 10))
    _, more = _held(stage, host, history, ["one"] * (many - many // 10), renewed=False)
    _, all_ = _held(stage, host, history, [f"one_of_{crowd}_{number}" for number in range(crowd)])
    return [
        _held_figure(f"{many:,} stops of one session", more, f"{many // 10} of them", few),
        _held_figure(f"{many:,} stops of one session", more, "the sidecar, idle", idle),
        _held_figure(f"stops of {crowd} sessions", all_, "the sidecar, idle", idle),
    ]


def _held(
    stage: Stage, host: Host, history: Path, sessions: list[str], *, renewed: bool = True
) -> tuple[float, float]:
    """MiB of the sidecar (a new one where `renewed`) before and after a prompt and a stop of each session."""
    if renewed:
        stage.end()
        stage.start()
        with Line(stage) as line:
            line.await_built()
    before = resident(stage.pid())
    for session in sessions:
        host.prompt(session)
        host.idle(session, history)
    return before, resident(stage.pid())


def _held_figure(name: str, ours: float, against: str, peer: float) -> Figure:
    name = f"memory, {name}, a prompt before each"
    return Figure(name=name, ours=Series((ours,)), against=against, peer=Series((peer,)), unit="MiB")
