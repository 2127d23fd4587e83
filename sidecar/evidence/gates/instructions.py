"""Finds instructions for agents: those that ship, the user's, those of the project that the user approved.

The nearest wins: project, then user, then those that ship. A file of the project that nobody approved, and
one that cannot be read, is a problem that is told, and the next of that name serves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, Generic, TypeVar

from msgspec import Struct

from sidecar.evidence.gates.run_hooks import find_run_hooks_gate
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.gate import Gate, GateOrigin
from sidecar.kernel.instructions import InstructionKind
from sidecar.platform.files import UnusableFileError, read_whole
from sidecar.platform.steering import UNHELD, FilesInForce

FILE_LIMIT: Final = 64 << 10
"""Maximum bytes of a file."""
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
    return Gate(
        id=f"{kind}:{path.stem}",
        command=path.relative_to(project).as_posix(),
        why="instructions for agents that work for you",
        origin=GateOrigin.PROJECT,
        behind=text,
    )


def _list_files(folder: Path, kind: InstructionKind) -> list[Path]:
    return sorted(folder.joinpath(kind.folder).glob("*.md"))


def _read_text(path: Path) -> str:
    return read_whole(path, FILE_LIMIT, follow=True).decode()
