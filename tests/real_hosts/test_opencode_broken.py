"""With no sidecar, or a dead, hung or mad one: OpenCode ends its turn, and a typed goal is refused."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Final

import pytest

from real_hosts.mad_sidecar import Answer, MadSidecar, mad_sidecar
from real_hosts.opencode_host import OpenCode
from real_hosts.opencode_server import Desk
from real_hosts.opencode_supervised import AGENT, SUPERVISOR, Supervised, supervised
from support.model_script import ReplyRule, reply_with_text
from support.model_server import ScriptedModel

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


@pytest.mark.long
def test_a_sidecar_killed_while_it_judges_is_started_again_and_judges_that_very_stop(
    under: Supervised,
) -> None:
    with under.judging() as (run, held):
        os.kill(under.sidecar(), signal.SIGKILL)
        held.wait()
        held.release()
        stdout, _ = run.communicate(timeout=90)
    assert (run.returncode, stdout) == (0, f"{DONE}\n" * 4)
    assert len(under.continuations()) == 3
    assert under.report().status == "stalled"


@pytest.mark.long
def test_a_hung_sidecar_keeps_no_turn_from_ending_and_no_goal_from_being_refused(under: Supervised) -> None:
    under.command("retry", "1")
    pid = under.sidecar()
    os.kill(pid, signal.SIGSTOP)
    try:
        refused = under.command("goal", GOAL)
        assert "supervisor doctor" in refused.stdout
        assert refused.returncode != 0
        assert under.model.requests == ()
        done = under.ask("Do something.")
        assert (done.returncode, done.stdout) == (0, f"{DONE}\n")
        assert "was not judged" in done.stderr
    finally:
        os.kill(pid, signal.SIGCONT)


def _result(text: str) -> Answer:
    return lambda number: f'{{"jsonrpc":"2.0","id":{number},"result":{text}}}\n'.encode()


def _raw(answer: bytes) -> Answer:
    return lambda _: answer


RUBBISH: Final[dict[str, Answer]] = {
    "words": _raw(b"rubbish\n"),
    "null": _raw(b"null\n" * 100),
    "no result": _result("null"),
    "wrong types": _result('{"say":5,"notice":[],"work":0}'),
    "an error": lambda number: f'{{"jsonrpc":"2.0","id":{number},"error":5}}\n'.encode(),
    "hanging up": _raw(b""),
    "asking for nothing": _raw(b'{"jsonrpc":"2.0","id":1,"method":"opencode"}\n'),
    "too much": _raw(b"x" * (32 << 20)),
}


@pytest.mark.long
def test_whatever_listens_in_the_sidecars_place_turns_end_and_goals_are_refused(under: Supervised) -> None:
    with under.host.serve() as server:
        desk = server.at(under.host.project)
        with mad_sidecar(under.state) as mad:
            for kind, answer in RUBBISH.items():
                mad.answer = answer
                _refused_and_at_rest(desk, under.model, mad, kind)
            mad.answer = RUBBISH["asking for nothing"]
            done = under.ask("Do something.")
            assert (done.returncode, done.stdout) == (0, f"{DONE}\n")
            assert "was not judged" in done.stderr
        assert desk.command(desk.session(), "supervisor:goal", GOAL).is_success
        under.model.wait_for(lambda request: "[supervisor " in request.last, timeout=60)
    assert "Error:" not in under.host.log.read_text("utf-8")


def _refused_and_at_rest(desk: Desk, model: ScriptedModel, mad: MadSidecar, kind: str) -> None:
    session, asked, heard = desk.session(kind), len(model.requests), mad.heard
    assert desk.command(session, "supervisor:goal", GOAL).status_code == 500, kind
    assert len(model.requests) == asked, kind
    assert desk.prompt(session, "Do something.").text == DONE, kind
    desk.wait_for("session.idle", session)
    assert len(model.requests) == asked + 1, kind
    assert mad.heard > heard, kind
