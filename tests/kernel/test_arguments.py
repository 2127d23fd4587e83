"""What a person typed after /supervisor:goal: prose stays prose, only --check names commands."""

from __future__ import annotations

import pytest

from sidecar.kernel.errors import CommandRefusal
from sidecar.kernel.goal_arguments import GoalArguments, parse_goal
from support.table import over_table

READ = {
    "all tests pass": GoalArguments(condition="all tests pass"),
    "  two\nlines  ": GoalArguments(condition="two\nlines"),
    'builds --check "make build"': GoalArguments(condition="builds", checks=("make build",)),
    "builds --check 'make build'": GoalArguments(condition="builds", checks=("make build",)),
    "builds --check make": GoalArguments(condition="builds", checks=("make",)),
    "builds --check=make": GoalArguments(condition="builds", checks=("make",)),
    'builds --check="make all"': GoalArguments(condition="builds", checks=("make all",)),
    r'says hi --check "echo \"hi\" \\"': GoalArguments(condition="says hi", checks=('echo "hi" \\',)),
    "x --check 'grep \"a\" b'": GoalArguments(condition="x", checks=('grep "a" b',)),
    '--check "make" it builds': GoalArguments(condition="it builds", checks=("make",)),
    'it --check "a" really --check "b" builds': GoalArguments(
        condition="it really builds", checks=("a", "b")
    ),
    "fast --max-minutes 5": GoalArguments(condition="fast", max_seconds=300),
    "cheap --max-tokens 9000": GoalArguments(condition="cheap", max_tokens=9000),
    "all --max-tokens=1 --max-minutes=1 --check=x": GoalArguments(
        condition="all", checks=("x",), max_seconds=60, max_tokens=1
    ),
    "twice --max-minutes 5 --max-minutes 6": GoalArguments(condition="twice", max_seconds=360),
    "the flag --checked is gone": GoalArguments(condition="the flag --checked is gone"),
    "'all tests pass'": GoalArguments(condition="all tests pass"),
    "'a' and 'b'": GoalArguments(condition="'a' and 'b'"),
    "the flag --verbose works": GoalArguments(condition="the flag --verbose works"),
    "the word max-tokens is gone": GoalArguments(condition="the word max-tokens is gone"),
    "`rm -rf x` is documented; $(make)": GoalArguments(condition="`rm -rf x` is documented; $(make)"),
    "pre--check x": GoalArguments(condition="pre--check x"),
    "": GoalArguments(condition=""),
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
