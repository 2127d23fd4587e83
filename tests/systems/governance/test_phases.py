"""Governed phases on a real project with its real tests; only the workers are played."""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Struct

from sidecar.cli.govern import write_report
from sidecar.kernel import governance as forms
from sidecar.kernel.errors import BadInputError, ToolRuleError
from sidecar.kernel.governance import (
    AnalyzeInput,
    ConductInput,
    ErrorType,
    FinalDecision,
    GovernedPhase,
    ImplementInput,
    PlanInput,
    Review,
    ReviewInput,
)
from sidecar.kernel.session import SessionKey
from sidecar.kernel.settings import Mode
from sidecar.systems.governance.policy.table import Stage
from sidecar.systems.governance.ports import PhaseCaller
from sidecar.systems.governance.service import Governance, PhaseOutcome, PhaseRequest
from sidecar.workers.ports import WorkerError, WorkerFailure
from support.governed import ANALYSIS, APPROVED, MADE, NO_NFRS, PASSED, PLAN, REJECTED, TASK
from support.governed_room import BROKEN, GOOD, Room, answers, implements
from support.scripted_workers import Step
from support.tdd_projects import PYTHON, SUB, SUB_TEST, contents, lay_out

pytestmark = [pytest.mark.process, pytest.mark.proves("governed phases")]

DONE = PYTHON | {"calc.py": SUB, "tests/test_sub.py": SUB_TEST}


def gives_up(_: Path) -> dict[str, Any]:
    raise WorkerError(WorkerFailure.EXITED, "the agent ended with 1")


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


async def test_a_change_is_delivered_at_once_with_all_in_the_audit(room: Room) -> None:
    work = await room.conduct(*GOOD)

    assert (work.stage, room.last().decision) == (Stage.DELIVERED, "DELIVER")
    assert room.errors == [None] * 6
    assert not [task for task in room.workers.tasks if re.search(r"\$[a-z]", task.prompt)]
    assert {task.guarded for task in room.workers.tasks} == {str(room.project)}
    assert room.last().deliverables.files == ("calc.py", "tests/test_sub.py")
    assert room.holds(DONE)
    entries = room.governance().entries(work.lock)
    assert [entry.tool.removeprefix("phase_") for entry in entries] == ["lock", *GovernedPhase, "lock"]
    assert [entry.result for entry in entries] == [
        *("acquired", "OK", "OK", "OK", "APPROVED", "PASSED", "DELIVER", "released"),
    ]
    assert write_report(work.lock, entries).count(", 100 tokens, 0.50 cents, audit entry") == 5
    assert room.governance().works() == ()


async def test_what_is_rejected_is_made_again_by_what_the_review_says(room: Room) -> None:
    work = await room.conduct(
        *GOOD[:3], answers(**REJECTED), implements({"calc.py": f"{SUB}# twice\n"}), *GOOD[3:]
    )
    assert (work.stage, work.iteration) == (Stage.DELIVERED, 2)
    assert "sub(0) is not handled" in room.workers.tasks[4].prompt
    assert room.holds(DONE | {"calc.py": f"{SUB}# twice\n"})


async def test_a_worker_that_says_passed_while_the_tests_fail_is_not_believed(room: Room) -> None:
    lying = (*GOOD[:2], implements(BROKEN), *GOOD[3:])
    work = await room.conduct(*lying, implements(MADE), *GOOD[3:])

    testing = room.outcomes[4].payload
    assert isinstance(testing, forms.Testing)
    assert testing.result == "FAILED"
    assert any("test_add" in testing.evidence.test_output for _ in (1,))
    assert (work.stage, work.iteration) == (Stage.DELIVERED, 2)
    assert room.holds(DONE)


@pytest.mark.parametrize("says", ["yes", "no"])
async def test_what_nobody_could_tell_asks_a_person(room: Room, says: str) -> None:
    vague = answers(**ANALYSIS | {"verifiability": "NON-VERIFIABLE"})
    work = await room.conduct(vague, *GOOD[1:], says=says)
    assert [one.error for one in room.asked] == [ErrorType.NON_VERIFIABLE]
    assert work.stage is (Stage.DELIVERED if says == "yes" else Stage.STOPPED)


