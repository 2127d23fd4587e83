"""The tasks of a session, as an agent plans them."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from servers.tools.desk import Desk
from sidecar.kernel.journal import Journal
from sidecar.kernel.session import SessionKey


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


async def test_a_disk_that_fails_is_told_to_who_asked(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def save(_key: SessionKey, _journal: Journal) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/home/user/secret")

    monkeypatch.setattr(desk.fakes.journals, "save", save)
    said = await desk.refusal("task_add", content="one")
    assert "No space left on device" in said
    assert "/home" not in said
