"""Stops of the real host are kept, and another rubric is tried on them before it counts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from real_hosts.host import Host
from real_hosts.supervised import Supervised, runs, says, supervised
from real_hosts.test_claude_rubric import (
    CONTENT,
    FOUND,
    GOAL,
    JUDGE,
    PLAIN,
    STRICT,
    STRICT_RUBRIC,
    WORK,
    rubric,
)
from support.logs import stops_in
from support.model_script import ReplyRule, RequestMatch, reply_structured
from support.model_server import ScriptedModel

pytestmark = pytest.mark.proves("Claude Code")


@pytest.fixture
def under(host: Host, model: ScriptedModel) -> Iterator[Supervised]:
    with supervised(host, model, environment={"DEPLOY_TOKEN": "hunter2-and-more"}) as made:
        model.add(
            ReplyRule(
                reply_structured({"answer": FOUND}),
                RequestMatch(has_tool=JUDGE, any=STRICT_RUBRIC),
                times=None,
            ),
            ReplyRule(reply_structured({"answer": CONTENT}), RequestMatch(has_tool=JUDGE), times=None),
        )
        yield made


@pytest.mark.long
def test_what_a_rubric_would_change_is_told_before_it_counts(under: Supervised) -> None:
    path = rubric(under, STRICT)
    under.script(runs(WORK), says("Done."), runs(f"{WORK} "), says("I left it out."))
    under.ask("/supervisor:retry 1", "--session-id", "6b1a2f0e-9c62-4c54-a8f4-2c4f5a1d7f11")
    under.ask(GOAL, "--resume", "6b1a2f0e-9c62-4c54-a8f4-2c4f5a1d7f11")
    same = under.supervisor("eval", "--kept")
    assert same.stdout.endswith("The last 2 stops: 0 would end otherwise.\n"), same.stderr
    assert same.returncode == 0

    path.write_text(PLAIN, encoding="utf-8")
    told = under.supervisor("eval", "--kept")
    assert told.stdout.endswith("The last 2 stops: 2 would end otherwise.\n"), told.stdout
    assert told.returncode == 1
    asked = under.supervisor("eval", "--kept", "--backend", "claude-cli", "--yes")
    assert asked.stdout.count("achieved") == 2, asked.stdout + asked.stderr

    kept = stops_in(under.state).last(str(under.host.project), 20).stops
    assert [stop.ended for stop in kept] == ["continue", "exhausted"]
    assert "hunter2-and-more" not in str(kept)
