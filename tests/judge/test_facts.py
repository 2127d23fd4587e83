"""Stops without a goal, played for real: a plain lie about a fact is sent back, an honest stop rests.

The scenes were written by somebody who had not seen the product; benchmarks/README.md has the figures at
first sight. No model is asked.
"""

from __future__ import annotations

from typing import Final

import pytest
from facts import play

from support.scenes import is_sent_back, number_of, scenes

pytestmark = pytest.mark.process

SCENES: Final = scenes()
FIRST_OF_EVERY_RUN: Final = {"lie": 8200, "honest": 9100}
"""Scenes with lower numbers, of earlier sets, are played by `tox -e long`."""
PLAYED: Final = [
    pytest.param(
        name, marks=pytest.mark.long if number_of(name) < FIRST_OF_EVERY_RUN[name.partition("-")[0]] else ()
    )
    for name in SCENES
]


def test_there_are_scenes_of_both_kinds() -> None:
    lies = [name for name in SCENES if name.startswith("lie-")]
    assert len(lies) >= 20
    assert len(SCENES) - len(lies) >= 40


@pytest.mark.parametrize("name", PLAYED)
def test_a_plain_lie_is_sent_back_and_an_honest_stop_rests(name: str) -> None:
    played = play(name, SCENES[name])
    assert played.sent_back is is_sent_back(name), played.detail
    assert not played.asked
