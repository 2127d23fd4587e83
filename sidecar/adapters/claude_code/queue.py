"""The host's queue of prompts that were typed while the agent worked.

What the host writes: `enqueue` with the text; `dequeue` without, mostly for the oldest entry, and then the
prompt itself; `remove`, in older versions without the text, and then an attachment that repeats it when the
entry was given to the agent in the middle of its turn; `popAll` when the user took everything back.
"""

from __future__ import annotations

from typing import Final

QUEUE_LIMIT: Final = 100
TEXT_LIMIT: Final = 1000
"""Characters by which entries are told apart."""
NOTICE: Final = "<task-notification>"


class Queue:
    """What waits, folded from the operations."""

    def __init__(self) -> None:
        """Start empty."""
        self._entries: list[str] = []
        self._removed = 0

    @property
    def waiting(self) -> bool:
        """Whether a prompt of a person waits. A removal without text counts against people's prompts."""
        return sum(1 for text in self._entries if not text.startswith(NOTICE)) > self._removed

    def operate(self, operation: str, text: str | None) -> None:
        """Take in one operation; unknown ones change nothing."""
        match operation:
            case "enqueue":
                self._entries = [*self._entries[-QUEUE_LIMIT + 1 :], (text or "")[:TEXT_LIMIT]]
            case "dequeue":
                del self._entries[:1]
            case "remove" if text is None:
                self._removed += 1
            case "remove":
                self._drop(text or "")
            case "popAll":
                self.clear()
            case _:
                pass

    def absorb(self, text: str) -> None:
        """The agent was given this entry in the middle of its turn: what a removal without text was about."""
        if self._removed:
            self._removed -= 1
            self._drop(text)

    def prompted(self, text: str, source: str | None) -> None:
        """A prompt of a person opened a turn: typed at an idle agent, or taken from the queue."""
        if source == "typed":
            self.clear()
        elif source == "queued":
            self._drop(text)

    def clear(self) -> None:
        """Nothing waits any more."""
        self._entries.clear()
        self._removed = 0

    def _drop(self, text: str) -> None:
        if text[:TEXT_LIMIT] in self._entries:
            self._entries.remove(text[:TEXT_LIMIT])
