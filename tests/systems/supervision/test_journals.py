"""Journals as sessions live: read at each stop, copied to a fork, forgotten with their session."""

from __future__ import annotations

import asyncio
import errno
import logging
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from sidecar.kernel.effects import NoReply, RestReason
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.events import SessionDeleted, SessionOrigin
from sidecar.kernel.journal import Journal, NoteKind, Task, TaskStatus
from sidecar.kernel.log import EventFilter, JournalChanged
from sidecar.kernel.session import SessionKey
from sidecar.platform.session_store import JournalFiles
from sidecar.systems.iteration.journals import SessionJournals
from sidecar.systems.iteration.policy import journal as rules
from support.cases import ASKING, KEY, PROJECT, complete, incomplete, stopped, with_goal
from support.fakes import LIMIT, Fakes, prompt, started
from support.memory_stores import FixedConfiguration, ManualClock, MemoryEventLog, MemoryJournals

OTHER = SessionKey(KEY.host, "s2")
PID = 4711
CLIENTS = 200
EACH = 2
"""Tasks, and as many notes, that each client writes."""
PLAN, _ = rules.add_tasks(Journal(), [("parse comments", TaskStatus.REMAINING), ("docs", TaskStatus.BLOCKED)])
BROKEN = (OSError(errno.EIO, "input/output error"), BadInputError("no such name"))


