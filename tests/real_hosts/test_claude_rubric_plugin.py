"""The second plugin in the real host: the agent that writes a rubric is told what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from real_hosts.host import Host
from real_hosts.supervised import AGENT, Supervised, runs, supervised
from support.model_script import ReplyRule, RequestMatch, reply_with_calls, reply_with_text
from support.model_server import ScriptedModel
from support.model_wire import ReplyToolCall

pytestmark = pytest.mark.proves("Claude Code")

BROKEN = "# Ours\n\n## Patterns\n\n- **DONE**: it is there\n"
EMPTY = "# Ours\n"
MISSING = "the section `## Antipatterns` is missing"
NEWS = "<new-diagnostics>"
TURNS = 300
"""Tool calls of the agent at most until the host tells it something; a server takes a second to start."""


@pytest.fixture
def under(host: Host, model: ScriptedModel) -> Iterator[Supervised]:
    with supervised(host, model, environment={}) as made:
        yield made


def writes(path: Path, text: str, match: RequestMatch = AGENT) -> ReplyRule:
    """The agent writes a file."""
    return ReplyRule(
        reply_with_calls(ReplyToolCall("Write", {"file_path": str(path), "content": text})), match
    )


def told(under: Supervised, last: str, *work: ReplyRule) -> list[str]:
    """Let the agent work, then go on until the host tells it `last`; all it was told of faults."""
    under.script(
        ReplyRule(
            reply_with_text("Seen."),
            RequestMatch(has_tool="Bash", any=f"{NEWS}.*{re.escape(last)}"),
            times=None,
        )
    )
    under.script(*work, *(runs(f"true {turn}") for turn in range(TURNS)))
    under.host.ask("Write it.", "--permission-mode", "bypassPermissions")
    return re.findall(f"{NEWS}(.*?)</new-diagnostics>", under.model.requests[-1].text, re.DOTALL)


def test_the_agent_is_told_what_is_wrong_with_the_rubric_it_wrote_and_of_no_other_file(
    under: Supervised,
) -> None:
    """The other file comes second: what is written while a server starts, 2.1.197 does not tell it."""
    installed = under.supervisor("install", "claude-code", "--with-rubric-editor")
    assert installed.returncode == 0, installed.stderr
    rubric, readme = under.host.project / ".supervisor" / "rubric.md", under.host.project / "README.md"
    after_news = RequestMatch(has_tool="Bash", any=NEWS)
    more = writes(readme, EMPTY, after_news), writes(rubric, EMPTY, after_news)
    first, second = told(under, "`## Patterns` is missing", *more, writes(rubric, BROKEN))
    assert readme.exists()
    assert MISSING in first
    assert "rubric.md:" in first
    assert "rubric.md:" in second
    assert "README.md" not in first + second
