"""The sidecar's log: what happened, never what was said.

Hosts send prompts and environments, and an exception's message may quote them. So the log has its type and
where it was raised; only errors of the system itself (files, imports) speak for themselves.
"""

from __future__ import annotations

import logging
import traceback
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import TracebackType
from typing import Final

SIZE: Final = 1_000_000
"""Bytes after which a log file is set aside."""
KEPT: Final = 3
"""Files that were set aside and are kept."""
SPEAKING: Final = (OSError, ImportError)

Raised = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


def write_to(path: Path) -> None:
    """Send all logging of this process to a file; raises OSError. The process's umask sets its rights."""
    handler = RotatingFileHandler(path, maxBytes=SIZE, backupCount=KEPT, encoding="utf-8")
    handler.setFormatter(_Discreet("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"))
    logging.raiseExceptions = False  # a full disk is no reason to fail
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)


class _Discreet(logging.Formatter):
    """Tells where an exception was raised and leaves out what it says."""

    def formatException(self, ei: Raised) -> str:  # noqa: N802 - logging's name
        error = ei[1]
        return "" if error is None else "\n".join(_lines(error))


def _lines(error: BaseException) -> list[str]:
    said = f": {error}" if isinstance(error, SPEAKING) else ""
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return [
        f"  {type(error).__qualname__}{said}",
        *(f"    {at.filename}:{at.lineno} in {at.name}" for at in traceback.extract_tb(error.__traceback__)),
        *(_lines(cause) if cause is not None else ()),
    ]
