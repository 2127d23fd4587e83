"""The short names of what can be said of a rubric. They stay: people switch them off by name."""

from __future__ import annotations

from enum import StrEnum


class Code(StrEnum):
    """docs/rubric-advice.md has a row for each."""

    AMBIGUOUS_NAME = "ambiguous-name"
    ANTIPATTERN_AS_DEMAND = "antipattern-as-demand"
    COMPOUND_CRITERION = "compound-criterion"
    CONTRADICTION = "contradiction"
    DUPLICATE_CRITERION = "duplicate-criterion"
    DUPLICATE_ID = "duplicate-id"
    DUPLICATE_SECTION = "duplicate-section"
    GLOB_INVALID = "glob-invalid"
    GLOB_MATCHES_NOTHING = "glob-matches-nothing"
    NEARLY_TOO_BIG = "nearly-too-big"
    NO_TEXT = "no-text"
    RESERVED_ID = "reserved-id"
    TOO_LONG_CRITERION = "too-long-criterion"
    TOO_MANY_CRITERIA = "too-many-criteria"
    UNDECIDABLE = "undecidable"
    UNKNOWN_EVIDENCE = "unknown-evidence"
    UNKNOWN_GATE = "unknown-gate"
    UNKNOWN_RULE = "unknown-rule"
    UNKNOWN_SECTION = "unknown-section"
    UNKNOWN_SEVERITY = "unknown-severity"
    UNREAD_LINE = "unread-line"
    VAGUE_WORDING = "vague-wording"
