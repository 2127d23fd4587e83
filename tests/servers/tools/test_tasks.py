"""The tasks of a session, as an agent plans them."""

from __future__ import annotations

import errno
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servers.tools.desk import Desk, as_json
from sidecar.kernel.journal import Author, Journal
from sidecar.kernel.session import SessionKey
from sidecar.servers.tools.tool import Caller
from sidecar.systems.iteration.policy.journal import MAX_TEXT_LENGTH
from support.cases import KEY


async def plan(desk: Desk, *contents: str) -> list[str]:
    """Add tasks; their ids."""
    added = await desk.data("task_batch_add", tasks=[{"content": one} for one in contents])
    return [task["id"] for task in added["tasks"]]


@pytest.mark.proves("runs and the journal")
async def test_an_added_task_is_told_with_its_id_status_and_content_and_nothing_else(desk: Desk) -> None:
    assert await desk.data("task_add", content="write the parser") == {
        "id": "T1",
        "status": "remaining",
        "content": "write the parser",
    }
    found = await desk.data("task_add", content="say why", status="in_progress")
    assert (found["id"], found["status"]) == ("T2", "in_progress")


@pytest.mark.proves("runs and the journal")
async def test_a_batch_is_added_in_its_order_or_not_at_all(desk: Desk) -> None:
    assert await plan(desk, "one", "two", "three") == ["T1", "T2", "T3"]
    said = await desk.refusal("task_batch_add", tasks=[{"content": "four"}, {"content": " "}])
    assert "task 2" in said
    assert await plan(desk, "four") == ["T4"]


@pytest.mark.proves("runs and the journal")
@pytest.mark.parametrize(
    "tasks", ['[{"content": "one"}, {"content": "two", "status": "blocked"}]', ' [{"content":"one"}]\n']
)
async def test_a_batch_may_come_as_a_text_of_json(desk: Desk, tasks: str) -> None:
    found = await desk.data("task_batch_add", tasks=tasks)
    assert found["tasks"][0] == {"id": "T1", "status": "remaining", "content": "one"}


@pytest.mark.parametrize(
    ("tasks", "why"),
    [
        ([], "no task to add"),
        ("[]", "no task to add"),
        ("one, two", "Expected `array`, got `str`"),
        ('{"content": "one"}', "Expected `array`, got `object`"),
        ('["one"]', "Expected `object`, got `str`"),
        ('[{"content": "one", "priority": 0}]', "`priority`"),
        ('[{"content": "\\ud800"', "Expected `array`, got `str`"),
        ("[" * 100_000, "Expected `array`, got `str`"),
    ],
)
async def test_a_batch_that_is_none_is_refused_with_what_is_wrong(desk: Desk, tasks: Any, why: str) -> None:
    assert why in await desk.refusal("task_batch_add", tasks=tasks)


async def test_a_task_is_found_by_its_id_however_it_is_written(desk: Desk) -> None:
    await plan(desk, "one")
    assert (await desk.data("task_status", id=" t1 ", status="in_progress"))["status"] == "in_progress"
    said = await desk.refusal("task_status", id="T9\x1b", status="completed")
    assert "no task" in said
    assert "T1" in said
    assert "\x1b" not in said


@pytest.mark.proves("runs and the journal")
async def test_a_dependency_must_be_completed_first_and_no_cycle_comes_about(desk: Desk) -> None:
    await plan(desk, "one", "two", "three")
    assert (await desk.data("task_depends", id="T1", depends_on="T2"))["depends_on"] == ["T2"]
    await desk.ask("task_depends", id="T2", depends_on="T3")
    assert "T3 -> T1 -> T2 -> T3" in await desk.refusal("task_depends", id="T3", depends_on="T1")
    assert "cycle" in await desk.refusal("task_depends", id="T1", depends_on="T1")
    assert "T2" in await desk.refusal("task_status", id="T1", status="completed")
    assert (await desk.data("task_next"))["task"]["id"] == "T3"
    for ident in ("T3", "T2", "T1"):
        await desk.ask("task_status", id=ident, status="completed")


@pytest.mark.proves("runs and the journal")
async def test_the_next_task_is_the_most_urgent_one_that_nothing_blocks(desk: Desk) -> None:
    await plan(desk, "one", "two", "three", "four")
    assert (await desk.data("task_next"))["task"]["id"] == "T1"
    found = await desk.data("task_priority", id="T3", priority=0)
    assert (found["id"], found["priority"]) == ("T3", 0)
    await desk.ask("task_depends", id="T3", depends_on="T4")
    await desk.ask("task_priority", id="T2", priority=1)
    assert (await desk.data("task_next"))["task"]["id"] == "T2"
    await desk.ask("task_status", id="T2", status="blocked")
    assert (await desk.data("task_next"))["task"]["id"] == "T1"
    assert await desk.text("task_next") == "T1 [remaining] one"
    await desk.ask("task_status", id="T4", status="completed")
    assert await desk.text("task_next") == "T3 [remaining, priority 0, depends_on T4] three"


