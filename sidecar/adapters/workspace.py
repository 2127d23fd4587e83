"""The project's files as one digest, by git's own index and hashing, in a room of our own.

The laws of this file:

- Nothing is written into the user's repository: git works on a copy of the index, and new objects go into a
  temporary folder that has the real ones as alternates. (Git renews time stamps of objects that it meets.)
- No program that a repository names runs: no hook, no file system monitor, no filter. Nothing is fetched.
- Two contents never get the same digest for want of a complete look: what could not be seen whole is "".
- Repositories inside the repository (submodules or not) are looked into: git would record their commit only.

Where there is no git, or the project is ignored by the repository around it, paths, sizes and times of change
stand for the content.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.adapters import processes
from sidecar.adapters.processes import Finished

LIMIT_S: Final = 30.0
"""Seconds for the whole digest."""
WALK_LIMIT: Final = 100_000
"""Files and folders of a walk without git; more are not looked at, and there is no digest."""
NESTED_LIMIT: Final = 200
"""Repositories inside a repository, all depths together."""
KEEP: Final = 1 << 20
"""Bytes that one call of git may say: more than `NESTED_LIMIT` of the longest paths."""
SKIPPED: Final = frozenset(
    (
        ".git",
        "node_modules",
        ".venv",
        "venv",
        "__pycache__",
        ".pytest_cache",
        ".mypy_cache",
        ".ruff_cache",
        ".tox",
    )
)
"""Folders that a walk leaves out: they hold what tools made."""
SAFE: Final = (
    "core.fsmonitor=false",
    "core.fsync=none",
    "core.hooksPath=/dev/null",
    "core.looseCompression=0",
    "core.quotePath=false",
    "core.safecrlf=false",
    "core.splitIndex=false",
)
"""Settings of git for every call: nothing of the repository's runs, nothing is made to last."""
QUIET: Final = {
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
EMPTY_REPOSITORY: Final = re.compile(r"^error: '(.+)/' does not have a commit checked out$")
"""How `git add` names a repository inside this one that has no commit yet."""
NO_MATCH: Final = 1
"""Exit code of `git config --get-regexp` and of `git check-ignore` for "none"."""


class _UnseenError(Exception):
    """A part of the content could not be seen."""


class _Git(Struct, frozen=True):
    """How git is called: program with settings, folder, environment."""

    argv: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]

    async def ask(self, *arguments: str) -> Finished:
        """Run git, whatever its exit code."""
        return await self._run((*self.argv, *arguments))

    async def told(self, *arguments: str) -> str:
        """Run git; its output. Raises _UnseenError where it failed."""
        return _text(await self.ask(*arguments))

    async def told_lines(self, *arguments: str, beginning: str) -> list[str]:
        """Run git; the rest of every line that begins so. Raises _UnseenError where it failed."""
        called = shlex.join((*self.argv, *arguments))
        line = f"{{ {called}; echo end $?; }} | grep -a -e '^{beginning}' -e '^end '"
        *lines, end = _lines(_text(await self._run(line)))
        if end != "end 0":
            raise _UnseenError(end)
        return [found.removeprefix(beginning) for found in lines]

    async def _run(self, command: str | tuple[str, ...]) -> Finished:
        return await processes.run(
            command,
            cwd=str(self.folder),
            environment=self.environment,
            seconds=LIMIT_S,
            keep=KEEP,
            separate=True,
        )


class _Repository(Struct, frozen=True):
    """A work tree: git in its uppermost folder, its index (which may not exist) and its objects."""

    git: _Git
    index: Path
    objects: Path


class GitWorkspace:
    """Implements `Workspace`."""

    async def fingerprint(self, project: str, environment: Mapping[str, str]) -> str:
        """One digest of all content that is not ignored; "" where it cannot be had in `LIMIT_S` seconds."""
        try:
            async with asyncio.timeout(LIMIT_S):
                return await _digest(Path(project), environment)
        except (_UnseenError, OSError, TimeoutError, ValueError):
            return ""


async def _digest(project: Path, environment: Mapping[str, str]) -> str:
    if not project.is_absolute():
        raise _UnseenError("a project is named by its whole path")
    program = processes.find("git", environment, str(project))
    own = {name: value for name, value in environment.items() if not name.startswith("GIT_")}
    git = _Git((program, *_settings(SAFE)), project, own | QUIET)
    repository = await _repository(git) if program else None
    if repository is None or await _ignored(git, repository):
        return await asyncio.to_thread(_hash, _walked(project))
    return _hash(await _trees(repository, iter(range(NESTED_LIMIT))))


def _settings(settings: Iterable[str]) -> tuple[str, ...]:
    return tuple(part for setting in settings for part in ("-c", setting))


def _hash(parts: Iterable[str]) -> str:
    digest = blake2b(digest_size=16)
    for part in parts:
        digest.update(part.encode("utf-8", "surrogateescape") + b"\0")
    return digest.hexdigest()


def _text(finished: Finished) -> str:
    if finished.exit_code != 0:
        raise _UnseenError(finished.reason or finished.errors)
    return finished.output.decode("utf-8", "surrogateescape")


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n")


