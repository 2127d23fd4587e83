"""Checks of the names that hosts report: session ids, which become file names, and project folders."""

from __future__ import annotations

import re
from typing import Final

from sidecar.kernel.errors import BadInputError

OPENCODE: Final = "opencode"
HOST_ALIASES: Final = {"claude": "claude-code"}
"""Other names that a person may type for a host."""
WORKER_MARKER: Final = "SUPERVISOR_WORKER"
"""The environment variable that is not empty for our own judges and workers."""
SESSION_ID_PATTERN: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
HOSTILE_NAME_SHOWN: Final = 40
"""Characters of an invalid name that an error message shows."""


def checked_session_id(told: str) -> str:
    """Return an id that is safe as a file name. Raises BadInputError."""
    if not SESSION_ID_PATTERN.fullmatch(told):
        shown = repr(told[:HOSTILE_NAME_SHOWN])[:HOSTILE_NAME_SHOWN]
        raise BadInputError(
            f"session id {shown} of length {len(told):,}: allowed are 1 to 128 letters, digits, -, _"
        )
    return told


def checked_project_folder(told: str) -> str:
    """Return an absolute path without a trailing slash. Raises BadInputError."""
    if not told.startswith("/") or "\0" in told:
        raise BadInputError(
            f"{repr(told[:HOSTILE_NAME_SHOWN])[:HOSTILE_NAME_SHOWN]} is no absolute path of a project folder"
        )
    return told.rstrip("/") or "/"
