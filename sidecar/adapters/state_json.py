"""A small state file in JSON: read whole, with a version, its own faults told from the machine's."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from sidecar.adapters.files import Fault, UnfitError, read_whole


class Versioned(Protocol):
    """A Struct whose default `version` is the one that this Supervisor writes."""

    @property
    def version(self) -> int:
        """The version of the file."""


S = TypeVar("S", bound=Versioned)


class BrokenError(Exception):
    """The file cannot be used; `fault` says in which way."""

    def __init__(self, fault: Fault, why: str) -> None:
        super().__init__(why)
        self.fault = fault


def read_state(path: Path, kind: type[S], limit: int) -> S:
    """What a file of at most `limit` bytes says, the defaults where there is none.

    Raises BrokenError where the file is at fault, OSError where the machine is.
    """
    try:
        state = msgspec.json.decode(read_whole(path, limit), type=kind)
    except FileNotFoundError:
        return kind()
    except UnfitError as error:
        raise BrokenError(Fault.UNREADABLE, str(error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BrokenError(Fault.CORRUPT, str(error)) from error
    if state.version != (known := kind().version):
        raise BrokenError(Fault.FUTURE, f"version {state.version}; this Supervisor knows {known}")
    return state
