"""The page and the watch with 1,000 sessions and 1,000,000 events: first paint, an hour of updates, memory.

Each is measured beside the same with 10 sessions and 1,000 events, in a sidecar of its own. An hour of
updates are the looks that a stream makes at its fastest, one every two seconds, and the reports that a watch
asks for, one every second; they are asked for one after the other.
"""

from __future__ import annotations

import http.client
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Final
from urllib.parse import urlsplit

import msgspec
from events import EVENTS, ROW, SESSIONS, bare
from measure import Figure, Report, Series, in_turn, rounds
from memory import resident
from msgspec import Struct
from stage import Line, Stage, staged

from sidecar.kernel.goal import Goal
from sidecar.kernel.session import Session, SessionKey
from sidecar.platform.event_log import INSERT
from sidecar.platform.session_store import SessionFiles

ROUNDS: Final = 20
FEW_SESSIONS, FEW_EVENTS = 10, 1000
LOOKS, REPORTS = 1800, 3600
"""Of an hour."""
DAY_S: Final = 86_400.0
CONFIGURATION: Final = "[log]\nkeep_days = 3650\nmax_megabytes = 65536\n"
WATCH: Final = """
import os, sys, time
begun = time.perf_counter()
from sidecar.cli.watch import watch
shown, sys.stdout = sys.stdout, open(os.devnull, "w")
watch.main([], standalone_mode=False)
print((time.perf_counter() - begun) * 1000, file=shown)
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmRSS")), file=shown)
"""


class Visit(Struct, frozen=True):
    """A browser that was let in: where, its path, and its cookie."""

    address: str
    room: str
    cookie: str

    def get(self, path: str) -> bytes:
        """Return a page. Raises RuntimeError."""
        there = http.client.HTTPConnection(self.address, timeout=60)
        there.request("GET", f"{self.room}{path}", headers={"Cookie": self.cookie})
        answer = there.getresponse()
        body = answer.read()
        there.close()
        if answer.status != http.HTTPStatus.OK:
            raise RuntimeError(f"{path}: {answer.status} {body.decode()}")
        return body


class Scene(Struct, frozen=True):
    """A sidecar with so much to show, and who looks."""

    stage: Stage
    visit: Visit
    line: Line
    newest: str

    def page(self, path: str) -> Callable[[], float]:
        """Milliseconds of a page."""
        return _timed(lambda: self.visit.get(path))

    def report(self) -> Callable[[], float]:
        """Milliseconds of what the watch asks for."""
        return _timed(self._report)

    def _report(self) -> None:
        self.line.send("report", {"session": "", "project": str(self.stage.project)})
        answer = self.line.receive()
        if b'"sessions":[{' not in answer:
            raise RuntimeError(answer.decode())

    def watch(self) -> tuple[float, float]:
        """Milliseconds until the watch has its first screen, and MiB that it holds then."""
        line = [self.stage.python, "-c", WATCH]
        environment = {name: value for name, value in self.stage.environment.items() if "CLAUDE" not in name}
        done = subprocess.run(  # noqa: S603 - our own line
            line, cwd=self.stage.project, env=environment, capture_output=True, check=True
        )
        took, kib = done.stdout.split()
        return float(took), int(kib) / 1024


def measured(*, quick: bool) -> Report:
    """Many and few, in turn; then an hour of many."""
    many = rounds(EVENTS, quick=quick)
    times = rounds(ROUNDS, quick=quick)
    with ExitStack() as stack:
        big = stack.enter_context(_scene(rounds(SESSIONS, quick=quick), many))
        small = stack.enter_context(_scene(FEW_SESSIONS, FEW_EVENTS))
        held = resident(big.stage.pid())
        against = f"{FEW_SESSIONS} sessions, {FEW_EVENTS:,} events"
        figures = [
            Figure(name=f"page: {name}", ours=ours, against=against, peer=peer)
            for name, path in (("overview", ""), ("checks", "checks"), ("a session", f"session?{big.newest}"))
            for ours, peer in [in_turn(times, big.page(path), small.page(path))]
        ]
        ours, peer = in_turn(times, big.report(), small.report())
        figures.append(Figure(name="watch: a report", ours=ours, against=against, peer=peer))
        paint, holds = (
            Series(each) for each in zip(*(big.watch() for _ in range(max(2, times // 4))), strict=True)
        )
        least, bare_holds = (
            Series(each) for each in zip(*(small.watch() for _ in paint.values), strict=True)
        )
        figures.append(Figure(name="watch: first screen", ours=paint, against=against, peer=least))
        figures.append(Figure(name="watch: memory", ours=holds, against=against, peer=bare_holds, unit="MiB"))
        for name, look, often in (("page", big.page(""), LOOKS), ("watch", big.report(), REPORTS)):
            before = resident(big.stage.pid())
            for _ in range(rounds(often, quick=quick)):
                look()
            after = Series((resident(big.stage.pid()),))
            figures.append(
                Figure(
                    name=f"{name}: the sidecar after an hour",
                    ours=after,
                    against="before",
                    peer=Series((before,)),
                    unit="MiB",
                )
            )
    return Report(tuple(figures), (f"the sidecar held {held:.1f} MiB before the first page",))


def _timed(work: Callable[[], object]) -> Callable[[], float]:
    def job() -> float:
        begun = time.perf_counter()
        work()
        return (time.perf_counter() - begun) * 1000

    return job


@contextmanager
def _scene(sessions: int, events: int) -> Iterator[Scene]:
    with staged() as stage:
        own = stage.home / ".config" / "supervisor" / "config.toml"
        own.parent.mkdir(parents=True)
        own.write_text(CONFIGURATION, encoding="utf-8")
        state, now = stage.run.parent, time.time()
        store = SessionFiles(state)
        for number in range(sessions):
            goal = Goal(id=f"g{number}", condition="all tests pass", set_at=now - DAY_S)
            key = SessionKey(ROW[1], f"session-{number}")
            store.save(Session(key=key, project=str(stage.project), goal=goal, seen_at=now - number))
        with bare(state) as connection:
            connection.execute("BEGIN")
            step = 20 * DAY_S / events
            rows = (
                (now - (events - at) * step, ROW[1], f"session-{at % sessions}", str(stage.project), *ROW[4:])
                for at in range(events)
            )
            connection.executemany(INSERT, rows)
            connection.execute("COMMIT")
        stage.start()
        with Line(stage) as line:
            line.send("dashboard", {})
            url = urlsplit(msgspec.json.decode(line.receive())["result"]["url"])
            entered = http.client.HTTPConnection(url.netloc, timeout=60)
            entered.request("GET", f"/?{url.query}")
            answer = entered.getresponse()
            cookie = (answer.getheader("Set-Cookie") or "").partition(";")[0]
            room = answer.read().decode().partition("url=")[2].partition('"')[0]
            yield Scene(stage, Visit(url.netloc, room, cookie), line, f"host={ROW[1]}&id=session-0")
