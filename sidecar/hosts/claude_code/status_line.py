"""Our part of Claude Code's status line, behind the one that the user has, in the user's settings."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from sidecar.hosts.claude_code.user_settings import (
    change_settings,
    decode_settings,
    encode_settings,
    put_or_drop,
)

if TYPE_CHECKING:
    from pathlib import Path

VERB: Final = "status-line"
NAME: Final = "statusLine"
REFRESH: Final = "refreshInterval"
REFRESH_S: Final = 5
"""Seconds: by itself the host asks after messages only, and not after what a stop leads to."""


class _StatusLine(Struct, frozen=True):
    command: str = ""


def put_status_line(path: Path, supervisor: Path | None) -> None:
    """Put our part into the settings, or take it out where `supervisor` is None. Raises HostError."""
    by_hand = f'add there: "{NAME}": {{"type": "command", "command": "{supervisor} {VERB}"}}'
    change_settings(path, lambda text: edit_status_line(text, supervisor), (by_hand,) if supervisor else ())


def edit_status_line(text: bytes, supervisor: Path | None) -> bytes:
    """Return the settings with our part or without; another status line stays. Raises msgspec.DecodeError."""
    settings = decode_settings(text)
    entry = decode_settings(bytes(settings.get(NAME, b"")))
    there = msgspec.json.decode(settings.get(NAME, b"{}"), type=_StatusLine).command
    others = _without_ours(there)
    wanted = others
    if supervisor is not None:
        beside = ("--beside", others) if others else ()
        wanted = shlex.join((str(supervisor), VERB, *beside))
    if wanted == there:
        return text
    if supervisor is not None:
        entry.setdefault(REFRESH, msgspec.Raw(b"%d" % REFRESH_S))
    elif bytes(entry.get(REFRESH, b"")) == b"%d" % REFRESH_S:
        del entry[REFRESH]
    put_or_drop(entry, "command", wanted)
    put_or_drop(entry, "type", "command")
    put_or_drop(settings, NAME, entry if wanted else None)
    return encode_settings(settings, text)


def _without_ours(command: str) -> str:
    """Return the status line that ours stands behind; "" where there is none."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    if words[1:2] != [VERB]:
        return command
    return words[3] if words[2:3] == ["--beside"] else ""
