"""Which commands of a project the user approved: `trust.json` in the state folder (law 12).

An approval is for the very content that was shown: the digest over all that decides what runs and what
passes. Any change needs another one. A file that cannot be read approves nothing; it is set aside at the next
approval.
Projects are the folders that they resolve to; what lies below one is another project.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from sidecar.adapters.files import ensure_folder, set_aside, write_whole
from sidecar.adapters.state_json import BrokenError, read_state
from sidecar.model.gate import Gate
from sidecar.ports import BadInputError

VERSION: Final = 1
FILE_LIMIT: Final = 8 * 1024 * 1024
"""Bytes of the file: some thousand projects."""
KEPT: Final = 1000
"""Characters kept of a command and of what is behind it, to be shown when it changes. The digest has all."""
SHOWN: Final = 40
"""Characters of a refused path that its message repeats."""


class Approval(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was approved: its digest, and its text for people."""

    digest: str
    command: str
    folder: str = ""
    behind: str = ""


class _Trust(Struct, frozen=True, kw_only=True):
    """Project to gate ID to what was approved."""

    version: int = VERSION
    projects: dict[str, dict[str, Approval]] = {}


def digest(gate: Gate) -> str:
    """SHA-256 over what an approval covers, in hexadecimal."""
    covered = [gate.id, gate.command, gate.folder, gate.behind, gate.kind, gate.least, gate.counts]
    return hashlib.sha256(json.dumps(covered).encode()).hexdigest()


class TrustFile:
    """The approvals of a state folder."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "trust.json"

    def approvals(self, project: str) -> Mapping[str, Approval]:
        """What is approved in this project, by gate ID; nothing where it cannot be read. Never raises."""
        try:
            return read_state(self._path, _Trust, FILE_LIMIT).projects.get(_real(project), {})
        except (BrokenError, BadInputError, OSError):
            return {}

    def approved(self, project: str, gate: Gate) -> bool:
        """Whether the user approved exactly this. Never raises."""
        return covers(self.approvals(project).get(gate.id), gate)

    def fault(self) -> str:
        """Why nothing can be read from the file, "" where it can."""
        try:
            read_state(self._path, _Trust, FILE_LIMIT)
        except (BrokenError, OSError) as error:
            return f"{self._path} cannot be used ({error}), so nothing is approved; type: supervisor trust"
        return ""

    def approve(self, project: str, gates: Iterable[Gate]) -> None:
        """Approve these as they are, in the place of others with their IDs. Raises BadInputError, OSError."""
        new = {gate.id: _approval(gate) for gate in gates}
        trust, real = self._mended(), _real(project)
        self._write({**trust.projects, real: {**trust.projects.get(real, {}), **new}})

    def revoke(self, project: str) -> int:
        """Take all approvals of a project back; how many there were. Raises BadInputError, OSError."""
        trust = self._mended()
        left = dict(trust.projects)
        gone = left.pop(_real(project), {})
        if gone:
            self._write(left)
        return len(gone)

    def _mended(self) -> _Trust:
        """What the file says; a broken one is set aside. Raises OSError."""
        ensure_folder(self._path.parent)
        try:
            return read_state(self._path, _Trust, FILE_LIMIT)
        except BrokenError as error:
            set_aside(self._path, error.fault, str(error))
            return _Trust()

    def _write(self, projects: dict[str, dict[str, Approval]]) -> None:
        data = msgspec.json.encode(_Trust(projects=projects)) + b"\n"
        if len(data) > FILE_LIMIT:
            raise BadInputError(f"{self._path} would be too big; supervisor trust --revoke in old projects")
        write_whole(self._path, data, durable=True)


def covers(approval: Approval | None, gate: Gate) -> bool:
    """Whether the approval is for exactly this gate."""
    return approval is not None and approval.digest == digest(gate)


def kept(text: str) -> str:
    """What an approval keeps of a text."""
    return text.encode(errors="backslashreplace").decode()[:KEPT]


def _approval(gate: Gate) -> Approval:
    command, folder, behind = map(kept, (gate.command, gate.folder, gate.behind))
    return Approval(digest=digest(gate), command=command, folder=folder, behind=behind)


def _real(project: str) -> str:
    try:
        real = os.path.realpath(project)
        real.encode()
    except (ValueError, OSError) as error:
        raise BadInputError(f"{project[:SHOWN]!r} is no path of a project: {error}") from error
    if not Path(project).is_absolute():
        raise BadInputError(f"{project[:SHOWN]!r} is no absolute path of a project")
    return real
