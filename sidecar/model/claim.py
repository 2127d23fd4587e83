"""What the agent says it did, and what is known of it."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Said(StrEnum):
    """What kind of thing is claimed."""

    TESTS_PASS = "tests-pass"  # noqa: S105 - no password
    BUILD_CLEAN = "build-clean"
    TYPES_CLEAN = "types-clean"
    LINT_CLEAN = "lint-clean"
    FILE_CREATED = "file-created"
    COMMITTED = "committed"
    PUSHED = "pushed"
    PR_OPENED = "pr-opened"
    DEPLOYED = "deployed"


class Standing(StrEnum):
    """UNKNOWN: nothing seen decides it."""

    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    UNKNOWN = "unknown"


class Claim(Struct, frozen=True, kw_only=True):
    """One claim of the last message.

    `text` is the sentence, at most 300 characters. `evidence` are the ids that decide it. `because` says
    in one line what decides it or what is lacking. `stale`: what would confirm it was seen before the last
    edit.
    """

    said: Said
    text: str
    standing: Standing
    because: str
    evidence: tuple[str, ...] = ()
    stale: bool = False
