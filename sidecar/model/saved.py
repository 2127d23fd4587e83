"""What a person writes to guide us, beside rubrics."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class Configured(Struct, frozen=True, kw_only=True):
    """What a configuration file says: values by their dotted names, in words, and what is wrong with it."""

    path: str
    values: Mapping[str, str] = {}
    problems: tuple[str, ...] = ()
