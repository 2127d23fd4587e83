"""States of a project's files as checkpoints hold them, and the plan of going from one to another."""

from __future__ import annotations

import asyncio
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.tree.checkout import write_files
from sidecar.evidence.tree.compare import describe_change, read_blob_contents
from sidecar.evidence.tree.shadow_repository import ShadowRepository, with_user_objects
from sidecar.evidence.tree.snapshot import TreeState, read_tree_state
from sidecar.evidence.tree.work_tree import WorkTree
from sidecar.kernel.evidence import FileChange, FileContent
from sidecar.platform.apply import LINK_MODE, FileStep, file_version, plain_mode
from sidecar.platform.git import (
    Git,
    UnseenError,
    checked_git_output,
    decode_git_text,
    join_with_nul,
    split_at_nul,
)

SHOWN_FILES: Final = 2_000
"""Changed files whose texts are read; the others are only listed."""
TOO_MANY: Final = f"more than {SHOWN_FILES:,} files would change"
BATCH: Final = 50_000
"""Files for one call of git, which has 30 s."""
RECORD_VERSION: Final = 1

Entries = Mapping[str, tuple[str, str]]
"""Git's mode and object name of each file of a tree, in git's order."""


class CheckpointRecord(Struct, frozen=True, kw_only=True):
    """What is stored of a checkpoint.

    `top` is the folder to which the paths of `tree` are relative. `modes` are the permissions of its files,
    in git's order, 0 for a link. `unsaved` are paths relative to the project.
    """

    version: int = RECORD_VERSION
    top: bytes
    tree: str
    modes: tuple[int, ...]
    unsaved: tuple[bytes, ...]


class FilesState(Struct, frozen=True):
    """A state of the files: its record, and the version of each file of the project (`file_version`)."""

    record: CheckpointRecord
    files: Mapping[str, str]


class CheckpointPlace(Struct, frozen=True):
    """A project, and the shadow repository in which its states are looked up."""

    ground: WorkTree
    room: ShadowRepository

    @property
    def prefix(self) -> str:
        """What the paths of the project's files begin with in a tree."""
        return "" if self.ground.inside == "." else f"{self.ground.inside}/"

    def within(self, paths: Iterable[str]) -> Iterator[str]:
        """Yield those that are in the project, relative to it."""
        return (path[len(self.prefix) :] for path in paths if path.startswith(self.prefix))


class RestorePlan(Struct, frozen=True):
    """What a restore does; see `TreeDifference`."""

    steps: tuple[FileStep, ...]
    conflicts: tuple[str, ...]
    left: tuple[str, ...]


# --- Reading states -----------------------------------------------------------------------------------------


async def read_present(place: CheckpointPlace) -> FilesState:
    """Scan the files, and store their contents. Raises UnseenError, OSError."""
    try:
        seen, entries = await _scan_and_store(place)
    except UnseenError:
        place.room.index.unlink(missing_ok=True)  # it may refer to contents that the user's repository lost
        seen, entries = await _scan_and_store(place)
    record = CheckpointRecord(
        top=os.fsencode(place.ground.top),
        tree=seen.tree,
        modes=await asyncio.to_thread(_read_modes, place.ground.top, entries),
        unsaved=tuple(sorted(map(os.fsencode, place.within(seen.unread)))),
    )
    return FilesState(record, _file_versions(place, entries, record))


async def read_stored(place: CheckpointPlace, record: CheckpointRecord) -> FilesState:
    """Read a state that was stored. Raises UnseenError, OSError, ValueError."""
    with place.room.entered(place.ground) as (git, _):
        return FilesState(record, _file_versions(place, await _tree_entries(git, record.tree), record))


def decode_record(data: bytes) -> CheckpointRecord:
    """Raises UnseenError."""
    try:
        record = msgspec.msgpack.decode(data, type=CheckpointRecord)
    except msgspec.MsgspecError as error:
        raise UnseenError("the checkpoint is damaged") from error
    if record.version != RECORD_VERSION:
        raise UnseenError("the checkpoint is of another version")
    return record


