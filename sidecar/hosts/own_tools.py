"""Recognizes calls of our own tools in a host's record of a turn.

A tool of ours that only reports or writes to a journal changes nothing in a project and shows nothing about
it, so a call of it must not make a turn look as if more had happened. A tool that is not listed here may do
anything.
"""

from __future__ import annotations

import re
from typing import Final

from sidecar.kernel.turn import CallOutcome, ToolCall

SERVER_PREFIX: Final = r"(?:mcp__(?:plugin_supervisor_)?supervisor__|supervisor_)"
"""The prefixes that hosts put before the names of our server's tools."""
HARMLESS_TOOLS: Final = re.compile(
    rf"{SERVER_PREFIX}(?:status|rubric|gates|evidence|explain|skill_list|(?:task|note)_[a-z_]+|"
    rf"iteration_summary|session_[a-z]+|scope_check|escalate|council_[a-z]+|checkpoint_(?:save|list)|agent_info|"
    rf"tokens_record)"
)
CHECKING_TOOL: Final = re.compile(rf"{SERVER_PREFIX}(?:gates_run|(report_completion))")
ENDINGS: Final = r"(pass(?:ed)?|fail(?:ed)?|halt|could-not-run|not-approved)\b"
OUTCOME_IN_TEXT: Final = re.compile(rf"(?:`: |, (?=[a-z-]+:$)){ENDINGS}", re.MULTILINE)
OUTCOME_IN_DATA: Final = re.compile(rf'"(?:outcome|verdict)": ?"{ENDINGS}')
"""The outcome of a check in an answer."""
TESTS_COUNTED_IN_TEXT: Final = re.compile(r"^[-`].*, [1-9]\d* tests?\b", re.MULTILINE)
TESTS_COUNTED_IN_DATA: Final = re.compile(r'"(?:executed|passed)": ?[1-9]')
"""Matches if a check ran at least one test. A line that begins otherwise may hold words of the agent."""
WORDS_OF_DATA: Final = re.compile(r',\s*"text": ?".*', re.DOTALL)
"""The last field of the data, which repeats the text."""
REPORT_ACCEPTED: Final = re.compile(r'T\d+ is complete:|\{"action": ?"complete"')
"""The beginning of the text or the data that accepts a report; later parts may hold words of the agent."""


def is_harmless_tool(tool: str) -> bool:
    """Return whether this is a tool of ours that changes nothing in a project."""
    return HARMLESS_TOOLS.fullmatch(tool) is not None


def saw_tests_pass(call: ToolCall) -> bool:
    """Return whether Supervisor ran checks in this call, tests among them, and all of them passed."""
    tool = CHECKING_TOOL.fullmatch(call.tool)
    if call.outcome is not CallOutcome.OK or tool is None:
        return False
    if tool[1] and not REPORT_ACCEPTED.match(call.output):
        return False
    output, outcome, counted = call.output, OUTCOME_IN_TEXT, TESTS_COUNTED_IN_TEXT
    if output.endswith("}"):  # a long one has lost its beginning
        output, outcome, counted = WORDS_OF_DATA.sub("", output), OUTCOME_IN_DATA, TESTS_COUNTED_IN_DATA
    passed = set(outcome.findall(output)) in ({"pass"}, {"passed"})
    return passed and counted.search(output) is not None
