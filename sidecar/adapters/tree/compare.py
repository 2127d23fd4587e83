"""What changed between two looks.

The laws of this file:

- Which files changed is read off our own trees, whose objects never lie in the project. The user's objects
  are asked for contents, which prove themselves, and for likeness, by which files are paired as moved.
- A file that is ignored now, but was not, is still there: its content is read from disk.
- No attribute, filter, text conversion or other program has a say.
"""

from __future__ import annotations

import asyncio
import os
import posixpath
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from sidecar.adapters.tree import contents
from sidecar.adapters.tree.contents import Content
from sidecar.adapters.tree.git import Git, parts, raw, text
from sidecar.adapters.tree.ground import Ground
from sidecar.adapters.tree.look import NOTHING, Look
from sidecar.adapters.tree.room import Room, with_objects
from sidecar.model.inspection import Changes, FileChange

FILES: Final = 2_000
"""Changed files whose texts are read; the others are named."""
NAMED: Final = 50_000
"""Changed files that are named."""
NO_MORE: Final = f"more than {FILES:,} files changed"
DIFF: Final = ("diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-ext-diff", "--no-textconv")


class _Side(Struct, frozen=True):
    """A file as it was or is: its content by git's name for it, or what is known of it without git."""

    path: bytes
    name: str = ""
    content: Content = Content()


class _Change(Struct, frozen=True):
    """A change of one file; None where it was not there, or is not."""

    before: _Side | None
    after: _Side | None

    @property
    def path(self) -> bytes:
        side = self.after or self.before
        return side.path if side else b""


async def compared(room: Room, ground: Ground, before: Look, after: Look) -> Changes:
    """All that changed. Raises UnseenError, OSError."""
    with room.entered(ground) as (git, _):
        known = with_objects(git, ground)
        changes = await _paired(git, known, before.tree, after.tree)
        changes = await asyncio.to_thread(_with_others, ground.top, changes, before, after)
        changes.sort(key=lambda change: change.path)
        texts = await contents.read(known, _names(changes[:FILES]))
    files = [_told(change, texts, ground.inside) for change in changes[:FILES]]
    files += [_named(change, ground.inside) for change in changes[FILES:]]
    return Changes(files=tuple(files[:NAMED]), unseen=_unseen(changes, texts))


def _unseen(changes: list[_Change], texts: Mapping[str, Content]) -> str:
    if len(changes) > NAMED:
        return f"more than {NAMED:,} files changed"
    lost = [
        content.unread for content in texts.values() if content.unread in (contents.GONE, contents.FORGED)
    ]
    return f"of {len(lost)} contents that were kept: {lost[0]}" if lost else ""


# --- trees --------------------------------------------------------------------------------------------------


async def _paired(git: Git, known: Git, before: str, after: str) -> list[_Change]:
    """The changes between two trees, moved files as one."""
    changes = _changes(parts(await git.told(*DIFF, "--no-renames", before, after)))
    olds = {change.path: change for change in changes if change.after is None}
    news = {change.path: change for change in changes if change.before is None}
    if not olds or not news:
        return changes
    for old, new in _moves(parts(await _likeness(known, before, after))):
        if old in olds and new in news:
            changes.append(_Change(olds.pop(old).before, news.pop(new).after))
    paired = [change for change in changes if change.before and change.after]
    return [*paired, *olds.values(), *news.values()]


async def _likeness(known: Git, before: str, after: str) -> bytes:
    """Git's raw account of moves; nothing where an object that it would compare is gone."""
    finished = await known.ask(*DIFF, "--find-renames", "-l1000", "--diff-filter=R", before, after)
    return finished.output if finished.exit_code == 0 else b""


def _changes(said: list[str]) -> list[_Change]:
    """Read ":<mode> <mode> <name> <name> <status>", path, and so on."""
    found = []
    for about, path in zip(said[::2], said[1::2], strict=True):
        _, _, old, new, _ = about.split(" ")
        sides = [None if name == NOTHING else _Side(raw(path), name) for name in (old, new)]
        found.append(_Change(*sides))
    return found


def _moves(said: list[str]) -> list[tuple[bytes, bytes]]:
    return [(raw(old), raw(new)) for old, new in zip(said[1::3], said[2::3], strict=True)]


# --- what is in no tree -------------------------------------------------------------------------------------


def _with_others(top: Path, changes: list[_Change], before: Look, after: Look) -> list[_Change]:
    """Add changes of files that are in no tree, and fill in what only the disk knows."""
    olds, news = _outside(before), _outside(after)
    joined = []
    for change in changes:
        was = change.before or olds.pop(change.path, None)
        now = change.after or news.pop(change.path, None) or _on_disk(top, change.path)
        if change.after or not _same(was, now):  # of one content, in two trees: it has another mode
            joined.append(_Change(was, now))
    others = (path for path in olds.keys() | news.keys() if olds.get(path) != news.get(path))
    joined.extend(_Change(olds.get(path), news.get(path)) for path in others)
    return joined


def _outside(look: Look) -> dict[bytes, _Side]:
    standing = {
        path: _Side(path, about, Content(unread="it was not read: too big, or not open to us"))
        for path, about in look.standing.items()
    }
    steering = {
        path: _Side(path, contents.named(content), contents.decoded(content))
        for path, content in look.steering.items()
    }
    return standing | steering


def _same(was: _Side | None, now: _Side | None) -> bool:
    return was is not None and now is not None and was.name == now.name


def _on_disk(top: Path, path: bytes) -> _Side | None:
    """A file that git does not see any more, for it is ignored now."""
    place = top / text(path)
    try:
        about = place.lstat()
        if stat.S_ISLNK(about.st_mode):
            content = os.fsencode(place.readlink())
        elif not stat.S_ISREG(about.st_mode):
            return None
        elif about.st_size > contents.TEXT:
            return _Side(path, "", Content(unread=contents.BIG))
        else:
            content = place.read_bytes()
    except OSError:
        return None
    return _Side(path, contents.named(content), contents.decoded(content))


# --- as the port has it -------------------------------------------------------------------------------------


def _names(changes: list[_Change]) -> list[str]:
    """Git's names of all contents that are to be read."""
    sides = [side for change in changes for side in (change.before, change.after)]
    return [side.name for side in sides if side and side.content == Content() and side.name]


def _told(change: _Change, texts: Mapping[str, Content], inside: str) -> FileChange:
    was, now = (_content(side, texts) for side in (change.before, change.after))
    unread = [f"{when}: {side.unread}" for when, side in (("before", was), ("after", now)) if side.unread]
    named = _named(change, inside)
    return FileChange(
        path=named.path, old_path=named.old_path, before=was.text, after=now.text, unread="; ".join(unread)
    )


def _content(side: _Side | None, texts: Mapping[str, Content]) -> Content:
    if side is None:
        return Content()
    return texts.get(side.name, side.content) if side.content == Content() else side.content


def _named(change: _Change, inside: str) -> FileChange:
    old = change.before.path if change.before else change.path
    moved = old if old != change.path else b""
    return FileChange(
        path=_relative(change.path, inside),
        old_path=_relative(moved, inside) if moved else "",
        unread=NO_MORE,
    )


def _relative(path: bytes, inside: str) -> str:
    name = text(path)
    return name if inside == "." else posixpath.relpath(name, inside)
