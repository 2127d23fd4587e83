"""Which session an event belongs to, as hosts really tell it: facts/claude-code.md, section 9."""

from __future__ import annotations

from typing import Any

import pytest

from sidecar.kernel.effects import NoReply
from sidecar.kernel.events import AnyHostEvent, SessionEnded, SessionOrigin, TurnFailed
from sidecar.kernel.goal import Goal, GoalStatus
from sidecar.kernel.session import Session, SessionKey
from sidecar.kernel.settings import Settings
from sidecar.systems.supervision import sessions
from sidecar.systems.supervision.environments import digest_environment
from support.cases import KEY, PROJECT, after, said, session, stopped, with_goal
from support.fakes import ENVIRONMENT, Fakes, command, prompt, started
from support.memory_stores import FixedConfiguration

OLD, NEW = KEY, SessionKey(host=KEY.host, id="s2")
PID = 4711
USED = session(goal=after(9, lifetime=42), retry=20, serial=9, stalls=2)
COPY = Session(key=NEW, project=PROJECT, goal=after(0, lifetime=42), retry=20)


def goal_of(fakes: Fakes, key: SessionKey) -> Goal | None:
    state = fakes.store.load(key)
    return state.goal if state else None


async def tell(fakes: Fakes, *events: AnyHostEvent) -> None:
    for event in events:
        await fakes.tell(event)


def ended(key: SessionKey, reason: str = "other") -> SessionEnded:
    return SessionEnded(key=key, project=PROJECT, host_pid=PID, reason=reason)


async def test_a_new_session_has_no_goal_and_no_state_before_something_happens(fakes: Fakes) -> None:
    await tell(fakes, started(SessionOrigin.STARTUP, host_pid=PID))
    assert fakes.store.load(KEY) is None
    await tell(fakes, prompt(host_pid=PID))
    now, counts = fakes.clock.now(), digest_environment(ENVIRONMENT)
    assert fakes.state() == Session(
        key=KEY,
        project=PROJECT,
        active_since=now,
        active_from=fakes.clock.awake(),
        seen_at=now,
        environment=counts,
    )


HERE = "on. To hold the agent to a goal, type: /supervisor:goal all tests pass"
SHADOW = "shadow mode: nothing is sent back, only recorded. Type in a shell: supervisor on"
STARTUP = SessionOrigin.STARTUP
GREETINGS: dict[str, tuple[str, Settings, bool, SessionOrigin, dict[str, Any]]] = {
    "a new session": (HERE, Settings(), True, STARTUP, {}),
    "shadow mode": (SHADOW, Settings(mode="shadow"), True, STARTUP, {}),
    "no lines of facts are wanted": ("", Settings(facts_line=False), True, STARTUP, {}),
    "nobody looks": ("", Settings(), True, STARTUP, {"headless": True}),
    "a conversation was cleared": ("", Settings(), True, SessionOrigin.CLEAR, {}),
    "a subagent": ("", Settings(), True, STARTUP, {"subagent": True}),
    "switched off": ("", Settings(), False, STARTUP, {}),
}


@pytest.mark.parametrize("case", GREETINGS)
async def test_a_session_that_begins_says_once_that_supervisor_is_on(case: str) -> None:
    said, settings, on, origin, given = GREETINGS[case]
    fakes = Fakes(configuration=FixedConfiguration(settings))
    fakes.switches.turn(on=on, project=None)
    answer = await fakes.tell(started(origin, host_pid=PID, **given))
    assert answer == NoReply(note=said and f"Supervisor: {said}")
    await tell(fakes, prompt(host_pid=PID))
    assert await fakes.tell(started(STARTUP, host_pid=PID)) == NoReply()


@pytest.mark.parametrize("origin", [SessionOrigin.RESUME, SessionOrigin.COMPACT])
async def test_an_active_goal_greets_the_user_who_comes_back(fakes: Fakes, origin: SessionOrigin) -> None:
    fakes.store.save(with_goal())
    answer = await fakes.tell(started(origin, host_pid=PID))
    assert answer == NoReply(note="Supervisor: goal active: the parser accepts comments")


@pytest.mark.parametrize("status", sorted(set(GoalStatus) - {GoalStatus.ACTIVE}))
async def test_a_goal_that_is_not_active_greets_nobody(fakes: Fakes, status: GoalStatus) -> None:
    fakes.store.save(with_goal(status=status))
    assert await fakes.tell(started(SessionOrigin.RESUME, host_pid=PID)) == NoReply()


async def test_a_compacted_session_counts_on(fakes: Fakes) -> None:
    fakes.store.save(USED)
    await tell(fakes, started(SessionOrigin.COMPACT, host_pid=PID), prompt(host_pid=PID))
    assert fakes.goal() == USED.goal


