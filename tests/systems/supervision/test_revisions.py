"""A state that somebody else saved in between: changes are applied again, rulings on an old state are not."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from sidecar.kernel.effects import Continue, Rest, RestReason
from sidecar.kernel.session import Session
from sidecar.platform.ports import StaleSessionError
from sidecar.systems.supervision.policy.sessions import TOUCHED_FIELDS, rebase_ruling
from sidecar.systems.supervision.sessions import change_session
from support.cases import KEY, incomplete, stopped, with_goal
from support.fakes import FailingStore, Fakes, command, prompt
from support.table import over_table


class SharedStore(FailingStore):
    """A store in which somebody else saves right before the next saves of ours."""

    def __init__(self) -> None:
        super().__init__()
        self.others: list[Session] = []

    def save(self, session: Session) -> Session:
        others, self.others = self.others, []
        if others:
            self.put(others.pop(0))
        try:
            return super().save(session)
        finally:
            self.others = others


@pytest.fixture
def fakes() -> Fakes:
    fakes = Fakes(store=SharedStore())
    fakes.store.save(with_goal())
    return fakes


def meanwhile(fakes: Fakes, *others: Session) -> None:
    assert isinstance(fakes.store, SharedStore)
    fakes.store.others = list(others)


async def judging(fakes: Fakes) -> asyncio.Task[object]:
    """A stop whose judge thinks."""
    fakes.judge.script(incomplete())
    fakes.judge.hold()
    running = asyncio.create_task(fakes.tell(stopped()))
    await fakes.judge.asked.wait()
    return running


async def test_a_touch_while_a_stop_is_judged_loses_neither_the_ruling_nor_itself(fakes: Fakes) -> None:
    running = await judging(fakes)
    fakes.clock.advance(5.0)
    await fakes.tell(prompt(human=False, speaker=77))
    fakes.judge.released.set()
    assert isinstance(await running, Continue)
    assert (fakes.state().pending is not None, fakes.state().host_process) == (True, 77)
    assert fakes.state().active_since == fakes.clock.now()


async def test_a_ruling_on_a_state_that_is_gone_is_not_given(fakes: Fakes) -> None:
    running = await judging(fakes)
    fakes.store.put(with_goal("another one"))
    fakes.judge.released.set()
    answer = await running
    assert isinstance(answer, Rest)
    assert answer.reason is RestReason.UNJUDGED
    assert "this stop was not judged: the state could not be saved: it was changed meanwhile" in answer.note
    assert (fakes.goal().condition, fakes.state().pending) == ("another one", None)


async def test_a_command_that_somebody_is_always_ahead_of_is_refused(fakes: Fakes) -> None:
    meanwhile(fakes, *(replace(with_goal(), retry=number) for number in range(1, 9)))
    reply = await fakes.reply(command("pause"))
    assert reply.refused
    assert "it was changed meanwhile" in reply.text
    assert fakes.goal().status == "active"


async def test_a_change_of_what_is_stored_is_applied_to_what_somebody_else_saved(fakes: Fakes) -> None:
    meanwhile(fakes, replace(with_goal(), retry=9))
    change_session(fakes.store, KEY, lambda now: replace(now, unasked=now.unasked + 1))
    assert (fakes.state().retry, fakes.state().unasked) == (9, 1)
    meanwhile(fakes, *(replace(with_goal(), retry=number) for number in range(1, 9)))
    with pytest.raises(StaleSessionError):
        change_session(fakes.store, KEY, lambda now: replace(now, unasked=7))


BEGAN = with_goal()
RULED = replace(BEGAN, unasked=3, active_since=None, seen_at=9.0)


@over_table(
    ("now", "saved"),
    [
        (BEGAN, RULED),
        (replace(BEGAN, revision=4), replace(RULED, revision=4)),
        (
            replace(BEGAN, revision=1, active_since=5.0, seen_at=5.0, host_process=7, project="/p"),
            replace(RULED, revision=1, active_since=5.0, host_process=7, project="/p"),
        ),
        (replace(BEGAN, revision=1, retry=2), None),
        (with_goal("another one"), None),
        (replace(BEGAN, judged="m2"), None),
    ],
)
def test_a_ruling_is_carried_over_a_touch_and_over_nothing_else(now: Session, saved: Session | None) -> None:
    assert rebase_ruling(BEGAN, RULED, now) == saved


def test_touched_fields_are_fields() -> None:
    assert set(Session.__struct_fields__) >= TOUCHED_FIELDS
