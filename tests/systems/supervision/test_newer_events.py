"""The user wins: whatever is newer ends the judging of an older stop; a late verdict is dropped (law 1)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

import pytest

from sidecar.kernel.effects import Continue, HostAnswer, Rest, RestReason
from sidecar.kernel.events import AnyHostEvent, JudgeAnswered, SessionEnded, TurnFailed
from sidecar.kernel.evidence import Verdict
from sidecar.kernel.goal import GoalStatus
from sidecar.kernel.session import SessionKey
from sidecar.systems.supervision.policy.sessions import JudgingStep
from sidecar.systems.supervision.sessions import RunningJudgings, SupersededError
from support.cases import KEY, PROJECT, complete, incomplete, judged, stopped, with_goal
from support.fakes import LIMIT, Fakes, command, prompt
from support.scripted_gates import ScriptedEnding

ASKED = with_goal()
CHECKED = with_goal(checks=("make",))


@contextlib.asynccontextmanager
async def judging(
    fakes: Fakes, verdict: Verdict | JudgeAnswered | None = None
) -> AsyncIterator[asyncio.Task[HostAnswer]]:
    """Stop with a goal, and go on while the judge thinks."""
    fakes.store.save(ASKED)
    fakes.judge.hold()
    fakes.judge.script(verdict or complete())
    task = asyncio.create_task(fakes.supervisor.tell(stopped()))
    async with asyncio.timeout(LIMIT):
        await fakes.judge.asked.wait()
        yield task


@contextlib.asynccontextmanager
async def checking(fakes: Fakes) -> AsyncIterator[asyncio.Task[HostAnswer]]:
    """Stop with a goal, and go on while a gate runs."""
    fakes.store.save(CHECKED)
    fakes.gates.script("make", ScriptedEnding(released=asyncio.Event()))
    task = asyncio.create_task(fakes.supervisor.tell(stopped()))
    async with asyncio.timeout(LIMIT):
        await fakes.gates.started.wait()
        yield task


NEWER: dict[str, AnyHostEvent] = {
    "a prompt": prompt(),
    "the goal is cleared": command("clear"),
    "the goal is paused": command("pause"),
    "another goal": command("the docs build"),
    "the turn failed": TurnFailed(key=KEY, project=PROJECT, error="rate_limit"),
    "the session was closed": SessionEnded(key=KEY, project=PROJECT, reason="prompt_input_exit"),
    "another stop": stopped(read_only=True),
}


@pytest.mark.parametrize("what", NEWER)
async def test_something_newer_ends_the_judges_thinking_and_the_older_stop_rests(
    fakes: Fakes, what: str
) -> None:
    async with judging(fakes) as older:
        await fakes.tell(NEWER[what])
        assert await older == Rest(reason=RestReason.SUPERSEDED)
    assert fakes.judge.cancelled == 1
    assert "stop: superseded" in fakes.story()


@pytest.mark.parametrize("what", NEWER)
async def test_something_newer_ends_a_running_gate(fakes: Fakes, what: str) -> None:
    async with checking(fakes) as older:
        await fakes.tell(NEWER[what])
        assert await older == Rest(reason=RestReason.SUPERSEDED)
    assert fakes.gates.cancelled == ["make"]


@pytest.mark.proves("Claude Code")
@pytest.mark.parametrize(
    "look", [command(""), command("help"), command("", name="retry"), command("101", name="retry")]
)
async def test_a_mere_look_ends_no_judging(fakes: Fakes, look: AnyHostEvent) -> None:
    async with judging(fakes) as older:
        await fakes.tell(look)
        fakes.judge.released.set()
        answer = await older
    assert isinstance(answer, Rest)
    assert answer.reason is RestReason.JUDGED
    assert fakes.judge.cancelled == 0
    assert fakes.goal().status is GoalStatus.JUDGED


@pytest.mark.proves("Claude Code")
async def test_a_budget_typed_while_judging_counts_for_this_very_stop(fakes: Fakes) -> None:
    async with judging(fakes, incomplete()) as older:
        await fakes.tell(command("5", name="retry"))
        fakes.judge.released.set()
        answer = await older
    assert isinstance(answer, Continue)
    assert (answer.feedback.number, answer.feedback.budget) == (1, 5)
    assert fakes.judge.cancelled == 1
    assert fakes.state().retry == 5


async def test_a_helpers_rest_ends_nothing_of_the_session_that_it_helps(fakes: Fakes) -> None:
    async with judging(fakes) as older:
        helper = await fakes.tell(stopped(subagent=True))
        fakes.judge.released.set()
        answer = await older
    assert helper == Rest(reason=RestReason.SUBAGENT)
    assert isinstance(answer, Rest)
    assert answer.reason is RestReason.JUDGED


async def test_a_notice_of_the_host_about_background_work_is_nothing_newer(fakes: Fakes) -> None:
    async with judging(fakes) as older:
        await fakes.tell(prompt(human=False))
        fakes.judge.released.set()
        answer = await older
    assert isinstance(answer, Rest)
    assert answer.reason is RestReason.JUDGED


async def test_events_of_helpers_and_of_our_own_workers_are_nothing_newer(fakes: Fakes) -> None:
    async with judging(fakes) as older:
        await fakes.tell(prompt(subagent=True))
        await fakes.tell(prompt(ours=True))
        await fakes.tell(stopped(ours=True))
        fakes.judge.released.set()
        answer = await older
    assert isinstance(answer, Rest)
    assert answer.reason is RestReason.JUDGED


async def test_what_was_cleared_stays_cleared_whatever_the_judge_would_have_said(fakes: Fakes) -> None:
    async with judging(fakes) as older:
        await fakes.tell(command("clear"))
        fakes.judge.released.set()
        await older
    assert (fakes.goal().status, fakes.state().pending) == (GoalStatus.CLEARED, None)


@pytest.mark.parametrize("verdict", [complete(), incomplete()], ids=["complete", "incomplete"])
async def test_a_verdict_given_but_not_taken_yet_is_dropped_too(fakes: Fakes, verdict: Verdict) -> None:
    """The judging has ended, and in the same turn of the loop the user clears the goal."""
    waiting = asyncio.Event()

    async def clear_as_soon_as_the_judge_answers() -> None:
        waiting.set()
        await fakes.judge.released.wait()
        await fakes.supervisor.tell(command("clear"))

    async with judging(fakes, verdict) as older:
        user = asyncio.create_task(clear_as_soon_as_the_judge_answers())
        await waiting.wait()
        fakes.judge.released.set()
        await user
        assert await older == Rest(reason=RestReason.SUPERSEDED)
    assert fakes.judge.cancelled == 0
    assert (fakes.goal().status, fakes.state().pending) == (GoalStatus.CLEARED, None)


@pytest.mark.parametrize("at_work", [judging, checking], ids=["judge", "gate"])
async def test_a_prompt_that_is_queued_meanwhile_ends_the_judging_at_the_next_glance(
    fakes: Fakes, at_work: Callable[[Fakes], contextlib.AbstractAsyncContextManager[asyncio.Task[HostAnswer]]]
) -> None:
    async with at_work(fakes) as older:
        fakes.transcripts.waits = True
        fakes.clock.advance(1.0)
        assert await older == Rest(reason=RestReason.QUEUED)
    assert fakes.judge.cancelled + len(fakes.gates.cancelled) == 1
    assert fakes.story() == ["stop: prompt-queued"]
    assert fakes.state().judged == ""


@pytest.mark.proves("Claude Code")
@pytest.mark.parametrize("at_work", [judging, checking], ids=["judge", "gate"])
async def test_when_the_host_lets_go_all_work_ends_and_the_record_says_so(
    fakes: Fakes, at_work: Callable[[Fakes], contextlib.AbstractAsyncContextManager[asyncio.Task[HostAnswer]]]
) -> None:
    async with at_work(fakes) as older:
        before = fakes.state()
        older.cancel()
        with pytest.raises(asyncio.CancelledError):
            await older
    assert fakes.judge.cancelled + len(fakes.gates.cancelled) == 1
    (entry,) = fakes.record.read(KEY)
    assert (entry.decided, entry.detail) == ("interrupted", "the host let go")
    assert fakes.state() == before


async def test_a_session_that_nothing_runs_for_cannot_be_superseded() -> None:
    generations = RunningJudgings()
    generations.supersede(KEY)

    async def work() -> str:
        return "done"

    async with asyncio.timeout(LIMIT):
        assert await generations.judge(KEY, work()) == "done"
        generations.supersede(KEY)
        assert await generations.judge(KEY, work()) == "done"


async def test_whoever_is_superseded_learns_why() -> None:
    generations, begun = RunningJudgings(), asyncio.Event()

    async def work() -> None:
        begun.set()
        await asyncio.Event().wait()

    async with asyncio.timeout(LIMIT):
        task = asyncio.create_task(generations.judge(KEY, work()))
        await begun.wait()
        generations.supersede(KEY, RestReason.QUEUED)
        with pytest.raises(SupersededError) as newer:
            await task
    assert newer.value.reason is RestReason.QUEUED


async def test_a_prompt_that_waits_when_the_verdict_comes_keeps_the_goal_from_ending(fakes: Fakes) -> None:
    async with judging(fakes) as older:
        fakes.transcripts.waits = True
        fakes.judge.released.set()
        assert await older == Rest(reason=RestReason.QUEUED)
    assert fakes.goal().status is GoalStatus.ACTIVE


async def test_what_a_dropped_verdict_cost_is_charged_to_its_goal_all_the_same(fakes: Fakes) -> None:
    async with judging(fakes, judged(complete(), tokens=500, cents=7.0)) as older:
        fakes.transcripts.waits = True
        fakes.judge.released.set()
        assert await older == Rest(reason=RestReason.QUEUED)
    spent = fakes.goal().spent
    assert (spent.judge_tokens, spent.judge_cents) == (500, 7.0)
    assert fakes.spending.today().cents == 7.0
    assert fakes.record.read(KEY)[-1].judge_tokens == 500


async def test_a_question_that_was_taken_back_is_counted_for_it_may_have_cost(fakes: Fakes) -> None:
    async with judging(fakes) as older:
        await fakes.tell(prompt())
        await older
    assert (fakes.spending.today().calls, fakes.spending.today().unpriced) == (1, 1)


async def test_what_is_done_is_told_of_each_judging_while_it_lasts() -> None:
    judgings, step = RunningJudgings(), JudgingStep(doing="running `make`", since=1.0)

    async def judge() -> dict[SessionKey, JudgingStep]:
        judgings.note(KEY, step, str)
        return judgings.steps()

    assert await judgings.judge(KEY, judge()) == {KEY: step}
    assert judgings.steps() == {}
