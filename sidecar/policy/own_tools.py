"""Our own tools as they stand in a host's record of a turn.

A tool of ours that only tells or keeps a journal changes nothing of a project and shows nothing about it, so
a call of it may not make a turn look as if more had happened. Whatever is not named here may do anything.
"""

from __future__ import annotations

import re
from typing import Final

from sidecar.model.turn import CallOutcome, ToolCall

SERVER: Final = r"(?:mcp__(?:plugin_supervisor_)?supervisor__|supervisor_)"
"""What hosts put before the names of a server's tools."""
TELLS: Final = re.compile(
    rf"{SERVER}(?:status|rubric|gates|evidence|explain|(?:task|note)_[a-z_]+|iteration_summary|session_complete)"
)
RUNS: Final = re.compile(rf"{SERVER}gates_run")
ENDED: Final = re.compile(r'(?:"outcome": ?"|`: )(passed|failed|could-not-run)\b')
"""How a check ended, in the words or in the data of an answer."""
COUNTED: Final = re.compile(r', [1-9]\d* tests?\b|"executed": ?[1-9]')
"""That a check ran tests."""


def only_tells(tool: str) -> bool:
    """Whether this is a tool of ours that changes nothing of a project."""
    return TELLS.fullmatch(tool) is not None


def saw_tests_pass(call: ToolCall) -> bool:
    """Whether Supervisor ran checks for the agent in this call, tests among them, and each passed."""
    if call.outcome is not CallOutcome.OK or not RUNS.fullmatch(call.tool):
        return False
    return set(ENDED.findall(call.output)) == {"passed"} and COUNTED.search(call.output) is not None
