"""Secrets of the session's environment are gone before anything else sees them (law 10)."""

from __future__ import annotations

import pytest

from sidecar.kernel.gate import Outcome
from sidecar.kernel.masking import build_secret_mask, mask_gate_run, mask_turn
from sidecar.kernel.turn import OpenTask
from support.cases import gate_run, ran, turn

SECRET = "s3cr3t-value.*"


@pytest.mark.parametrize(
    "name", ["ANTHROPIC_API_KEY", "GITHUB_TOKEN", "db_password", "CLIENT_SECRET", "AWS_CREDENTIALS"]
)
def test_a_variable_whose_name_speaks_of_a_secret_is_masked(name: str) -> None:
    assert build_secret_mask({name: SECRET})(f"key={SECRET}!") == "key=[masked]!"


def test_other_variables_and_short_values_are_left_alone() -> None:
    mask = build_secret_mask({"PATH": "/usr/local/bin", "KEYBOARD": "us", "EMPTY_TOKEN": ""})
    assert mask("/usr/local/bin us") == "/usr/local/bin us"


def test_the_longer_of_two_secrets_is_masked_whole() -> None:
    assert (
        build_secret_mask({"A_TOKEN": "abcdefgh", "B_TOKEN": "abcdefgh-and-more"})("abcdefgh-and-more")
        == "[masked]"
    )


def test_a_turn_shows_no_secret_anywhere() -> None:
    call = ran(f"A={SECRET} curl -H '{SECRET}' x", output=f"200 {SECRET}")
    assert SECRET in repr(call.runs[0].assignments)
    assert SECRET in repr(call.runs[0].argv)
    masked = mask_turn(
        turn(
            call,
            message=f"I used {SECRET}",
            prompts=(f"use {SECRET}",),
            planned=(OpenTask(id="T1", status="blocked", text=f"rotate {SECRET}"),),
            stuck=(f"{SECRET} is refused",),
        ),
        build_secret_mask({"A_KEY": SECRET}),
    )
    assert SECRET not in repr(masked)
    assert "[masked]" in masked.last_message


def test_words_are_masked_as_the_line_that_they_are() -> None:
    """An option says of the next word that it is a secret."""

    def mask(text: str) -> str:
        return text.replace("--password s3cr3t", "--password [masked]").replace(SECRET, "[masked]")

    (run,) = mask_turn(turn(ran(f"tool --password s3cr3t --to x={SECRET}")), mask).calls[0].runs
    assert run.argv == ("tool", "--password", "[masked]", "--to", "x=[masked]")


def test_a_gate_run_shows_no_secret_in_what_it_printed() -> None:
    run = gate_run(
        outcome=Outcome.FAILED,
        output=SECRET,
        failures=(f"test: {SECRET}",),
        failing=(f"test: {SECRET}",),
        reason=SECRET,
    )
    assert SECRET not in repr(mask_gate_run(run, build_secret_mask({"A_KEY": SECRET})))