async def _scan_and_store(place: CheckpointPlace) -> tuple[TreeState, Entries]:
    seen = await read_tree_state(place.room, place.ground)
    with place.room.entered(place.ground) as (git, _):
        entries = await _tree_entries(git, seen.tree)
        await _copy_user_objects(git, place, {name for _, name in entries.values()})
    return seen, entries


async def _copy_user_objects(git: Git, place: CheckpointPlace, names: set[str]) -> None:
    """Copy the contents that only the user's repository has: a `git gc` there could remove them."""
    asked = "".join(f"{name}\n" for name in sorted(names)).encode()
    said = decode_git_text(await git.told("cat-file", "--batch-check=%(objectname)", stdin=asked))
    missing = [line.removesuffix(" missing") for line in said.splitlines() if line.endswith(" missing")]
    packs = place.room.folder / "objects" / "pack"
    packs.mkdir(exist_ok=True)
    packing = ("pack-objects", "--quiet", "--window=0", f"{packs}/pack")
    for some in _batches(missing):
        lines = "".join(f"{name}\n" for name in some).encode()
        await with_user_objects(git, place.ground).told(*packing, stdin=lines)


def _batches(names: list[str]) -> Iterator[list[str]]:
    """Divide what one call of git could not do in its time."""
    return (names[at : at + BATCH] for at in range(0, len(names), BATCH))


async def _tree_entries(git: Git, tree: str) -> Entries:
    lines = (line.partition("\t")[::2] for line in await git.names("ls-tree", "-r", "-z", tree))
    return {path: (about[:6], about[-40:]) for about, path in lines}


def _read_modes(top: Path, entries: Entries) -> tuple[int, ...]:
    modes = {path: 0 if mode == LINK_MODE else int(mode[3:], 8) for path, (mode, _) in entries.items()}
    for path in filter(modes.get, modes):
        with suppress(OSError):
            modes[path] = os.lstat(f"{top}/{path}").st_mode & 0o777
    return tuple(modes.values())


def _file_versions(place: CheckpointPlace, entries: Entries, record: CheckpointRecord) -> dict[str, str]:
    return {
        path[len(place.prefix) :]: f"{LINK_MODE if mode == LINK_MODE else plain_mode(permissions)} {name}"
        for (path, (mode, name)), permissions in zip(entries.items(), record.modes, strict=True)
        if path.startswith(place.prefix)
    }


# --- From one state to another ------------------------------------------------------------------------------


async def plan_restore(place: CheckpointPlace, present: FilesState, target: FilesState) -> RestorePlan:
    """Compare the two states. Raises UnseenError, OSError."""
    now, then = present.files, target.files
    changed = sorted(path for path in now.keys() | then.keys() if now.get(path) != then.get(path))
    removed = [path for path in changed if path not in then]
    unsaved = set(map(os.fsdecode, target.record.unsaved))
    left = await _ignored_by(place, target, removed)
    left |= {path for path in removed if not unsaved.isdisjoint((path, *_folders_above(path)))}
    steps = [FileStep(path, now.get(path, ""), then.get(path, "")) for path in changed if path not in left]
    kept, conflicts = await asyncio.to_thread(_find_conflicts, place.ground.project, steps)
    return RestorePlan(tuple(kept), tuple(dict.fromkeys(conflicts)), tuple(sorted(left)))


async def _ignored_by(place: CheckpointPlace, target: FilesState, paths: list[str]) -> set[str]:
    """Return the paths that the checkpoint's .gitignore files, or today's rules elsewhere, ignore."""
    if not paths:
        return set()
    with (
        place.room.entered(place.ground) as (git, _),
        tempfile.TemporaryDirectory(prefix="look-", dir=place.room.folder) as scratch,
    ):
        entries = await _tree_entries(git, target.record.tree)
        rules = [path for path in entries if PurePosixPath(path).name == ".gitignore"]
        await write_files(git, target.record.tree, Path(scratch), rules)
        there = replace(git, folder=Path(scratch), environment={**git.environment, "GIT_WORK_TREE": scratch})
        asking = ("check-ignore", "--no-index", "-z", "--stdin")
        said = await there.ask(*asking, stdin=join_with_nul(f"{place.prefix}{path}" for path in paths))
    none = said.exit_code == 1
    return set() if none else set(place.within(split_at_nul(checked_git_output(said, asking[0]))))


