"""Which of several agents works on which task: leases, what is merged, and what is given back."""

from __future__ import annotations

from functools import partial
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sidecar.kernel.journal import Journal, NoteKind, Task, TaskClaim, TaskStatus
from sidecar.kernel.log import EventFilter
from sidecar.kernel.runs import CheckRun, MergeChecks, StartedWorker, WorkerChange
from sidecar.kernel.session import SessionKey
from sidecar.systems.iteration.journals import SessionJournals, change_workers
from sidecar.systems.iteration.policy import claims
from sidecar.systems.iteration.policy import journal as rules
from sidecar.systems.iteration.policy.claims import LEASE_S
from sidecar.work.merging import ASKED_ONCE, merge_objection
from support.memory_stores import ManualClock, MemoryEventLog, MemoryJournals

KEY: Final = SessionKey("run", "demo")
NOW: Final = 1_000_000.0
TASKS: Final = (
    Task(id="T1", content="lexer"),
    Task(id="T2", content="parser", depends_on=("T1",)),
    Task(id="T3", content="docs"),
)
JOURNAL: Final = Journal(tasks=TASKS, serial=3)
COMPLETED, REMAINING = TaskStatus.COMPLETED, TaskStatus.REMAINING


def started(
    journal: Journal, *at_work: int, now: float = NOW, planning: bool = False
) -> tuple[Journal, StartedWorker | None]:
    return claims.start_worker(journal, now, at_work, planning=planning)


def ids(journal: Journal, status: TaskStatus) -> list[str]:
    return [task.id for task in journal.tasks if task.status is status]


def test_each_agent_gets_a_task_of_its_own_and_waits_where_none_is_ready() -> None:
    one, first = started(JOURNAL)
    two, second = started(one, 1)
    three, third = started(two, 1, 2)
    assert [got and (got.worker, got.task and got.task.id) for got in (first, second, third)] == [
        (1, "T1"), (2, "T3"), None,
    ]  # fmt: skip
    assert three == two
    assert [task.claim for task in three.tasks] == [
        TaskClaim(worker=1, until=NOW + LEASE_S), None, TaskClaim(worker=2, until=NOW + LEASE_S),
    ]  # fmt: skip


@pytest.mark.parametrize("journal", [Journal(), replace(JOURNAL, tasks=(replace(TASKS[1]),))])
def test_one_agent_without_a_task_begins_alone_and_nobody_beside_it(journal: Journal) -> None:
    one, got = started(journal)
    assert got == StartedWorker(worker=1)
    more, _ = rules.add_tasks(one, [("found by the first", REMAINING)])
    assert started(more, 1, planning=True) == (more, None)


@pytest.mark.parametrize(("later", "free"), [(LEASE_S - 1, False), (LEASE_S + 1, True)])
def test_a_claim_of_another_run_holds_until_it_runs_out(later: float, *, free: bool) -> None:
    alone = replace(JOURNAL, tasks=TASKS[:1])
    claimed, _ = started(alone)
    _, got = started(claimed, now=NOW + later)
    assert (got and got.task and got.task.id) == ("T1" if free else None)


def test_an_agent_without_a_task_whose_work_is_merged_leaves_a_session_complete_that_has_none_open() -> None:
    done = replace(JOURNAL, tasks=tuple(replace(task, status=COMPLETED) for task in TASKS))
    for journal, closed in ((done, NOW), (JOURNAL, None), (Journal(), None)):
        assert claims.settle_worker(journal, 9, NOW).closed_at == closed
    assert claims.settle_worker(done, 9, NOW, "it is in conflict").closed_at is None


def test_where_files_are_in_conflict_agents_begin_one_at_a_time_until_one_leaves_them_alone() -> None:
    free = replace(JOURNAL, tasks=tuple(replace(task, depends_on=()) for task in TASKS))
    three = started(started(started(free)[0], 1)[0], 1, 2)[0]
    for number, ident in enumerate(("T1", "T2", "T3"), 1):
        three, _ = rules.set_task_status(three, ident, COMPLETED, worker=number)
    one = claims.settle_worker(three, 1, NOW, files=("a",))
    two = claims.settle_worker(one, 2, NOW, "it is in conflict", ("a",))
    assert [task.contested for task in two.tasks] == [(), ("a",), ()]
    assert started(two, 3) == (two, None)
    three = claims.settle_worker(two, 3, NOW, files=("b",))  # it began before
    again, got = started(three)
    assert (three.contested, got and got.task and got.task.contested) == (("a",), ("a",))
    again, _ = rules.add_tasks(again, [("more", REMAINING), ("and more", REMAINING)])
    kept = claims.settle_worker(again, 4, NOW, "it was interrupted", ("a",))
    assert [task.contested for task in kept.tasks][1] == ("a",)
    again, _ = rules.set_task_status(again, "T2", COMPLETED, worker=4)
    solved = claims.settle_worker(again, 4, NOW, files=("a",))
    assert (solved.tasks[1].contested, solved.contested) == ((), ("a",))
    for files, together in ((("a", "b"), False), (("b",), True)):
        begun, _ = started(solved)
        settled = claims.settle_worker(begun, 5, NOW, files=files)
        assert bool(started(started(settled)[0], 6)[1]) is together


