"""A made-up week of several projects, written into a state folder, for the pictures of the local page.

What is kept of it is what real sessions leave: states of sessions, stops and payments in the log.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from sidecar.kernel.goal import Goal, GoalSpending, GoalStatus
from sidecar.kernel.log import EventData, JudgingPaid, LoggedEvent, StopJudged, WorkerRan
from sidecar.kernel.session import Session, SessionKey
from sidecar.platform.event_log import EventLogFile
from sidecar.platform.ports import SystemClock
from sidecar.platform.session_store import SessionFiles

HOUR_S: Final = 3600.0
FAILED: Final = "tests/test_cart.py::test_a_tenth_is_taken_off: assert 29.9 == 27.0"


class Story(Struct, frozen=True):
    """A session: where, its goal, how it stands since how many hours, and its stops in short."""

    host: str
    project: str
    condition: str
    status: GoalStatus
    hours: float
    stops: str
    """Letters of RULINGS, oldest first."""


RULINGS: Final = {
    "s": ("continue", "gates", FAILED),
    "a": ("achieved", "gates", "`python -m pytest -q` passed (42 tests) on the files as they are"),
    "j": ("judged", "judge", "every point of the goal holds; no check that ran shows it"),
    "t": ("stalled", "gates", f"4 continuations tried, nothing moved in the last 3; still missing: {FAILED}"),
    "x": ("exhausted", "gates", "16 of 16 continuations spent; still missing: 3 tests fail"),
    "w": ("waiting", "judge", "Shall prices in the cart be rounded per line, or once at the end?"),
    "u": ("unjudged", "judge", "the model service refused the credentials (401)"),
    "r": ("only-talk", "skip rules", "nothing was changed and nothing ran"),
}
WEEK: Final = (
    Story(
        "claude-code",
        "shop-api",
        "The discount of ten percent is taken off",
        GoalStatus.STALLED,
        0.4,
        "rsssst",
    ),
    Story("opencode", "shop-web", "Prices in the cart are rounded", GoalStatus.ACTIVE, 0.7, "ssw"),
    Story(
        "claude-code",
        "ledger",
        "Import of bank files is idempotent",
        GoalStatus.EXHAUSTED,
        5.0,
        "s" * 16 + "x",
    ),
    Story("claude-code", "shop-api", "All tests pass with Python 3.14", GoalStatus.ACTIVE, 0.1, "srss"),
    Story("opencode", "shop-web", "Lint and types are clean", GoalStatus.ACHIEVED, 9.0, "ssra"),
    Story("command", "reports", "Every task of PLAN.md is done", GoalStatus.ACHIEVED, 22.0, "sssrssra"),
    Story("claude-code", "ledger", "The README explains the new import", GoalStatus.JUDGED, 30.0, "rsj"),
    Story("claude-code", "shop-api", "Search answers in 50 ms", GoalStatus.ACHIEVED, 54.0, "ssa"),
    Story("opencode", "reports", "PDF export keeps the footers", GoalStatus.ACHIEVED, 78.0, "srssura"),
    Story("claude-code", "shop-web", "", GoalStatus.CLEARED, 100.0, "rrr"),
    Story("claude-code", "ledger", "Amounts are stored as integers", GoalStatus.ACHIEVED, 150.0, "sssa"),
    Story("opencode", "shop-api", "Orders can be cancelled", GoalStatus.ACHIEVED, 200.0, "sra"),
)


def fill_week(state: Path, home: str, now: float) -> None:
    """Write the week that ends at `now` into a state folder."""
    events = sorted((event for story in WEEK for event in _events(story, home, now)), key=lambda one: one.at)
    log = EventLogFile(state, SystemClock())
    for event in events:
        log.append(event)
    store = SessionFiles(state)
    for story in WEEK:
        goal = Goal(
            id=story.project,
            condition=story.condition,
            status=story.status,
            set_at=now - story.hours * HOUR_S - 7200,
            last_reason=RULINGS[story.stops[-1]][2] if story.stops[-1] in "tx" else "",
            spent=GoalSpending(
                continuations=story.stops.count("s"), tokens=184_000, seconds=820, judge_cents=3.2
            ),
        )
        store.save(
            Session(
                key=_key(story),
                project=f"{home}/{story.project}",
                goal=goal if story.condition else None,
                seen_at=now - story.hours * HOUR_S,
                active_since=now - 90 if story.hours < 0.2 else None,  # noqa: PLR2004 - the one at work
            )
        )


def _key(story: Story) -> SessionKey:
    drawn = random.Random(story.condition + story.project)  # noqa: S311 - a made-up name
    return SessionKey(story.host, f"{drawn.getrandbits(32):08x}-{drawn.getrandbits(16):04x}")


def _events(story: Story, home: str, now: float) -> Iterator[LoggedEvent]:
    drawn = random.Random(story.stops + story.project)  # noqa: S311 - it must be the same each time
    at = now - story.hours * HOUR_S
    for short in reversed(story.stops):
        decided, stage, detail = RULINGS[short]
        failed = short in "stx"
        flaky = story.project == "shop-web" and drawn.random() < 0.3  # noqa: PLR2004 - seldom
        ran = (
            ()
            if short in "rw"
            else (
                "tests: failed" if failed else f"tests: passed{' (flaky)' if flaky else ''}",
                "lint: passed",
            )
        )
        stop = StopJudged(
            decided=decided,
            detail=detail,
            stage=stage,
            tree=f"{drawn.getrandbits(64):040x}",
            gates=ran,
            gate_seconds=tuple(round(base + drawn.random() * base, 1) for base in (6.0, 1.2)[: len(ran)]),
            judge="cli" if stage == "judge" else "",
            judge_tokens=2400 if stage == "judge" else 0,
            judge_cents=0.8 if stage == "judge" else None,
            seconds=drawn.random() * 20,
        )
        paid: list[EventData] = [
            JudgingPaid(tokens=drawn.randrange(1500, 9000), cents=drawn.random() * 3, calls=1)
        ]
        if story.host == "command":
            paid.append(
                WorkerRan(backend="claude", model="large", tokens=21_000, cents=6.5, calls=1, seconds=80.0)
            )
        for data in (stop, *paid):
            key = _key(story) if isinstance(data, StopJudged) else None
            project = f"{home}/{story.project}"
            yield LoggedEvent(at=at, system="supervision", session=key, project=project, data=data)
        at -= drawn.choice((90, 240, 700, 2400))
