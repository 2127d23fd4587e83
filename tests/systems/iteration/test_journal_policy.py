"""What may be written into a journal, and what it says is next."""

from __future__ import annotations

from typing import Any

import pytest

from sidecar.kernel.journal import Author, Journal, NoteKind, Priority, Task, TaskStatus, find_ready_tasks
from sidecar.systems.iteration.policy import journal as rules
from sidecar.systems.iteration.policy.journal import JournalError
from support.table import over_table

REMAINING, BEGUN = TaskStatus.REMAINING, TaskStatus.IN_PROGRESS
DONE, BLOCKED = TaskStatus.COMPLETED, TaskStatus.BLOCKED
NEWS = "\u0007\u001b\u202e\u2066\ufeff\ud800"
"""Characters that a screen obeys or hides, and half a character."""


def planned(*contents: str, status: TaskStatus = REMAINING) -> Journal:
    journal, _ = rules.add_tasks(Journal(), [(content, status) for content in contents])
    return journal


def at(journal: Journal, ident: str, status: TaskStatus) -> Journal:
    return rules.set_task_status(journal, ident, status)[0]


def urgent(journal: Journal, ident: str, priority: Priority) -> Journal:
    return rules.set_task_priority(journal, ident, priority)[0]


def after(journal: Journal, ident: str, on: str) -> Journal:
    return rules.add_task_dependency(journal, ident, on)[0]


def following(journal: Journal) -> list[str]:
    return [task.id for task in find_ready_tasks(journal)]


def refused(rule: str, use: Any, *arguments: Any) -> dict[str, str]:
    """Let the rules refuse, and give the values of the refusal."""
    with pytest.raises(JournalError) as found:
        use(*arguments)
    assert found.value.rule == rule
    assert all(len(value) < 1100 for value in found.value.values.values())
    return found.value.values


# --- adding ---


def test_tasks_are_added_in_their_order_with_ids_that_count_on() -> None:
    journal, made = rules.add_tasks(Journal(), [("one", REMAINING), ("two", BEGUN)], by=Author.USER)
    assert made == journal.tasks
    assert made == (
        Task(id="T1", content="one", by=Author.USER),
        Task(id="T2", content="two", status=BEGUN, by=Author.USER),
    )
    journal, tip = rules.add_note(journal, NoteKind.TIP, "a tip", 1.0)
    journal, (third,) = rules.add_tasks(journal, [("three", REMAINING)])
    assert (tip.id, third.id) == ("N3", "T4")


def test_no_task_at_all_is_refused() -> None:
    refused("journal-no-tasks", rules.add_tasks, Journal(), [])


def test_there_is_an_end_to_open_tasks_and_notes() -> None:
    full = planned(*["x"] * rules.MAX_TASKS)
    values = refused("journal-too-many", rules.add_tasks, full, [("one more", REMAINING)])
    assert values == {"what": "open tasks", "most": "500", "there": "500"}
    full, _ = rules.set_task_status(full, "T1", DONE)
    full, _ = rules.add_tasks(full, [("one more", REMAINING)])
    for number in range(rules.MAX_NOTES):
        full, _ = rules.add_note(full, NoteKind.TIP, "x", float(number))
    assert refused("journal-too-many", rules.add_note, full, NoteKind.TIP, "x", 0.0)["what"] == "notes"


def test_a_journal_that_is_full_takes_no_more_text_but_its_tasks_can_still_be_done() -> None:
    full = Journal()
    for _ in range(rules.MAX_JOURNAL_LENGTH // rules.MAX_TEXT_LENGTH):
        full, _ = rules.add_tasks(full, [("x" * rules.MAX_TEXT_LENGTH, REMAINING)])
    refused("journal-full", rules.add_tasks, full, [("x", REMAINING)])
    refused("journal-full", rules.add_note, full, NoteKind.TIP, "x", 0.0)
    refused("journal-full", rules.add_iteration_summary, full, "x", 0.0)
    assert rules.find_task(at(full, "T1", DONE), "T1").status is DONE


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("  plain \n", "plain"),
        ("two\r\nlines\rof\u2028text", "two\nlines\nof\ntext"),
        (f"a{NEWS}b", "ab"),
        ("a\u00a0b\u3000c\td", None),
        ("\u0645\u06cc\u200c\u0634\u0648\u062f \U0001f469\u200d\U0001f4bb", None),
        ("x" * rules.MAX_TEXT_LENGTH + "\n\n", "x" * rules.MAX_TEXT_LENGTH),
    ],
)
def test_a_text_is_kept_without_what_a_screen_obeys_or_hides(given: str, kept: str | None) -> None:
    (task,) = planned(given).tasks
    assert task.content == (given if kept is None else kept)