def test_what_an_agent_completes_besides_its_task_is_its_own_until_it_is_merged() -> None:
    done, _ = rules.set_task_status(started(JOURNAL)[0], "T3", COMPLETED, worker=1)
    assert [task.id for task in claims.claimed_by(done, 1)] == ["T1", "T3"]
    assert started(done, now=NOW + LEASE_S - 1) == (done, None)
    assert ids(claims.settle_worker(done, 1, NOW), COMPLETED) == ["T3"]


@pytest.mark.parametrize("caller", [1, 0], ids=["its agent", "a caller that says nothing of itself"])
def test_a_task_is_completed_when_it_is_merged_and_only_then_is_the_next_one_ready(caller: int) -> None:
    journal, _ = started(JOURNAL)
    done, told = rules.set_task_status(journal, "T1", COMPLETED, worker=caller)
    assert (told.status, ids(done, COMPLETED)) == (COMPLETED, [])
    assert started(done, 1)[1] == StartedWorker(worker=2, task=started(done, 1)[0].tasks[2])
    merged = claims.settle_worker(done, 1, NOW)
    assert (ids(merged, COMPLETED), merged.tasks[0].claim) == (["T1"], None)
    assert (got := started(merged)[1]) is not None
    assert got.task is not None
    assert got.task.id == "T2"


def test_work_that_is_not_merged_gives_its_task_back_and_the_next_agent_is_told_why() -> None:
    journal, _ = rules.set_task_status(started(JOURNAL)[0], "T1", COMPLETED, worker=1)
    back = claims.settle_worker(journal, 1, NOW, "conflict in a.py")
    assert (back.tasks[0].status, back.tasks[0].claim) == (REMAINING, None)
    assert [(note.kind, note.content) for note in back.notes] == [(NoteKind.LEARNING, "T1: conflict in a.py")]


def test_a_task_that_was_blocked_stays_so_and_one_that_was_not_done_is_open_again() -> None:
    journal, _ = rules.set_task_status(started(JOURNAL)[0], "T1", TaskStatus.BLOCKED, worker=1)
    assert claims.settle_worker(journal, 1, NOW).tasks[0].status is TaskStatus.BLOCKED
    assert claims.settle_worker(started(JOURNAL)[0], 1, NOW).tasks[0].status is REMAINING


def test_no_agent_changes_a_task_of_another_one_and_a_person_may() -> None:
    journal, _ = started(JOURNAL)
    with pytest.raises(rules.JournalError, match="journal-claimed"):
        rules.set_task_status(journal, "T1", COMPLETED, worker=2)
    assert rules.set_task_status(journal, "T1", COMPLETED)[1].status is COMPLETED


def test_the_last_agent_may_say_that_the_session_is_complete_before_its_work_is_merged() -> None:
    alone = replace(JOURNAL, tasks=TASKS[:1])
    with pytest.raises(rules.JournalError, match="journal-open-tasks"):
        rules.mark_session_complete(started(alone)[0], NOW)
    done, _ = rules.set_task_status(started(alone)[0], "T1", COMPLETED, worker=1)
    closed = rules.mark_session_complete(done, NOW)
    assert claims.settle_worker(closed, 1, NOW).closed_at == NOW
    assert claims.settle_worker(done, 1, NOW + 9).closed_at == NOW + 9  # nobody has to say it
    reopened, _ = rules.set_task_status(claims.settle_worker(closed, 1, NOW, "conflict"), "T1", REMAINING)
    assert reopened.closed_at is None


def test_summaries_of_agents_at_work_at_once_replace_each_other_only_within_one_iteration() -> None:
    journal = replace(JOURNAL, iteration=2)
    for worker, text in ((1, "lexer"), (2, "docs"), (1, "lexer, again")):
        journal, _ = rules.add_iteration_summary(journal, text, NOW, worker)
    assert sorted((one.iteration, one.content) for one in journal.summaries) == [
        (1, "lexer, again"), (2, "docs"),
    ]  # fmt: skip
    assert rules.begin_next_iteration(journal).iteration == 3


