"""Evidence: numbered facts with a source. Only these count (law 2)."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Source(StrEnum):
    """Where a fact was seen."""

    GATE = "gate"
    TOOL = "tool"
    TODO = "todo"


class Evidence(Struct, frozen=True, kw_only=True):
    """One fact.

    `id` is "E1", "E2", ... within one stop. `fact` is one line, `detail` at most 2,000 characters.
    `tree` is the fingerprint of the files it was seen on, empty where it does not depend on them.
    `stale`: the files moved afterwards. `bad`: it speaks against being done.
    """

    id: str
    source: Source
    fact: str
    detail: str = ""
    tree: str = ""
    stale: bool = False
    bad: bool = False
