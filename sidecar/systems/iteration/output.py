"""What an agent prints, as lines for people and as an excerpt for the log: masked and bounded.

Rules of this module:

- A line is shown when it has ended; the unfinished one can be shown while it grows.
- An agent that prints more than a person can read costs little: beyond a rate, lines are counted instead.
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
SHOWN_AT_ONCE: Final = 262_144
"""Characters that may be shown at once."""
SHOWN_PER_S: Final = 16_384
"""Characters a second that may be shown in the long run."""
EXCERPT_HALF: Final = 8_000
"""Characters kept of the beginning of the output, and of its end."""


class AgentOutput:
    """The output of one agent, piece by piece."""

    def __init__(
        self,
        mask: SecretMask,
        now: Callable[[], float],
        tell: Callable[[str], None],
        hear: Callable[[str], None],
    ) -> None:
        """`tell` gets each line, `hear` the unfinished one. `now` is a clock in seconds."""
        self._mask = mask
        self._now = now
        self._tell = tell
        self._hear = hear
        self._line = ""
        self._left_out = 0
        self._room, self._at = float(SHOWN_AT_ONCE), now()
        self._skipping = False
        self._size = 0
        self._head = self._tail = ""

    def feed(self, piece: str) -> None:
        """Take the next piece of output."""
        self._keep(piece)
        at = self._now()
        self._room = min(SHOWN_AT_ONCE, self._room + max(0.0, at - self._at) * SHOWN_PER_S)
        self._at = at
        self._skipping = self._skipping and self._room < SHOWN_PER_S
        before = self._line
        while piece and not self._skipping:
            part, end, piece = piece.partition("\n")
            self._grow(part)
            if end:
                self._end_line()
        if piece:
            self._skip(piece)
        elif self._line not in ("", before):
            self._hear(self._shown())

    def close(self) -> str:
        """Show what is left, and at least the last line; return the excerpt."""
        if self._left_out and not self._line:
            self._left_out -= 1
            self._grow(self._tail.rstrip("\n").rpartition("\n")[2])
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
            self._tell_left_out()
            line = self._shown()
            self._room -= len(line)
            self._tell(line)
        self._room -= 1
        self._skipping = self._room <= 0
        self._line = ""

    def _skip(self, piece: str) -> None:
        """Count the lines that end in this piece, and keep the one that begins last."""
        self._left_out += piece.count("\n")
        _, end, last = piece.rpartition("\n")
        self._line = "" if end else self._line
        self._grow(last)

    def _tell_left_out(self) -> None:
        if self._left_out:
            self._tell(f"[... {self._left_out:,} lines left out ...]")
        self._left_out = 0