async def test_a_cleared_conversation_is_a_fresh_session_without_a_goal(fakes: Fakes) -> None:
    fakes.store.save(USED)
    await tell(
        fakes,
        prompt(host_pid=PID),
        ended(OLD, "clear"),
        started(SessionOrigin.CLEAR, key=NEW, host_pid=PID),
        prompt(key=NEW, host_pid=PID),
    )
    assert goal_of(fakes, NEW) is None
    assert goal_of(fakes, OLD) == USED.goal


async def test_a_branch_takes_a_copy_and_leaves_its_parent_alone(fakes: Fakes) -> None:
    """/branch: the host closes the old session and announces a new id as resumed."""
    fakes.store.save(USED)
    await tell(fakes, prompt(host_pid=PID), ended(OLD))
    parent = fakes.state(OLD)
    await tell(fakes, started(SessionOrigin.RESUME, key=NEW, host_pid=PID), prompt(key=NEW, host_pid=PID))
    assert goal_of(fakes, NEW) == COPY.goal
    assert fakes.state(NEW).retry == 20
    assert fakes.state(OLD) == parent


FIRST: dict[str, AnyHostEvent] = {
    "a prompt": prompt(key=NEW, host_pid=PID),
    "a stop": stopped(key=NEW, host_pid=PID),
    "a command": command("status", key=NEW, host_pid=PID),
}


@pytest.mark.parametrize("first", FIRST)
async def test_a_forked_session_takes_a_copy_and_leaves_its_parent_alone(fakes: Fakes, first: str) -> None:
    """--fork-session: the host announces the old id, and then a new one speaks."""
    fakes.store.save(USED)
    await tell(fakes, started(SessionOrigin.RESUME, host_pid=PID), FIRST[first])
    child = goal_of(fakes, NEW)
    assert child is not None
    assert (child.condition, child.spent.continuations, child.lifetime) == (
        "the parser accepts comments",
        0,
        42,
    )
    assert fakes.state(OLD) == USED


async def test_a_parent_that_was_forked_counts_on_where_it_goes_on_itself(fakes: Fakes) -> None:
    fakes.store.save(USED)
    await tell(
        fakes,
        started(SessionOrigin.RESUME, host_pid=PID),
        prompt(key=NEW, host_pid=PID),
        prompt(key=OLD, host_pid=1),
    )
    assert fakes.goal(OLD) == USED.goal


async def test_a_continuation_on_its_way_to_the_parent_is_not_the_forks(fakes: Fakes) -> None:
    fakes.store.save(session(goal=after(3), pending=said()))
    await tell(fakes, started(SessionOrigin.RESUME, host_pid=PID), prompt(key=NEW, host_pid=PID))
    assert fakes.state(NEW).pending is None
    assert fakes.state(OLD).pending == said()


async def test_a_session_that_appears_in_another_process_is_nobodys_fork(fakes: Fakes) -> None:
    fakes.store.save(USED)
    await tell(fakes, prompt(host_pid=PID), prompt(key=NEW, host_pid=PID + 1))
    assert goal_of(fakes, NEW) is None


async def test_only_the_newest_processes_are_remembered(fakes: Fakes) -> None:
    fakes.store.save(USED)
    await tell(fakes, prompt(host_pid=PID))
    for number in range(sessions.MAX_PROCESSES):
        await tell(
            fakes,
            started(SessionOrigin.STARTUP, key=SessionKey(KEY.host, f"x{number}"), host_pid=10_000 + number),
        )
    await tell(fakes, prompt(key=NEW, host_pid=PID))
    assert goal_of(fakes, NEW) is None


async def test_helpers_of_the_agent_are_no_sessions(fakes: Fakes) -> None:
    fakes.store.save(USED)
    await tell(fakes, prompt(host_pid=PID), prompt(key=NEW, host_pid=PID, subagent=True))
    await tell(fakes, prompt(key=NEW, host_pid=PID, ours=True))
    assert fakes.store.load(NEW) is None


@pytest.mark.parametrize(
    ("event", "story"),
    [
        (ended(OLD, "clear"), "session-ended: noted"),
        (TurnFailed(key=OLD, project=PROJECT, error="rate_limit"), "turn-failed: noted"),
    ],
)
async def test_an_end_is_written_down_and_the_agent_counts_as_resting(
    fakes: Fakes, event: AnyHostEvent, story: str
) -> None:
    fakes.store.save(session(active_since=5.0))
    await tell(fakes, event)
    assert fakes.story() == [story]
    assert fakes.state().active_since is None


async def test_the_session_seen_last_comes_first(fakes: Fakes) -> None:
    await tell(fakes, prompt())
    fakes.clock.advance(1)
    await tell(fakes, prompt(key=NEW))
    assert fakes.store.known() == (NEW, OLD)