@pytest.mark.parametrize(
    ("step", "rules"),
    [
        (implements(MADE | {"README": "me too"}, listed=tuple(MADE)), ()),
        (implements(MADE), ("only calc.py",)),
        (implements(MADE), ("never tests",)),
    ],
    ids=["beyond the tasks", "only", "never"],
)
async def test_a_file_beyond_the_tasks_or_a_rule_ends_the_work(
    room: Room, step: Step, rules: tuple[str, ...]
) -> None:
    work = await room.conduct(*GOOD[:2], step, rules=rules)
    assert (work.stage, room.errors[-1]) == (Stage.STOPPED, ErrorType.RULE_VIOLATION)
    assert room.holds(PYTHON)


@pytest.mark.long
async def test_a_project_that_moved_on_is_merged_and_tested_again(room: Room) -> None:
    def meanwhile(_: Path) -> dict[str, Any]:
        (room.project / "calc.py").write_text(f'"""Sums."""\n\n{PYTHON["calc.py"]}')
        return PASSED

    work = await room.conduct(*GOOD[:4], meanwhile)
    assert work.stage is Stage.DELIVERED
    assert "merged with what changed meanwhile: calc.py" in room.last().reason
    assert room.holds(DONE | {"calc.py": f'"""Sums."""\n\n{SUB}'})


async def test_a_project_that_moved_on_so_that_the_tests_fail_gets_nothing(room: Room) -> None:
    def meanwhile(_: Path) -> dict[str, Any]:
        (room.project / "tests" / "test_more.py").write_text(
            "import calc\n\n\ndef test_more():\n    assert not hasattr(calc, 'sub')\n"
        )
        return PASSED

    work = await room.conduct(*GOOD[:4], meanwhile, *[implements(MADE), *GOOD[3:]] * 2)
    delivered = [one.payload.decision for one in room.outcomes if isinstance(one.payload, FinalDecision)]
    assert delivered == ["ITERATE", "STOP"]
    assert work.question is not None
    assert "test_sub.py" not in str(contents(room.project))


async def test_lines_that_conflict_at_delivery_ask_a_person_and_nothing_is_half_applied(room: Room) -> None:
    def meanwhile(_: Path) -> dict[str, Any]:
        (room.project / "calc.py").write_text("def add(*numbers):\n    return sum(numbers)\n")
        return PASSED

    change = {"calc.py": "def add(a, b):\n    return b + a\n\n\ndef sub(a, b):\n    return a - b\n"}
    made = implements(MADE | change)
    work = await room.conduct(*GOOD[:2], made, GOOD[3], meanwhile)
    assert room.errors[-1] is ErrorType.CONFLICT
    assert room.holds(PYTHON | {"calc.py": "def add(*numbers):\n    return sum(numbers)\n"})

    (room.project / "calc.py").write_text(PYTHON["calc.py"])  # the person mends it
    work = await room.conduct(says="yes", lock=work.lock)
    assert work.stage is Stage.DELIVERED
    assert room.holds(DONE | change)


def verified_by(clause: str) -> Step:
    return answers(tasks=[{**TASK, "verify_by": clause}])


@pytest.mark.parametrize("says", ["yes", "no"])
async def test_commands_of_a_plan_run_only_if_a_person_says_so_else_it_is_planned_again(
    room: Room, says: str
) -> None:
    ran = room.state / "ran"
    again = () if says == "yes" else (GOOD[1],)
    work = await room.conduct(GOOD[0], verified_by(f"run: touch {ran}"), *again, *GOOD[2:], says=says)
    assert (work.stage, ran.exists()) == (Stage.DELIVERED, says == "yes")
    assert "- not so\n" in room.workers.tasks[2].prompt, "the next worker reads why"


