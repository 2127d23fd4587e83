"""One look at all files of a work tree.

The laws of this file:

- What counts is what lies on disk. Of the user's index one thing is taken: which ignored files are tracked.
- Two contents never make the same look: what cannot be read whole is stood for by its size, times, inode and
  mode; if even they are not to be had, there is no look.
- Repositories inside the repository (submodules or not) are looked into as if they were folders.
- Nothing that was seen before is read again unless size, times, inode, owner or mode have changed, by times
  of change that nobody can set (see index_file).
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import stat
import time
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.adapters.tree import steering
from sidecar.adapters.tree.git import Git, UnseenError, checked, listed, parts, raw, text, together
from sidecar.adapters.tree.ground import Ground
from sidecar.adapters.tree.index_file import distrust
from sidecar.adapters.tree.room import Room, with_objects

BIG: Final = 64 << 20
"""Bytes of a file; of a bigger one, its size, times, inode and mode stand for the content."""
NEW_BYTES: Final = 256 << 20
"""Bytes of all files together that are in no repository of the user's and would have to be kept."""
NEW_FILES: Final = 100_000
"""The same, their number."""
NESTED_LIMIT: Final = 200
"""Repositories inside the repository that are met for the first time."""
CLOCK_S: Final = 0.1
"""Seconds by which the clock of files may be behind ours: it ticks 100 to 1,000 times a second."""
CLOSED: Final = re.compile(rb"^warning: could not open directory '(.*)/': ", re.MULTILINE)
"""How git names a folder that it may not read."""
DEPTH: Final = 20
"""Levels of repositories inside one another."""
NO_BLOB: Final = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
"""The object of an empty file."""
NOTHING: Final = "0" * 40


class TooMuchError(UnseenError):
    """There is more than may be kept."""


class Look(Struct, frozen=True, kw_only=True):
    """What was seen. Paths are the bytes of the name, from the work tree's top.

    `tree` is git's name for all contents but those in `standing` (files that stat stands for, with what it
    says) and in `steering` (the contents of ignored files that steer checks, and of rules that ignore).
    """

    tree: str
    standing: Mapping[bytes, str]
    steering: Mapping[bytes, bytes]

    def digest(self) -> str:
        """One digest of it all."""
        whole = blake2b(self.tree.encode(), digest_size=16)
        for kind in (
            {path: about.encode() for path, about in self.standing.items()},
            self.steering,
        ):
            for path, content in sorted(kind.items()):
                whole.update(b"\0%d %d\0%b%b" % (len(path), len(content), path, content))
            whole.update(b"\1")
        return whole.hexdigest()


class _Listing(Struct, frozen=True, kw_only=True):
    """What git said of the files.

    `edited` and `gone` are relative to our index. `new` is not in it and not ignored. `hidden` is in it and
    ignored; `ignored` is not in it, a folder with a slash at its end.
    """

    edited: list[str]
    gone: list[str]
    new: list[str]
    hidden: list[str]
    ignored: list[str]


async def look(room: Room, ground: Ground) -> Look:
    """Look at everything. Raises UnseenError, OSError."""
    try:
        return await _look(room, ground)
    except TooMuchError:
        raise
    except UnseenError:
        if not room.index.exists():
            raise
    room.index.unlink(missing_ok=True)  # it may be damaged, or know objects that are gone
    return await _look(room, ground)


async def _look(room: Room, ground: Ground) -> Look:
    begun = int(time.time() - CLOCK_S)
    room.obey(_rules(room, ground))
    with room.entered(ground) as (git, index):
        listing, ignored_but_tracked, tree = await _listed(git, ground)
        listing, inner = await _opened(git, listing)
        hidden, tracked = set(listing.hidden), set(ignored_but_tracked)
        leaving = {*listing.gone, *inner, *(hidden - tracked)}
        candidates = {*listing.edited, *listing.new, *(tracked - hidden)} - leaving
        fit, standing = await asyncio.to_thread(_sorted_out, ground.top, candidates)
        steers = await asyncio.to_thread(steering.found, ground.top, listing.ignored)
        leaving |= standing.keys() & set(listing.edited)
        if leaving or fit:
            await _afford(ground, fit)
            tree = await _updated(git, ground, leaving, fit)
            await asyncio.to_thread(distrust, index, begun)
            index.replace(room.index)
    rules = {raw(name): raw(rules) for name, rules in ground.rules.items()}
    return Look(
        tree=tree,
        standing={raw(path): about for path, about in (standing | steers.standing).items()},
        steering={raw(path): content for path, content in steers.contents.items()} | rules,
    )


def _rules(room: Room, ground: Ground) -> str:
    """Rules that ignore: the user's, this very room's, and what tools made where no repository says so."""
    kept = room.folder.parent.parent.resolve()
    own = f"/{kept.relative_to(ground.top)}/" if kept.is_relative_to(ground.top) else ""
    made = [f"{name}/" for name in sorted(steering.SKIPPED)] if ground.index is None else []
    return "\n".join([*made, *ground.rules.values(), own, ""])


