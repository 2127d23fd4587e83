"""What every host's codec asks of what a host says: names that may become names of files, and folders."""

from __future__ import annotations

import re
from typing import Final

from sidecar.ports import BadInputError

WORKER_MARKER: Final = "SUPERVISOR_WORKER"
"""The variable, not empty, in the environment of our own judges and workers."""
SESSION_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
SHOWN: Final = 40
"""Characters of a hostile name that an error shows."""


def session_id(told: str) -> str:
    """An id that is safe as a file's name. Raises BadInputError."""
    if not SESSION_ID.fullmatch(told):
        shown = repr(told[:SHOWN])[:SHOWN]
        raise BadInputError(
            f"session id {shown} of length {len(told):,}: allowed are 1 to 128 letters, digits, -, _"
        )
    return told


def project_folder(told: str) -> str:
    """An absolute path without a slash at its end. Raises BadInputError."""
    if not told.startswith("/") or "\0" in told:
        raise BadInputError(f"{repr(told[:SHOWN])[:SHOWN]} is no absolute path of a project folder")
    return told.rstrip("/") or "/"
