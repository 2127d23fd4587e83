"""Writes a copy of a project's files: as they were at a baseline, as they are now, or a mix of both.

The copy is made from our own git trees, so it holds what was scanned: no ignored file, no attribute or filter
applied. `link_surroundings` adds what a check needs besides: the folders of the project's environment, as
links, and the ignored files that are older than the baseline.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final

from msgspec import Struct

from sidecar.evidence.proof.check_files import with_old_inline_tests
from sidecar.evidence.tree.shadow_repository import ShadowRepository, with_user_objects
from sidecar.evidence.tree.work_tree import WorkTree, find_work_tree, read_head_commit
from sidecar.platform.environments import (
    environments_in,
    folders_in_main_checkout,
    is_marked,
    known_environments,
    named_environments,
    written_patterns,
)
from sidecar.platform.git import Git, UnseenError, clean_git_environment, join_with_nul, split_at_nul

COPIED_FILES: Final = 2_000
COPIED_BYTES: Final = 64 << 20
"""Limits of what is copied of ignored files: a folder of build results may hold gigabytes."""
VISITED_FILES: Final = 20_000
NAMED_FILES: Final = 200
"""Limits of what is looked at, and named, of ignored files that changed."""
SHOWN_HISTORY: Final = "shown-by-supervisor"
"""A file in the repository of a copy that `show_history` made."""
PATH_IN_FILE: Final = re.compile(r"""(?:^|["'])(/[^"'\n]+)""", re.MULTILINE)
"""A path in a file by which a Python environment names folders outside of it."""


class MixedFiles(Struct, frozen=True):
    """What was written of two trees.

    `kept` are the changed paths of which the first version is there, whole or in part. `content` is the same
    for the same files.
    """

    kept: frozenset[str]
    content: str


ChooseKept = Callable[[Mapping[str, str], Path], frozenset[str]]
"""Chooses which of the changed paths, with git's letter of how, remain as they are in a folder."""


async def show_history(project: str, environment: Mapping[str, str], into: Path, commit: str = "") -> None:
    """Give a copy a repository that reads the project's objects; what is written there stays in the copy.

    `commit`: the one that is checked out, else the project's. A copy stays without where that fails.
    """
    with suppress(UnseenError, OSError, ValueError):
        found = await find_work_tree(project, environment)
        commit = commit or (await read_head_commit(found.git) if found else "")
        if found is None or found.objects is None or not commit:
            return
        folder = into / ".git"
        (folder / "objects" / "info").mkdir(parents=True)
        (folder / "refs").mkdir()
        (folder / "info").mkdir()
        (folder / "info" / "exclude").write_bytes(os.fsencode("\n".join(found.rules.values())))
        (folder / SHOWN_HISTORY).touch()
        (folder / "objects" / "info" / "alternates").write_bytes(os.fsencode(found.objects.resolve()) + b"\n")
        with suppress(FileNotFoundError):
            shutil.copy2(found.objects.parent / "shallow", folder)
        (folder / "HEAD").write_text(f"{commit}\n", encoding="utf-8")
        await Git(found.git.argv, into, clean_git_environment(environment)).told("read-tree", "HEAD")


async def write_mixed_files(
    room: ShadowRepository, ground: WorkTree, trees: tuple[str, str], into: Path, choose: ChooseKept
) -> MixedFiles:
    """Write the second of two trees below `into`, but chosen files and inline tests of the first."""
    first, second = trees
    with room.entered(ground) as (own, _):
        git = with_user_objects(own, ground)
        await write_files(git, first, into)
        if first == second:
            return MixedFiles(frozenset(), first)
        lines = split_at_nul(
            await git.told("diff-tree", "-r", "-z", "--name-status", "--no-renames", first, second)
        )
        changed = dict(zip(lines[1::2], lines[::2], strict=True))
        kept = await asyncio.to_thread(choose, changed, into)
        others = {path: status for path, status in changed.items() if path not in kept}
        before = await asyncio.to_thread(_take_away, into, others)
        await write_files(git, second, into, [path for path, status in others.items() if status != "D"])
        merged = await asyncio.to_thread(_merge_texts, into, before)
    content = first if not others else "\0".join((first, second, *sorted(kept | merged)))
    return MixedFiles(kept | merged, content if kept | merged else second)


def _take_away(into: Path, changed: Mapping[str, str]) -> dict[str, str]:
    """Remove the first version of files; return the text of those that have a second one."""
    texts = {}
    for path, status in changed.items():
        with suppress(OSError):
            if status not in "AD" and not (into / path).is_symlink():
                texts[path] = (into / path).read_text(encoding="utf-8", errors="surrogateescape")
            (into / path).unlink()
    return texts


def _merge_texts(into: Path, before: Mapping[str, str]) -> frozenset[str]:
    merged = set()
    for path, old in before.items():
        file = into / path
        if file.is_symlink() or not file.is_file():
            continue
        text = with_old_inline_tests(path, old, file.read_text(encoding="utf-8", errors="surrogateescape"))
        if text is not None:
            file.write_text(text, encoding="utf-8", errors="surrogateescape")
            merged.add(path)
    return frozenset(merged)


async def write_files(git: Git, tree: str, into: Path, paths: list[str] | None = None) -> None:
    """Write all files of a tree, or these."""
    await git.told("read-tree", tree)
    which = ("--all",) if paths is None else ("-z", "--stdin")
    await git.told("checkout-index", "--force", f"--prefix={into}/", *which, stdin=join_with_nul(paths or ()))


# --- What is ignored, and yet needed ------------------------------------------------------------------------


async def link_surroundings(
    room: ShadowRepository, ground: WorkTree, into: Path, since: float, *, newer: bool = False
) -> frozenset[str]:
    """Link the folders of the environment, and copy other ignored files that did not change since `since`.

    Return the paths of those that did; they are left out, but for `newer`.
    """
    listed = await list_ignored(room, ground, "--directory")
    changed = await asyncio.to_thread(place_ignored_files, ground.top, into, listed, since, newer=newer)
    for main in folders_in_main_checkout([ground.top]):
        shared = [f"{place.name}/" for place in environments_in(main)]
        shared += [f"{name}/" for name in known_environments().linked_by_entry]
        place_ignored_files(main, into, shared, since)
    return changed


async def list_ignored(room: ShadowRepository, ground: WorkTree, *more: str) -> list[str]:
    """Return what git ignores and does not follow; with "--directory" folders are one path with a slash."""
    with room.entered(ground) as (git, _):
        return await git.names("ls-files", "-z", "--others", "--ignored", "--exclude-standard", *more)


async def find_recent_ignored(room: ShadowRepository, ground: WorkTree, since: float) -> tuple[str, ...]:
    """Return the ignored files that changed since, but for what tools are known to write."""
    listed = await list_ignored(room, ground, "--directory")
    recent = await asyncio.to_thread(_changed_files, ground.top, listed, since)
    if not recent:
        return ()
    results = (f"--exclude={pattern}" for pattern in written_patterns())
    made = await ground.git.names("ls-files", "-z", "--others", "--ignored", *results, "--", *recent)
    return tuple(path for path in recent if path not in made)


def _changed_files(top: Path, listed: Iterable[str], since: float) -> list[str]:
    """Return the files, at most NAMED_FILES, that changed since; the ctime tells, which nobody can set."""
    files = islice((file for path in listed for file in _own_files(top / path, top)), VISITED_FILES)
    return [
        *islice((str(file.relative_to(top)) for file in files if _changed_since(file, since)), NAMED_FILES)
    ]


def _changed_since(file: Path, since: float) -> bool:
    with suppress(OSError):
        return file.lstat().st_ctime >= since
    return False


def _own_files(place: Path, top: Path) -> Iterator[Path]:
    """Yield the files at or below an ignored place of a project, but for those in folders of tools."""
    known = known_environments()
    tools = {*known.python, *known.linked, *known.linked_by_entry, *known.written, *known.remade}
    if is_marked(place) or not tools.isdisjoint(
        place.relative_to(top).parts[: None if place.is_dir() else -1]
    ):
        return
    if place.is_symlink() or not place.is_dir():
        yield place
    for folder, folders, names in os.walk(place):
        folders[:] = [name for name in folders if name not in tools]
        yield from (Path(folder, name) for name in names)


def place_ignored_files(
    top: Path, into: Path, listed: Iterable[str], since: float, *, newer: bool = False
) -> frozenset[str]:
    """Link or copy these paths of a project, as git lists them; return those that changed since `since`."""
    work = _IgnoredFiles(top, into, since, newer=newer)
    work.place(listed)
    return frozenset(work.changed)


class _IgnoredFiles:
    """Links and copies ignored files of one project."""

    def __init__(self, top: Path, into: Path, since: float, *, newer: bool) -> None:
        self._top, self._into, self._since, self._newer = top, into, since, newer
        self._known = known_environments()
        self._files, self._bytes = COPIED_FILES, COPIED_BYTES
        self.changed: list[str] = []

    def place(self, listed: Iterable[str]) -> None:
        """Link or copy each path; those of folders end with a slash."""
        known = self._known
        for path in listed:
            place, copy = self._top / path.rstrip("/"), self._into / path.rstrip("/")
            if os.path.lexists(copy) or not os.path.lexists(place):
                continue
            copy.parent.mkdir(parents=True, exist_ok=True)
            if place.is_symlink() or not place.is_dir():
                self._copy_file(place)
            elif place.name in (*known.python, *known.linked, *known.linked_by_entry) or is_marked(place):
                _link_entries(place, copy)
            elif place.name not in (*known.written, *known.remade):
                self._copy_folder(place)
            elif place.name != ".git":
                copy.mkdir()  # a tool that makes it would change the folder around it

    def _copy_folder(self, place: Path) -> None:
        for file in _own_files(place, place):
            self._copy_file(file)
            if min(self._files, self._bytes) <= 0:
                return

    def _copy_file(self, place: Path) -> None:
        """Copy a file if nobody touched it since; its ctime tells, which nobody can set."""
        with suppress(OSError):
            about = place.lstat()
            self._files -= 1
            self._bytes -= about.st_size
            path = place.relative_to(self._top)
            touched = about.st_ctime >= self._since
            if touched:
                self.changed.append(str(path))
            if (self._newer or not touched) and min(self._files, self._bytes) > 0:
                (self._into / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(place, self._into / path, follow_symlinks=False)


def _link_entries(place: Path, copy: Path) -> None:
    """Link what is in a folder, so that new files land in the copy; a link stays what it is.

    A workspace's link to a package beside it thus leads to the copy of that package. The folder is ignored as
    in the project: a rule for folders matches no link, and git follows no link to rules.
    """
    copy.mkdir(exist_ok=True)
    for entry in place.iterdir():
        if entry.is_symlink():
            (copy / entry.name).symlink_to(entry.readlink())
        elif entry.name.startswith("@") and entry.is_dir():
            _link_entries(entry, copy / entry.name)
        elif entry.name == ".gitignore":
            shutil.copy2(entry, copy / entry.name)
        else:
            (copy / entry.name).symlink_to(entry)


def map_environment(environment: dict[str, str], top: Path, into: Path) -> dict[str, str]:
    """Let variables that name the project name the copy; put the copy before an editable install of it."""
    inside = re.compile(rf"{re.escape(str(top))}(?=/|:|$)")
    named = named_environments(top, environment)
    mapped = {name: inside.sub(str(into), value) for name, value in environment.items()} | named
    roots = [
        str(into / Path(path).relative_to(top))
        for venv in (*_python_environments(environment, into), *map(Path, named.values()))
        for path in _editable_roots(venv, top)
    ]
    if roots:
        mapped["PYTHONPATH"] = os.pathsep.join(filter(None, (*roots, mapped.get("PYTHONPATH"))))
    return mapped


def _python_environments(environment: dict[str, str], into: Path) -> list[Path]:
    named = [Path(environment["VIRTUAL_ENV"])] if environment.get("VIRTUAL_ENV") else []
    if program := shutil.which("python3", path=environment.get("PATH", "")):
        named.append(Path(program).parent.parent)  # as where a CI service installs it
    return [*named, *(file.parent for file in into.glob("*/pyvenv.cfg"))]


def _editable_roots(venv: Path, top: Path) -> list[str]:
    """Return the folders below `top` from which this environment imports an editable install."""
    found: dict[str, None] = {}
    for packages in venv.glob("lib/python3*/site-packages"):
        for file in (*packages.glob("*.pth"), *packages.glob("__editable__*.py")):
            with suppress(OSError, UnicodeDecodeError):
                text = file.read_text(encoding="utf-8")
                for path in PATH_IN_FILE.findall(text):
                    root = path if file.suffix == ".pth" else str(Path(path).parent)
                    if Path(root).is_relative_to(top):
                        found[root] = None
    return list(found)
