"""The data file rubric_advice.toml: by which words advice finds out what an author means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from msgspec import Struct

from sidecar.kernel.rubric import CriterionKey, SectionRole, Severity

T = TypeVar("T")


class AdviceWording(Struct, frozen=True, forbid_unknown_fields=True, eq=False):
    """The data file. `section_titles`, `keys`, `severities` and `sources`: what people call each of them.

    `small` are words in which two wordings of one demand may differ. `forbids`, `unclear` and the values of
    `undecidable` are regular expressions: for antipatterns that begin with "never", for those that may be
    meant either way, and for what no evidence of a stop shows; the keys of `undecidable` say why.
    """

    english: frozenset[str]
    foreign: frozenset[str]
    small: frozenset[str]
    denials: frozenset[str]
    forbids: str
    unclear: str
    section_titles: dict[SectionRole, tuple[str, ...]]
    keys: dict[CriterionKey, tuple[str, ...]]
    severities: dict[Severity, tuple[str, ...]]
    sources: dict[str, tuple[str, ...]]
    languages: dict[str, str]
    undecidable: dict[str, str]
    templates: dict[SectionRole, str]


def meant_by(word: str, names: Mapping[T, Iterable[str]]) -> T | None:
    """What somebody means who writes this word."""
    return next((meant for meant, known in names.items() if word in known), None)
