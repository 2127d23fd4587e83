"""Transcripts that show what they are told to show."""

from __future__ import annotations

from collections import defaultdict

from msgspec.structs import replace

from sidecar.kernel.events import AgentStopped, CommandTyped
from sidecar.kernel.session import SessionKey
from sidecar.kernel.turn import Turn
from support.cases import turn


class ScriptedTranscripts:
    """The Transcripts port, without files.

    Each stop reads the next turn of its session, the last one from then on. `arrived` are the continuations
    that the host shows; `waits`: a human prompt waits in the host's queue; `runs`: a tool call runs;
    `bytes` is each transcript's size, `end` when each turn ended.
    """

    def __init__(self) -> None:
        self.arrived: list[str] = []
        self.waits = False
        self.runs = False
        self.bytes = 0
        self.end = 0.0
        self.reads: list[tuple[AgentStopped, int]] = []
        self._turns: defaultdict[str, list[Turn]] = defaultdict(list)

    def script(self, *turns: Turn, session: str = "s1") -> None:
        """Say what the next stops of a session show."""
        self._turns[session] += turns

    async def read(self, stop: AgentStopped, counted_to: int) -> Turn:
        """Show the next turn, and all that arrived."""
        self.reads.append((stop, counted_to))
        turns = self._turns[stop.key.id]
        shown = turns.pop(0) if len(turns) > 1 else next(iter(turns), turn(last_message_id=""))
        return replace(shown, arrived=(*shown.arrived, *self.arrived))

    def position(self, event: CommandTyped) -> int:  # noqa: ARG002 - the port's
        return self.bytes

    def unanswered(self, key: SessionKey, transcript: str = "", *, but: str = "") -> bool:  # noqa: ARG002 - the port's
        return self.runs

    def ended(self, key: SessionKey, transcript: str) -> float:  # noqa: ARG002 - the port's
        return self.end

    def queued(self, stop: AgentStopped, position: int) -> bool:  # noqa: ARG002 - the port's
        return self.waits