# --- with git ---------------------------------------------------------------------------------------------


async def _repository(git: _Git) -> _Repository | None:
    """The work tree around git's folder; None where git knows of none."""
    said = await git.ask("rev-parse", "--show-toplevel", "--git-path", "index", "--git-path", "objects")
    if said.exit_code != 0:
        return None
    top, index, objects = _three(_lines(_text(said)))
    quiet = replace(git, argv=(*git.argv, *_settings(await _filters_off(git))), folder=top)
    return _Repository(quiet, git.folder / index, git.folder / objects)


def _three(lines: list[str]) -> tuple[Path, Path, Path]:
    if len(lines) != 3:  # noqa: PLR2004 - as the name says
        raise _UnseenError("a path with a line break in it")
    return Path(lines[0]), Path(lines[1]), Path(lines[2])


async def _filters_off(git: _Git) -> list[str]:
    """Settings that switch every filter off: a repository may choose their programs, and they may write."""
    said = await git.ask("config", "--name-only", "--get-regexp", r"^filter\..*\.(clean|process|required)$")
    if said.exit_code == NO_MATCH:
        return []
    return [f"{name}={'false' if name.endswith('.required') else ''}" for name in _lines(_text(said))]


async def _ignored(git: _Git, repository: _Repository) -> bool:
    """Whether the repository around the project ignores it, such as one that holds a home's settings."""
    if git.folder.resolve() == repository.git.folder.resolve():
        return False
    said = await git.ask("check-ignore", "--quiet", ".")
    return said.exit_code == 0


async def _trees(repository: _Repository, room: Iterator[int]) -> list[str]:
    """The tree of a repository, then path and trees of each repository in it. Raises _UnseenError."""
    tree, inner = await _tree(repository)
    trees = [tree]
    for path in inner:
        folder = repository.git.folder / path
        if not (folder / ".git").exists():
            continue  # a submodule that is not checked out
        below = await _repository(replace(repository.git, folder=folder))
        if below is None or next(room, None) is None:
            raise _UnseenError(path)
        trees += [path, *await _trees(below, room)]
    return trees


async def _tree(repository: _Repository) -> tuple[str, list[str]]:
    """The tree that committing everything would give, and the paths of the repositories in it."""
    with tempfile.TemporaryDirectory(prefix="supervisor-tree-", ignore_cleanup_errors=True) as scratch:
        git = _in_a_room_of_its_own(repository, Path(scratch))
        without_commit = _without_commit(await git.ask("add", "--all", "--ignore-errors"))
        tree = await git.told("write-tree", "--missing-ok")
        links = await git.told_lines("ls-files", "--stage", beginning="160000 ")
    paths = sorted([*without_commit, *(link.partition("\t")[2] for link in links)])
    if len(paths) > NESTED_LIMIT or any(path.startswith('"') for path in paths):
        raise _UnseenError("too many repositories, or a path that git quotes")
    return tree.strip(), paths


def _in_a_room_of_its_own(repository: _Repository, room: Path) -> _Git:
    """Call git on a copy of the index.

    The copy keeps the index's time stamp: by it git knows which files may have changed in the same instant.
    """
    (room / "objects").mkdir()
    if repository.index.exists():
        shutil.copy2(repository.index, room / "index")
    places = {
        "GIT_INDEX_FILE": str(room / "index"),
        "GIT_OBJECT_DIRECTORY": str(room / "objects"),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": _quoted(str(repository.objects)),
    }
    return replace(repository.git, environment={**repository.git.environment, **places})


def _quoted(path: str) -> str:
    """Quote a path for a list that is divided by colons."""
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _without_commit(added: Finished) -> list[str]:
    """The repositories that `git add` left out as they have no commit. Other faults raise _UnseenError."""
    if added.exit_code == 0:
        return []
    said = _lines(added.errors.decode("utf-8", "surrogateescape"))
    faults = [EMPTY_REPOSITORY.match(line) for line in said if line.startswith(("error:", "fatal:"))]
    if added.exit_code is None or not faults:
        raise _UnseenError(added.reason)
    return [_named(fault) for fault in faults]


def _named(fault: re.Match[str] | None) -> str:
    if fault is None:
        raise _UnseenError("git could not read a file")
    return fault[1]


# --- without git ------------------------------------------------------------------------------------------


def _walked(project: Path) -> Iterator[str]:
    """Path, size and time of change of everything below a folder. Raises _UnseenError or OSError."""
    folders, room = [str(project)], WALK_LIMIT
    while folders:
        for entry in sorted(os.scandir(folders.pop()), key=lambda entry: entry.name):
            room -= 1
            if room < 0:
                raise _UnseenError("too many files")
            if not entry.is_dir(follow_symlinks=False):
                yield _glimpse(entry)
            elif entry.name not in SKIPPED:
                folders.append(entry.path)
                yield entry.path


def _glimpse(entry: os.DirEntry[str]) -> str:
    about = entry.stat(follow_symlinks=False)
    target = Path(entry.path).readlink() if entry.is_symlink() else ""
    return f"{entry.path}\0{about.st_size}\0{about.st_mtime_ns}\0{about.st_mode}\0{target}"
