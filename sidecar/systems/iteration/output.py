"""What an agent prints, as lines for people and as an excerpt for the log: masked and bounded.

Rules of this module:

- A line is shown when it has ended; the unfinished one can be shown while it grows.
- Nothing is shown or kept before its secrets are masked, so a text is masked before it is cut.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sidecar.kernel.masking import SecretMask
from sidecar.kernel.text import strip_control_codes

LINE_LENGTH: Final = 2_000
"""Maximum characters of a line; the rest of it is left out."""
MASKED_LENGTH: Final = 2 * LINE_LENGTH
"""Characters of a line that are masked, so that a secret at the cut is found whole."""
EXCERPT_HALF: Final = 8_000
"""Characters kept of the beginning of the output, and of its end."""


class AgentOutput:
    """The output of one agent, piece by piece."""

    def __init__(self, mask: SecretMask, tell: Callable[[str], None], hear: Callable[[str], None]) -> None:
        """`tell` gets each line, `hear` the unfinished one."""
        self._mask, self._tell, self._hear = mask, tell, hear
        self._line = ""
        self._size = 0
        self._head = self._tail = ""

    def feed(self, piece: str) -> None:
        """Take the next piece of output."""
        self._keep(piece)
        before = self._line
        *ended, last = piece.split("\n")
        for part in ended:
            self._grow(part)
            self._end_line()
        self._grow(last)
        if self._line not in ("", before):
            self._hear(self._shown())

    def close(self) -> str:
        """Show what is left, and return the excerpt."""
        self._end_line()
        gap = self._size - len(self._head) - len(self._tail)
        if gap <= 0:
            return self._mask(strip_control_codes(self._head + self._tail))
        head, tail = (self._mask(strip_control_codes(text)) for text in (self._head, self._tail))
        return f"{head[:EXCERPT_HALF]}\n[... {gap:,} characters left out ...]\n{tail[-EXCERPT_HALF:]}"

    def _keep(self, piece: str) -> None:
        self._size += len(piece)
        most = EXCERPT_HALF + MASKED_LENGTH
        room = most - len(self._head)
        self._head += piece[:room]
        self._tail = (self._tail + piece[room:])[-most:]

    def _grow(self, text: str) -> None:
        self._line += text[: max(0, MASKED_LENGTH - len(self._line))]

    def _shown(self) -> str:
        line = self._mask(strip_control_codes(self._line))
        return line if len(line) <= LINE_LENGTH else f"{line[: LINE_LENGTH - 1]}…"

    def _end_line(self) -> None:
        if self._line.strip():
            self._tell(self._shown())
        self._line = ""
