"""What a model is called, and what an answer costs."""

from __future__ import annotations

from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.kernel.settings import (
    JudgeSettings,
    ModelPrice,
    NamedModel,
    ServiceSettings,
    Settings,
    TokenUsage,
    answer_price_cents,
    host_model_name,
    model_prices,
    service_model_name,
    token_count_or_zero,
)

PRICES: Final = {
    "big": ModelPrice(input=300, output=1500, cached=30),
    "big-2": ModelPrice(input=600, output=3000),
    "big-2-mini": ModelPrice(input=0, output=0),
}
MILLION: Final = 1_000_000


@pytest.mark.parametrize(
    ("model", "price"),
    [
        ("big", 300),
        ("big-2", 600),
        ("big-2-20261101", 600),
        ("big-2-mini", 0),
        ("big-20", 600),
        ("bigger", 300),
    ],
)
def test_the_exact_name_counts_else_the_longest_beginning(model: str, price: float) -> None:
    assert answer_price_cents(model, TokenUsage(input=MILLION), PRICES) == price


@pytest.mark.parametrize("model", ["", "bi", "small", "a-big"])
def test_a_model_without_a_price_costs_nobody_knows_what(model: str) -> None:
    assert answer_price_cents(model, TokenUsage(input=MILLION), PRICES) is None


def test_an_empty_name_is_no_beginning() -> None:
    assert answer_price_cents("big", TokenUsage(), {"": PRICES["big"]}) is None


def test_each_kind_of_token_has_its_own_price() -> None:
    assert answer_price_cents("big", TokenUsage(MILLION, MILLION, MILLION), PRICES) == 300 + 30 + 1500


def test_what_was_kept_costs_as_input_where_no_other_price_is_named() -> None:
    assert answer_price_cents("big-2", TokenUsage(0, MILLION, 0), PRICES) == 600


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 10**9))
def test_more_tokens_never_cost_less(sent: int, kept: int, got: int) -> None:
    price = answer_price_cents("big", TokenUsage(sent, kept, got), PRICES)
    more = answer_price_cents("big", TokenUsage(sent + 1, kept, got + 1), PRICES)
    assert price is not None
    assert more is not None
    assert 0 <= price <= more


@pytest.mark.parametrize("claimed", [-1, 10**10, 1.5, "7", None, True, [], {}])
def test_what_is_no_number_of_tokens_counts_nothing(claimed: Any) -> None:
    assert token_count_or_zero(claimed) == 0


@pytest.mark.proves("the loop")
def test_a_named_model_serves_judging_too_with_its_name_its_tier_and_its_price() -> None:
    models = {"mine": NamedModel(model="m-1", input_cents=1, output_cents=2, tier="medium")}
    settings = Settings(models=models, price={"big": PRICES["big"]})
    assert host_model_name(settings) == "m-1", "the judge's own setting is the tier"
    assert service_model_name(ServiceSettings(model="mine"), settings) == "m-1"
    assert host_model_name(Settings(judge=JudgeSettings(model="large"), models=models)) == "opus"
    assert model_prices(settings) == {"big": PRICES["big"], "m-1": ModelPrice(input=1, output=2)}
