"""docs/loop.md draws the table of transitions.

After a change of the table that you mean, run this file with RENEW_SNAPSHOTS=1 and read the diff.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from sidecar.systems.taskloop.policy.transitions import CALL_FIRST, TRANSITIONS

pytestmark = pytest.mark.proves("the loop")

PAGE: Final = Path(__file__).parents[3] / "docs" / "loop.md"
HEAD: Final = "Calling a tool out of order changes nothing and names the tool to call first.\n"


def test_the_table_is_that_of_the_rules() -> None:
    said, found, _ = PAGE.read_text(encoding="utf-8").partition(HEAD)
    assert found
    page = said + HEAD + "".join(f"{line}\n" for line in drawn())
    if os.environ.get("RENEW_SNAPSHOTS"):
        PAGE.write_text(page, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page


def drawn() -> Iterator[str]:
    yield from ("", "| state | what may happen, and the state after it | call |", "|---|---|---|")
    for state, steps in TRANSITIONS.items():
        after = ", ".join(f"{step}: {then}" for step, then in steps.items())
        yield f"| {state} | {after} | `{CALL_FIRST[state]}` |"
