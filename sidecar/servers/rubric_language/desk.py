"""What the server asks."""

from __future__ import annotations

from typing import Protocol

from sidecar.model.flaw import Flaw, Surroundings
from sidecar.model.kept import History
from sidecar.model.outline import Outline


class Desk(Protocol):
    """Knows rubrics. `path` is that of the file, `text` what the editor holds, saved or not."""

    def flaws(self, path: str, text: str) -> tuple[Flaw, ...] | None:
        """All that is wrong with the text; None for a file that is no rubric."""

    def outline(self, path: str, text: str) -> Outline | None:
        """What the judge reads in it; None for a file that is no rubric."""

    def around(self, path: str) -> Surroundings:
        """What the rubric can name, as far as it is known; at once."""

    def refresh(self, path: str) -> bool:
        """Look at the project again; whether something is new. Slow, in a thread of its own."""

    def beginning(self, path: str) -> str:
        """What a new rubric begins with."""

    def history(self, path: str, criterion: str) -> History | None:
        """What became of a criterion, by its id, in the project; of any id, how many stops are kept."""

    def replay(self, path: str, text: str) -> str:
        """What the text would have changed at the last stops, in one line. Slow, in a thread of its own."""
