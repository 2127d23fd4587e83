"""Which of our own tools change nothing in a project."""

from __future__ import annotations

from typing import Final

import pytest

from servers.tools.desk import Desk
from sidecar.hosts.claude_code import tools as claude_code
from sidecar.hosts.claude_code.record_lines import ContentBlock
from sidecar.hosts.opencode import tools as opencode
from sidecar.hosts.opencode.wire import MessagePart
from sidecar.hosts.shared import is_harmless_tool
from sidecar.kernel.turn import ToolAction
from support.table import over_table

CLAUDE: Final = "mcp__plugin_supervisor_supervisor__"
PREFIXES: Final = (CLAUDE, "mcp_supervisor_", "mcp__supervisor__", "supervisor_")
NAMES: Final = tuple(one.name for one in Desk().toolbox.all_offers() if not one.asks)


@over_table("prefix", PREFIXES)
@over_table("name", NAMES)
def test_every_tool_that_runs_nothing_is_known_to_change_nothing(prefix: str, name: str) -> None:
    assert is_harmless_tool(prefix + name)


@pytest.mark.parametrize(
    "name",
    [CLAUDE + "gates_run", "mcp__supervisor__deploy", "mcp__other__status", "my_supervisor_status", "status"],
)
def test_any_other_tool_may_do_anything(name: str) -> None:
    assert not is_harmless_tool(name)


@pytest.mark.parametrize(("name", "doing"), [("status", ToolAction.READ), ("gates_run", ToolAction.OTHER)])
def test_both_hosts_readers_know_it(name: str, doing: ToolAction) -> None:
    assert claude_code.read_tool_call(ContentBlock(type="tool_use", name=CLAUDE + name)).doing is doing
    assert opencode.read_tool_part(MessagePart(type="tool", tool=f"supervisor_{name}")).doing is doing
