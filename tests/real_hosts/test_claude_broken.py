"""When there is no sidecar, or a dead or hung one: the host ends its turn, and a typed goal is refused."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from real_hosts.host import Host
from real_hosts.supervised import AGENT, Supervised, supervised
from support.model_script import ReplyRule, reply_with_text
from support.model_server import ScriptedModel
from support.older_code import greeted, older_supervisor

pytestmark = pytest.mark.proves("Claude Code")

GOAL = "/supervisor:goal all tests pass"


@pytest.fixture
def under(host: Host, model: ScriptedModel) -> Iterator[Supervised]:
    with supervised(host, model, environment={}) as made:
        made.script(ReplyRule(reply_with_text("All tests pass. Done."), AGENT, times=None))
        yield made


def test_without_a_runtime_a_typed_goal_is_refused_with_what_to_type(under: Supervised) -> None:
    (under.state / "runtime").unlink()
    bare = under.host.having(PATH="/usr/local/bin:/usr/bin:/bin")
    refused = bare.ask(GOAL, *under.plugin)
    assert "Type: /supervisor:install" in refused.result
    assert under.model.requests == ()
    assert bare.ask("Do something.", *under.plugin).result == "All tests pass. Done."


def _sidecar_pid(under: Supervised) -> int:
    found = re.search(r"process (\d+)", under.supervisor("doctor", "--no-probe").stdout)
    assert found is not None
    return int(found[1])


def test_a_sidecar_that_was_killed_is_started_again_and_the_next_stop_is_judged(under: Supervised) -> None:
    under.ask("/supervisor:retry 1", "--session-id", "6b1a2f0e-9c62-4c54-a8f4-2c4f5a1d7f11")
    os.kill(_sidecar_pid(under), signal.SIGKILL)
    under.ask(GOAL, "--resume", "6b1a2f0e-9c62-4c54-a8f4-2c4f5a1d7f11")
    assert len(under.continuations()) == 1
    assert under.report().status == "exhausted"


def test_after_an_upgrade_a_command_replaces_the_older_sidecar_and_the_session_goes_on(
    under: Supervised, tmp_path: Path
) -> None:
    runtime, session = under.state / "runtime", "6b1a2f0e-9c62-4c54-a8f4-2c4f5a1d7f12"
    newest = runtime.read_text("utf-8")
    runtime.write_text(f"{older_supervisor(tmp_path / 'clone')}\n", "utf-8")
    under.ask("/supervisor:retry 1", "--session-id", session)
    older = greeted(under.state)
    runtime.write_text(newest, "utf-8")
    assert under.report().status == "none"
    newer = greeted(under.state)
    assert (newer.version, newer.pid != older.pid, newer.code != older.code) == (older.version, True, True)
    under.ask(GOAL, "--resume", session)
    assert (len(under.continuations()), under.report().status) == (1, "exhausted")  # the budget of then
    assert greeted(under.state).pid == newer.pid


@pytest.mark.long
def test_a_hung_sidecar_keeps_no_turn_from_ending_and_no_goal_from_being_refused(under: Supervised) -> None:
    under.ask("/supervisor:retry 1")
    pid = _sidecar_pid(under)
    os.kill(pid, signal.SIGSTOP)
    try:
        refused = under.ask(GOAL)
        assert "supervisor doctor" in refused.result
        assert under.model.requests == ()
        assert under.ask("Do something.").result == "All tests pass. Done."
    finally:
        os.kill(pid, signal.SIGCONT)
