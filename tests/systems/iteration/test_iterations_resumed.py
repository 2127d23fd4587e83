"""A run that was interrupted, and one that cannot begin."""

from __future__ import annotations

import asyncio

import pytest

from sidecar.hosts.ports import AgentResult, AgentTask
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.goal import GoalStatus, GoalTerms
from sidecar.kernel.log import RunIterationBegan, RunIterationEnded
from sidecar.systems.iteration.loop import INTERRUPTED_OUTCOME
from sidecar.work.progress import BudgetUsed, IterationStarted, RunStarted
from support.cases import complete, incomplete
from support.fakes import LIMIT, Fakes
from support.run_scene import GOAL, KEY, UNKEPT, Scene, agents, made, worked


@pytest.fixture
def fakes() -> Fakes:
    return made(UNKEPT)


# --- interrupted, and on again ---


async def interrupted(scene: Scene) -> None:
    """Cancel the run while its agent works."""
    begun = asyncio.Event()

    async def work(_task: AgentTask) -> AgentResult:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    scene.agents = agents(work)
    task = asyncio.create_task(scene.run().run())
    async with asyncio.timeout(LIMIT):
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_an_interrupted_run_goes_on_with_what_was_kept_and_spent(fakes: Fakes) -> None:
    fakes.judge.script(incomplete("the lexer drops them"), incomplete("the docs"), complete("E1"))
    first = Scene(fakes, worked(fakes), most=2)
    first.agents = agents(worked(fakes))
    await first.play()
    assert fakes.goal(KEY).status is GoalStatus.EXHAUSTED

    second = first.again(most=4)
    await interrupted(second)
    last, facts = second.hooks.ran[-1]
    assert (last, facts["outcome"]) == ("after_session", INTERRUPTED_OUTCOME)
    begun, left = second.overseer.kept
    assert isinstance(begun, RunIterationBegan)
    assert left == RunIterationEnded(number=begun.number, decided=INTERRUPTED_OUTCOME)
    assert fakes.goal(KEY).status is GoalStatus.ACTIVE
    assert fakes.state(KEY).active_since is None
    assert fakes.goal(KEY).spent.continuations == 1

    third = first.again(worked(fakes))
    ended = await third.play()
    assert ended.outcome == "achieved"
    assert third.all(RunStarted)[0].resumed
    assert third.all(RunStarted)[0].most == 4


async def test_what_an_interrupted_agent_was_told_is_told_to_the_next_one_and_charged_once(
    fakes: Fakes,
) -> None:
    fakes.judge.script(incomplete("the lexer drops them"), complete("E1"))
    scene = Scene(fakes)

    async def work(task: AgentTask) -> AgentResult:
        if task.prompt == "iteration 2":
            raise asyncio.CancelledError
        fakes.workspace.tree = "moved"
        return AgentResult(said="x", exit_code=0)

    scene.agents = agents(work)
    with pytest.raises(asyncio.CancelledError):
        await scene.play()
    again = scene.again(worked(fakes))
    await again.play()
    assert [each.iteration for each in again.all(IterationStarted)] == [2]
    assert "the lexer drops them" in again.prompts[0].feedback
    assert fakes.goal(KEY).spent.continuations == 1


async def test_a_goal_that_is_refused_starts_no_agent(fakes: Fakes) -> None:
    scene = Scene(fakes, worked(fakes), goal=GoalTerms(condition="x" * 4001))
    with pytest.raises(BadInputError, match="4000 are allowed"):
        await scene.play()
    assert scene.agents.errands == []


async def test_a_switched_off_supervisor_runs_nothing(fakes: Fakes) -> None:
    fakes.switches.turn(on=False, project=None)
    scene = Scene(fakes, worked(fakes))
    with pytest.raises(BadInputError, match="off"):
        await scene.play()
    assert scene.agents.errands == []


async def test_a_run_ends_before_an_agent_that_its_money_would_not_pay_and_goes_on_with_more(
    fakes: Fakes,
) -> None:
    fakes.judge.script(incomplete("one"), incomplete("two"), complete("E1"))
    scene = Scene(fakes, worked(fakes, tokens=90, cents=40.0))
    scene.budget.max_cents = 100.0
    ended = await scene.play()
    assert (ended.outcome, ended.iterations, ended.tokens, ended.cents) == ("exhausted", 2, 180, 80.0)
    assert "80 of 100 cents are taken, and an agent took up to 40" in ended.detail
    assert ended.then == "supervisor run --session demo --max-cents 200 -- AGENT"
    assert scene.all(BudgetUsed) == [BudgetUsed(what="cents", used=80.0, limit=100.0)]
    assert fakes.services.spending.today().cents == 80.0
    again = scene.again(worked(fakes, cents=30.0))
    again.budget.count(180, 80.0)  # as the log tells
    again.budget.max_cents = 200.0
    over = await again.play()
    assert (again.all(RunStarted)[0].cents, over.outcome, over.iterations, over.cents) == (
        80.0, "achieved", 1, 110.0,
    )  # fmt: skip


async def test_an_iteration_or_the_time_that_is_nearly_the_last_is_told(fakes: Fakes) -> None:
    fakes.judge.script(*(incomplete(f"part {number}") for number in range(9)))
    goal = GoalTerms(condition=GOAL, checks=("make",), max_seconds=100)

    def work(task: AgentTask) -> AgentResult:
        fakes.clock.advance(21.0)
        return worked(fakes)(task)  # type: ignore[return-value]

    scene = Scene(fakes, work, most=5, goal=goal)
    await scene.play()
    assert [(what.what, what.used, what.limit) for what in scene.all(BudgetUsed)] == [
        ("iterations", 4, 5),
        ("time", 84.0, 100),
    ]
