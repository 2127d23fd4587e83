"""A session of Claude Code as its hooks see it: events and a transcript."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import msgspec
from stage import Stage
from transcripts import Author, append

from sidecar.kernel.session import SessionKey
from sidecar.platform.event_log import EventLogFile
from sidecar.platform.log_readings import read_record
from sidecar.platform.ports import SystemClock

WRITTEN_TRIES, WRITTEN_S = 100, 0.01
"""How often, and after how many seconds each, a stop is looked for in the log."""


class HostSession:
    """One session, with an author who writes its transcript."""

    def __init__(self, stage: Stage, transcript: Path | None = None) -> None:
        """Begin; `transcript`: one that is there already, written by somebody else."""
        self.id = str(uuid.uuid4())
        self.author = Author(self.id)
        self._stage = stage
        self.transcript = transcript or stage.home / ".claude" / "projects" / "bench" / f"{self.id}.jsonl"
        self.transcript.parent.mkdir(parents=True, exist_ok=True)
        self._prompts = 0

    def prompted(self) -> bytes:
        """The event of a prompt."""
        self._prompts += 1
        return self._event("UserPromptSubmit", prompt="Please go on.")

    def wrote(self, lines: Iterator[bytes]) -> bytes:
        """The transcript has grown by these lines, and the agent stops: the event of it."""
        append(self.transcript, lines)
        return self.stopped(self.author.said)

    def stopped(self, said: str) -> bytes:
        """The event of a stop."""
        return self._event("Stop", stop_hook_active=False, last_assistant_message=said, background_tasks=[])

    def decided(self) -> str:
        """How the last stop was decided, from the session's record."""
        log = EventLogFile(self._stage.run.parent, SystemClock())
        entries = read_record(log, SessionKey("claude-code", self.id), 1)
        return entries[0].decided if entries else ""

    def _event(self, name: str, **fields: object) -> bytes:
        return msgspec.json.encode(
            {
                "session_id": self.id,
                "transcript_path": str(self.transcript),
                "cwd": str(self._stage.project),
                "prompt_id": f"{self.id[:24]}{self._prompts:012}",
                "permission_mode": "default",
                "hook_event_name": name,
                **fields,
            }
        )


def checked(session: HostSession, wanted: str) -> None:
    """A figure counts only where what was meant was measured. Raises RuntimeError.

    A stop is written down once its host is answered, so it is awaited.
    """
    for _ in range(WRITTEN_TRIES):
        if (decided := session.decided()) == wanted:
            return
        time.sleep(WRITTEN_S)  # noqa: TID251 - another process writes it
    raise RuntimeError(f"the last stop was decided as {decided!r}, and the benchmark is about {wanted!r}")
