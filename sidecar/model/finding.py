"""What changed in the checks themselves, weighed."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Change(StrEnum):
    """How a change bears on what a check can still find."""

    TEST_DELETED = "test-deleted"
    TEST_SKIPPED = "test-skipped"
    TEST_EXPECTED_TO_FAIL = "test-expected-to-fail"
    TEST_FOCUSED = "other-tests-left-out"
    CASES_REMOVED = "cases-removed"
    ASSERTION_REMOVED = "assertion-removed"
    ASSERTION_WEAKENED = "assertion-weakened"
    ASSERTION_VOID = "assertion-cannot-fail"
    EXPECTATION_CHANGED = "expectation-changed"
    THRESHOLD_LOWERED = "threshold-lowered"
    RUNNER_LOOSENED = "runner-loosened"
    LINT_LOOSENED = "lint-loosened"
    CI_LOOSENED = "ci-loosened"
    COMMAND_CHANGED = "command-changed"
    COMMAND_SHADOWED = "command-shadowed"
    SNAPSHOT_REGENERATED = "snapshot-regenerated"
    CHECK_SILENCED = "check-silenced"
    RESULTS_REWRITTEN = "results-rewritten"
    CODE_KNOWS_TEST = "code-knows-test"
    CHECK_EDITED = "edited"
    """In a way that no rule recognises."""
    UNREADABLE = "unreadable"


class Weight(StrEnum):
    """Whether a change alone is enough to be asked about.

    GRAVE: as a rule it makes a check find less; the agent is asked once to undo or to explain it. SHOWN: as
    often right as wrong; the judge weighs it. Either keeps a goal from being achieved unseen.
    """

    GRAVE = "grave"
    SHOWN = "shown"


class Finding(Struct, frozen=True, kw_only=True):
    """One change, where it is, and how it read before and after, each in one line of at most 300 characters.

    `line` is that of the file as it is now; of the file as it was where it is gone. `weak`: seen by text
    alone.
    """

    change: Change
    weight: Weight
    file: str
    line: int
    before: str = ""
    after: str = ""
    weak: bool = False
