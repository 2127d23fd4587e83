"""The loop of a run: agents, tasks and hooks until the goal holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from msgspec.structs import replace

from sidecar.hosts.ports import AgentResult, AgentTask
from sidecar.kernel.goal import GoalStatus, GoalTerms
from sidecar.kernel.journal import TaskStatus
from sidecar.kernel.log import RunIterationBegan, RunIterationEnded
from sidecar.kernel.orders import Order
from sidecar.kernel.runs import StopDecision
from sidecar.systems.iteration.journals import SessionJournals
from sidecar.systems.iteration.loop import AgentLoop
from sidecar.systems.iteration.policy import journal
from sidecar.systems.iteration.policy.loop import HOOKED_TASKS_LIMIT
from sidecar.work.progress import (
    AgentEnded,
    AgentPrinted,
    HookRan,
    IterationJudged,
    IterationStarted,
    RunFinished,
    RunStarted,
    RunWarning,
    TaskCompleted,
)
from support.cases import complete, incomplete
from support.fakes import Fakes
from support.run_scene import GOAL, KEY, SECRET, TOKEN, UNKEPT, Scene, agents, made, worked
from support.scripted_gates import FAILED, PASSED


@pytest.fixture
def fakes() -> Fakes:
    return made(UNKEPT)


# --- the way to a goal ---


async def test_a_fresh_agent_is_started_with_what_the_judge_missed_until_the_goal_holds(fakes: Fakes) -> None:
    fakes.judge.script(incomplete("the lexer drops them"), complete("E1"))
    scene = Scene(fakes, worked(fakes))
    ended = await scene.play()
    assert (ended.outcome, ended.exit_code, ended.iterations) == ("achieved", 0, 2)
    assert [task.prompt for task in scene.agents.errands] == ["iteration 1", "iteration 2"]
    first, second = scene.prompts
    assert (first.goal, first.spec, first.feedback, first.tools) == (
        GOAL, "Comments begin with #.", "", "supervisor",
    )  # fmt: skip
    assert "the lexer drops them" in second.feedback
    goal = fakes.goal(KEY)
    assert (goal.status, goal.spent.continuations) == (GoalStatus.ACHIEVED, 1)
    assert scene.all(RunStarted)[0].decides.startswith("`make` must pass; ")
    assert [type(each) for each in scene.told if not isinstance(each, HookRan)] == [
        RunStarted,
        *(IterationStarted, AgentPrinted, AgentEnded, IterationJudged),
        *(IterationStarted, AgentPrinted, AgentEnded, IterationJudged),
        RunFinished,
    ]


async def test_a_check_that_failed_at_five_stops_and_passes_now_achieves_a_goal_in_words(
    fakes: Fakes,
) -> None:
    failing = [replace(FAILED, failures=(f"{left} parts are left",)) for left in range(5)]
    fakes.gates.script("make", *failing, PASSED)
    fakes.judge.script(complete("E1"))
    ended = await Scene(fakes, worked(fakes)).play()
    assert (ended.outcome, ended.iterations) == ("achieved", 6)
    assert ended.detail.startswith("`make` would have failed without the work, and passes")


@pytest.mark.parametrize("most", [1, 2, 4])
async def test_at_most_n_iterations_are_exactly_n_agents(fakes: Fakes, most: int) -> None:
    fakes.judge.script(*(incomplete(f"point {number}") for number in range(10)))
    scene = Scene(fakes, worked(fakes, tokens=1_100, cents=0.5), most=most)
    ended = await scene.play()
    assert (ended.outcome, ended.exit_code) == ("exhausted", 1)
    assert len(scene.agents.errands) == most
    assert fakes.goal(KEY).spent.continuations == most - 1
    assert (ended.tokens, ended.cents) == (1_100 * most, 0.5 * most)


async def test_without_a_number_the_budget_of_continuations_decides() -> None:
    fakes = made(replace(UNKEPT, max_attempts=2))
    fakes.judge.script(*(incomplete(f"point {number}") for number in range(10)))
    scene = Scene(fakes, worked(fakes))
    assert (await scene.play()).outcome == "exhausted"
    assert len(scene.agents.errands) == 3


@pytest.mark.proves("runs and the journal")
async def test_agents_that_move_nothing_are_a_stall(fakes: Fakes) -> None:
    fakes.judge.script(*(incomplete("the same point") for _ in range(10)))
    scene = Scene(fakes, lambda _task: AgentResult(said="I tried.", exit_code=0))
    ended = await scene.play()
    assert (ended.outcome, ended.exit_code) == ("stalled", 1)
    assert len(scene.agents.errands) == 4


@pytest.mark.parametrize("presses", [1, 2])
async def test_a_run_that_is_to_pause_ends_after_the_iteration_was_judged(fakes: Fakes, presses: int) -> None:
    fakes.judge.script(incomplete("one"), complete("E1"))
    loops: list[AgentLoop] = []

    def work(task: AgentTask) -> AgentResult:
        fakes.workspace.tree = f"{task.prompt} of {len(loops)}"
        if task.prompt == "iteration 1":
            assert [loops[0].pause() for _ in range(presses)][-1] is (presses == 1)
        return AgentResult(said="x", exit_code=0)

    scene = Scene(fakes, work)
    loops.append(scene.run())
    ended = await loops[0].run()
    if presses == 2:
        assert ended.outcome == "achieved"
        return
    assert (ended.outcome, ended.exit_code, ended.iterations) == ("paused", 1, 1)
    loops.append(loops[0])
    fakes.clock.advance(1.0)
    again = scene.again(work)
    assert (await again.play()).outcome == "achieved"
    assert "one" in again.prompts[0].feedback


@pytest.mark.proves("runs and the journal")
@pytest.mark.parametrize(("word", "outcome", "code"), [("pause", "paused", 1), ("clear", "cleared", 3)])
async def test_a_goal_that_is_taken_away_while_an_agent_works_ends_the_run(
    fakes: Fakes, word: str, outcome: str, code: int
) -> None:
    scene = Scene(fakes)

    async def work(_task: AgentTask) -> AgentResult:
        await scene.overseer.order(Order(name="goal", word=word))
        return AgentResult(said="Done.", exit_code=0)

    scene.agents = agents(work)
    ended = await scene.play()
    assert (ended.outcome, ended.exit_code) == (outcome, code)
    assert fakes.judge.cases == []


# --- agents that fail ---


@pytest.mark.proves("runs and the journal")
async def test_a_failing_agent_is_judged_by_what_it_left_and_three_in_a_row_end_the_run(fakes: Fakes) -> None:
    fakes.judge.script(*(incomplete(f"point {number}") for number in range(10)))

    def work(task: AgentTask) -> AgentResult:
        fakes.workspace.tree = task.prompt
        return AgentResult(said="Invalid API key", exit_code=1)

    scene = Scene(fakes, work)
    ended = await scene.play()
    assert (ended.outcome, ended.exit_code, ended.iterations) == ("agent-failed", 1, 3)
    assert "exit code 1" in ended.detail
    assert [name for name, _ in scene.hooks.ran].count("on_error") == 3


@pytest.mark.proves("runs and the journal")
async def test_an_agent_that_cannot_work_at_all_ends_the_run_at_once_and_is_not_judged(fakes: Fakes) -> None:
    broken = AgentResult(exit_code=1, trouble="error: unknown option '--nme'", unusable=True)
    scene = Scene(fakes, lambda _task: broken)
    ended = await scene.play()
    assert (ended.outcome, ended.detail, ended.iterations) == ("agent-failed", broken.trouble, 1)
    assert (fakes.judge.cases, scene.all(IterationJudged)) == ([], [])
    assert ("on_error", broken.trouble) in [(name, facts.get("error")) for name, facts in scene.hooks.ran]


async def test_an_agent_that_failed_after_it_met_the_goal_achieved_it(fakes: Fakes) -> None:
    fakes.judge.script(complete("E1"))
    scene = Scene(fakes, lambda _task: AgentResult(trouble="it did not end within 600 s"))
    assert (await scene.play()).outcome == "achieved"


async def test_a_good_agent_between_them_makes_failures_count_anew(fakes: Fakes) -> None:
    fakes.judge.script(*(incomplete(f"point {number}") for number in range(10)))
    codes = [1, 1, 0, 1, 1, 1]

    def work(task: AgentTask) -> AgentResult:
        fakes.workspace.tree = task.prompt
        return AgentResult(said="x", exit_code=codes.pop(0))

    assert (await Scene(fakes, work).play()).iterations == 6


async def test_an_agent_gets_what_is_left_of_the_goals_time(fakes: Fakes) -> None:
    fakes.judge.script(incomplete("one"), incomplete("two"))
    scene = Scene(fakes, goal=GoalTerms(condition=GOAL, checks=("make",), max_seconds=300))

    def work(task: AgentTask) -> AgentResult:
        fakes.clock.advance(200.0)
        fakes.workspace.tree = task.prompt
        return AgentResult(said="x", exit_code=0)

    scene.agents = agents(work)
    ended = await scene.play()
    assert [task.seconds for task in scene.agents.errands] == [300.0, 100.0]
    assert ended.outcome == "exhausted"


@pytest.mark.proves("runs and the journal")
async def test_what_agents_spend_counts_against_the_goals_tokens(fakes: Fakes) -> None:
    fakes.judge.script(incomplete("one"), incomplete("two"))
    terms = GoalTerms(condition=GOAL, checks=("make",), max_tokens=2_000)
    ended = await Scene(fakes, worked(fakes, tokens=1_100), goal=terms).play()
    assert (ended.outcome, ended.iterations, fakes.goal(KEY).spent.tokens) == ("exhausted", 2, 2_200)
    assert "2200 of 2000 tokens spent" in ended.detail


async def test_agents_work_without_tools_where_there_is_no_way_to_them(fakes: Fakes) -> None:
    fakes.judge.script(complete("E1"))
    scene = Scene(fakes, worked(fakes))
    scene.overseer.reachable = False
    assert (await scene.play()).outcome == "achieved"
    assert scene.agents.errands[0].access is None
    assert scene.prompts[0].tools == ""
    assert "no door" in scene.all(RunWarning)[0].text


# --- journal and hooks ---


@pytest.mark.proves("runs and the journal")
async def test_the_next_agent_sees_the_tasks_and_a_completed_one_is_told(fakes: Fakes) -> None:
    fakes.judge.script(incomplete("more"), complete("E1"))
    journals = SessionJournals(fakes.journals)

    def work(task: AgentTask) -> AgentResult:
        fakes.workspace.tree = task.prompt
        if task.prompt == "iteration 1":
            journals.change(
                KEY, lambda now: journal.add_tasks(now, (("write the lexer", TaskStatus.REMAINING),))
            )
        else:
            journals.change(KEY, lambda now: journal.set_task_status(now, "T1", TaskStatus.COMPLETED))
        journals.change(KEY, lambda now: journal.add_iteration_summary(now, f"did {task.prompt}", 0.0))
        return AgentResult(said="x", exit_code=0)

    scene = Scene(fakes, work)
    await scene.play()
    assert [task.content for task in scene.prompts[1].journal.tasks] == ["write the lexer"]
    assert [(one.iteration, one.content) for one in journals.of(KEY).summaries] == [
        (1, "did iteration 1"),
        (2, "did iteration 2"),
    ]
    assert [started.task for started in scene.all(IterationStarted)] == ["", "write the lexer"]
    assert [(done.id, done.content) for done in scene.all(TaskCompleted)] == [("T1", "write the lexer")]
    kept = [one for one in scene.overseer.kept if isinstance(one, RunIterationEnded)]
    assert [one.moved for one in kept] == [("T1 remaining",), ("T1 completed",)]
    assert ("on_task_completed", "write the lexer") in [
        (name, facts.get("task")) for name, facts in scene.hooks.ran
    ]


@pytest.mark.proves("runs and the journal")
async def test_hooks_run_around_session_and_iterations_and_what_they_print_is_prompted(fakes: Fakes) -> None:
    fakes.judge.script(incomplete("more"), complete("E1"))
    scene = Scene(fakes, worked(fakes))
    await scene.play()
    assert [name for name, _ in scene.hooks.ran] == [
        "before_session",
        "before_iteration", "after_iteration",
        "before_iteration", "after_iteration",
        "after_session",
    ]  # fmt: skip
    assert scene.prompts[0].before == "printed by before_session\nprinted by before_iteration"
    after = "printed by before_session\nprinted by after_iteration\nprinted by before_iteration"
    assert scene.prompts[1].before == after
    assert scene.hooks.ran[2][1]["decision"] == "continue"
    assert scene.hooks.ran[-1][1]["outcome"] == "achieved"


async def test_each_iteration_is_committed_before_it_is_judged_and_a_failure_is_told(fakes: Fakes) -> None:
    fakes.judge.script(incomplete("more"), complete("E1"))
    SessionJournals(fakes.journals).change(
        KEY, lambda now: journal.add_tasks(now, ((f"write the {SECRET}", TaskStatus.REMAINING),))
    )

    def finish(task: AgentTask) -> AgentResult:
        SessionJournals(fakes.journals).change(
            KEY, lambda now: journal.set_task_status(now, "T1", TaskStatus.COMPLETED)
        )
        return worked(fakes)(task)  # type: ignore[return-value]

    scene = Scene(fakes, worked(fakes), finish)
    committed = list[tuple[str, int]]()

    async def commit(message: str) -> str:
        committed.append((message, len(scene.all(IterationJudged))))
        return f"the linter fails on {SECRET}" if len(committed) == 2 else ""

    scene.commit = commit
    await scene.play()
    message = "write the ***\n\nsupervisor run demo, iteration"
    assert committed == [(f"{message} 1", 0), (f"{message} 2", 1)]
    assert [told.text for told in scene.all(RunWarning)] == ["the linter fails on ***"]
    ended = scene.again(lambda _: AgentResult(unusable=True, trouble="no login"), goal=scene.asked.goal)
    ended.commit = commit
    assert (await ended.play()).outcome == "agent-failed"
    assert len(committed) == 3  # what it did before it failed is no change of the user's in the next run


# --- what is shown, and what breaks ---


async def test_neither_a_secret_nor_the_token_of_the_tools_is_shown(fakes: Fakes) -> None:
    fakes.judge.script(complete("E1"))

    def leaking(_task: AgentTask) -> AgentResult:
        fakes.workspace.tree = "other"
        return AgentResult(said=f"{SECRET} and {TOKEN}", exit_code=1, trouble=f"{TOKEN} is refused")

    scene = Scene(fakes, leaking)
    scene.words = f"{SECRET} by {TOKEN}"
    await scene.play()
    (rested,) = scene.all(AgentEnded)
    assert scene.overseer.kept == [
        RunIterationBegan(number=1, iteration=1, most=17, prompt="*** by ***"),
        RunIterationEnded(
            number=1,
            decided="achieved",
            detail=scene.all(IterationJudged)[0].detail or scene.all(IterationJudged)[0].note,
            exit_code=1,
            trouble="*** is refused",
            output="*** and ***",
        ),
    ]
    assert (rested.said, rested.trouble) == ("*** and ***", "*** is refused")
    seen = (*scene.told, *scene.hooks.ran, *scene.overseer.kept)
    assert not any(SECRET in str(each) or TOKEN in str(each) for each in seen)


async def test_a_sidecar_that_fails_in_the_middle_ends_the_run_with_a_word(fakes: Fakes) -> None:
    scene = Scene(fakes, worked(fakes))

    async def fails(*_: object) -> StopDecision:
        raise ConnectionError("no sidecar listens")

    scene.overseer.stopped = fails  # type: ignore[assignment,method-assign]
    ended = await scene.play()
    assert (ended.outcome, ended.exit_code, ended.detail) == ("broken", 1, "no sidecar listens")
    assert scene.told[-1] == ended
    assert scene.hooks.ran[-1][1]["outcome"] == "broken"


async def test_a_task_that_a_hook_adds_before_an_iteration_is_told_to_its_agent(fakes: Fakes) -> None:
    fakes.judge.script(complete("E1"))
    scene = Scene(fakes, worked(fakes))
    run = scene.hooks.run

    async def adding(name: str, facts: Mapping[str, str], tell: Callable[[HookRan], None]) -> str:
        if name == "before_iteration":
            SessionJournals(fakes.journals).change(
                KEY, lambda one: journal.add_tasks(one, [("mend it", TaskStatus.REMAINING)])
            )
        return await run(name, facts, tell)

    scene.hooks.run = adding  # type: ignore[method-assign]
    await scene.play()
    assert [task.content for task in scene.prompts[0].journal.tasks] == ["mend it"]


async def test_an_agent_that_completes_a_hundred_tasks_at_once_holds_nobody_up(fakes: Fakes) -> None:
    fakes.judge.script(complete("E1"))

    def completing(task: AgentTask) -> AgentResult:
        SessionJournals(fakes.journals).change(
            KEY, lambda one: journal.add_tasks(one, [(f"task {n}", TaskStatus.COMPLETED) for n in range(100)])
        )
        return worked(fakes)(task)  # type: ignore[return-value]

    scene = Scene(fakes, completing)
    await scene.play()
    assert len(scene.all(TaskCompleted)) == 100
    names = [name for name, _ in scene.hooks.ran]
    assert names.count("on_task_completed") == HOOKED_TASKS_LIMIT
    kinds = [type(each) for each in scene.told]
    assert kinds.index(IterationJudged) < kinds.index(TaskCompleted)
