"""An open rubric, as one moment has it."""

from __future__ import annotations

from functools import cached_property
from typing import Final, NamedTuple

from sidecar.model.flaw import Flaw
from sidecar.model.outline import Outline
from sidecar.servers.rubric_language.abilities import Abilities
from sidecar.servers.rubric_language.desk import Desk
from sidecar.servers.rubric_language.page import Page

TOO_BIG: Final = "too-big"
"""The code of the flaw of a text that is not looked into: all else waits until it is shorter."""


class Document(NamedTuple):
    """Which file, and which of its texts. `path` is that of `uri`."""

    uri: str
    path: str
    version: int | None


class View:
    """What an answer is made of; what it does not need is not found out."""

    def __init__(self, document: Document, page: Page, able: Abilities, desk: Desk) -> None:
        self.uri, self.path, self.version = document
        self.page = page
        self.able = able
        self.desk = desk

    @cached_property
    def flaws(self) -> tuple[Flaw, ...]:
        return self.desk.flaws(self.path, self.page.text) or ()

    @cached_property
    def outline(self) -> Outline | None:
        """None where the text is too big."""
        read = self.desk.outline(self.path, self.page.text)
        if read and not read.sections and any(flaw.code == TOO_BIG for flaw in self.flaws):
            return None
        return read
