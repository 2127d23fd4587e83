"""Stores which commands of a project the user approved: `trust.json` in the state folder (law 12).

An approval covers exactly the content that was shown, by a digest of everything that decides what runs and
what passes. Any change needs a new approval. An unreadable file approves nothing and is set aside at the next
approval. A project is identified by the real path of its folder; a folder below it is another project.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.gate import Gate
from sidecar.platform.files import ensure_folder, write_whole
from sidecar.platform.paths import real_project_path
from sidecar.platform.state import BrokenStateError, read_state, read_usable_state
from sidecar.platform.steering import UNHELD, FilesInForce

TRUST_FILE: Final = "trust.json"
TRUST_FILE_VERSION: Final = 1
FILE_LIMIT: Final = 8 * 1024 * 1024
"""Maximum bytes of the file: some thousand projects."""
APPROVAL_TEXT_LIMIT: Final = 1000
"""Characters stored of a command and the text behind it, to show them on a change. The digest covers all."""


class Approval(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was approved: its digest, and its text to show to people."""

    digest: str
    command: str
    folder: str = ""
    behind: str = ""


class _Trust(Struct, frozen=True, kw_only=True):
    """The file's content: approvals by project and gate ID."""

    version: int = TRUST_FILE_VERSION
    projects: dict[str, dict[str, Approval]] = {}


def gate_digest(gate: Gate) -> str:
    """Return the SHA-256, in hexadecimal, of everything that an approval covers."""
    covered = [gate.id, gate.command, gate.folder, gate.behind, gate.kind, gate.least, gate.counts]
    covered += [gate.python] if gate.python else []
    return hashlib.sha256(json.dumps(covered).encode()).hexdigest()


class TrustFile:
    """The approvals stored in a state folder."""

    def __init__(self, folder: Path, files: FilesInForce = UNHELD) -> None:
        self._path = folder / TRUST_FILE
        self._files = files

    def approvals(self, project: str) -> Mapping[str, Approval]:
        """Return a project's approvals by gate ID; empty where they cannot be read. Never raises."""
        try:
            return self._read().projects.get(real_project_path(project), {})
        except (BrokenStateError, BadInputError, OSError):
            return {}

    def approved(self, project: str, gate: Gate) -> bool:
        """Whether the user approved exactly this gate. Never raises."""
        return approval_covers(self.approvals(project).get(gate.id), gate)

    def fault(self) -> str:
        """Say why the file cannot be read; "" where it can."""
        try:
            self._read()
        except (BrokenStateError, OSError) as error:
            return f"{self._path} cannot be used ({error}), so nothing is approved; type: supervisor trust"
        return ""

    def approve(self, project: str, gates: Iterable[Gate]) -> None:
        """Approve these gates as they are, replacing those of the same ID. Raises BadInputError, OSError."""
        new = {gate.id: _make_approval(gate) for gate in gates}
        trust, real = self._mended(), real_project_path(project)
        self._write({**trust.projects, real: {**trust.projects.get(real, {}), **new}})

    def revoke(self, project: str) -> int:
        """Remove a project's approvals and return their number. Raises BadInputError, OSError."""
        trust = self._mended()
        left = dict(trust.projects)
        gone = left.pop(real_project_path(project), {})
        if gone:
            self._write(left)
        return len(gone)

    def _read(self) -> _Trust:
        return read_state(self._files.path_in_force(self._path), _Trust, FILE_LIMIT)

    def _mended(self) -> _Trust:
        """Read the file, and set it aside if it is broken. Raises OSError."""
        ensure_folder(self._path.parent)
        in_force = self._files.path_in_force(self._path)
        return read_usable_state(self._path, _Trust, FILE_LIMIT, in_force=in_force)

    def _write(self, projects: dict[str, dict[str, Approval]]) -> None:
        data = msgspec.json.encode(_Trust(projects=projects)) + b"\n"
        if len(data) > FILE_LIMIT:
            raise BadInputError(f"{self._path} would be too big; supervisor trust --revoke in old projects")
        write_whole(self._path, data, durable=True)
        self._files.vouch(self._path)


def approval_covers(approval: Approval | None, gate: Gate) -> bool:
    """Whether the approval is for exactly this gate."""
    return approval is not None and approval.digest == gate_digest(gate)


def truncate_approval_text(text: str) -> str:
    """Return the part of a text that an approval stores."""
    return text.encode(errors="backslashreplace").decode()[:APPROVAL_TEXT_LIMIT]


def _make_approval(gate: Gate) -> Approval:
    command, folder, behind = map(truncate_approval_text, (gate.command, gate.folder, gate.behind))
    return Approval(digest=gate_digest(gate), command=command, folder=folder, behind=behind)
