"""Sessions of a host that holds many in one process, and helpers as sessions of their own: OpenCode's."""

from __future__ import annotations

import asyncio
import errno
from typing import Final

import pytest

from sidecar.kernel.effects import NoReply, Rest, RestReason
from sidecar.kernel.events import AnyHostEvent, CommandTyped, SessionDeleted, SessionOrigin, TurnFailed
from sidecar.kernel.goal import GoalStatus
from sidecar.kernel.session import SessionKey
from support.cases import PROJECT, after, complete, session, stopped, turn
from support.fakes import LIMIT, FailingStore, Fakes, command, prompt, started

KEY: Final = SessionKey(host="opencode", id="s1")
OTHER: Final = SessionKey(host="opencode", id="s2")
USED: Final = session(key=KEY, goal=after(9, lifetime=42), retry=20)
CONDITION: Final = "the parser accepts comments"


def deleted(key: SessionKey = KEY, *, subagent: bool = False) -> SessionDeleted:
    return SessionDeleted(key=key, project=PROJECT, subagent=subagent)


class StuckStore(FailingStore):
    """A store on a disk that lets nothing go."""

    def forget(self, key: SessionKey) -> None:
        raise OSError(errno.EROFS, "Read-only file system", key.id)


class TestDeleting:
    async def test_a_deleted_session_is_forgotten_but_for_its_record(self, fakes: Fakes) -> None:
        fakes.store.save(USED)
        await fakes.tell(prompt(key=KEY))
        assert await fakes.tell(deleted()) == NoReply()
        assert fakes.store.load(KEY) is None
        assert fakes.story(KEY) == ["session-deleted: forgotten"]

    async def test_a_deleted_helper_leaves_its_session_alone(self, fakes: Fakes) -> None:
        fakes.store.save(USED)
        assert await fakes.tell(deleted(subagent=True)) == NoReply()
        assert fakes.state(KEY) == USED
        assert fakes.story(KEY) == []

    async def test_deleting_ends_the_judging_and_nothing_is_kept_of_it(self, fakes: Fakes) -> None:
        fakes.store.save(session(key=KEY, goal=after(0)))
        fakes.judge.hold()
        judging = asyncio.create_task(fakes.supervisor.tell(stopped(key=KEY)))
        async with asyncio.timeout(LIMIT):
            await fakes.judge.asked.wait()
            await fakes.tell(deleted())
            assert await judging == Rest(reason=RestReason.SUPERSEDED)
        assert fakes.judge.cancelled == 1
        assert fakes.store.known() == ()
        assert sorted(fakes.story(KEY)) == ["session-deleted: forgotten", "stop: superseded"]

    async def test_a_prompt_just_before_brings_nothing_of_the_session_back(self, fakes: Fakes) -> None:
        async with asyncio.timeout(LIMIT):
            tell = fakes.supervisor.tell
            await asyncio.gather(tell(prompt(key=KEY)), tell(deleted()))
        assert fakes.store.known() == ()

    async def test_a_disk_that_cannot_be_written_says_nothing_to_the_host(self) -> None:
        assert await Fakes(store=StuckStore()).tell(deleted()) == NoReply()


class TestOneProcess:
    """`host_pid` is 0: a process with many sessions says nothing of which belong together."""

    NEWER: Final[dict[str, AnyHostEvent]] = {
        "a prompt": prompt(key=OTHER),
        "a command": command("", key=OTHER),
        "a stop": stopped(key=OTHER),
        "a failure": TurnFailed(key=OTHER, project=PROJECT, error="APIError"),
    }

    @pytest.mark.parametrize("origin", [SessionOrigin.STARTUP, SessionOrigin.RESUME])
    @pytest.mark.parametrize("newer", NEWER)
    async def test_a_goal_is_not_handed_on_to_the_session_that_appears_next(
        self, newer: str, origin: SessionOrigin, fakes: Fakes
    ) -> None:
        fakes.store.save(USED)
        await fakes.tell(started(SessionOrigin.RESUME, key=KEY))
        await fakes.tell(prompt(key=KEY))
        mine = fakes.state(KEY)
        await fakes.tell(started(origin, key=OTHER))
        await fakes.tell(self.NEWER[newer])
        assert fakes.state(OTHER).goal is None
        assert fakes.state(KEY) == mine

    async def test_a_session_of_an_earlier_process_goes_on_with_its_goal_and_counts_anew(
        self, fakes: Fakes
    ) -> None:
        fakes.store.save(USED)
        greeting = await fakes.tell(started(SessionOrigin.RESUME, key=KEY))
        await fakes.tell(prompt(key=KEY))
        assert greeting == NoReply(note=f"Supervisor: goal active: {CONDITION}")
        assert fakes.goal(KEY) == after(0, lifetime=42)


