"""What of a project the user approved (law 12): commands, hooks of `supervisor run`, instructions for agents.

Approvals are stored in `trust.json` in the state folder. An approval covers exactly the content that was
shown, by a digest of everything that decides what runs and what passes. Any change needs a new approval. An
unreadable file approves nothing and is set aside at the next approval. A project is identified by the real
path of its folder; a folder below it is another project.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, Generic, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.ports import GateCatalog
from sidecar.kernel.decoding import InstructionKind
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.gate import AvailableGates, Gate, GateOrigin, Kind
from sidecar.kernel.session import Environment
from sidecar.kernel.settings import RunHooks
from sidecar.platform.data import decode_json
from sidecar.platform.files import UnusableFileError, ensure_folder, read_whole, write_whole
from sidecar.platform.paths import TEAM_FOLDER, real_project_path
from sidecar.platform.state import BrokenStateError, read_state, read_usable_state
from sidecar.platform.steering import UNHELD, FilesInForce

TRUST_FILE: Final = "trust.json"
TRUST_FILE_VERSION: Final = 1
TRUST_FILE_LIMIT: Final = 8 * 1024 * 1024
"""Maximum bytes of the file: some thousand projects."""
EVERYWHERE: Final = ""
"""The project of the organisation's approvals, which hold in every one."""
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
        self._path, self._organisation = folder / TRUST_FILE, folder / TEAM_FOLDER / TRUST_FILE
        self._files = files

    def approvals(self, project: str) -> Mapping[str, Approval]:
        """Return a project's approvals by gate ID; empty where they cannot be read. Never raises.

        Those of a team's organisation hold in every project, each for the gate whose digest is its ID.
        """
        decided = self._approved_in(self._organisation).values()
        everywhere = {one.digest: one for approvals in decided for one in approvals.values()}
        try:
            return {**everywhere, **self._approved_in(self._path).get(real_project_path(project), {})}
        except BadInputError:
            return everywhere

    def _approved_in(self, path: Path) -> Mapping[str, Mapping[str, Approval]]:
        """Return the approvals of a file by project; empty where it cannot be read."""
        try:
            return self._read(path).projects
        except (BrokenStateError, OSError):
            return {}

    def approved(self, project: str, gate: Gate) -> bool:
        """Whether the user approved exactly this gate. Never raises."""
        return approval_covers(find_approval(self.approvals(project), gate), gate)

    def fault(self) -> str:
        """Say why the file cannot be read; "" where it can."""
        try:
            self._read(self._path)
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

    def _read(self, path: Path) -> _Trust:
        return read_state(self._files.path_in_force(path), _Trust, TRUST_FILE_LIMIT)

    def _mended(self) -> _Trust:
        """Read the file, and set it aside if it is broken. Raises OSError."""
        ensure_folder(self._path.parent)
        in_force = self._files.path_in_force(self._path)
        return read_usable_state(self._path, _Trust, TRUST_FILE_LIMIT, in_force=in_force)

    def _write(self, projects: dict[str, dict[str, Approval]]) -> None:
        data = msgspec.json.encode(_Trust(projects=projects)) + b"\n"
        if len(data) > TRUST_FILE_LIMIT:
            raise BadInputError(f"{self._path} would be too big; supervisor trust --revoke in old projects")
        write_whole(self._path, data, durable=True)
        self._files.vouch(self._path)


def add_to_organisation(known: bytes, approvals: Iterable[Approval]) -> bytes:
    """Return the organisation's file with these approvals, too. Raises msgspec.DecodeError."""
    before = decode_json(known, _Trust).projects if known else {}
    new = {one.digest: one for one in approvals}
    return msgspec.json.encode(_Trust(projects={**before, EVERYWHERE: {**before.get(EVERYWHERE, {}), **new}}))


def find_approval(approvals: Mapping[str, Approval], gate: Gate) -> Approval | None:
    """Return the approval of this gate, the organisation's or the user's; it may be for another content."""
    return approvals.get(gate_digest(gate)) or approvals.get(gate.id)


def approval_covers(approval: Approval | None, gate: Gate) -> bool:
    """Whether the approval is for exactly this gate."""
    return approval is not None and approval.digest == gate_digest(gate)


def truncate_approval_text(text: str) -> str:
    """Return the part of a text that an approval stores."""
    return text.encode(errors="backslashreplace").decode()[:APPROVAL_TEXT_LIMIT]


def _make_approval(gate: Gate) -> Approval:
    command, folder, behind = map(truncate_approval_text, (gate.command, gate.folder, gate.behind))
    return Approval(digest=gate_digest(gate), command=command, folder=folder, behind=behind)


# --- hooks of `supervisor run` ------------------------------------------------------------------------------


HOOKS_FILE: Final = ".supervisor/run.toml"
APPROVED_FILE_LIMIT: Final = 64 << 10
"""Maximum bytes of the file."""


def find_run_hooks_gate(project: str) -> Gate | None:
    """Return a gate that is never run, for the whole text of the file; None where none can be read."""
    try:
        text = read_whole(Path(project, HOOKS_FILE), APPROVED_FILE_LIMIT, follow=True).decode()
    except (OSError, UnusableFileError, UnicodeDecodeError):
        return None
    return _project_gate("run-hooks", HOOKS_FILE, "commands around the iterations of `supervisor run`", text)


def _project_gate(ident: str, command: str, why: str, text: str) -> Gate:
    return Gate(id=ident, command=command, why=why, origin=GateOrigin.PROJECT, behind=text)


