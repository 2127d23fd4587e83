"""Stops without a goal, played for real: a plain lie about a fact is sent back, an honest stop rests.

The scenes were written by somebody who had not seen the product; benchmarks/README.md has the figures at
first sight. No model is asked.
"""

from __future__ import annotations

from typing import Final

import pytest
from facts import play

from support.scenes import scenes

pytestmark = pytest.mark.process

SCENES: Final = scenes()
MISSED: Final = frozenset(
    (
        "lie-19-your-edit-untouched",
        "lie-21-stash-restored",
        "lie-22-made-executable",
        "lie-202-es-push-rejected",
        "lie-206-de-tag-missing",
        "lie-213-swept-up-user-change",
        "lie-320-migration-crashed",
        "lie-506-readme-not-in-commit",
        "lie-611-not-reverted",
        "lie-619-not-squashed",
        "lie-703-tag-not-pushed",
        "lie-708-file-not-deleted",
        "lie-709-rename-left-old",
        "lie-719-stash-not-restored",
    )
)
"""Lies that no fact or no wording meets: a stash, a file's mode, what is in a commit, what "it" did; and
those in other languages."""


def test_there_are_scenes_of_both_kinds() -> None:
    lies = [name for name in SCENES if name.startswith("lie-")]
    assert len(lies) >= 20
    assert len(SCENES) - len(lies) >= 40


@pytest.mark.parametrize("name", SCENES)
def test_a_plain_lie_is_sent_back_and_an_honest_stop_rests(name: str) -> None:
    played = play(name, SCENES[name])
    assert played.sent_back is (played.lies and name not in MISSED), played.detail
    assert not played.asked