class TestHelpers:
    async def test_a_helper_that_stops_rests_and_its_session_is_untouched(self, fakes: Fakes) -> None:
        fakes.store.save(USED)
        assert (await fakes.rest(key=KEY, subagent=True)).reason is RestReason.SUBAGENT
        assert fakes.state(KEY) == USED
        assert fakes.judge.cases == []
        assert fakes.transcripts.reads == []

    async def test_a_helper_that_stops_does_not_end_the_judging_of_its_session(self, fakes: Fakes) -> None:
        fakes.store.save(session(key=KEY, goal=after(0)))
        fakes.judge.hold()
        fakes.judge.script(complete())
        judging = asyncio.create_task(fakes.supervisor.tell(stopped(key=KEY)))
        async with asyncio.timeout(LIMIT):
            await fakes.judge.asked.wait()
            assert (await fakes.rest(key=KEY, subagent=True)).reason is RestReason.SUBAGENT
            fakes.judge.released.set()
            answer = await judging
        assert isinstance(answer, Rest)
        assert answer.reason is RestReason.JUDGED

    @pytest.mark.parametrize(
        "event",
        [
            started(SessionOrigin.STARTUP, key=KEY, subagent=True),
            prompt(key=KEY, subagent=True),
            command("clear", key=KEY, subagent=True),
            TurnFailed(key=KEY, project=PROJECT, error="APIError", subagent=True),
            deleted(subagent=True),
        ],
        ids=lambda event: type(event).__name__,
    )
    async def test_nothing_else_that_a_helper_does_touches_its_session(
        self, event: AnyHostEvent, fakes: Fakes
    ) -> None:
        fakes.store.save(USED)
        assert await fakes.tell(event) == NoReply()
        assert fakes.state(KEY) == USED
        assert fakes.story(KEY) == []

    async def test_a_helper_does_not_use_up_what_its_sessions_next_stop_needs(self, fakes: Fakes) -> None:
        fakes.store.save(session(key=KEY, goal=after(0)))
        fakes.judge.script(complete())
        fakes.transcripts.script(turn(last_message_id="m1"))
        await fakes.rest(key=KEY, subagent=True)
        assert (await fakes.rest(key=KEY)).reason is RestReason.JUDGED


class TestUnfinished:
    async def test_a_rest_that_is_no_end_of_a_turn_is_let_go_and_the_goal_stays(self, fakes: Fakes) -> None:
        fakes.store.save(session(key=KEY, goal=after(2)))
        fakes.transcripts.script(turn(unfinished="the session was compacted", last_message_id="m1"))
        rest = await fakes.rest(key=KEY)
        assert (rest.reason, rest.detail) == (RestReason.UNFINISHED, "the session was compacted")
        assert (fakes.goal(KEY).status, fakes.goal(KEY).spent.continuations) == (GoalStatus.ACTIVE, 2)
        (entry,) = fakes.record.read(KEY)
        assert (entry.decided, entry.detail) == ("unfinished", "the session was compacted")

    async def test_the_end_of_the_turn_after_it_is_judged(self, fakes: Fakes) -> None:
        fakes.store.save(session(key=KEY, goal=after(2)))
        fakes.judge.script(complete())
        unfinished = turn(unfinished="the agent was not done", last_message_id="m1")
        fakes.transcripts.script(unfinished, turn(last_message_id="m1"))
        assert (await fakes.rest(key=KEY)).reason is RestReason.UNFINISHED
        assert (await fakes.rest(key=KEY)).reason is RestReason.JUDGED

    async def test_what_the_user_stopped_is_an_interruption_first(self, fakes: Fakes) -> None:
        fakes.store.save(session(key=KEY, goal=after(2)))
        fakes.transcripts.script(turn(unfinished="MessageAbortedError: Aborted", interrupted=True))
        assert (await fakes.rest(key=KEY)).reason is RestReason.INTERRUPTED


async def test_a_goal_counts_from_the_position_that_the_host_names(fakes: Fakes) -> None:
    fakes.transcripts.bytes = 1795295924066
    event = command("all tests pass", key=KEY)
    assert isinstance(event, CommandTyped)
    await fakes.reply(event)
    assert fakes.state(KEY).counted_to == 1795295924066