def approved_run_hooks(project: str, approved: Callable[[str, Gate], bool]) -> tuple[RunHooks, str]:
    """Return the hooks of a project that may run, and what is wrong with others, "" for nothing."""
    gate = find_run_hooks_gate(project)
    if gate is None:
        return RunHooks(), ""
    if not approved(project, gate):
        return RunHooks(), f"{HOOKS_FILE}: not approved, so not used. To approve it: supervisor trust"
    try:
        return msgspec.toml.decode(gate.behind, type=RunHooks), ""
    except (msgspec.DecodeError, ValueError) as error:
        return RunHooks(), f"{HOOKS_FILE}: {error}"


# --- instructions for agents --------------------------------------------------------------------------------


PROJECT_FOLDER: Final = ".supervisor"

T = TypeVar("T")


class KnownInstructions(Struct, Generic[T], frozen=True):
    """The instructions in force by name, and what is wrong with others."""

    by_name: dict[str, T]
    problems: tuple[str, ...] = ()


class InstructionRegistry(Generic[T]):
    """Reads the files of one kind from their folders, anew at each call: they are few and small."""

    def __init__(
        self,
        kind: InstructionKind,
        parse: Callable[[str, str], T],
        parents: Sequence[Path],
        approved: Callable[[str, Gate], bool],
        files: FilesInForce = UNHELD,
    ) -> None:
        """`parse`: from a file's content and path. `approved`: whether the user approved a file of a project.

        `parents`: what holds a folder of this kind whose files need no approval, the nearest last.
        """
        self._kind, self._parse = kind, parse
        self._parents, self._approved, self._files = tuple(parents), approved, files

    def known(self, project: str) -> KnownInstructions[T]:
        """Return what may be used in a project. Never raises for a faulty file."""
        found, problems = dict[str, T](), list[str]()
        for path, read in self._texts(project):
            try:
                found[path.stem] = self._parse(read(), str(path))
            except FileNotFoundError:
                continue  # it is held, and was not there when the agent began
            except BadInputError as error:
                problems += str(error).splitlines()
            except (UnusableFileError, OSError, UnicodeDecodeError) as error:
                problems.append(f"{path}: {error}")
        return KnownInstructions(found, tuple(problems))

    def _texts(self, project: str) -> Iterator[tuple[Path, Callable[[], str]]]:
        """Yield the files, the nearest last. One of the user's that is held is as it was."""
        for path in (path for parent in self._parents for path in _list_files(parent, self._kind)):
            yield path, partial(_read_text, self._files.path_in_force(path))
        for path in _list_files(Path(project, PROJECT_FOLDER), self._kind):
            yield path, partial(self._approved_text, project, path)

    def _approved_text(self, project: str, path: Path) -> str:
        text = _read_text(path)
        if not self._approved(project, _instruction_gate(project, self._kind, path, text)):
            raise BadInputError(f"{path}: not approved, so not used. The user types: supervisor trust")
        return text


def list_instruction_gates(project: str) -> tuple[Gate, ...]:
    """Return the gates of a project's instructions of all kinds, and of its hooks of runs, where readable."""
    found = list[Gate]()
    for kind in InstructionKind:
        for path in _list_files(Path(project, PROJECT_FOLDER), kind):
            with suppress(OSError, UnusableFileError, UnicodeDecodeError):
                found.append(_instruction_gate(project, kind, path, _read_text(path)))
    hooks = find_run_hooks_gate(project)
    return (*found, hooks) if hooks is not None else tuple(found)


def _instruction_gate(project: str, kind: InstructionKind, path: Path, text: str) -> Gate:
    """Return a gate that is never run: what the user approves is the whole text of the file."""
    name = path.relative_to(project).as_posix()
    return _project_gate(f"{kind}:{path.stem}", name, "instructions for agents that work for you", text)


def _list_files(folder: Path, kind: InstructionKind) -> list[Path]:
    return sorted(folder.joinpath(kind.folder).glob("*.md"))


def _read_text(path: Path) -> str:
    return read_whole(path, APPROVED_FILE_LIMIT, follow=True).decode()


# --- gates for a command that a person typed and during which agents work -----------------------------------


class TypedCatalog:
    """Implements `GateCatalog` for one project: detected tests count as approved by who typed the command.

    That holds for the gates of then alone. What comes later is not approved, what was there then counts as
    changed, and what is gone stays: the agents at work meanwhile must not choose what judges them.
    """

    def __init__(self, catalog: GateCatalog, typed: Iterable[Gate]) -> None:
        """`typed`: the gates that there were when the command was typed."""
        self._catalog = catalog
        self._first = {gate.id: _approve_tests(gate) for gate in typed}

    async def list(self, project: str, environment: Environment, place: str = "") -> AvailableGates:
        found = await self._catalog.list(project, environment, place)
        may = {gate_digest(gate) for gate in self._first.values() if gate.approved}
        now = {
            gate.id: replace(
                gate, approved=(ok := gate_digest(gate) in may), changed=not ok and gate.id in self._first
            )
            for gate in found.gates
        }
        return replace(found, gates=tuple((self._first | now).values()))

    def approve(self, project: str, gates: Iterable[Gate]) -> None:
        self._catalog.approve(project, gates)


def _approve_tests(gate: Gate) -> Gate:
    typed = gate.kind is Kind.TESTS and gate.origin is GateOrigin.DETECTED
    return replace(gate, approved=gate.approved or typed)
