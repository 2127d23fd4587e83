"""`opencode run` under supervision: real host, plugin, sidecar and checks; only the model is scripted.

A run that is sent back goes on inside its own end; its exit code and its streams are what a script sees.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from typing import Final

import msgspec
import pytest

from real_hosts.opencode_host import OpenCode
from real_hosts.opencode_supervised import (
    COMMAND_LIMIT_S,
    Supervised,
    reads_shop,
    runs,
    says,
    supervised,
    writes_shop,
)
from real_hosts.waiting import decided
from support.model_server import ScriptedModel

pytestmark = pytest.mark.proves("OpenCode")

GOAL: Final = "all tests pass"
LOOSE: Final = """\
process.env.PYTEST_ADDOPTS = "--deselect=test_shop.py::test_a_tenth_is_taken_off"
export const Loose = async () => ({})
"""
"""A plugin with whose options all tests pass."""
CLAIM: Final = "I looked at everything, all tests pass. Done."


@pytest.fixture
def under(opencode_host: OpenCode, model: ScriptedModel) -> Iterator[Supervised]:
    with supervised(opencode_host, model) as made:
        yield made


def test_a_stalled_goal_goes_on_with_the_next_prompt_until_it_is_achieved(under: Supervised) -> None:
    under.script(*[says(f"Attempt {number}: all tests pass.") for number in range(4)])
    stalled = under.command("goal", GOAL)
    assert "To go on, type: what may help the agent" in stalled.stderr
    under.script(says("Done."), reads_shop(under.host), writes_shop(under.host), says("Repaired and tested."))
    plugin = under.host.config / "plugin" / "loose.js"
    plugin.parent.mkdir(exist_ok=True)
    plugin.write_text(LOOSE, encoding="utf-8")
    done = under.ask("go on", "--continue")
    assert done.stdout == "Done.\nRepaired and tested.\n"
    changed = "the environment was changed since the session began (PYTEST_ADDOPTS)"
    for notice in ("sent back 4/16", "goal achieved", changed):
        assert f"Supervisor: {notice}" in done.stderr
    assert "Supervisor: on." not in stalled.stderr + done.stderr
    assert under.stops() == [*["continue"] * 3, "stalled", "continue", "achieved"]


@pytest.mark.long
def test_a_budget_of_three_is_exhausted_after_exactly_three_and_json_lines_tell_of_each(
    under: Supervised,
) -> None:
    assert under.command("retry", "3").returncode == 0
    for number in range(1, 5):
        under.script(runs(f"echo {number} >> notes.txt"), says(f"Try {number}: {CLAIM}"))
    done = under.command("goal", GOAL, "--continue", "--format", "json")
    assert done.returncode == 0
    assert len(under.continuations()) == 3
    report = under.report()
    assert (report.status, report.exit_code) == ("exhausted", 1)
    assert "continuations 3/3" in report.text
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["type"] for line in lines] == [
        kind
        for _ in range(4)
        for kind in ("step_start", "tool_use", "step_finish", "step_start", "text", "step_finish")
    ]
    texts = [line["part"]["text"] for line in lines if line["type"] == "text"]
    assert texts == [f"Try {number}: {CLAIM}" for number in range(1, 5)]
    assert len({line["sessionID"] for line in lines}) == 1


def test_commands_about_the_goal_are_answered_on_stdout_and_cost_no_model_request(under: Supervised) -> None:
    assert "no goal is set" in under.ask("/supervisor:goal").stdout
    for name, words, answer in (
        ("trust", "", "not approved yet:\n- tests: `python -m pytest -q`"),
        ("trust", "tests", "approved: `python -m pytest -q`"),
    ):
        done = under.command(name, words)
        assert (done.returncode, done.stdout.startswith("Supervisor: ")) == (0, True), done
        assert answer in done.stdout
    refused = under.command("retry", "101")
    assert "1 to 100" in refused.stdout
    assert refused.returncode != 0
    assert under.model.requests == ()


@pytest.mark.long
def test_a_continuation_that_needs_a_permission_is_denied_it_and_with_auto_is_given_it(
    under: Supervised,
) -> None:
    under.host.configure(permission={"bash": "ask"})
    under.script(says(CLAIM), runs("touch denied"))
    assert under.command("goal", GOAL, "--auto=false").returncode == 0
    assert under.stops() == ["continue", "unfinished"]
    assert not (under.host.project / "denied").exists()
    under.script(
        says(CLAIM), runs("touch given"), reads_shop(under.host), writes_shop(under.host), says("Ok.")
    )
    under.command("goal", GOAL, "--auto")
    assert (under.host.project / "given").exists()
    assert under.report().status == "achieved"


def test_a_run_that_is_interrupted_while_it_is_judged_ends_at_once_and_so_does_the_check(
    under: Supervised,
) -> None:
    under.script(says("Done."))
    with under.judging() as (run, _):
        assert run.stderr is not None
        assert next(line for line in run.stderr if "Supervisor: running `" in line).endswith(" s\n")
        run.send_signal(signal.SIGINT)
        assert run.wait(COMMAND_LIMIT_S) == -signal.SIGINT  # the check is not released before
    decided(under, "interrupted")
    assert under.continuations() == []
    assert (under.report().status, under.stops()) == ("active", ["interrupted"])


@pytest.mark.long
def test_a_goal_holds_in_the_next_run_of_its_session_and_not_in_a_fork_of_it(under: Supervised) -> None:
    under.script(says("Which of the two files do you mean?"))
    lines = under.command("goal", GOAL, "--format", "json").stdout.splitlines()
    session = json.loads(lines[0])["sessionID"]
    assert under.stops() == ["waiting"]
    under.script(says("Hello."))
    assert under.ask("Hello?", "--session", session, "--fork").stdout == "Hello.\n"
    assert under.continuations() == []
    under.script(says(CLAIM), reads_shop(under.host), writes_shop(under.host), says("Repaired."))
    agents = msgspec.structs.replace(under, host=under.host.having(OPENCODE="1"))
    refused = agents.command("goal", "clear", "--session", session)
    assert (refused.returncode, "agent's shell" in refused.stdout) == (1, True)
    assert "goal active" in under.ask("The first one.", "--session", session).stderr
    assert len(under.continuations()) == 1
    assert under.report().status == "achieved"
