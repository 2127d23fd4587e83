"""The project's own idea of done."""

from __future__ import annotations

from msgspec import Struct


class Criterion(Struct, frozen=True):
    """One pattern or antipattern: its name and its text, both Markdown."""

    name: str
    text: str


class Rubric(Struct, frozen=True, kw_only=True):
    """The rubric in force.

    `origin` is the path it was read from; `rejected` says, per path, why a file that wins by precedence
    could not serve.
    """

    patterns: tuple[Criterion, ...]
    antipatterns: tuple[Criterion, ...]
    origin: str
    rejected: tuple[str, ...] = ()
