"""An agent that asks while nobody is there is answered by the leave that the user gave it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from sidecar.hosts.acp.link import (
    CALL_FILES_LIMIT,
    CANCELLED,
    AgentPermit,
    PermissionLevel,
    PermissionOption,
    PermissionRequest,
    ToolCallLocation,
    ToolCallUpdate,
    choose_permission_answer,
)

TOOLS: Final = ("status", "task_next")
OPTIONS: Final = ("allow_always", "reject_always", "allow_once", "reject_once")


def call(kind: str | None = None, *paths: str, title: str | None = None) -> ToolCallUpdate:
    return ToolCallUpdate(title, kind, tuple(map(ToolCallLocation, paths)) if paths else None)


@pytest.fixture
def project(tmp_path: Path) -> str:
    project = tmp_path / "project"
    project.mkdir()
    (project / "way-out").symlink_to(tmp_path)
    (project / "loop").symlink_to(project / "loop")
    return str(project)


@pytest.mark.parametrize(
    "asked",
    [
        call("read"),
        call("search", "src"),
        call("think"),
        call("edit", "src/a.py"),
        call("move", "a.py", "src/../b.py"),
        call("delete", "a.py"),
        call("other", title="mcp__supervisor__task_next"),
        call(title="supervisor_status"),
        call(title="status (supervisor MCP Server)"),
    ],
)
def test_edits_allows_looking_changing_the_project_and_our_own_tools(
    asked: ToolCallUpdate, project: str
) -> None:
    assert AgentPermit(PermissionLevel.EDITS, project, TOOLS).allows(asked)


@pytest.mark.parametrize(
    "asked",
    [
        call(),
        call("execute", title="ls"),
        call("fetch"),
        call("switch_mode"),
        call("other", "a.py", title="Not supervisor_status"),
        call("other", title="supervisor_gates_run"),
        call("a kind of next year", "a.py"),
        call("edit"),
        call("edit", "/etc/passwd"),
        call("edit", "a.py", "../b.py"),
        call("edit", "way-out/a.py"),
        call("edit", "loop"),
        call("edit", "a\0b"),
        call("edit", "a" * 10_000),
        call("read", "/etc/passwd"),
        call("edit", *["a.py"] * (CALL_FILES_LIMIT + 1)),
    ],
)
def test_edits_allows_nothing_else(asked: ToolCallUpdate, project: str) -> None:
    assert not AgentPermit(PermissionLevel.EDITS, project, TOOLS).allows(asked)


def test_none_allows_nothing_and_a_folder_beside_the_project_is_not_in_it(project: str) -> None:
    for level, asked, allowed in (
        (PermissionLevel.NONE, call("read", title="supervisor_status"), False),
        (PermissionLevel.EDITS, call("edit", f"{project}/a.py"), True),
        (PermissionLevel.EDITS, call("edit", f"{project}-other/a.py"), False),
    ):
        assert AgentPermit(level, project, TOOLS).allows(asked) is allowed


@pytest.mark.parametrize(
    ("offered", "yes", "no"),
    [
        (OPTIONS, "allow_once", "reject_once"),
        (("allow_always", "reject_once"), "reject_once", "reject_once"),
        (("allow_once", "reject_always"), "allow_once", "reject_always"),
        (("allow_always", "reject_always"), "", "reject_always"),
        ((), "", ""),
    ],
)
def test_an_answer_holds_for_this_once_where_the_agent_offers_that(
    offered: tuple[str, ...], yes: str, no: str
) -> None:
    asked = PermissionRequest(ToolCallUpdate(), tuple(PermissionOption(kind, kind) for kind in offered))
    for allow, chosen in ((True, yes), (False, no)):
        expected = {"outcome": {"outcome": "selected", "optionId": chosen}} if chosen else CANCELLED
        assert choose_permission_answer(asked, allow=allow) == expected
