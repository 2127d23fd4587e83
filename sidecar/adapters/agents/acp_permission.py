"""What an agent is answered that asks whether it may do something, while nobody is there to ask.

The laws of this file:

- The agent's own configuration comes first: it asks about what that leaves open, and nothing else comes here.
- Nothing is allowed for ever: `allow_always` may outlive the run, so it is never chosen.
- What a call is about is the agent's own word. `edits` keeps an honest agent inside its project; what must
  not happen at all takes a sandbox.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final

from msgspec import Struct

from sidecar.adapters.agents.acp_wire import Cancelled, Decision, Option, Permission, Selected, ToolCall

LOOKS: Final = frozenset({"read", "search", "think"})
EDITS: Final = frozenset({"edit", "move", "delete"})
TITLES: Final = ("mcp__supervisor__{}", "supervisor_{}")
"""What Claude Code and OpenCode call a tool of the MCP server `supervisor`."""
FILES: Final = 100
"""Files of one call that are looked at; a call with more is not allowed."""
PATH_LIMIT: Final = 4096
"""Characters of a path: what Linux takes, in bytes."""


class Leave(StrEnum):
    """What the user lets an agent do that asks.

    `edits`: look, change files of the project, and call our tools that need nobody's leave; no commands, no
    network.
    """

    ALL = "all"
    EDITS = "edits"
    NONE = "none"


class Permit(Struct, frozen=True):
    """A leave for one project. `tools` are the names of our tools that need nobody's leave."""

    leave: Leave
    project: str
    tools: tuple[str, ...] = ()

    def allows(self, call: ToolCall) -> bool:
        """Whether the user lets the agent do this."""
        if self.leave is not Leave.EDITS:
            return self.leave is Leave.ALL
        if call.title in {title.format(tool) for title in TITLES for tool in self.tools}:
            return True
        paths = [location.path for location in call.locations or ()]
        inside = len(paths) <= FILES and all(_inside(path, self.project) for path in paths)
        return inside and (call.kind in LOOKS or (call.kind in EDITS and bool(paths)))


def decision(asked: Permission, *, allow: bool) -> Decision:
    """Choose the answer for this once; where there is none, no answer stands for a refusal."""
    kinds = ("allow_once",) if allow else ("reject_once", "reject_always")
    found = _first(asked.options, kinds) or _first(asked.options, ("reject_once",))
    return Decision(Selected(found.option_id) if found else Cancelled())


def _first(options: Sequence[Option], kinds: Sequence[str]) -> Option | None:
    return next((option for kind in kinds for option in options if option.kind == kind), None)


def _inside(path: str, project: str) -> bool:
    """Whether a file, absolute or of the project, really is in it."""
    if len(path) > PATH_LIMIT:
        return False
    try:
        return Path(project, path).resolve().is_relative_to(Path(project).resolve())
    except (OSError, RuntimeError, ValueError):
        return False
