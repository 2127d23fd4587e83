"""`claude -p` under supervision: real host, hooks, relay, sidecar and checks; only the model is scripted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from real_hosts.host import Host
from real_hosts.supervised import (
    AGENT,
    Supervised,
    reads_shop,
    runs,
    says,
    supervised,
    writes_shop,
)
from support.model_script import (
    HttpErrorReply,
    ReplyRule,
    RequestMatch,
    reply_structured,
    reply_with_text,
)
from support.model_server import ScriptedModel
from support.table import sampled

pytestmark = pytest.mark.proves("Claude Code")

GOAL = "/supervisor:goal all tests pass"
CLAIM = "I looked at everything, all tests pass. Done."


@pytest.fixture
def under(host: Host, model: ScriptedModel) -> Iterator[Supervised]:
    with supervised(host, model, environment={}) as made:
        yield made


def test_a_budget_of_three_is_exhausted_after_exactly_three_continuations_that_arrived(
    under: Supervised,
) -> None:
    under.ask("/supervisor:retry 3", "--session-id", "6b1a2f0e-9c62-4c54-a8f4-2c4f5a1d7f10")
    for number in range(1, 5):
        under.script(runs(f"echo {number} >> notes.txt"), says(f"Try {number}: {CLAIM}"))
    under.ask(GOAL, "--resume", "6b1a2f0e-9c62-4c54-a8f4-2c4f5a1d7f10")
    assert len(under.continuations()) == 3
    report = under.report()
    assert (report.status, report.exit_code) == ("exhausted", 1)
    assert "continuations 3/3" in report.text


@pytest.mark.long
def test_an_agent_that_only_talks_rests_as_stalled_before_the_hosts_own_cap(under: Supervised) -> None:
    for number in range(1, 12):
        under.script(says(f"Claim {number}: {CLAIM}"))
    result = under.ask(GOAL)
    assert len(under.continuations()) == 3
    assert result.result == f"Claim 4: {CLAIM}"
    assert under.report().status == "stalled"


@pytest.mark.parametrize(
    "command",
    sampled(
        ("/supervisor:retry 3", "/supervisor:goal clear", "/supervisor:goal", "/supervisor:trust"),
        "/supervisor:goal clear",
    ),
)
def test_a_command_about_the_goal_costs_no_model_request(under: Supervised, command: str) -> None:
    result = under.ask(command)
    assert "Supervisor: " in result.result
    assert (result.num_turns, result.total_cost_usd, result.is_error) == (0, 0.0, False)
    assert under.model.requests == ()


def test_the_judges_own_model_decides_what_no_check_can_and_must_cite_evidence(under: Supervised) -> None:
    missing = {
        "verdict": "incomplete",
        "missing": [{"point": "the greeting lacks a name", "criterion": "goal", "evidence": ["E1"]}],
        "next_step": "Add the name.",
        "confidence": 0.9,
    }
    met = {
        "verdict": "complete",
        "criteria": [{"criterion": "greeting.md names Ada", "evidence": ["E2"]}],
        "confidence": 0.9,
    }
    judge = RequestMatch(has_tool="StructuredOutput")
    under.script(
        runs("echo hello > greeting.md"),
        says("Done."),
        ReplyRule(reply_structured({"answer": missing}), judge),
        runs("echo hello Ada > greeting.md"),
        says("Done, with the name."),
        ReplyRule(reply_structured({"answer": met}), judge),
    )
    under.ask("/supervisor:goal greeting.md greets Ada by name")
    assert "the greeting lacks a name" in under.continuations()[0]
    report = under.report()
    assert (report.status, report.exit_code) == ("judged", 4)


def test_a_broken_judge_lets_the_agent_rest_and_record_and_status_say_so(under: Supervised) -> None:
    under.script(
        runs("echo hello > greeting.md"),
        says("Done."),
        ReplyRule(
            HttpErrorReply(401, "authentication_error"), RequestMatch(has_tool="StructuredOutput"), times=None
        ),
    )
    result = under.ask("/supervisor:goal greeting.md greets Ada by name")
    assert result.result == "Done."
    report = under.report()
    assert (report.status, report.exit_code) == ("active", 2)
    assert "the last stop was not judged" in report.text
    assert "401" in report.text
    assert report.story[-2].decided == "unjudged" or report.story[-1].decided == "unjudged"


def test_without_a_goal_a_claim_after_a_failing_test_run_is_sent_back(under: Supervised) -> None:
    under.script(
        runs("python -m pytest -q"), says(CLAIM), reads_shop(under.host), writes_shop(under.host),
        runs("python -m pytest -q"), says("Now they do: 2 passed."),
    )  # fmt: skip
    under.ask("Please look after the shop.")
    (told,) = under.continuations()
    assert "the last test run of this turn failed" in told


@pytest.mark.long
def test_switched_off_leaves_stops_alone_and_refuses_goals(under: Supervised) -> None:
    assert under.supervisor("off").returncode == 0
    under.script(ReplyRule(reply_with_text("Done."), AGENT, times=None))
    assert "supervisor on" in under.ask(GOAL).result
    assert under.ask("Do something.").result == "Done."
    assert under.continuations() == []
