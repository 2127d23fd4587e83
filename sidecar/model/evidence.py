"""Evidence: numbered facts with a source. Only these count (law 2)."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Source(StrEnum):
    """Where a fact was seen."""

    GATE = "gate"
    TOOL = "tool"
    TODO = "todo"
    CHANGE = "change"
    """To the checks themselves."""
    REPOSITORY = "repository"
    STEERING = "steering"
    """Text addressed to the judge was found among what the worker wrote or was shown."""
    CLAIM = "claim"
    """What the worker says, beside what is known of it; it shows nothing by itself."""


class Worth(StrEnum):
    """What a fact can show, if it is neither stale nor bad; how much it weighs, if it is bad."""

    NOTHING = "nothing"
    """It only prints, reads or lists, or its end is not seen."""
    FILES = "files"
    """What was written, or what git knows: enough where a goal is about documents, files or git."""
    WORK = "work"
    """A run of the project's own program, or of a lesser check, that could have failed."""
    CHECK = "check"
    """A gate, or the agent's own run of tests, of a build or of a type check."""


class Evidence(Struct, frozen=True, kw_only=True):
    """One fact.

    `id` is "E1", "E2", ... within one stop. `fact` is one line, `detail` at most 2,000 characters.
    `call` is the id of the tool call or gate it comes from, "" where it is another's.
    `tree` is the fingerprint of the files it was seen on, empty where it does not depend on them.
    `stale`: the files moved afterwards. `bad`: it speaks against being done. `own`: what a STEERING fact
    tells of is by the worker's own hand.
    """

    id: str
    source: Source
    fact: str
    detail: str = ""
    call: str = ""
    tree: str = ""
    stale: bool = False
    bad: bool = False
    worth: Worth = Worth.NOTHING
    own: bool = False