@pytest.mark.parametrize("length", [rules.MAX_TEXT_LENGTH + 1, 1_000_000])
def test_a_text_that_is_too_long_is_refused_with_its_length(length: int) -> None:
    for use in (
        planned,
        lambda text: rules.add_note(Journal(), NoteKind.TIP, text, 0.0),
        lambda text: rules.add_iteration_summary(Journal(), text, 0.0),
    ):
        assert refused("journal-long-text", use, "\u0007" * length)["length"] == str(length)


# --- finding ---


@pytest.mark.parametrize("ident", ["T2", "t2", " T2\n"])
def test_a_task_is_found_by_its_id(ident: str) -> None:
    assert rules.find_task(planned("one", "two"), ident).content == "two"


@over_table("ident", ["", "2", "T3", "N1", "T1 T2", "T\u00b2", "x" * 1_000_000, NEWS])
def test_an_unknown_id_is_refused_with_those_that_are_known(ident: str) -> None:
    values = refused("journal-unknown-task", rules.find_task, planned("one", "two"), ident)
    assert values["known"] == "T1, T2"
    assert len(values["id"]) <= rules.SHORT_TEXT_LENGTH
    assert values["id"].isprintable()


# --- what comes next ---


def test_the_most_urgent_comes_first_then_what_was_begun_then_what_was_added_first() -> None:
    journal = planned("T1", "T2", "T3", "T4", "T5")
    journal = urgent(journal, "T1", Priority.LOW)
    journal = urgent(journal, "T4", Priority.CRITICAL)
    journal = at(journal, "T5", BEGUN)
    assert following(journal) == ["T4", "T5", "T2", "T3", "T1"]


def test_neither_blocked_nor_completed_nor_waiting_tasks_are_next() -> None:
    journal = planned("T1", "T2", "T3", "T4")
    journal = after(at(at(journal, "T1", BLOCKED), "T2", DONE), "T3", "T1")
    assert following(after(journal, "T4", "T2")) == ["T4"]


def test_a_task_is_ready_when_all_that_it_depends_on_is_completed() -> None:
    journal = after(after(planned("T1", "T2", "T3"), "T3", "T1"), "T3", "T2")
    assert following(journal) == ["T1", "T2"]
    journal = at(journal, "T1", DONE)
    assert following(journal) == ["T2"]
    assert following(at(journal, "T2", DONE)) == ["T3"]


def test_a_task_is_not_completed_before_those_that_it_depends_on() -> None:
    journal = after(after(planned("T1", "T2", "T3"), "T3", "T1"), "T3", "T2")
    assert refused("journal-waits", at, journal, "T3", DONE) == {"id": "T3", "on": "T1, T2"}
    assert rules.find_task(at(journal, "T3", BEGUN), "T3").status is BEGUN
    journal = at(at(journal, "T1", DONE), "T2", DONE)
    assert rules.find_task(at(journal, "T3", DONE), "T3").status is DONE


@pytest.mark.proves("runs and the journal")
def test_a_completed_task_may_be_opened_again() -> None:
    journal = planned("one", status=DONE)
    assert following(at(journal, "T1", REMAINING)) == ["T1"]


# --- dependencies ---


