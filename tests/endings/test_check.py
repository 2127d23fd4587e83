"""`supervisor check` says of the corpus's endings what a stop would have said, where nothing was installed.

Some are tried each time, in turn as sessions of both hosts; `python benchmarks/endings --check` tries all.
"""

from __future__ import annotations

import pytest
from endings.checking import HOSTS, compare
from endings.judging import End

from endings import by_hand
from support.table import over_table

pytestmark = [pytest.mark.process, pytest.mark.proves("seeing and asking back")]

ENDINGS = [one for one in by_hand.load() if not one.recorded and not one.gap]
SOME, MANY = 91, 9
"""Every ninety-first is tried each time: one takes some seconds."""


@pytest.mark.parametrize("stride", [SOME, pytest.param(MANY, marks=pytest.mark.long)])
def test_an_ending_that_nobody_supervised_is_judged_as_a_stop_of_it(stride: int) -> None:
    rows = [(number % len(HOSTS), one.name) for number, one in enumerate(ENDINGS[::stride])]
    over_table(("host", "name"), rows)(_is_judged_rightly)()


def _is_judged_rightly(host: int, name: str) -> None:
    seen = compare(next(one for one in ENDINGS if one.name == name), HOSTS[host])
    if seen is not None and not seen.unseen:  # its runner is here, and no file that git ignores is the fake
        assert seen.right, seen
        assert (seen.result == "found") == (seen.stop is End.SENT_BACK), seen
