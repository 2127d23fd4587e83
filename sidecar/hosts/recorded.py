"""Sessions that a host recorded by itself, for people who have not put Supervisor into it.

Claude Code writes `<configuration>/projects/<folder>/<session>.jsonl`, where every character of the folder's
path but letters and digits is a dash. OpenCode lists and exports its sessions itself.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Raw, Struct

from sidecar.hosts.claude_code.codec import HOST as CLAUDE_CODE
from sidecar.hosts.opencode import wire
from sidecar.hosts.opencode.codec import HOST as OPENCODE
from sidecar.hosts.opencode.messages import read_last_turn
from sidecar.hosts.shared import try_decode
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.session import SessionKey
from sidecar.kernel.turn import Turn
from sidecar.platform.processes import find_program, run_process

OPENCODE_S: Final = 30.0
"""Seconds for one answer of OpenCode."""
HEAD_BYTES: Final = 256 * 1024
"""Bytes of a transcript in which its first time stands."""
MILLISECONDS: Final = 1000


class RecordedSession(Struct, frozen=True, kw_only=True):
    """A recorded session. `began` and `changed` are in seconds since the epoch.

    `transcript` is Claude Code's file, `turn` the last turn of another host's session.
    """

    key: SessionKey
    project: str
    began: float
    changed: float
    transcript: str = ""
    turn: Turn | None = None


class _Line(Struct, frozen=True):
    timestamp: dt.datetime | None = None
    cwd: str = ""


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


def newest_claude_session(
    project: str, environment: Mapping[str, str], session: str = ""
) -> RecordedSession | None:
    """Return Claude Code's newest session of a folder (its real path), or the one whose id begins so."""
    home = environment.get("CLAUDE_CONFIG_DIR") or str(Path.home() / ".claude")
    folder = Path(home, "projects", re.sub(r"[^A-Za-z0-9]", "-", project))
    files = [path for path in folder.glob("*.jsonl") if path.stem.startswith(session) and path.is_file()]
    newest = max(files, key=lambda path: path.stat().st_mtime, default=None)
    return read_claude_transcript(newest, project) if newest else None


def read_claude_transcript(path: Path, project: str = "") -> RecordedSession:
    """Return the session of a transcript; its folder is the first one that it names. Raises BadInputError."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES).splitlines()
    began, folder = 0.0, ""
    for raw in head:
        line = try_decode(raw, _Line)
        if line is not None:
            began = began or (line.timestamp.timestamp() if line.timestamp else 0.0)
            folder = folder or line.cwd
    if not began:
        raise BadInputError(f"{path}: no transcript of Claude Code, as no line of it has a time")
    return RecordedSession(
        key=SessionKey(CLAUDE_CODE, path.stem),
        project=project or folder,
        began=began,
        changed=path.stat().st_mtime,
        transcript=str(path),
    )


def read_opencode_export(data: bytes) -> RecordedSession:
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


async def newest_opencode_session(
    project: str, environment: Mapping[str, str], session: str = ""
) -> RecordedSession | None:
    """Return OpenCode's newest session of a folder (its real path), or the one whose id begins so.

    Raises BadInputError where OpenCode does not tell.
    """
    program = find_program("opencode", environment, project)
    if not program:
        return None

    async def said(*arguments: str) -> bytes:
        done = await run_process(
            (program, *arguments),
            cwd=project,
            environment=environment,
            seconds=OPENCODE_S,
            keep=wire.BYTES_LIMIT,
            separate=True,
        )
        if done.exit_code != 0:
            raise BadInputError(f"`opencode {' '.join(arguments)}` failed: {done.reason or done.errors!r}")
        return done.output

    try:
        listed = msgspec.json.decode(
            await said("session", "list", "--format", "json") or b"[]", type=list[_Listed]
        )
    except msgspec.DecodeError as error:
        raise BadInputError(f"OpenCode listed its sessions in another form ({error})") from error
    fit = [one for one in listed if one.id.startswith(session) and one.directory in ("", project)]
    newest = max(fit, key=lambda one: one.updated, default=None)
    return read_opencode_export(await said("export", newest.id)) if newest else None
