"""The rubric in force on the real host: the user's edit counts at the next stop, the agent's is held.

The scripted model plays the agent and the judge. The judge decides by the rubric that it is given: it sends
back where it reads the antipattern NO-PRINT, and is content where it does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from real_hosts.host import Host
from real_hosts.supervised import AGENT, Supervised, runs, says, supervised
from support.model_script import (
    ReplyRule,
    RequestMatch,
    reply_structured,
    reply_with_calls,
)
from support.model_server import ScriptedModel
from support.model_wire import ReplyToolCall

pytestmark = pytest.mark.proves("Claude Code")

GOAL = '/supervisor:goal greeting.txt greets Ada by name --check "grep -q Ada greeting.txt"'
PLAIN = "# Ours\n\n## Patterns\n\n- **DONE**: it is there\n\n## Antipatterns\n\n- **TALK**: it is only said\n"
STRICT = PLAIN + "- **NO-PRINT**: a print statement is left\n"
FOUND = {
    "verdict": "incomplete",
    "missing": [{"point": "a print statement is left", "criterion": "no-print", "evidence": []}],
    "next_step": "Take the print statement out.",
    "confidence": 0.95,
}
CONTENT = {
    "verdict": "complete",
    "criteria": [{"criterion": "greeting.txt greets Ada by name", "evidence": ["E1", "E2", "E3"]}],
    "confidence": 0.95,
}
JUDGE = "StructuredOutput"
STRICT_RUBRIC = r'name="rubric"[^>]*>(?:(?!</data-).)*NO-PRINT'
"""The rubric that the judge is given, not a change of the file that is among the evidence."""
WORK = "echo hello Ada > greeting.txt"


@pytest.fixture
def under(host: Host, model: ScriptedModel) -> Iterator[Supervised]:
    with supervised(host, model, environment={}) as made:
        model.add(
            ReplyRule(
                reply_structured({"answer": FOUND}),
                RequestMatch(has_tool=JUDGE, any=STRICT_RUBRIC),
                times=None,
            ),
            ReplyRule(reply_structured({"answer": CONTENT}), RequestMatch(has_tool=JUDGE), times=None),
        )
        yield made


def rubric(under: Supervised, text: str) -> Path:
    """The user writes the project's rubric."""
    path = under.host.project / ".supervisor" / "rubric.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def writes(path: Path, text: str) -> tuple[ReplyRule, ReplyRule]:
    """The agent overwrites a file, which it must read first."""
    read = ReplyToolCall("Read", {"file_path": str(path)})
    write = ReplyToolCall("Write", {"file_path": str(path), "content": text})
    return ReplyRule(reply_with_calls(read), AGENT), ReplyRule(reply_with_calls(write), AGENT)


@pytest.mark.parametrize("tool", ["Write", pytest.param("Bash", marks=pytest.mark.long)])
def test_an_edit_by_the_agent_is_held_and_does_not_clear_the_goal(under: Supervised, tool: str) -> None:
    path = rubric(under, STRICT)
    under.ask("/supervisor:retry 1", "--session-id", "6b1a2f0e-9c62-4c54-a8f4-2c4f5a1d7f10")
    edit = writes(path, PLAIN) if tool == "Write" else (runs("sed -i '/NO-PRINT/d' .supervisor/rubric.md"),)
    under.script(runs(WORK), *edit, says("Done."), says("There is none."))
    under.ask(GOAL, "--resume", "6b1a2f0e-9c62-4c54-a8f4-2c4f5a1d7f10")
    assert path.read_text(encoding="utf-8") == PLAIN
    assert under.stops() == ["continue", "exhausted"]
    (line,) = [line for line in under.report().troubles if "rubric" in line]
    assert "1 antipattern gone (NO-PRINT)" in line
    assert "does not count until" in line
    shown = under.supervisor("rubric", "accept")
    assert shown.returncode == 2, shown.stdout
    assert "-- **NO-PRINT**: a print statement is left" in shown.stdout
    assert under.supervisor("rubric", "accept", "--yes").returncode == 0
    assert under.report().troubles == ()


@pytest.mark.long
def test_the_command_costs_no_model_request_and_is_refused_while_nothing_enforces_it(
    under: Supervised,
) -> None:
    rubric(under, PLAIN)
    shown = under.ask("/supervisor:rubric")
    assert "rubric in force: " in shown.result
    assert "the project's own" in shown.result
    assert "nothing is held" in under.ask("/supervisor:rubric accept").result
    made = under.ask("/supervisor:rubric edit").result
    assert f"the rubric is {under.host.project}/.supervisor/rubric.md" in made
    assert "takes nothing, `accept` or `edit`" in under.ask("/supervisor:rubric everything").result
    under.supervisor("stop")
    (under.state / "runtime").write_text("/nowhere/supervisor\n", encoding="utf-8")
    alone = under.host.having(PATH="/usr/bin:/bin")
    refused = alone.ask("/supervisor:rubric accept", *under.plugin)
    assert "has no runtime yet" in refused.result
    assert [asked for asked in under.model.requests if asked.tools] == []
