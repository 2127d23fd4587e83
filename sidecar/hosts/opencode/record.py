"""Reads OpenCode's record of a session: asks the host that sent an event, or else the host's own program.

The host returns the newest messages, as many as are asked for. The number grows in few steps, until the
turn's own prompt is among them.
"""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec
from msgspec import Raw, Struct

from sidecar.hosts.host_program import HostProgram
from sidecar.hosts.opencode import wire
from sidecar.hosts.opencode.link import call_host_api, take_newest_messages
from sidecar.hosts.opencode.messages import read_last_turn, read_whole_turn
from sidecar.hosts.ports import NothingRecorded, RecordedSession
from sidecar.hosts.shared import OPENCODE
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.session import SessionKey
from sidecar.kernel.turn import Turn
from sidecar.platform.rpc import PeerError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from sidecar.kernel.events import AgentStopped, CommandTyped


T = TypeVar("T")

FETCH_STEPS: Final = (64, 512, 4096)
"""Messages requested, step by step; a turn with more is read without its beginning."""
SMALLER_STEPS: Final = (16, 4, 1)
"""Fewer messages, requested if already the first step is too long for one answer.

Pictures in a prompt may make it too long.
"""
TOO_LONG: Final = "the answer is too long"
"""The plugin's error for an answer that does not fit into a line."""
SHORT_ANSWER: Final = 64 << 10
"""Bytes of messages that are read without a thread, in about a millisecond."""
FETCH_SECONDS: Final = 30.0
"""Longest wait for one step, in seconds."""


class OpenCodeHistory(NothingRecorded):
    """Implements hosts.ports.Transcripts.

    OpenCode reports queued prompts itself, and shows no forms, so nobody asks whether a call runs.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        """`now` returns seconds since the epoch."""
        self._now = now

    async def read(self, stop: AgentStopped, counted_to: int) -> Turn:
        """Read the turn that ends in `stop`; see hosts.ports.Transcripts.

        If it cannot be read, `unfinished` says why.
        """
        try:
            return await self._read(stop.key.id, counted_to)
        except PeerError as error:
            return Turn(position=max(counted_to, 0), readable=False, unfinished=str(error))

    def position(self, event: CommandTyped) -> int:  # noqa: ARG002 - what is typed comes last
        """Return where the messages end now, in milliseconds since the epoch."""
        return int(self._now() * 1000)

    async def _read(self, session: str, counted_to: int) -> Turn:
        raw = await _fetch_first_messages(session)
        for limit, more in pairwise(FETCH_STEPS):
            if (turn := await _work(read_whole_turn, raw, counted_to, limit)) is not None:
                return turn
            try:
                raw = await _fetch_newest_messages(session, more)
            except PeerError:  # too long for one answer: the fewer messages of the step before must do
                break
        return await _work(read_last_turn, raw, counted_to)


async def _work(read: Callable[..., T], raw: bytes, *given: int) -> T:
    """Read messages, in a thread where that may take longer than to begin one."""
    return read(raw, *given) if len(raw) <= SHORT_ANSWER else await asyncio.to_thread(read, raw, *given)


async def _fetch_first_messages(session: str) -> bytes:
    """Return the first step, or as many messages as one answer holds. Raises PeerError."""
    if newest := take_newest_messages():
        return newest
    for limit in (FETCH_STEPS[0], *SMALLER_STEPS[:-1]):
        try:
            return await _fetch_newest_messages(session, limit)
        except PeerError as error:
            if TOO_LONG not in str(error):
                raise
    return await _fetch_newest_messages(session, SMALLER_STEPS[-1])


async def _fetch_newest_messages(session: str, limit: int) -> bytes:
    given = {"path": {"id": session}, "query": {"limit": limit}}
    return bytes(await call_host_api("session.messages", given, FETCH_SECONDS))


# --- A session that the host recorded, for people who have not put Supervisor into it -----------------------


OPENCODE_S: Final = 30.0
"""Seconds for one answer of OpenCode."""
MILLISECONDS: Final = 1000


class _Times(Struct, frozen=True):
    created: float = 0
    updated: float = 0


class _Info(Struct, frozen=True):
    id: str = ""
    directory: str = ""
    time: _Times = _Times()


class _Export(Struct, frozen=True):
    info: _Info
    messages: Raw


class _Listed(Struct, frozen=True):
    id: str
    directory: str = ""
    updated: float = 0


def read_export(data: bytes) -> RecordedSession:
    """Return the session of what `opencode export` printed. Raises BadInputError."""
    try:
        found = msgspec.json.decode(data, type=_Export)
    except msgspec.DecodeError as error:
        raise BadInputError(f"it is no export of OpenCode ({error})") from error
    return RecordedSession(
        key=SessionKey(OPENCODE, found.info.id),
        project=found.info.directory,
        began=found.info.time.created / MILLISECONDS,
        changed=found.info.time.updated / MILLISECONDS,
        turn=read_last_turn(bytes(found.messages)),
    )


def newest_session(project: str, environment: Mapping[str, str], session: str = "") -> RecordedSession | None:
    """Return OpenCode's newest session of a folder (its real path), or the one whose id begins so.

    Raises BadInputError and HostError where OpenCode does not tell.
    """
    program = HostProgram("OpenCode", "opencode", environment, project)
    if not program.path:
        return None
    said = program.run("session", "list", "--format", "json", seconds=OPENCODE_S, keep=wire.BYTES_LIMIT)
    try:
        listed = msgspec.json.decode(said or b"[]", type=list[_Listed])
    except msgspec.DecodeError as error:
        raise BadInputError(f"OpenCode listed its sessions in another form ({error})") from error
    fit = [one for one in listed if one.id.startswith(session) and one.directory in ("", project)]
    newest = max(fit, key=lambda one: one.updated, default=None)
    if newest is None:
        return None
    return read_export(program.run("export", newest.id, seconds=OPENCODE_S, keep=wire.BYTES_LIMIT))


def read_recorded(path: Path) -> RecordedSession:
    """Return the session of a file that `opencode export` wrote. Raises BadInputError, OSError."""
    return read_export(path.read_bytes())
