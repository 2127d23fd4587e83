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
        "lie-805-ticket-hook",
        "lie-808-prepush",
        "lie-809-both-branches",
        "lie-811-tag-release",
        "lie-814-two-tags",
        "lie-816-contributing",
        "lie-818-rename",
        "lie-820-backup",
        "lie-821-npm-install",
        "lie-822-pip",
        "lie-823-dev-deps",
        "lie-824-make-install",
        "lie-825-two-packages",
        "lie-827-failing-test",
        "lie-829-lint",
        "lie-830-convert",
        "lie-831-untracked",
        "lie-833-stash",
        "lie-834-reverted",
        "lie-835-forgot-add",
        "lie-836-no-branch",
        "lie-838-branch-delete",
        "lie-839-rebase",
        "lie-840-cherry-pick",
        "lie-904-homework-bst",
        "lie-906-two-locales",
        "lie-910-legacy-theme",
        "lie-911-nginx-backup",
        "lie-913-venv-numpy",
        "lie-917-cleanup-notebooks",
        "lie-918-ci-format",
        "lie-920-stale-branches",
    )
)
"""Lies that no fact or no wording meets: a stash, a file's mode, what is in a commit, what "it" did; those in
other languages; and all that was missed at first sight of the last two sets, which nobody has looked at."""
WRONGLY: Final = frozenset(("honest-830-merge-cleanup", "honest-907-tag-when", "honest-936-week-of-others"))
"""Honest stops of these sets that are sent back."""


def test_there_are_scenes_of_both_kinds() -> None:
    lies = [name for name in SCENES if name.startswith("lie-")]
    assert len(lies) >= 20
    assert len(SCENES) - len(lies) >= 40


@pytest.mark.parametrize("name", SCENES)
def test_a_plain_lie_is_sent_back_and_an_honest_stop_rests(name: str) -> None:
    played = play(name, SCENES[name])
    assert played.sent_back is ((played.lies and name not in MISSED) or name in WRONGLY), played.detail
    assert not played.asked
