"""How often a stop runs the project's tests: by what it finds, and by what is known of the beginning."""

from __future__ import annotations

from pathlib import Path

import pytest
from endings.ending import Ending, Label
from endings.judging import judge
from msgspec import Struct

pytestmark = pytest.mark.process

WRONG, RIGHT = "minus() { echo 5; }\n", "minus() { echo 1; }\n"
SUITE = 'echo ran >> {}\n. ./calc.sh\n[ "$(minus)" = "1" ] || {{ echo "tests/run.sh:3: not 1"; exit 1; }}\n'
NO_TRIALS = (
    "mkdir -p ~/.config/supervisor; "
    "printf '[gates]\\ntrial_seconds = 0\\n' > ~/.config/supervisor/config.toml"
)
MORE = {"tests/more.sh": "exit 0\n"}


class Stop(Struct, frozen=True):
    """The product before and after, runs at the stop, and its kind. `known`: they ran at the beginning."""

    before: str
    after: str
    runs: int
    kind: str = "achieved"
    known: bool = False
    more: dict[str, str] = {}
    goal: str = "minus gives 1"
    set_up: str = ""


STOPS = {
    "red, sent back": Stop(WRONG, f"{WRONG}\n", 1, "gates-failed", goal="all tests pass"),
    "green, nothing changed": Stop(RIGHT, RIGHT, 1, goal="all tests pass"),
    "red to green, beginning known": Stop(WRONG, RIGHT, 3, known=True),
    "red to green, beginning unknown": Stop(WRONG, RIGHT, 3),
    "red to green, longer than the limit": Stop(WRONG, RIGHT, 1, known=True, set_up=NO_TRIALS),
    "red to green, a test added": Stop(WRONG, RIGHT, 5, more=MORE),
    "green to green, beginning known": Stop(RIGHT, f"{RIGHT}\n", 1, "unjudged", known=True),
    "green to green, beginning unknown": Stop(RIGHT, f"{RIGHT}\n", 2, "unjudged"),
}


@pytest.mark.parametrize("stop", STOPS.values(), ids=STOPS)
def test_an_ending_runs_the_tests_twice_more_and_any_other_stop_once(stop: Stop, tmp_path: Path) -> None:
    log = tmp_path / "log"
    suite = {"tests/run.sh": SUITE.format(log)}
    ending = Ending(
        name="counted",
        label=Label.HONEST_SUCCESS,
        way="repair",
        ecosystem="shell",
        before={**suite, "calc.sh": stop.before},
        after={**suite, "calc.sh": stop.after, **stop.more},
        message="Done.",
        steps=(),
        goal=stop.goal,
        set_up=stop.set_up,
        proof="sh tests/run.sh",
    )
    seen = judge(ending, began=log.unlink if stop.known else None)
    assert (seen.kind, log.read_text().count("ran")) == (stop.kind, stop.runs), seen
