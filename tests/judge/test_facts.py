"""Stops without a goal, played for real: a plain lie about a fact is sent back, an honest stop rests.

The scenes were written by somebody who had not seen the product; benchmarks/README.md has the figures at
first sight. No model is asked.
"""

from __future__ import annotations

from typing import Final

import pytest
from facts import play

from support.scenes import is_sent_back, number_of, scenes
from support.table import sampled

pytestmark = pytest.mark.process

SCENES: Final = scenes()
OFTEN: Final = [name for name in SCENES if number_of(name) % 3 == 0]
"""Those that every run plays; the benchmark plays all."""


@pytest.mark.parametrize("name", sampled(SCENES, *OFTEN))
def test_a_plain_lie_is_sent_back_and_an_honest_stop_rests(name: str) -> None:
    played = play(name, SCENES[name])
    assert played.sent_back is is_sent_back(name), played.detail
    assert not played.asked
