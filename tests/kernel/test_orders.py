"""What a person typed becomes an Order; of a goal, prose stays prose, and only --check names commands."""

from __future__ import annotations

import pytest

from sidecar.kernel.errors import CommandRefusal
from sidecar.kernel.goal import GoalTerms
from sidecar.kernel.orders import CommandName, Order, parse_goal, parse_order
from support.table import over_table

READ = {
    "all tests pass": GoalTerms(condition="all tests pass"),
    "  two\nlines  ": GoalTerms(condition="two\nlines"),
    'builds --check "make build"': GoalTerms(condition="builds", checks=("make build",)),
    "builds --check 'make build'": GoalTerms(condition="builds", checks=("make build",)),
    "builds --check make": GoalTerms(condition="builds", checks=("make",)),
    "builds --check=make": GoalTerms(condition="builds", checks=("make",)),
    'builds --check="make all"': GoalTerms(condition="builds", checks=("make all",)),
    r'says hi --check "echo \"hi\" \\"': GoalTerms(condition="says hi", checks=('echo "hi" \\',)),
    "x --check 'grep \"a\" b'": GoalTerms(condition="x", checks=('grep "a" b',)),
    '--check "make" it builds': GoalTerms(condition="it builds", checks=("make",)),
    'it --check "a" really --check "b" builds': GoalTerms(condition="it really builds", checks=("a", "b")),
    "fast --max-minutes 5": GoalTerms(condition="fast", max_seconds=300),
    "cheap --max-tokens 9000": GoalTerms(condition="cheap", max_tokens=9000),
    "all --max-tokens=1 --max-minutes=1 --check=x": GoalTerms(
        condition="all", checks=("x",), max_seconds=60, max_tokens=1
    ),
    "twice --max-minutes 5 --max-minutes 6": GoalTerms(condition="twice", max_seconds=360),
    "the flag --checked is gone": GoalTerms(condition="the flag --checked is gone"),
    "'all tests pass'": GoalTerms(condition="all tests pass"),
    "'a' and 'b'": GoalTerms(condition="'a' and 'b'"),
    "the flag --verbose works": GoalTerms(condition="the flag --verbose works"),
    "the word max-tokens is gone": GoalTerms(condition="the word max-tokens is gone"),
    "`rm -rf x` is documented; $(make)": GoalTerms(condition="`rm -rf x` is documented; $(make)"),
    "pre--check x": GoalTerms(condition="pre--check x"),
    "": GoalTerms(condition=""),
}


@over_table("text", READ, ids=repr)
def test_options_are_told_from_prose(text: str) -> None:
    assert parse_goal(text) == READ[text]


REFUSED = {
    "x --check": "--check needs a value",
    'x --check ""': "--check needs a value",
    "x --check ' '": "--check needs a value",
    "x --check --max-tokens 5": "--check needs a value",
    "x --max-minutes": "--max-minutes needs a value",
    'x --check "make': "--check has a quote that is not closed",
    "x --check npm test": '/supervisor:goal x --check "npm test"',
    "--check make all --max-tokens 5": '/supervisor:goal it works --check "make all"',
    "x --chek make": "there is no --chek. Did you mean --check?",
    "x --max-minute 5": "there is no --max-minute. Did you mean --max-minutes?",
    "x --retries 3": "and then /supervisor:retry 3",
    "x --max-minutes 0": "--max-minutes takes a whole number of at least 1, not '0'",
    "x --max-minutes -5": "not '-5'",
    "x --max-minutes 1.5": "not '1.5'",
    "x --max-minutes soon": "not 'soon'",
    "x --max-tokens ٣": "not '٣'",
    "x --max-tokens 1000000001": "not '1000000001'",
    "x --max-tokens 99999999999999999999": "not '99999999999999999999'",
    "x --max-tokens " + "9" * 5000: "not '" + "9" * 40 + "'",
}


@over_table("text", REFUSED, ids=lambda text: repr(text[:40]))
def test_a_value_that_cannot_be_used_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(CommandRefusal) as refused:
        parse_goal(text)
    assert REFUSED[text] in str(refused.value)
    assert "/supervisor:goal" in str(refused.value)


ORDERS: dict[tuple[CommandName, str], Order] = {
    ("goal", " Status "): Order(name="goal", word="status"),
    ("goal", "Cancel"): Order(name="goal", word="clear"),
    ("goal", "it works"): Order(name="goal", goal=GoalTerms(condition="it works")),
    ("retry", ""): Order(name="retry"),
    ("retry", " 5 "): Order(name="retry", number=5),
    ("rubric", " Status"): Order(name="rubric", word="show"),
    ("rubric", "INIT "): Order(name="rubric", word="edit"),
    ("rubric", "accept"): Order(name="rubric", word="accept"),
    ("trust", "tests lint"): Order(name="trust", gates=("tests", "lint")),
    ("accept", "whatever"): Order(name="accept"),
}


@over_table("typed", ORDERS, ids=repr)
def test_a_text_is_one_order(typed: tuple[CommandName, str]) -> None:
    assert parse_order(*typed) == ORDERS[typed]


@pytest.mark.parametrize("typed", ["everything", "check", "accept all", "x" * 9999])
def test_another_word_behind_rubric_is_a_fault_that_names_those_it_takes(typed: str) -> None:
    fault = parse_order("rubric", typed).fault
    assert "takes nothing, `accept` or `edit`" in fault
    assert len(fault) < 200


@pytest.mark.parametrize(
    "typed", ["it works", 'it works --check "make all" --max-minutes 5 --max-tokens 9', "pause"]
)
def test_an_order_is_shown_as_it_may_be_typed(typed: str) -> None:
    assert parse_order("goal", typed).text == typed
