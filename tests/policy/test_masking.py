"""Secrets of the session's environment are gone before anything else sees them (law 10)."""

from __future__ import annotations

import pytest

from sidecar.model.gate import Outcome
from sidecar.model.turn import Planned
from sidecar.policy.masking import mask_run, mask_turn, masker
from support.cases import gate_run, ran, turn

SECRET = "s3cr3t-value.*"


@pytest.mark.parametrize(
    "name", ["ANTHROPIC_API_KEY", "GITHUB_TOKEN", "db_password", "CLIENT_SECRET", "AWS_CREDENTIALS"]
)
def test_a_variable_whose_name_speaks_of_a_secret_is_masked(name: str) -> None:
    assert masker({name: SECRET})(f"key={SECRET}!") == "key=[masked]!"


def test_other_variables_and_short_values_are_left_alone() -> None:
    mask = masker({"PATH": "/usr/local/bin", "KEYBOARD": "us", "EMPTY_TOKEN": ""})
    assert mask("/usr/local/bin us") == "/usr/local/bin us"


def test_the_longer_of_two_secrets_is_masked_whole() -> None:
    assert masker({"A_TOKEN": "abcdefgh", "B_TOKEN": "abcdefgh-and-more"})("abcdefgh-and-more") == "[masked]"


def test_a_turn_shows_no_secret_anywhere() -> None:
    call = ran(f"A={SECRET} curl -H '{SECRET}' x", output=f"200 {SECRET}")
    assert SECRET in repr(call.runs[0].assignments)
    assert SECRET in repr(call.runs[0].argv)
    masked = mask_turn(
        turn(
            call,
            message=f"I used {SECRET}",
            prompts=(f"use {SECRET}",),
            planned=(Planned(id="T1", status="blocked", text=f"rotate {SECRET}"),),
            stuck=(f"{SECRET} is refused",),
        ),
        masker({"A_KEY": SECRET}),
    )
    assert SECRET not in repr(masked)
    assert "[masked]" in masked.last_message


def test_a_gate_run_shows_no_secret_in_what_it_printed() -> None:
    run = gate_run(
        outcome=Outcome.FAILED,
        output=SECRET,
        failures=(f"test: {SECRET}",),
        failing=(f"test: {SECRET}",),
        reason=SECRET,
    )
    assert SECRET not in repr(mask_run(run, masker({"A_KEY": SECRET})))