# --- what there is ------------------------------------------------------------------------------------------


async def _listed(git: Git, ground: Ground) -> tuple[_Listing, list[str], str]:
    """What git says of the files, the ignored ones that the user's repository tracks, our index's tree."""
    changed, new, others, tracked, tree = await together(
        git.names("diff-files", "--name-status", "-z"),
        _new(git),
        _ignored(git),
        _tracked(ground),
        _tree(git),
    )
    pairs = list(zip(changed[::2], changed[1::2], strict=True))
    listing = _Listing(
        edited=[path for status, path in pairs if status != "D"],
        gone=[path for status, path in pairs if status == "D"],
        new=new,
        hidden=[line[2:] for line in others if line[0] != "?"],
        ignored=[line[2:] for line in others if line[0] == "?"],
    )
    return listing, tracked, tree[0]


async def _new(git: Git) -> list[str]:
    """Files that are new to us, repositories with a slash at their end, and folders that are closed to us."""
    arguments = ("ls-files", "-z", "--others", "--exclude-standard")
    said = await git.ask(*arguments)
    closed = [text(path) for path in CLOSED.findall(said.errors)]
    return [*parts(checked(said, arguments[0])), *closed]


async def _ignored(git: Git) -> list[str]:
    return await git.names(
        *("ls-files", "-z", "-t", "--cached", "--others", "--ignored", "--exclude-standard", "--directory")
    )


async def _tracked(ground: Ground) -> list[str]:
    """Ignored files that the user's repository tracks all the same."""
    if ground.index is None or not ground.index.exists():
        return []
    return await ground.git.names("ls-files", "-z", "--cached", "--ignored", "--exclude-standard")


async def _tree(git: Git) -> list[str]:
    return [text(await git.told("write-tree", "--missing-ok")).strip()]


async def _opened(git: Git, listing: _Listing) -> tuple[_Listing, list[str]]:
    """Look into repositories that are new to us: git does, once it knows of a file in them.

    The second part are the names of these files, which were made up.
    """
    made_up: list[str] = []
    for _ in range(DEPTH):
        inner = [path for path in listing.new if path.endswith("/")]
        if not inner:
            return listing, made_up
        names = [f"{path}.supervisor-{secrets.token_hex(8)}" for path in inner]
        made_up += names
        if len(made_up) > NESTED_LIMIT:
            break
        entries = listed(f"100644 {NO_BLOB} 0\t{name}" for name in names)
        await git.told("update-index", "-z", "--index-info", stdin=entries)
        new, others = await together(_new(git), _ignored(git))
        ignored = [line[2:] for line in others if line[0] == "?"]
        listing = replace(listing, new=new, ignored=ignored)
    raise UnseenError(f"more than {NESTED_LIMIT} repositories inside the repository")


def _sorted_out(top: Path, paths: Iterable[str]) -> tuple[list[str], dict[str, str]]:
    """Divide into files that are to be read, and files that stat stands for. Raises OSError."""
    fit: list[str] = []
    standing: dict[str, str] = {}
    for path in paths:
        place = f"{top}/{path}"  # there may be fifty thousand of them, and a Path is slow
        try:
            about = os.lstat(place)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except PermissionError:
            standing[path] = "in a closed folder"
            continue
        plain = stat.S_ISREG(about.st_mode) and about.st_size <= BIG and os.access(place, os.R_OK)
        if plain or stat.S_ISLNK(about.st_mode):
            fit.append(path)
        else:
            standing[path] = steering.glimpse(about)
    return fit, standing


# --- what is new --------------------------------------------------------------------------------------------


async def _afford(ground: Ground, paths: list[str]) -> None:
    """Refuse to keep too much of what the user's repository does not hold. Raises TooMuchError."""
    if await asyncio.to_thread(_affordable, ground.top, paths):
        return
    held = set[str]()
    if ground.objects is not None and ground.index is not None:
        held.update(await ground.git.names("ls-files", "-z", "--cached"))
    if not await asyncio.to_thread(_affordable, ground.top, [path for path in paths if path not in held]):
        raise TooMuchError(f"more than {NEW_BYTES >> 20} MiB or {NEW_FILES:,} files are in no repository")


def _affordable(top: Path, paths: list[str]) -> bool:
    return len(paths) <= NEW_FILES and sum(_size(f"{top}/{path}") for path in paths) <= NEW_BYTES


def _size(place: str) -> int:
    try:
        return os.lstat(place).st_size
    except OSError:
        return 0


async def _updated(git: Git, ground: Ground, leaving: Iterable[str], fit: Iterable[str]) -> str:
    """Bring our index up to date; its tree."""
    if leaving:
        entries = listed(f"0 {NOTHING}\t{path}" for path in sorted(leaving))
        await git.told("update-index", "-z", "--index-info", stdin=entries)
    if fit:
        names = listed(sorted(fit, key=raw))
        adding = ("update-index", "--add", "--remove", "--replace", "-z", "--stdin")
        await with_objects(git, ground).told(*adding, stdin=names)
    return (await _tree(git))[0]