class BrokenJournals(MemoryJournals):
    """Journals on a disk that gives nothing back."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    def load(self, key: SessionKey) -> Journal | None:  # noqa: ARG002 - the port's
        raise self._error


def stuck(journal: Journal, content: str, at: float) -> Journal:
    return rules.add_note(journal, NoteKind.STUCK, content, at)[0]


# --- changes ---


def test_a_session_without_a_journal_has_an_empty_one_and_nothing_is_written_by_looking() -> None:
    store = MemoryJournals()
    assert SessionJournals(store).of(KEY) == Journal()
    assert store.load(KEY) is None


def test_a_change_that_changes_nothing_is_not_written(tmp_path: Path) -> None:
    journals = SessionJournals(JournalFiles(tmp_path))
    journals.change(KEY, lambda journal: rules.add_tasks(journal, [("a", TaskStatus.REMAINING)]))
    path = tmp_path / "sessions" / "claude-code-s1.journal.json"
    before = path.read_bytes()
    task = journals.change(KEY, lambda journal: rules.set_task_status(journal, "T1", TaskStatus.REMAINING))
    assert task.id == "T1"
    assert path.read_bytes() == before


def test_what_changed_is_an_event_and_what_did_not_is_not() -> None:
    log, clock = MemoryEventLog(), ManualClock()
    journals = SessionJournals(MemoryJournals(), log, clock)
    journals.change(
        KEY,
        lambda journal: rules.add_tasks(journal, [("a", TaskStatus.REMAINING), ("b", TaskStatus.REMAINING)]),
    )
    begun = clock.now()
    for _ in range(2):
        clock.advance(5.0)
        journals.change(KEY, lambda journal: rules.set_task_status(journal, "T2", TaskStatus.COMPLETED))
    journals.change(KEY, lambda journal: (replace(journal, tasks=journal.tasks[:1]), None))
    added, done, removed = log.read(EventFilter(session=KEY, kinds=("journal-changed",)))
    assert isinstance(added.data, JournalChanged)
    assert [(task.id, task.added_at, task.changed_at) for task in added.data.tasks] == [
        ("T1", begun, begun),
        ("T2", begun, begun),
    ]
    task = Task(id="T2", content="b", status=TaskStatus.COMPLETED, added_at=begun, changed_at=begun + 5.0)
    assert done.data == JournalChanged(tasks=(task,))
    assert removed.data == JournalChanged(removed=("T2",))


async def test_of_200_clients_at_once_nothing_is_lost_nothing_doubled_and_each_ones_order_is_kept(
    tmp_path: Path,
) -> None:
    journals = SessionJournals(JournalFiles(tmp_path))
    begun = asyncio.Barrier(CLIENTS)
    luck = random.Random(7)  # noqa: S311 - it only shuffles
    answers: dict[int, list[str]] = {}

    async def client(number: int) -> None:
        await begun.wait()
        steps = list(_steps(number))
        answers[number] = []
        for step in steps:
            answers[number].append(journals.change(KEY, step))
            for _ in range(luck.randrange(3)):
                await asyncio.to_thread(int)  # somebody else's turn

    async with asyncio.timeout(4 * LIMIT):
        await asyncio.gather(*map(client, range(CLIENTS)))
    kept = JournalFiles(tmp_path).load(KEY)
    assert kept is not None
    written = {task.id: task.content for task in kept.tasks} | {note.id: note.content for note in kept.notes}
    assert len(written) == kept.serial == CLIENTS * EACH * 2
    assert sorted(int(ident[1:]) for ident in written) == list(range(1, kept.serial + 1))
    for number, idents in answers.items():
        assert [written[ident] for ident in idents] == [f"{number}/{step}" for step in range(EACH * 2)]
        assert [int(ident[1:]) for ident in idents] == sorted(int(ident[1:]) for ident in idents)


def _steps(number: int) -> list[Callable[[Journal], tuple[Journal, str]]]:
    """What one client writes: tasks and notes in turn. Each gives the id."""

    def task(content: str) -> Callable[[Journal], tuple[Journal, str]]:
        def change(journal: Journal) -> tuple[Journal, str]:
            changed, (made,) = rules.add_tasks(journal, [(content, TaskStatus.REMAINING)])
            return changed, made.id

        return change

    def note(content: str) -> Callable[[Journal], tuple[Journal, str]]:
        def change(journal: Journal) -> tuple[Journal, str]:
            changed, made = rules.add_note(journal, NoteKind.TIP, content, 0.0)
            return changed, made.id

        return change

    return [(note if step % 2 else task)(f"{number}/{step}") for step in range(EACH * 2)]


# --- stops ---


async def test_a_judge_hears_of_open_tasks_and_of_what_the_agent_is_stuck_at(fakes: Fakes) -> None:
    fakes.store.save(with_goal())
    await fakes.tell(prompt())
    fakes.journals.save(KEY, stuck(PLAN, "no network", fakes.clock.now()))
    fakes.judge.script(incomplete())
    await fakes.sent_back()
    (case,) = fakes.judge.cases
    said = [fact.fact for fact in case.evidence if "journal" in fact.fact]
    assert said == [
        "open in the agent's journal: T1 (remaining): parse comments",
        "open in the agent's journal: T2 (blocked): docs",
        "the agent noted in its journal that it is stuck: no network",
    ]


async def test_neither_agent_nor_judge_nor_record_see_a_secret_that_stands_in_a_journal(fakes: Fakes) -> None:
    secret = "s3cr3t-value-of-a-token"
    plan, _ = rules.add_tasks(Journal(), [(f"rotate {secret}", TaskStatus.REMAINING)])
    fakes.store.save(with_goal())
    fakes.journals.save(KEY, stuck(plan, f"{secret} is refused", fakes.clock.now()))
    fakes.judge.script(incomplete())
    answer = await fakes.sent_back(environment={"MY_TOKEN": secret})
    assert "rotate [masked]" in repr(fakes.judge.cases)
    assert secret not in repr((answer, fakes.judge.cases, fakes.record.read(KEY), fakes.state()))


@pytest.mark.parametrize("error", BROKEN, ids=lambda error: type(error).__name__)
async def test_a_journal_that_cannot_be_read_is_logged_and_the_stop_is_judged(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    fakes = Fakes(journals=BrokenJournals(error))
    fakes.store.save(with_goal())
    fakes.judge.script(complete("E2"))
    with caplog.at_level(logging.WARNING):
        assert (await fakes.rest()).reason is RestReason.JUDGED
    assert "the journal could not be read" in caplog.text


async def test_open_tasks_without_a_goal_raise_a_suspicion_and_send_nobody_back_by_themselves() -> None:
    fakes = Fakes(configuration=FixedConfiguration(ASKING))
    fakes.journals.save(KEY, PLAN)
    rest = await fakes.rest()
    (entry,) = fakes.record.read(KEY)
    assert (rest.reason, rest.note, entry.rule) == (RestReason.UNJUDGED, "", "stopped-with-todos")


# --- sessions ---


async def test_a_deleted_session_takes_its_journal_with_it_and_no_other(fakes: Fakes) -> None:
    fakes.journals.save(KEY, PLAN)
    fakes.journals.save(OTHER, PLAN)
    assert await fakes.tell(SessionDeleted(key=KEY, project=PROJECT)) == NoReply()
    assert fakes.journals.load(KEY) is None
    assert fakes.journals.load(OTHER) == replace(PLAN, revision=1)


async def test_a_fork_goes_on_with_a_copy_and_leaves_its_parents_journal_alone(fakes: Fakes) -> None:
    fakes.store.save(with_goal())
    fakes.journals.save(KEY, PLAN)
    await fakes.tell(started(SessionOrigin.RESUME, host_pid=PID))
    await fakes.tell(prompt(key=OTHER, host_pid=PID))
    assert fakes.journals.load(OTHER) == replace(PLAN, revision=1)
    SessionJournals(fakes.journals).change(
        OTHER, lambda now: rules.set_task_status(now, "T1", TaskStatus.COMPLETED)
    )
    assert fakes.journals.load(KEY) == replace(PLAN, revision=1)


@pytest.mark.parametrize("error", BROKEN, ids=lambda error: type(error).__name__)
async def test_a_fork_whose_journal_cannot_be_copied_still_has_its_goal(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    fakes = Fakes(journals=BrokenJournals(error))
    fakes.store.save(with_goal())
    await fakes.tell(started(SessionOrigin.RESUME, host_pid=PID))
    fakes.judge.script(complete("E2"))
    with caplog.at_level(logging.WARNING):
        assert (await fakes.tell(stopped(key=OTHER, host_pid=PID))) is not None
    assert fakes.goal(OTHER).condition == fakes.goal(KEY).condition
    assert "could not be copied" in caplog.text
