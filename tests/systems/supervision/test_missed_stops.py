"""A turn that ended, by the host's record, and no stop was reported: an agent may have switched hooks off."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from sidecar.kernel.effects import CommandReply, NoReply, Rest
from sidecar.kernel.events import AnyHostEvent, SessionEnded, TurnFailed
from sidecar.kernel.session import SessionKey
from sidecar.systems.supervision.people import CommandLineService, SessionSelector
from sidecar.systems.supervision.policy.sessions import MISSED_STOP, needs_person
from sidecar.systems.supervision.sessions import STOP_GRACE_S
from support.cases import KEY, PROJECT, stopped, with_goal
from support.fakes import Fakes, command, prompt

pytestmark = pytest.mark.proves("crashes and bad input")

OTHER = SessionKey("claude-code", "s2")


async def at_work(fakes: Fakes) -> None:
    """A goal, and an agent that ended its turn a minute ago, five seconds after the prompt."""
    fakes.store.put(with_goal())
    await fakes.tell(prompt(transcript="/t.jsonl"))
    fakes.transcripts.end = fakes.clock.now() + 5
    fakes.clock.advance(60)


def doing(fakes: Fakes) -> tuple[str, str]:
    """What `status`, `watch` and the page say that the session does."""
    activity = (
        CommandLineService(fakes.services, fakes.supervisor).report(SessionSelector(project=PROJECT)).activity
    )
    assert activity
    return activity.state, activity.detail


async def test_a_turn_whose_stop_was_never_reported_waits_for_a_person_and_is_told_once(fakes: Fakes) -> None:
    await at_work(fakes)
    assert doing(fakes) == ("waiting", MISSED_STOP)
    assert needs_person("active", "waiting")
    told = await fakes.tell(prompt(prompt_id="p2"))
    assert isinstance(told, NoReply)
    assert MISSED_STOP in told.note
    fakes.clock.advance(60)
    again = await fakes.tell(prompt(prompt_id="p3"))
    assert again == NoReply()


async def test_it_is_told_by_a_command_and_by_what_another_session_reports(fakes: Fakes) -> None:
    await at_work(fakes)
    await fakes.tell(prompt(key=OTHER))
    fakes.transcripts.end = 0.0
    rested = await fakes.tell(stopped(key=OTHER))
    assert isinstance(rested, Rest)
    assert MISSED_STOP in rested.note
    await at_work(fakes)
    answered = await fakes.tell(command("status"))
    assert isinstance(answered, CommandReply)
    assert MISSED_STOP in answered.text


def goes_on(fakes: Fakes) -> None:
    fakes.transcripts.end = 0.0


def just_ended(fakes: Fakes) -> None:
    fakes.transcripts.end = fakes.clock.now() - STOP_GRACE_S + 1


def is_the_turn_before(fakes: Fakes) -> None:
    fakes.transcripts.end -= 6


def has_no_goal(fakes: Fakes) -> None:
    fakes.store.put(replace(fakes.state(), goal=None))


def is_switched_off(fakes: Fakes) -> None:
    fakes.switches.turn(on=False, project=PROJECT)


@pytest.mark.parametrize("honest", [goes_on, just_ended, is_the_turn_before, has_no_goal, is_switched_off])
async def test_nothing_is_missing_where(fakes: Fakes, honest: Callable[[Fakes], None]) -> None:
    await at_work(fakes)
    honest(fakes)
    assert MISSED_STOP not in doing(fakes)
    assert await fakes.tell(prompt(prompt_id="p2")) == NoReply()


@pytest.mark.parametrize(
    "event",
    [
        stopped(),
        stopped(read_only=True),
        TurnFailed(key=KEY, project=PROJECT, error="rate_limit"),
        SessionEnded(key=KEY, project=PROJECT, reason="clear"),
    ],
    ids=["a stop", "a stop in plan mode", "a failed turn", "the end of the session"],
)
async def test_a_turn_that_was_reported_is_not_missed(fakes: Fakes, event: AnyHostEvent) -> None:
    fakes.store.put(with_goal())
    await fakes.tell(prompt(transcript="/t.jsonl"))
    fakes.transcripts.end = fakes.clock.now() + 5
    fakes.clock.advance(6)
    await fakes.tell(event)
    fakes.clock.advance(60)
    assert MISSED_STOP not in doing(fakes)