@pytest.mark.proves("runs and the journal")
@pytest.mark.parametrize("priority", [-1, 5, "1", 1.5, True, 10**400])
async def test_a_priority_is_a_number_from_0_to_4(desk: Desk, priority: object) -> None:
    await plan(desk, "one")
    assert "`$.priority`" in await desk.refusal("task_priority", id="T1", priority=priority)


async def test_where_no_task_is_next_it_is_said_why(desk: Desk) -> None:
    assert await desk.text("task_next") == "No tasks"
    await plan(desk, "one", "two")
    await desk.ask("task_status", id="T1", status="blocked")
    await desk.ask("task_depends", id="T2", depends_on="T1")
    assert await desk.data("task_next") == {"task": None}
    said = await desk.text("task_next")
    assert "2 are open" in said
    assert "- T1 [blocked] one\n- T2 [remaining, depends_on T1] two\n" in said
    for ident in ("T1", "T2"):
        await desk.ask("task_status", id=ident, status="completed")
    assert "session_complete" in await desk.text("task_next")


@pytest.mark.proves("runs and the journal")
async def test_the_list_is_in_groups_and_says_what_the_user_added(desk: Desk) -> None:
    assert await desk.text("task_list") == "No tasks"
    await plan(desk, "one", "two\nlines", "three")
    await desk.user("task_add", content="four")
    await desk.ask("task_status", id="T2", status="in_progress")
    await desk.ask("task_status", id="T3", status="completed")
    await desk.ask("task_priority", id="T4", priority=1)
    found = await desk.data("task_list")
    assert {name: [task["id"] for task in group] for name, group in found.items()} == {
        "in_progress": ["T2"],
        "remaining": ["T1", "T4"],
        "blocked": [],
        "failed": [],
        "completed": ["T3"],
    }
    assert [task["by"] for task in found["remaining"]] == ["agent", "user"]
    assert await desk.text("task_list") == (
        "in_progress (1):\n- T2 two lines\n"
        "remaining (2):\n- T1 one\n- T4 [priority 1, by user] four\n"
        "completed (1):\n- T3 three"
    )


async def test_a_list_of_many_long_tasks_is_cut_and_a_task_by_itself_is_not(desk: Desk) -> None:
    contents = [f"{number} " + "é" * (MAX_TEXT_LENGTH - 10) for number in range(100)]
    for content in contents:
        await desk.ask("task_add", content=content)
    answer = await desk.ask("task_list")
    assert len(answer.text) < 25_000
    assert len(str(as_json(answer.data))) < 40_000
    assert (await desk.data("task_next"))["task"]["content"] == contents[0]


async def test_a_megabyte_is_refused_with_its_length_and_control_characters_are_left_out(desk: Desk) -> None:
    assert "1000000 characters" in await desk.refusal("task_add", content="x" * 1_000_000)
    found = await desk.data("task_add", content="a\x1b[2J\x00b\ud800\u202ec")
    assert found["content"] == "abc"
    assert "is empty" in await desk.refusal("task_add", content="\x00\ud800 \n")


async def test_journals_of_two_sessions_know_nothing_of_each_other(desk: Desk) -> None:
    await plan(desk, "one")
    assert desk.fakes.journals.load(SessionKey("opencode", KEY.id)) is None
    assert desk.journal.tasks[0].by is Author.AGENT


async def test_a_disk_that_fails_is_told_to_who_asked(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def save(_key: SessionKey, _journal: Journal) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/home/user/secret")

    monkeypatch.setattr(desk.fakes.journals, "save", save)
    said = await desk.refusal("task_add", content="one")
    assert "No space left on device" in said
    assert "/home" not in said


STEPS = st.one_of(
    st.tuples(st.just("task_add"), st.fixed_dictionaries({"content": st.sampled_from(["a", "b", " "])})),
    st.tuples(
        st.just("task_status"),
        st.fixed_dictionaries(
            {
                "id": st.sampled_from(["T1", "T2", "T3", "T4"]),
                "status": st.sampled_from(["remaining", "in_progress", "completed", "blocked"]),
            }
        ),
    ),
    st.tuples(
        st.just("task_depends"),
        st.fixed_dictionaries(
            {"id": st.sampled_from(["T1", "T2", "T3"]), "depends_on": st.sampled_from(["T1", "T2", "T3"])}
        ),
    ),
    st.tuples(
        st.just("task_priority"),
        st.fixed_dictionaries({"id": st.sampled_from(["T1", "T2"]), "priority": st.integers(0, 4)}),
    ),
)


@given(st.lists(STEPS, max_size=12))
async def test_whatever_is_planned_the_list_has_every_task_once_and_the_next_one_waits_for_nothing(
    steps: list[tuple[str, dict[str, Any]]],
) -> None:
    desk = Desk()
    added = 0
    for name, arguments in steps:
        refused = await desk.attempt(name, {"session": KEY.id, **arguments}, Caller())
        added += name == "task_add" and not refused
    found = await desk.data("task_list")
    by_id = {task["id"]: (status, task) for status, group in found.items() for task in group}
    assert sorted(by_id) == [f"T{number}" for number in range(1, added + 1)]
    following = (await desk.data("task_next"))["task"]
    if following is not None:
        assert by_id[following["id"]][0] in ("remaining", "in_progress")
        assert all(by_id[one][0] == "completed" for one in following["depends_on"])
