"""`supervisor watch`: what is shown of sessions, and what each key orders."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from msgspec.structs import replace
from textual.pilot import Pilot
from textual.widgets import OptionList, Static

from sidecar.cli.watch_screen import WatchApp
from sidecar.kernel.held_edits import HeldEdit
from sidecar.kernel.journal import Journal, Note, NoteKind, Task
from sidecar.kernel.log import RecordEntry
from sidecar.platform.client import SidecarError
from sidecar.systems.supervision.people import BudgetReport, SessionReport, SessionSummary

HELD = HeldEdit(
    path="/p/rubric.md", summary="edited while the agent worked", digest="d1", before="a\n", now="b\n"
)


def summary(ident: str, doing: str) -> SessionSummary:
    return SessionSummary(
        session=ident, host="opencode", project="/p", status="active", condition="it \x1b[2Jworks",
        exit_code=1, doing=doing, since=0.0,
    )  # fmt: skip


SESSIONS = (summary("s1", "judging"), summary("s2", "waiting"))


ORDERS: list[tuple[tuple[str, ...], list[tuple[str, ...]]]] = [
    (("p",), [("opencode:s1", "goal", "pause")]),
    (("plus",), [("opencode:s1", "retry", "21")]),
    (("c", "y"), [("opencode:s1", "goal", "clear")]),
    (("c", "n"), []),
    (("a", "escape"), []),
    (("e", "y", "escape"), []),
    (("down", "r"), [("opencode:s2", "goal", "resume")]),
    (("a", "y"), [("/p", "d1")]),
]


class FakeDesk:
    """Two sessions of a folder; what was ordered is noted."""

    def __init__(self) -> None:
        self.done: list[tuple[str, ...]] = []
        self.waiting: tuple[HeldEdit, ...] = (HELD,)
        self.fails = ""
        self.sessions: tuple[SessionSummary, ...] = SESSIONS

    def report(self, session: str) -> SessionReport:
        if self.fails:
            raise SidecarError(self.fails)
        if not self.sessions:
            return SessionReport(text="Supervisor: no session is known for /p.")
        name = session.rpartition(":")[2] or "s1"
        return SessionReport(
            session=name, host="opencode", project="/p", status="active", text=f"Supervisor: goal of {name}",
            story=(RecordEntry(at=0.0, event="stop", decided="continue", detail="a [red]test fails"),),
            budget=BudgetReport(host="opencode", session=name, continuations=16, used=2),
            sessions=self.sessions,
            output="\n".join(f"test {number} \x1b[2Jruns" for number in range(100)),
            journal=Journal(
                tasks=(Task(id="T1", content="write it"),),
                notes=(Note(id="N1", kind=NoteKind.TIP, content="use make", at=0.0),),
            ),
        )  # fmt: skip

    def order(self, session: str, name: str, arguments: str) -> str:
        self.done.append((session, name, arguments))
        return f"done: {name} {arguments}"

    def explain(self, session: str) -> str:
        return f"the story of {session}"

    def held(self, project: str) -> tuple[HeldEdit, ...]:
        return self.waiting if project == "/p" else ()

    def accept(self, project: str, digests: tuple[str, ...]) -> str:
        self.done.append((project, *digests))
        return "accepted"


@asynccontextmanager
async def screen(desk: FakeDesk, size: tuple[int, int] = (80, 24)) -> AsyncIterator[Pilot[None]]:
    app = WatchApp(desk)
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        yield pilot


async def settled(pilot: Pilot[None]) -> None:
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


async def press(pilot: Pilot[None], *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
        await settled(pilot)


def detail(pilot: Pilot[None]) -> str:
    return str(pilot.app.screen_stack[0].query_one("#detail", Static).render())


def said(pilot: Pilot[None]) -> str:
    return str(pilot.app.screen_stack[0].query_one("#said", Static).render())


async def test_the_session_that_matters_is_shown_and_another_when_it_is_chosen() -> None:
    async with screen(FakeDesk()) as pilot:
        names = pilot.app.query_one("#sessions", OptionList)
        assert (names.option_count, names.highlighted) == (2, 0)
        for text in ("goal of s1", "T1", "write it", "N1, tip: use make", "a [red]test fails", "test 99"):
            assert text in detail(pilot)
        assert "test 91" not in detail(pilot)
        assert "\x1b" not in detail(pilot)
        await press(pilot, "down")
        assert "goal of s2" in detail(pilot)
        assert names.highlighted == 1


async def test_each_key_orders_and_what_is_not_confirmed_is_not_done() -> None:
    desk = FakeDesk()
    async with screen(desk) as pilot:
        for keys, done in ORDERS:
            desk.done.clear()
            await press(pilot, *keys)
            assert desk.done == done, keys
        assert said(pilot) == "accepted"


async def test_the_difference_of_an_edit_and_the_story_of_a_decision_are_shown() -> None:
    async with screen(FakeDesk()) as pilot:
        await press(pilot, "a")
        shown = str(pilot.app.screen.query_one(Static).render())
        assert "-a" in shown
        assert "+b" in shown
        await press(pilot, "escape", "e")
        assert "the story of opencode:s1" in str(pilot.app.screen.query_one(Static).render())


async def test_where_nothing_is_known_or_nobody_answers_it_is_said() -> None:
    desk = FakeDesk()
    desk.sessions, desk.waiting = (), ()
    async with screen(desk) as pilot:
        assert "no session is known" in detail(pilot)
        await press(pilot, "a")
        assert "nothing waits" in said(pilot)
        desk.fails = "no sidecar answers"
        await press(pilot, "p")
        desk.fails = ""
    desk.sessions = SESSIONS
    desk.fails = "no sidecar answers\x1b[2J"
    async with screen(desk) as pilot:
        assert said(pilot).startswith("no sidecar answers")
        assert "\x1b" not in said(pilot)


async def test_of_many_sessions_the_chosen_one_stays_chosen() -> None:
    desk = FakeDesk()
    desk.sessions = tuple(replace(SESSIONS[0], session=f"s{number}") for number in range(200))
    async with screen(desk) as pilot:
        names = pilot.app.query_one("#sessions", OptionList)
        await press(pilot, "down")
        desk.sessions = (replace(SESSIONS[0], session="new"), *desk.sessions)
        await press(pilot, "p")
        assert names.highlighted is not None
        assert names.get_option_at_index(names.highlighted).id == "opencode:s2"