async def test_what_cannot_be_shown_is_planned_another_way(room: Room) -> None:
    blind = answers(**PASSED | {"result": "EVIDENCE_UNAVAILABLE"})
    work = await room.conduct(*GOOD[:4], blind, *GOOD[1:])
    assert (work.stage, work.iteration) == (Stage.DELIVERED, 2)
    planned_again = room.workers.tasks[5]
    assert planned_again.answer is forms.Plan
    assert "- There is no evidence for: what the agent that tested" in planned_again.prompt


async def test_a_command_that_a_person_let_run_is_an_approved_check_and_the_reverse(room: Room) -> None:
    await room.approve()
    (gate,) = (await room.shared().catalog.list(str(room.project), room.environment)).gates
    clause = verified_by(f"run: {gate.command}")
    work = await room.conduct(GOOD[0], clause, *GOOD[2:])
    assert (work.stage, room.asked) == (Stage.DELIVERED, []), "an approved check asks nobody"
    assert work.testing is not None
    assert work.testing.evidence.metrics["tests_executed"] == 2.0

    (room.state / "trust.json").unlink()
    room.approves = False
    lay_out(room.project, PYTHON)
    (room.project / "tests" / "test_sub.py").unlink()
    work = await room.conduct(GOOD[0], clause, *GOOD[2:], says="yes")
    assert (work.stage, len(room.asked)) == (Stage.DELIVERED, 1)
    assert work.testing is not None
    assert work.testing.evidence.metrics["tests_executed"] == 2.0


async def test_a_worker_that_wrote_outside_its_copy_ends_the_work_and_the_file_is_named(room: Room) -> None:
    def writes_outside(_: Path) -> dict[str, Any]:
        raise WorkerError(WorkerFailure.WROTE_OUTSIDE, "the worker wrote outside its folder: /p/evil.py")

    work = await room.conduct(*GOOD[:2], writes_outside)
    assert (work.stage, room.errors[-1]) == (Stage.STOPPED, ErrorType.RULE_VIOLATION)
    error = room.outcomes[-1].error
    assert error is not None
    assert "/p/evil.py" in error.message
    assert room.holds(PYTHON)


async def test_a_weakened_test_is_a_failed_clause(room: Room) -> None:
    weak = BROKEN | {
        "tests/test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(1, 2)\n"
    }
    work = await room.conduct(*GOOD[:2], implements(weak), *GOOD[3:], implements(MADE | PYTHON), *GOOD[3:])
    testing = room.outcomes[4].payload
    assert isinstance(testing, forms.Testing)
    assert testing.result == "FAILED"
    assert work.iteration == 2


async def test_safe_mode_asks_for_the_review_and_for_the_delivery(room: Room) -> None:
    work = await room.conduct(*GOOD, mode=Mode.SAFE, says="yes")
    assert [one.phase for one in room.asked] == [GovernedPhase.REVIEW, GovernedPhase.CONDUCT]
    assert (work.stage, room.holds(DONE)) == (Stage.DELIVERED, True)


async def test_each_requirement_must_be_shown_to_be_met_where_the_mode_checks_them(room: Room) -> None:
    asks = answers(**ANALYSIS | {"nfrs": {**NO_NFRS, "performance": "under 1 ms"}})
    met = answers(**APPROVED | {"nfrs": {**NO_NFRS, "performance": "calc.py: one subtraction"}})
    again = implements({"calc.py": f"{SUB}# 2\n"})
    work = await room.conduct(asks, *GOOD[1:3], GOOD[3], again, met, GOOD[4], mode=Mode.FULL, says="yes")
    review = room.outcomes[3].payload
    assert isinstance(review, Review)
    assert [(rule.rule, rule.passed) for rule in review.rules] == [("R003", False), ("R004", True)]
    assert work.stage is Stage.DELIVERED


@pytest.mark.parametrize(("good", "stage"), [((), Stage.NEW), (GOOD[:2], Stage.PLANNED)])
async def test_a_worker_that_fails_is_tried_again_and_then_given_up(
    room: Room, good: tuple[Step, ...], stage: Stage
) -> None:
    work = await room.conduct(*good, gives_up)
    assert room.errors[len(good) :] == [ErrorType.INVALID_ANSWER] * 3
    assert work.stage is stage
    assert room.holds(PYTHON)


