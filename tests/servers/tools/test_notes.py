"""Notes, summaries, and the end of a session."""

from __future__ import annotations

import pytest

from servers.tools.desk import Desk
from sidecar.kernel.journal import Journal, NoteKind, TaskStatus
from sidecar.servers.tools.tool import Caller
from sidecar.systems.iteration.policy.claims import start_worker
from sidecar.systems.iteration.policy.journal import add_tasks, begin_next_iteration
from support.cases import KEY
from support.fakes import prompt

pytestmark = pytest.mark.proves("runs and the journal")


async def test_a_note_is_kept_with_its_type_and_its_time(desk: Desk) -> None:
    desk.fakes.clock.advance(5)
    found = await desk.data("note_add", content="the build needs node 22", type="learning")
    assert found == {
        "id": "N1",
        "type": "learning",
        "content": "the build needs node 22",
        "at": desk.fakes.clock.now(),
    }


async def test_notes_are_listed_the_oldest_first_all_or_of_one_type(desk: Desk) -> None:
    assert await desk.text("note_list") == "No notes"
    for number, kind in enumerate([*NoteKind, NoteKind.STUCK], 1):
        await desk.ask("note_add", content=f"note\n{number}", type=kind.value)
    found = await desk.data("note_list")
    assert [note["id"] for note in found["notes"]] == ["N1", "N2", "N3", "N4", "N5"]
    assert await desk.text("note_list", type="stuck") == "N2 [stuck] note 2\nN5 [stuck] note 5"
    assert await desk.data("note_list", type=None) == found
    assert await desk.text("note_list", type="tip") == "N3 [tip] note 3"


async def test_a_summary_belongs_to_its_iteration_and_a_later_one_replaces_it(desk: Desk) -> None:
    assert await desk.data("iteration_summary", summary="one") == {"iteration": 1, "summary": "one"}
    assert (await desk.data("iteration_summary", summary="two"))["iteration"] == 2
    under_way = begin_next_iteration(desk.journal)
    desk.fakes.journals.save(KEY, under_way)
    for text in ("three", "three again"):
        found = await desk.data("iteration_summary", summary=text)
        assert found["iteration"] == under_way.iteration
    assert [one.content for one in desk.journal.summaries] == ["one", "two", "three again"]
    assert (await desk.data("iteration_summary"))["kept"] == ["1: one", "2: two", "3: three again"]
    assert await desk.text("iteration_summary") == "1: one\n2: two\n3: three again"


async def test_a_secret_in_a_task_a_note_or_a_summary_reaches_neither_the_journal_nor_an_answer(
    desk: Desk,
) -> None:
    """Law 10: of a known form, beside a name that says so, and a value of the session's environment."""
    secrets = ("gsk_" + "0a1B" * 13, "hunter2hunter2", "as-plain-as-day")
    await desk.fakes.tell(prompt(environment={"MY_TOKEN": secrets[2]}))
    said = "rotate {}, password: {}, and {}".format(*secrets)
    answers = [
        await desk.ask("task_add", content=said),
        await desk.ask("task_batch_add", tasks=[{"content": said}]),
        await desk.ask("note_add", content=said, type="stuck"),
        await desk.ask("iteration_summary", summary=said),
        *[await desk.ask(name) for name in ("task_list", "task_next", "note_list", "status", "evidence")],
    ]
    assert not [secret for secret in secrets if secret in repr((desk.journal, answers))]
    assert repr(desk.journal).count("password: [masked], and [masked]") == 4


async def test_of_several_agents_at_work_each_has_its_own_task_and_summary(desk: Desk) -> None:
    journal, _ = add_tasks(Journal(), [("lexer", TaskStatus.REMAINING), ("docs", TaskStatus.REMAINING)])
    for at_work in ((), (1,)):
        journal, _ = start_worker(journal, 0.0, at_work, planning=False)
    desk.fakes.journals.save(KEY, journal)
    for worker, task in ((1, "T1"), (2, "T2")):
        caller = Caller(bound=KEY, worker=worker)
        told = await desk.toolbox.call("task_next", {}, caller)
        assert told.text.startswith(task)
        await desk.toolbox.call("iteration_summary", {"summary": f"{task} is done"}, caller)
        done = await desk.toolbox.call("task_status", {"id": task, "status": "completed"}, caller)
        assert "completed" in done.text
    assert [one.content for one in desk.journal.summaries] == ["T1 is done", "T2 is done"]
    assert [task.status for task in desk.journal.tasks] == [TaskStatus.IN_PROGRESS] * 2
