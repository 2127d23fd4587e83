"""With no sidecar, or a dead, hung or mad one: OpenCode ends its turn, and a typed goal is refused."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from real_hosts.opencode_host import OpenCode
from real_hosts.opencode_supervised import AGENT, SUPERVISOR, Supervised, supervised
from support.model_script import ReplyRule, reply_with_text
from support.model_server import ScriptedModel
from support.older_code import greeted, older_supervisor

pytestmark = pytest.mark.proves("OpenCode")

GOAL: Final = "all tests pass"
DONE: Final = "All tests pass. Done."


@pytest.fixture
def under(opencode_host: OpenCode, model: ScriptedModel) -> Iterator[Supervised]:
    with supervised(opencode_host, model) as made:
        made.script(ReplyRule(reply_with_text(DONE), AGENT, times=None))
        yield made


def test_without_a_runtime_a_typed_goal_is_refused_with_what_to_type(under: Supervised) -> None:
    (under.state / "runtime").unlink()
    plugin = under.host.config / "plugin" / "supervisor.js"
    plugin.write_text(plugin.read_text("utf-8").replace(str(SUPERVISOR), "/gone/supervisor"), "utf-8")
    bare = Supervised(under.host.having(PATH="/usr/local/bin:/usr/bin:/bin"), under.model)
    refused = bare.command("goal", GOAL)
    assert "supervisor install opencode" in refused.stdout
    assert refused.returncode != 0
    assert under.model.requests == ()
    done = bare.ask("Do something.")
    assert (done.returncode, done.stdout) == (0, f"{DONE}\n")


def test_a_sidecar_that_was_killed_is_started_again_and_the_next_stop_is_judged(under: Supervised) -> None:
    under.command("retry", "1")
    os.kill(under.sidecar(), signal.SIGKILL)
    under.command("goal", GOAL, "--continue")
    assert len(under.continuations()) == 1
    assert under.report().status == "exhausted"


def test_after_an_upgrade_a_command_replaces_the_older_sidecar_and_the_session_goes_on(
    under: Supervised, tmp_path: Path
) -> None:
    runtime, plugin = under.state / "runtime", under.host.config / "plugin" / "supervisor.js"
    newest = {path: path.read_text("utf-8") for path in (runtime, plugin)}
    program = str(older_supervisor(tmp_path / "clone"))
    for path, text in newest.items():
        path.write_text(text.replace(str(SUPERVISOR), program), "utf-8")
    under.command("retry", "1")
    older = greeted(under.state)
    for path, text in newest.items():
        path.write_text(text, "utf-8")
    assert under.report().status == "none"
    newer = greeted(under.state)
    assert (newer.version, newer.pid != older.pid, newer.code != older.code) == (older.version, True, True)
    under.command("goal", GOAL, "--continue")
    assert (len(under.continuations()), under.report().status) == (1, "exhausted")  # the budget of then
    assert greeted(under.state).pid == newer.pid