# --- one phase at a time ------------------------------------------------------------------------------------


async def call(
    governance: Governance, caller: PhaseCaller, phase: GovernedPhase, lock: str, given: Struct
) -> PhaseOutcome:
    return await governance.run(PhaseRequest(phase=phase, lock=lock, given=given), caller, lambda _: None)


@pytest.mark.parametrize("claim", [ConductInput(review_result="APPROVED"), ConductInput(iteration_count=7)])
async def test_a_claim_that_the_audit_contradicts_ends_the_work(room: Room, claim: ConductInput) -> None:
    await room.approve()
    governance = room.governance(*GOOD[:3], answers(**REJECTED))
    begun = await call(
        governance,
        room.caller,
        GovernedPhase.ANALYZE,
        "new",
        AnalyzeInput(problem_statement="sub is missing"),
    )
    lock = begun.context_lock_id
    await call(governance, room.caller, GovernedPhase.PLAN, lock, PlanInput())
    await call(governance, room.caller, GovernedPhase.IMPLEMENT, lock, ImplementInput())
    await call(governance, room.caller, GovernedPhase.REVIEW, lock, ReviewInput())
    outcome = await call(governance, room.caller, GovernedPhase.CONDUCT, lock, claim)
    assert outcome.error is not None
    assert outcome.error.type is ErrorType.STRUCTURAL_VIOLATION
    assert room.governance().works() == ()


async def test_out_of_order_wrong_lock_wrong_mode_and_a_second_holder_are_refused(room: Room) -> None:
    governance = room.governance(GOOD[0], GOOD[1])
    session = PhaseCaller(
        project=str(room.project), environment=room.environment, session=SessionKey("claude-code", "s1")
    )
    other = msgspec.structs.replace(session, session=SessionKey("opencode", "s2"))
    await room.approve()
    begun = AnalyzeInput(problem_statement="sub is missing")
    outcome = await call(governance, session, GovernedPhase.ANALYZE, "new", begun)
    lock = outcome.context_lock_id
    for caller, phase, ident, given, why in (
        (session, GovernedPhase.REVIEW, lock, ReviewInput(), "governance-order"),
        (session, GovernedPhase.TEST, "gov-0", forms.TestInput(), "governance-no-lock"),
        (session, GovernedPhase.TEST, "new", forms.TestInput(), "governance-analyze-first"),
        (other, GovernedPhase.ANALYZE, "new", begun, "governance-held"),
        (other, GovernedPhase.REVIEW, lock, ReviewInput(), "governance-held"),
    ):
        with pytest.raises(ToolRuleError, match=why):
            await call(governance, caller, phase, ident, given)
    with pytest.raises(ToolRuleError, match="governance-mode"):
        await governance.run(
            PhaseRequest(phase=GovernedPhase.PLAN, lock=lock, given=ReviewInput(), mode=Mode.FAST),
            session,
            lambda _: None,
        )


async def test_the_ancestors_workflow_runs_with_each_whole_output_passed_on(room: Room) -> None:
    await room.approve()
    governance, outputs, lock = room.governance(*GOOD), dict[str, Any](), "new"
    names = {GovernedPhase.ANALYZE: "analysis", GovernedPhase.PLAN: "tasks"} | {
        GovernedPhase.IMPLEMENT: "implementation",
        GovernedPhase.REVIEW: "review_result",
        GovernedPhase.TEST: "test_result",
    }
    begun = {"problem_statement": "sub is missing", "user_requirements": ["sub(3, 2) is 1"]}
    for phase, more in (
        (GovernedPhase.ANALYZE, begun),
        (GovernedPhase.PLAN, {}),
        (GovernedPhase.IMPLEMENT, {"om_rules": [], "iteration": 1}),
        (GovernedPhase.REVIEW, {"quick_fix_eligible": True}),
        (GovernedPhase.TEST, {"verify_by_clauses": [TASK["verify_by"]]}),
        (GovernedPhase.CONDUCT, {"iteration_count": 1, "max_iterations": 5}),
    ):
        takes = forms.FORMS[phase].given
        passed = {name: outputs[name] for name in takes.__struct_fields__ if name in outputs}
        given = msgspec.convert(passed | more, takes)
        request = PhaseRequest(phase=phase, lock=lock, given=given, mode=Mode.FAST)
        outcome = await governance.run(request, room.caller, lambda _: None)
        assert outcome.error is None, outcome.error
        lock, whole = outcome.context_lock_id, {"section": outcome.section, "payload": outcome.payload}
        outputs[names.get(phase, "final")] = msgspec.to_builtins(whole)
    assert outputs["final"]["payload"]["decision"] == "DELIVER"
    assert room.holds(DONE)