@pytest.mark.proves("runs and the journal")
def test_a_cycle_is_refused_and_shown() -> None:
    journal = after(after(planned("T1", "T2", "T3"), "T1", "T2"), "T2", "T3")
    values = refused("journal-cycle", after, journal, "T3", "T1")
    assert values == {"path": "T3 -> T1 -> T2 -> T3"}
    assert refused("journal-cycle", after, journal, "T1", "t1") == {"path": "T1 -> T1"}


def test_a_dependency_on_what_is_not_there_is_refused() -> None:
    refused("journal-unknown-task", after, planned("T1"), "T1", "T2")
    refused("journal-unknown-task", after, planned("T1"), "T2", "T1")


def test_500_tasks_in_a_chain_come_one_after_the_other() -> None:
    journal = planned(*["x"] * rules.MAX_TASKS)
    for number in range(1, rules.MAX_TASKS):
        journal = after(journal, f"T{number}", f"T{number + 1}")
    assert len(refused_path(journal)) == rules.MAX_TASKS + 1
    for number in range(rules.MAX_TASKS, 0, -1):
        assert following(journal) == [f"T{number}"]
        journal = at(journal, f"T{number}", DONE)
    assert rules.mark_session_complete(journal, 9.0).closed_at == 9.0


def refused_path(journal: Journal) -> list[str]:
    with pytest.raises(JournalError) as found:
        after(journal, "T500", "T1")
    return found.value.values["path"].split(" -> ")


def test_where_every_task_depends_on_all_before_it_a_cycle_is_still_found() -> None:
    journal = planned(*["x"] * 120)
    for number in range(2, 121):
        for before in range(1, number):
            journal = after(journal, f"T{number}", f"T{before}")
    refused("journal-cycle", after, journal, "T1", "T120")
    assert following(journal) == ["T1"]


# --- summaries and the end ---


def test_a_later_summary_of_an_iteration_replaces_the_one_before() -> None:
    journal = rules.begin_next_iteration(Journal())
    journal, _ = rules.add_iteration_summary(journal, "half of it", 1.0)
    journal, _ = rules.add_iteration_summary(journal, "all of it", 2.0)
    journal, _ = rules.add_iteration_summary(rules.begin_next_iteration(journal), "more", 3.0)
    assert [(one.iteration, one.content) for one in journal.summaries] == [(1, "all of it"), (2, "more")]


def test_of_too_many_summaries_the_oldest_goes() -> None:
    journal = Journal()
    for number in range(rules.MAX_NOTES + 1):
        journal, _ = rules.add_iteration_summary(journal, f"{number}", 0.0)
    assert (len(journal.summaries), journal.summaries[0].content) == (rules.MAX_NOTES, "1")


def test_a_session_with_nothing_open_may_be_called_complete() -> None:
    assert rules.mark_session_complete(Journal(), 1.0).closed_at == 1.0
    assert rules.mark_session_complete(planned("one", status=DONE), 2.0).closed_at == 2.0


@pytest.mark.parametrize("status", [REMAINING, BEGUN, BLOCKED])
def test_a_session_with_an_open_task_is_not_complete_and_the_refusal_names_it(status: TaskStatus) -> None:
    values = refused(
        "journal-open-tasks", rules.mark_session_complete, planned("write\nthe docs", status=status), 1.0
    )
    assert values == {"number": "1", "named": f"T1 ({status}) write the docs"}


def test_of_many_open_tasks_the_refusal_names_some_and_counts_the_others() -> None:
    values = refused("journal-open-tasks", rules.mark_session_complete, planned(*["x" * 4000] * 25), 1.0)
    assert values["number"] == "25"
    assert values["named"].endswith("; and 15 more")


def test_a_task_that_is_added_or_opened_ends_that_the_session_is_complete() -> None:
    closed = rules.mark_session_complete(planned("one", status=DONE), 1.0)
    assert at(closed, "T1", BLOCKED).closed_at is None
    assert rules.add_tasks(closed, [("two", REMAINING)])[0].closed_at is None
    assert rules.add_tasks(closed, [("two", DONE)])[0].closed_at == 1.0
    assert rules.add_note(closed, NoteKind.STUCK, "stuck", 2.0)[0].closed_at == 1.0