PASSED = CheckRun(id="a", command="make test", passed=True)
FAILED = replace(PASSED, passed=False, why="1 failed")


@pytest.mark.proves("runs and the journal")
@pytest.mark.parametrize(
    ("merged", "before", "held_back"),
    [
        ((PASSED,), (PASSED,), False),
        ((FAILED,), (PASSED,), True),
        ((FAILED,), (FAILED,), False),
        ((FAILED,), (), False),
        ((PASSED, replace(FAILED, id="b")), (PASSED, replace(PASSED, id="b")), True),
    ],
)
def test_only_a_check_that_passes_without_the_work_holds_it_back(
    merged: tuple[CheckRun, ...], before: tuple[CheckRun, ...], *, held_back: bool
) -> None:
    why = merge_objection(MergeChecks(runs=merged), MergeChecks(runs=before))
    assert why == ("with it `make test` does not pass any more: 1 failed" if held_back else "")


def test_a_change_of_the_checks_that_is_there_without_the_work_holds_nothing_back() -> None:
    gone, old = "test_a.py: it passed and runs no more", "test_b.py: as it was, it fails"
    before = MergeChecks(runs=(PASSED,), weakened=(old,))
    why = merge_objection(MergeChecks(runs=(PASSED,), weakened=(gone, old)), before)
    assert why == f"it changes checks: {gone}\n{ASKED_ONCE}"
    assert merge_objection(before, before) == ""


steps = st.lists(
    st.tuples(
        st.sampled_from(["start", "start", "renew", "done", "merged", "refused", "later", "killed"]),
        st.integers(0, 9),
    ),
    max_size=40,
)


@pytest.mark.proves("runs and the journal")
@given(history=steps)
def test_in_any_history_a_task_has_one_agent_and_is_merged_once(history: list[tuple[str, int]]) -> None:
    journal, now = JOURNAL, NOW
    alive: dict[int, str] = {}
    merges: list[str] = []
    for step, number in history:
        worker = list(alive)[number % len(alive)] if alive else 0
        if step == "later":
            now += LEASE_S / 3
            journal = claims.renew_claims(journal, now, alive)  # who is alive renews in time
        elif step == "start":
            journal, got = started(journal, *alive, now=now, planning="" in alive.values())
            if got:
                alive[got.worker] = got.task.id if got.task else ""
        elif not worker:
            continue
        elif step == "killed":
            del alive[worker]
        elif step == "renew":
            journal = claims.renew_claims(journal, now, [worker])
        elif step == "done" and alive[worker]:
            journal, _ = rules.set_task_status(journal, alive[worker], COMPLETED, worker=worker)
        elif step in ("merged", "refused"):
            done = claims.claimed_by(journal, worker, done=True)
            merges += [task.id for task in done if step == "merged"]
            journal = claims.settle_worker(journal, worker, now, "conflict" * (step == "refused"))
            del alive[worker]
        held = [task.claim.worker for task in journal.tasks if task.claim and task.claim.until > now]
        assert len(set(held)) == len(held)
        assert {name for name in alive.values() if name} <= {
            task.id for task in journal.tasks if task.claim and alive.get(task.claim.worker) == task.id
        }
        assert sorted(merges) == sorted(ids(journal, COMPLETED))
        assert {task.claim for task in journal.tasks if task.status is COMPLETED} <= {None}


def test_a_sign_of_life_is_no_event_and_leaves_a_tasks_age_alone() -> None:
    clock, log, store = ManualClock(NOW), MemoryEventLog(), MemoryJournals()
    store.save(KEY, JOURNAL)
    journals = SessionJournals(store, log, clock)
    ask = partial(change_workers, journals, clock)
    ask(WorkerChange(session=KEY.id, do="start"))
    before, events = journals.of(KEY), log.newest(EventFilter(), 99)
    clock.advance(LEASE_S / 2)
    ask(WorkerChange(session=KEY.id, do="renew", at_work=(1,)))
    after = journals.of(KEY)
    assert after.tasks[0].claim == TaskClaim(worker=1, until=NOW + 1.5 * LEASE_S)
    assert after.tasks[0].changed_at == before.tasks[0].changed_at == NOW
    assert len(events) == 1
    assert log.newest(EventFilter(), 99) == events