async def test_what_the_caller_passes_is_compared_and_the_audit_counts(room: Room) -> None:
    governance = room.governance(*GOOD)
    begun = AnalyzeInput(problem_statement="sub is missing")
    lock = (await call(governance, room.caller, GovernedPhase.ANALYZE, "new", begun)).context_lock_id
    outcome = await call(
        governance,
        room.caller,
        GovernedPhase.PLAN,
        lock,
        PlanInput(analysis=ANALYSIS | {"risks": ["none of it is true"]}),
    )
    assert outcome.error is not None
    assert outcome.error.type is ErrorType.INPUT_DIFFERS
    assert "none of it is true" not in room.workers.tasks[1].prompt


@pytest.mark.parametrize(
    ("settings", "why"),
    [("enabled = false", "governance-disabled"), ('modes = ["safe"]', "governance-mode-off")],
)
@pytest.mark.parametrize("phase", ["analyze", "conduct"])
async def test_work_that_would_come_to_a_phase_which_is_off_or_excludes_its_mode_does_not_begin(
    room: Room, monkeypatch: pytest.MonkeyPatch, settings: str, why: str, phase: str
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(room.config))
    lay_out(room.config, {"supervisor/config.toml": f"[governance.phase.{phase}]\n{settings}\n"})
    governance, begun = room.governance(*GOOD), AnalyzeInput(problem_statement="sub is missing")
    request = PhaseRequest(phase=GovernedPhase.ANALYZE, lock="new", given=begun, mode=Mode.FAST)
    with pytest.raises(ToolRuleError, match=why):
        await governance.run(request, room.caller, lambda _: None)
    assert governance.works() == ()


async def test_while_a_phase_is_at_work_no_other_process_works_under_its_lock(room: Room) -> None:
    def meanwhile(_: Path) -> dict[str, Any]:
        (held,) = room.governance().works()
        other = call(room.governance(GOOD[1]), room.caller, GovernedPhase.PLAN, held.lock, PlanInput())
        with pytest.raises(ToolRuleError, match="governance-busy"):
            other.send(None)  # it is refused before it waits for anything
        return PLAN

    governance, begun = room.governance(GOOD[0], meanwhile), AnalyzeInput(problem_statement="sub is missing")
    lock = (await call(governance, room.caller, GovernedPhase.ANALYZE, "new", begun)).context_lock_id
    outcome = await call(governance, room.caller, GovernedPhase.PLAN, lock, PlanInput())
    assert outcome.error is None


async def test_without_workers_the_calling_agent_does_the_work_by_the_same_schema(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(room.config))
    (room.config / "supervisor").mkdir(parents=True)
    (room.config / "supervisor" / "config.toml").write_text("[governance]\nworkers = false\n")
    governance = room.governance()
    for answer, why in (
        (None, "do the work of analyze yourself"),
        ({"risks": 1}, "does not fit the phase analyze"),
    ):
        with pytest.raises(BadInputError, match=why):
            await call(
                governance,
                room.caller,
                GovernedPhase.ANALYZE,
                "new",
                AnalyzeInput(problem_statement="sub is missing", answer=answer),
            )
        assert governance.works() == ()
    begun = AnalyzeInput(problem_statement="sub is missing", answer=ANALYSIS)
    outcome = await call(governance, room.caller, GovernedPhase.ANALYZE, "new", begun)
    assert outcome.error is None
    assert room.workers.tasks == []