def _find_conflicts(project: Path, steps: list[FileStep]) -> tuple[list[FileStep], list[str]]:
    """Find what is where a new file belongs and is in no checkpoint; drop files that are there already."""
    going = {step.path for step in steps if step.before}
    kept, conflicts = [], []
    for step in steps:
        blocking = "" if step.before or not step.after else _blocking_path(project, step.path, going)
        if not blocking:
            kept.append(step)
        elif blocking != step.path or file_version(project / blocking) != step.after:
            conflicts.append(f"{blocking} is ignored, or could not be saved, and would be overwritten")
    return kept, conflicts


def _folders_above(path: str) -> list[str]:
    """Return the folders above a path, the topmost first."""
    return [str(folder) for folder in PurePosixPath(path).parents][-2::-1]


def _blocking_path(project: Path, path: str, going: set[str]) -> str:
    """Return what is in the way of a new file and does not go; "" if nothing is."""
    for name in (*_folders_above(path), path):
        place = project / name
        if place.is_symlink() or not place.is_dir():
            return name if os.path.lexists(place) and name not in going else ""
    for folder, folders, names in os.walk(project / path):
        links = [name for name in folders if Path(folder, name).is_symlink()]
        inner = (str(Path(folder, name).relative_to(project)) for name in (*names, *links))
        if found := next((name for name in inner if name not in going), ""):
            return found
    return ""


async def describe_steps(place: CheckpointPlace, steps: tuple[FileStep, ...]) -> tuple[FileChange, ...]:
    """Return both texts of each file. Raises UnseenError, OSError."""
    names = [_object_name(side) for step in steps[:SHOWN_FILES] for side in (step.before, step.after) if side]
    with place.room.entered(place.ground) as (git, _):
        texts = await read_blob_contents(git, names)
    return tuple(_file_change(step, texts) for step in steps)


def _object_name(version: str) -> str:
    return version.partition(" ")[2]


def _file_change(step: FileStep, texts: Mapping[str, FileContent]) -> FileChange:
    unknown = FileContent(unread=TOO_MANY)
    was, now = (
        texts.get(_object_name(side), unknown) if side else FileContent()
        for side in (step.before, step.after)
    )
    return describe_change(step.path, was, now, link=step.after.startswith(LINK_MODE))


# --- Writing ------------------------------------------------------------------------------------------------


async def write_versions(place: CheckpointPlace, steps: tuple[FileStep, ...], into: Path) -> None:
    """Write what each file becomes, by the number of its step. Raises UnseenError, OSError."""
    wanted = {str(number): step.after for number, step in enumerate(steps) if step.after}
    with place.room.entered(place.ground) as (git, _):
        await git.told("read-tree", "--empty")
        for some in _batches(list(wanted)):
            entries = join_with_nul(f"{_git_version(wanted[number])}\t{number}" for number in some)
            await git.told("update-index", "-z", "--index-info", stdin=entries)
            writing = ("checkout-index", f"--prefix={into}/", "-z", "--stdin")
            await git.told(*writing, stdin=join_with_nul(some))
    await asyncio.to_thread(_set_modes, into, wanted)


def _git_version(version: str) -> str:
    """Return a version with the mode that git knows."""
    mode, _, name = version.partition(" ")
    if mode != LINK_MODE:
        mode = "100755" if int(mode[3:], 8) & stat.S_IXUSR else "100644"
    return f"{mode} {name}"


def _set_modes(new: Path, wanted: Mapping[str, str]) -> None:
    for number, version in wanted.items():
        if not version.startswith(LINK_MODE):
            (new / number).chmod(int(version[3:6], 8))
