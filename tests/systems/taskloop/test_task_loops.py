"""The task loop on fakes: what each call answers, saves and tells, and where a person is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from sidecar.evidence.ports import TreeDifference
from sidecar.kernel.errors import ToolRuleError
from sidecar.kernel.events import SessionDeleted
from sidecar.kernel.evidence import FileChange, ProjectChanges
from sidecar.kernel.gate import CheckComparison, Gate, GateOrigin, Kind, Outcome
from sidecar.kernel.goal import Goal, Spending
from sidecar.kernel.journal import Author, Task, TaskStatus
from sidecar.kernel.loop import CouncilMember, CouncilProposal, GateVerdict, Loop, LoopState, LoopStatus
from sidecar.kernel.session import SessionKey
from sidecar.kernel.settings import ConfiguredGate, LoopSettings, ModelPrice, Settings
from sidecar.kernel.work import Standing, WorkVerdict
from sidecar.systems.iteration.journals import SessionJournals
from sidecar.systems.supervision.ports import OtherSystems
from sidecar.systems.supervision.supervisor import Supervisor
from sidecar.systems.taskloop import service
from sidecar.systems.taskloop.council import missing_members
from sidecar.systems.taskloop.reports import WorkerReport, build_gate_result, choose_gates
from sidecar.systems.taskloop.service import Briefing, Completion, TaskLoops, TaskRequest
from sidecar.systems.taskloop.states import KEPT as CHECKPOINTS
from support.cases import KEY, complete, gate_run, session
from support.fakes import Fakes, prompt
from support.memory_stores import FixedConfiguration
from support.scripted_gates import FAILED, PASSED
from support.table import over_table
from support.task_loops import loops_over

pytestmark = pytest.mark.proves("the loop")

TESTS = Gate(id="tests", command="pytest", why="a test", kind=Kind.TESTS, approved=True)
LINT = Gate(id="lint", command="ruff", why="a linter", kind=Kind.LINT, approved=True)
SCAN = Gate(id="security", command="scan", why="a scanner", kind=Kind.SECURITY, approved=True)
REPAIRED = CheckComparison(
    now=gate_run(TESTS),
    old=gate_run(TESTS),
    base=gate_run(TESTS, Outcome.FAILED, failing=("test_a",)),
    product=gate_run(TESTS),
)
"""What was red when the task began is green by the change of the product."""
SESSION = session()
ADHOC = TaskRequest(
    task_id="adhoc",
    description="make the parser accept comments",
    acceptance_criteria=("a comment is skipped",),
    scope_files=("*.py",),
    sprint="S1",
)


class Loops:
    """A session that its host told of, on a project with tests and a linter."""

    def __init__(self, *, fakes: Fakes | None = None, settings: Settings | None = None) -> None:
        self.fakes = fakes or Fakes(configuration=FixedConfiguration(settings or Settings()))
        self.fakes.catalog.gates = self.fakes.catalog.gates or (TESTS, LINT)
        self.journals = SessionJournals(self.fakes.journals)
        self.loops: TaskLoops = loops_over(self.fakes.services, self.fakes.supervisor.checks, self.journals)
        for command in ("pytest", "ruff", "scan"):
            self.fakes.gates.script(command, PASSED)
        self.fakes.old_checks.comparisons = (REPAIRED,)

    async def begun(self, asked: TaskRequest = ADHOC, **more: Any) -> Briefing:
        await self.fakes.tell(prompt())
        self.loops.start_session(SESSION, "the parser", "implement", **more)
        return await self.loops.start_task(SESSION, asked)

    async def report(self, *files: str) -> Completion:
        return await self.loops.report_completion(
            SESSION, WorkerReport(summary="did it", files_changed=files)
        )

    async def fails(self, number: int) -> Completion:
        """Report once with a failure of its own."""
        name = f"test_{number}"
        self.fakes.gates.script(
            "pytest",
            replace(FAILED, failures=(f"{name}: boom {number}",), failing=(name,), seconds=60.0),
        )
        self.fakes.workspace.changes = ProjectChanges(files=(FileChange(path=f"{number}.py"),))
        return await self.report()

    def task(self, ident: str = "T1") -> Task:
        return self.journals.task(KEY, ident)

    def kinds(self) -> list[str]:
        return [event.kind for event in self.loops.states.newest(KEY, 10)]


def refused(call: Callable[[], Any]) -> ToolRuleError:
    with pytest.raises(ToolRuleError) as error:
        call()
    return error.value


# --- order --------------------------------------------------------------------------------------------------


async def test_out_of_order_names_the_tool_to_call_first() -> None:
    room = Loops()
    await room.fakes.tell(prompt())
    with pytest.raises(ToolRuleError) as unbegun:
        await room.loops.start_task(SESSION, ADHOC)
    assert unbegun.value.values["first"] == "session_start"
    assert refused(lambda: room.loops.context(SESSION)).values["first"] == "session_start"
    await room.begun()
    assert refused(lambda: room.loops.councils.open_council(SESSION)).values["first"] == "report_completion"
    with pytest.raises(ToolRuleError):
        room.loops.start_session(SESSION, "again", "bug")


async def test_a_task_that_may_not_begin_is_refused_and_why() -> None:
    room = Loops()
    await room.begun()
    first, second = room.task(), room.journals.add_task(KEY, "later", Author.AGENT)
    room.journals.put_task(KEY, replace(second, depends_on=(first.id,), status=TaskStatus.REMAINING))
    done = room.journals.add_task(KEY, "old", Author.AGENT)
    room.journals.put_task(KEY, replace(done, status=TaskStatus.COMPLETED))
    rules = {
        "loop-adhoc": replace(ADHOC, acceptance_criteria=(" ",)),
        "loop-task-waits": TaskRequest(task_id="T2"),
        "loop-task-completed": TaskRequest(task_id="t3"),
        "journal-unknown-task": TaskRequest(task_id="T9"),
    }
    for rule, asked in rules.items():
        with pytest.raises(ToolRuleError) as error:
            await room.loops.start_task(SESSION, asked)
        assert error.value.rule == rule
    assert room.loops.of(KEY).task == "T1"


async def test_an_agent_cannot_widen_what_was_agreed_by_beginning_again() -> None:
    room = Loops()
    await room.begun()
    base = room.loops.of(KEY).goals[0].base
    wider = TaskRequest(task_id="T1", acceptance_criteria=("nothing",), scope_files=("**",))
    again = await room.loops.start_task(SESSION, wider)

    assert (again.task.scope_files, again.task.acceptance_criteria) == (("*.py",), ("a comment is skipped",))
    assert again.loop.goals[0].base == base
    users = await room.loops.start_task(SESSION, wider, Author.USER)
    assert users.task.scope_files == ("**",)


# --- reports ------------------------------------------------------------------------------------------------


async def test_complete_with_the_exit_signal_and_the_next_task() -> None:
    room = Loops()
    await room.begun()
    later = room.journals.add_task(KEY, "later", Author.AGENT)
    room.journals.put_task(KEY, replace(later, status=TaskStatus.REMAINING))
    done = await room.report("a.py", "b.py")

    assert (done.exit_signal, room.task().status) == (True, TaskStatus.COMPLETED)
    for said in ("exit_signal: true", "task_start T2", "not changed: b.py"):
        assert said in done.text
    assert room.loops.of(KEY).state is LoopState.SELECTING_AGENT
    assert room.kinds()[-1] == "loop-report"
    assert refused(lambda: room.loops.end_session(SESSION, LoopStatus.COMPLETED)).rule == "loop-open-tasks"


async def test_iterate_with_five_errors_and_how_many_more() -> None:
    room = Loops()
    await room.begun()
    names = tuple(f"test_{number}" for number in range(12))
    room.fakes.gates.script(
        "pytest", replace(FAILED, failures=tuple(f"{name}: boom" for name in names[:5]), failing=names)
    )
    answer = await room.report()

    assert not answer.exit_signal
    assert "test_4: boom" in answer.text
    assert "and 7 more" in answer.text
    assert "test_5" not in answer.text
    assert "Changed, and not in your list: a.py" in answer.text
    assert "Tried before" in answer.text
    assert (room.task().status, room.task().iteration) == (TaskStatus.IN_PROGRESS, 1)
    assert "did it" in room.loops.context(SESSION).text


async def test_a_file_out_of_scope_is_told_though_every_check_passed() -> None:
    room = Loops()
    await room.begun()
    room.fakes.workspace.changes = ProjectChanges(files=(FileChange(path="deploy.sh"),))
    answer = await room.report("a.py")

    assert (answer.exit_signal, answer.reason) == (False, "loop-outside")
    assert "Out of scope: deploy.sh" in answer.text
    assert room.loops.files_outside(SESSION, ("./a.py", "deploy.sh")) == ("deploy.sh",)


async def test_a_weakened_test_is_told_though_every_check_passed() -> None:
    room = Loops()
    await room.begun()
    room.fakes.workspace.changes = ProjectChanges(
        files=(FileChange(path="tests/test_a.py", before="assert f()", after="pass"),)
    )
    fails = gate_run(TESTS, Outcome.FAILED, failing=("test_a",), failures=("test_a: boom",))
    room.fakes.old_checks.comparisons = (
        CheckComparison(
            now=gate_run(TESTS), files=("tests/test_a.py",), old=fails, base=fails, copy=gate_run(TESTS)
        ),
    )
    answer = await room.report()

    assert room.fakes.old_checks.asked == ["pytest"]
    assert (answer.reason, answer.exit_signal) == ("loop-missing", False)
    assert "tests/test_a.py: as it was when the work began, it still fails" in answer.text
    again = await room.report()
    assert (again.action, room.task().status) == ("halt", TaskStatus.BLOCKED)


async def test_what_failed_when_a_task_began_is_not_its_fault_and_runs_once_for_a_report() -> None:
    room = Loops()
    room.fakes.catalog.gates = (replace(TESTS, origin=GateOrigin.DETECTED),)
    await room.begun()
    room.fakes.gates.script("pytest", replace(FAILED, seconds=60.0))
    room.fakes.old_checks.comparisons = ()
    refused = await room.report()
    room.fakes.workspace.tree = "tree-2"
    room.fakes.gates.ran.clear()
    room.fakes.old_checks.base = (gate_run(TESTS, Outcome.FAILED, failing=("test_a",)),)
    room.loops.states.save(SESSION, without_baseline(room.loops.of(KEY)))
    answer = await room.report()

    assert (refused.action, refused.blocking) == ("iterate", ("tests",))
    assert (answer.action, answer.blocking) == ("done", ())
    assert "tests (advisory), fail" in answer.text
    assert room.fakes.gates.ran.count("pytest") == 1


async def test_a_judge_may_cite_a_new_test_that_an_old_failure_stands_beside() -> None:
    room, old = Loops(), gate_run(TESTS, Outcome.FAILED, failing=("test_a",))
    room.fakes.catalog.gates = (replace(TESTS, origin=GateOrigin.DETECTED),)
    await room.begun()
    room.fakes.gates.script("pytest", replace(FAILED, failing=("test_a",)))
    room.fakes.workspace.changes = ProjectChanges(files=(FileChange(path="tests/test_b.py", after="f()"),))
    room.fakes.old_checks.base = (old,)
    room.fakes.old_checks.comparisons = (
        CheckComparison(now=replace(old, noticed=("test_b",)), old=old, base=old, copy=old),
    )
    room.fakes.judge.script(complete("E1"))
    answer = await room.report()

    assert (answer.action, answer.exit_signal) == ("complete", True), answer.text
    assert "test_b would have failed without the work" in answer.text


def without_baseline(loop: Loop) -> Loop:
    return replace(loop, goals=tuple(replace(one, baseline=()) for one in loop.goals))


async def test_what_a_failed_task_left_is_judged_by_the_files_of_its_beginning() -> None:
    room = Loops(settings=Settings(loop=LoopSettings(max_iterations=1)))
    await room.begun()
    begun = room.loops.of(KEY).goals[0].base
    assert (await room.fails(1)).action == "fail"
    await room.loops.start_task(SESSION, replace(ADHOC, description="another"))
    other = room.loops.of(KEY)
    room.loops.check_status(SESSION, "T1", TaskStatus.REMAINING, Author.USER)
    room.journals.put_task(KEY, replace(room.task(), status=TaskStatus.REMAINING))
    await room.loops.start_task(SESSION, TaskRequest(task_id="T1"))
    again = room.loops.of(KEY)

    assert other.goals[-1].base == other.base != begun, "what failed is not its work"
    assert again.goals[-1].base == begun, "a check that was weakened then is found"
    assert again.base not in (begun, other.base), "what others did is not out of its scope"


async def test_where_nobody_can_tell_what_changed_nothing_is_complete() -> None:
    room = Loops()
    await room.begun()
    room.fakes.workspace.forgotten.add(room.loops.of(KEY).goals[0].base.snapshot)
    answer = await room.report()

    assert (answer.action, answer.exit_signal) == ("halt", False)
    assert "what changed is not known" in answer.text


async def test_a_critical_finding_halts_and_only_a_person_goes_on() -> None:
    room = Loops()
    room.fakes.catalog.gates = (TESTS, SCAN)
    await room.begun()
    critical = replace(FAILED, failures=("a.py:3: secret in the code", "2 critical, 1 low"))
    room.fakes.gates.script("scan", critical)
    answer = await room.report()

    assert answer.text.startswith("HALT")
    assert "2 critical, 1 low" in answer.text
    assert room.task().status is TaskStatus.BLOCKED
    with pytest.raises(ToolRuleError, match="loop-held"):
        await room.loops.start_task(SESSION, TaskRequest(task_id="T1"))
    by = (SESSION, "T1", TaskStatus.REMAINING)
    assert refused(lambda: room.loops.check_status(*by, Author.AGENT)).rule == "loop-held"
    room.loops.check_status(*by, Author.USER)
    assert (await room.loops.start_task(SESSION, TaskRequest(task_id="T1"))).task.id == "T1"


async def test_an_agent_completes_no_task_in_the_journal_while_the_loop_is_open() -> None:
    room = Loops()
    by = (SESSION, "T1", TaskStatus.COMPLETED)
    room.loops.check_status(*by, Author.AGENT)
    await room.begun()
    assert refused(lambda: room.loops.check_status(*by, Author.AGENT)).rule == "loop-journal"
    room.loops.check_status(*by, Author.USER)


async def test_what_only_a_person_can_let_run_costs_the_agent_no_report() -> None:
    room = Loops()
    room.fakes.catalog.gates = (replace(TESTS, approved=False, origin=GateOrigin.DETECTED),)
    await room.begun()
    with pytest.raises(ToolRuleError, match="loop-not-approved"):
        await room.report()
    assert room.loops.of(KEY).iteration == 0
    assert room.loops.of(KEY).state is LoopState.EXECUTING


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (Settings(), {"tests": True, "lint": False, "check:1": True, "build": False}),
        (Settings(loop=LoopSettings(required=("lint",))), {"tests": False, "lint": True}),
        (Settings(gate={"tests": ConfiguredGate(required=False)}), {"tests": False}),
    ],
)
def test_which_gates_a_completion_asks_for(settings: Settings, expected: dict[str, bool]) -> None:
    check = replace(TESTS, id="check:1", kind=Kind.CHECK)
    others = (
        replace(TESTS, id="ci", kind=Kind.CI, required=True),
        replace(TESTS, id="build", kind=Kind.BUILD),
    )
    gates = (TESTS, LINT, check, *others)
    chosen = choose_gates([replace(gate, approved=True) for gate in gates], settings)

    assert {name: chosen.get(name, False) for name in expected} == expected
    assert {"ci", "build"}.isdisjoint(chosen)


def test_tests_that_came_after_a_command_was_typed_hold_nothing_up() -> None:
    came = replace(TESTS, approved=False, origin=GateOrigin.DETECTED)
    changed = replace(came, changed=True)
    assert choose_gates([came], Settings(), typed=True) == {"tests": False}
    for gates, typed in (([changed], True), ([came], False)):
        with pytest.raises(ToolRuleError, match="loop-not-approved"):
            choose_gates(gates, Settings(), typed=typed)


async def test_a_crash_while_checks_run_goes_on_with_the_same_report(monkeypatch: pytest.MonkeyPatch) -> None:
    room = Loops()
    await room.begun()

    async def dies(*_: Any) -> Any:
        raise OSError("the machine went away")

    with monkeypatch.context() as dying:
        dying.setattr(service, "judge_report", dies)
        with pytest.raises(OSError, match="went away"):
            await room.report()
    assert room.loops.of(KEY).state is LoopState.AWAITING_QUALITY_GATES
    after = Loops(fakes=room.fakes)
    done = await after.report("a.py")

    assert (done.exit_signal, done.iteration) == (True, 1)


async def test_while_a_report_is_checked_nothing_else_changes_the_loop_but_its_tokens() -> None:
    room = Loops()
    await room.begun()
    released = asyncio.Event()
    room.fakes.gates.started.clear()
    room.fakes.gates.script("pytest", replace(PASSED, released=released))
    running = asyncio.create_task(room.report("a.py"))
    await room.fakes.gates.started.wait()
    with pytest.raises(ToolRuleError, match="loop-busy"):
        await room.report()
    assert refused(lambda: room.loops.end_session(SESSION, LoopStatus.FAILED)).rule == "loop-busy"
    room.loops.record_tokens(SESSION, "small", 7, 0)
    released.set()

    assert (await running).exit_signal
    assert room.loops.of(KEY).input_tokens == 7


COUNTED: dict[Kind, tuple[dict[str, Any], dict[str, Any]]] = {
    Kind.TESTS: ({"executed": 12, "failing": ("a", "b")}, {"passed": 10, "failed": 2}),
    Kind.TYPES: ({"failing": ("a",), "warnings": 3}, {"failed": 1, "warnings": 3}),
    Kind.LINT: ({"failing": ("a", "b"), "warnings": 1}, {"failed": 2, "warnings": 1}),
    Kind.SECURITY: ({"output": "5 low, 2 high"}, {"critical": 0, "high": 2, "medium": 0, "low": 5}),
    Kind.COVERAGE: ({"percent": 87.5}, {"percent": 87.5}),
}


def found(tree: str) -> WorkVerdict:
    return WorkVerdict(standing=Standing.OPEN, why="", goal=Goal(id="T1", condition="c"), tree=tree)


@over_table("kind", COUNTED)
def test_what_a_gate_reports_is_counted(kind: Kind) -> None:
    seen, counts = COUNTED[kind]
    run = gate_run(replace(TESTS, kind=kind), Outcome.FAILED, **seen)
    result = build_gate_result(run, found(run.tree), Settings())

    assert {name: getattr(result, name) for name in counts} == counts


def test_a_required_scanner_halts_where_nothing_tells_how_grave_its_findings_are() -> None:
    for output, verdict in (
        ("CRITICAL: eval", "halt"),
        ("2 high, 1 low", "fail"),
        ("severity: critical", "halt"),
    ):
        run = gate_run(replace(SCAN, required=True), Outcome.FAILED, output=output)
        assert build_gate_result(run, found(run.tree), Settings()).verdict == verdict, output


def test_a_pass_on_other_files_than_those_that_changed_shows_nothing() -> None:
    for run, tree in ((gate_run(TESTS, moved=True), "tree-1"), (gate_run(TESTS), "tree-2")):
        result = build_gate_result(run, found(tree), Settings())
        assert (result.verdict, result.reason) == (GateVerdict.COULD_NOT_RUN, "files changed while it ran")


# --- the ladder ---------------------------------------------------------------------------------------------


async def test_failures_lead_up_to_the_council_and_its_decision_into_the_next_iteration() -> None:
    room = Loops(settings=Settings(loop=LoopSettings(stuck_detection=False)))
    await room.begun()
    answers = [await room.fails(number) for number in range(6)]
    assert [one.action for one in answers] == [
        "iterate", "escalate", "iterate", "escalate", "iterate", "council"
    ]  # fmt: skip
    assert "sonnet" in answers[1].text
    assert "council_analyze" in answers[5].text
    for number, member in enumerate(CouncilMember):
        assert missing_members(room.loops.of(KEY))[0] is member
        proposal = CouncilProposal(
            member=member, findings=("5.py:1",), hypothesis=f"h{number}", suggested_fix="f", confidence=number
        )
        loop = room.loops.councils.submit(SESSION, proposal)
    assert loop.decision is not None
    assert len(loop.decision.dissent) == len(CouncilMember) - 1
    assert "The council decided" in room.loops.context(SESSION).text
    failed = [await room.fails(number) for number in (7, 8)][-1]

    assert (failed.action, room.task().status) == ("fail", TaskStatus.FAILED)
    assert "A person must look" in failed.text


async def test_tokens_cost_what_the_settings_say_and_the_limit_ends_it() -> None:
    settings = Settings(
        price={"haiku": ModelPrice(input=100.0, output=500.0)}, loop=LoopSettings(max_cents=1.0)
    )
    room = Loops(settings=settings)
    await room.begun()
    room.loops.record_tokens(SESSION, "small", 10_000, 1_000)

    assert room.loops.of(KEY).spent_cents == pytest.approx(1.5)
    assert refused(lambda: room.loops.escalate(SESSION, "more")).rule == "loop-limit"
    assert room.fakes.spending.today() == Spending(day=room.fakes.spending.today().day)
    room.loops.record_tokens(SESSION, "unknown", 1, 1)
    assert room.loops.of(KEY).spent_cents is None
    assert refused(lambda: room.loops.escalate(SESSION, "more")).rule == "loop-limit"


# --- checkpoints --------------------------------------------------------------------------------------------


async def test_a_restore_is_shown_first_and_keeps_what_it_replaces() -> None:
    room = Loops()
    await room.begun()
    made = await room.loops.checkpoints.save(SESSION, "begun")
    await room.fails(1)
    room.loops.record_tokens(SESSION, "small", 10, 5)
    change = FileChange(path="a.py", before="x = 2\n", after="x = 1\n")
    room.fakes.checkpoints.difference_to = TreeDifference(changes=ProjectChanges(files=(change,)))
    shown = await room.loops.checkpoints.restore(SESSION, made.id)
    wrong = await room.loops.checkpoints.restore(SESSION, made.id, "yes")
    assert (shown.kept, wrong.kept, [edit.path for edit in shown.diffs]) == ("", "", ["a.py"])
    done = await room.loops.checkpoints.restore(SESSION, made.id, shown.word)

    loop = room.loops.of(KEY)
    assert (done.kept, [one.id for one in loop.checkpoints]) == ("C2", ["C1", "C2"])
    assert (loop.iteration, loop.input_tokens) == (1, 10)
    room.fakes.workspace.tree = "tree-2"
    assert (await room.loops.checkpoints.restore(SESSION, made.id, shown.word)).kept == ""


async def test_no_restore_completes_a_task() -> None:
    room = Loops()
    await room.begun()
    await room.report()
    made = await room.loops.checkpoints.save(SESSION)
    room.journals.put_task(KEY, replace(room.task(), status=TaskStatus.REMAINING))
    shown = await room.loops.checkpoints.restore(SESSION, made.id)
    await room.loops.checkpoints.restore(SESSION, made.id, shown.word)

    assert room.task().status is TaskStatus.REMAINING


async def test_of_a_forgotten_session_no_loop_baseline_or_saved_file_is_left() -> None:
    room = Loops()

    class Loop(OtherSystems):
        def forget(self, key: SessionKey, project: str) -> None:
            room.loops.states.forget(key, project)

    await room.begun()
    for _ in range(CHECKPOINTS + 1):
        await room.loops.checkpoints.save(SESSION)
    assert len(room.fakes.checkpoints.saved) == CHECKPOINTS
    await room.loops.start_task(SESSION, replace(ADHOC, description="something else"))
    now = room.loops.of(KEY)
    kept = {now.base.snapshot, *(goal.base.snapshot for goal in now.goals)}
    room.fakes.supervisor = Supervisor(room.fakes.services, others=Loop())
    await room.fakes.tell(SessionDeleted(key=KEY, project=SESSION.project))

    assert room.fakes.loops.load(KEY) is None
    assert room.fakes.checkpoints.saved == {}
    assert set(room.fakes.workspace.returned) == kept