async def test_nobody_judges_what_they_made_themselves(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(room.config))
    lay_out(room.config, {"supervisor/config.toml": "[governance]\nworkers = false\n"})
    await room.approve()
    governance, lock, clause = room.governance(), "new", "it is easy to read"
    files = [{"path": path, "task_ref": "1", "content": text} for path, text in MADE.items()]
    word = {"clause": clause, "holds": True, "evidence": "calc.py:5"}
    for phase, given in (
        (GovernedPhase.ANALYZE, {"problem_statement": "sub is missing", "answer": ANALYSIS}),
        (GovernedPhase.PLAN, {"answer": {"tasks": [{**TASK, "verify_by": clause}]}}),
        (GovernedPhase.IMPLEMENT, {"answer": {"files": files, "message": ""}}),
        (GovernedPhase.REVIEW, {"answer": APPROVED}),
        (GovernedPhase.TEST, {"answer": PASSED | {"clauses": [word]}}),
    ):
        takes = msgspec.convert(given, forms.FORMS[phase].given)
        request = PhaseRequest(phase=phase, lock=lock, given=takes, mode=Mode.FAST)
        outcome = await governance.run(request, room.caller, lambda _: None)
        lock = outcome.context_lock_id
    assert isinstance(outcome.payload, forms.Testing)
    assert outcome.payload.result == "EVIDENCE_UNAVAILABLE"


def read(place: Path) -> bytes:
    """Return what git keeps in a file."""
    return zlib.decompress(place.read_bytes())


@pytest.mark.parametrize("lost", [False, True])
async def test_a_kept_change_that_somebody_altered_is_not_used(room: Room, *, lost: bool) -> None:
    await room.approve()
    governance = room.governance(*GOOD)
    begun = AnalyzeInput(problem_statement="sub is missing")
    lock = (await call(governance, room.caller, GovernedPhase.ANALYZE, "new", begun)).context_lock_id
    await call(governance, room.caller, GovernedPhase.PLAN, lock, PlanInput())
    await call(governance, room.caller, GovernedPhase.IMPLEMENT, lock, ImplementInput())
    named = governance.work(lock).subject
    assert re.fullmatch("[0-9a-f]{40}", named)
    (file,) = (room.state / "governance" / "changes").rglob(f"objects/{named[:2]}/{named[2:]}")
    if lost:
        file.unlink()
    else:
        (blob,) = {
            place
            for place in file.parents[1].rglob("*")
            if place.is_file() and b"def sub(a, b)" in read(place)
        }
        blob.chmod(0o600)
        blob.write_bytes(zlib.compress(read(blob).replace(b"a - b", b"b - a")))
    with pytest.raises(ToolRuleError, match="governance-change-lost"):
        await call(governance, room.caller, GovernedPhase.REVIEW, lock, ReviewInput())
    assert governance.work(lock).stage is Stage.IMPLEMENTED


async def test_secrets_reach_neither_a_worker_nor_the_audit(room: Room) -> None:
    room.caller = msgspec.structs.replace(
        room.caller, environment={**room.environment, "DEPLOY_TOKEN": "hunter2-and-more"}
    )
    telling = implements({"calc.py": f"{SUB}TOKEN = 'hunter2-and-more'\n", "tests/test_sub.py": SUB_TEST})
    steps = (GOOD[0], GOOD[1], telling, *GOOD[3:])
    work = await room.conduct(*steps, problem="use hunter2-and-more")
    prompts = [task.prompt for task in room.workers.tasks]
    for told in (str(prompts), msgspec.json.encode(room.governance().entries(work.lock)).decode()):
        assert ("hunter2" in told, "TOKEN = " in told) == (False, True)
    assert "hunter2-and-more" in (room.project / "calc.py").read_text(), "what is delivered is not masked"
