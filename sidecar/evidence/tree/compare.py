"""Compares two tree states of a work tree.

Rules:

- Our own trees decide which files changed; their objects are never stored in the project. The user's objects
  are read only for contents, which are verified by hash, and for similarity, to detect moved files.
- A file that is ignored now but was not before still exists: its content is read from disk.
- Attributes, filters, text conversions and other programs have no effect.
"""

from __future__ import annotations

import asyncio
import os
import posixpath
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.tree.shadow_repository import ShadowRepository, with_user_objects
from sidecar.evidence.tree.snapshot import NO_OBJECT, TreeState
from sidecar.evidence.tree.work_tree import WorkTree
from sidecar.kernel.evidence import (
    TEXT_LIMIT,
    TOO_BIG_REASON,
    FileChange,
    FileContent,
    ProjectChanges,
    decode_file_content,
)
from sidecar.platform.apply import LINK_MODE
from sidecar.platform.git import Git, decode_git_text, encode_path, git_blob_name, split_at_nul

FILES: Final = 2_000
"""Changed files whose texts are read; the others are only listed."""
NAMED: Final = 50_000
"""Changed files that are listed."""
TOO_MANY_FILES: Final = f"more than {FILES:,} files changed"
DIFF_COMMAND: Final = ("diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-ext-diff", "--no-textconv")


class _FileVersion(Struct, frozen=True):
    """One version of a file: the git object name of its content, or what is known of it without git."""

    path: bytes
    name: str = ""
    content: FileContent = FileContent()
    mode: str = ""

    @property
    def whole(self) -> str:
        """Mode and name, where both are git's."""
        return f"{self.mode} {self.name}" if self.mode else ""


class _Change(Struct, frozen=True):
    """The change of one file; a side is None where the file did not exist, or no longer exists."""

    before: _FileVersion | None
    after: _FileVersion | None

    @property
    def path(self) -> bytes:
        side = self.after or self.before
        return side.path if side else b""


async def compare_tree_states(
    room: ShadowRepository, ground: WorkTree, before: TreeState, after: TreeState
) -> ProjectChanges:
    """Return all changes. Raises UnseenError, OSError."""
    with room.entered(ground) as (git, _):
        known = with_user_objects(git, ground)
        changes = await _pair_moved_files(git, known, before.tree, after.tree)
        changes = await asyncio.to_thread(_add_changes_outside_tree, ground.top, changes, before, after)
        changes.sort(key=lambda change: change.path)
        texts = await read_blob_contents(known, _object_names(changes[:FILES]))
    files = [_file_change(change, texts, ground.inside) for change in changes[:FILES]]
    files += [_named_change(change, ground.inside) for change in changes[FILES:]]
    return ProjectChanges(files=tuple(files[:NAMED]), unseen=_unseen_reason(changes, texts))


def _unseen_reason(changes: list[_Change], texts: Mapping[str, FileContent]) -> str:
    if len(changes) > NAMED:
        return f"more than {NAMED:,} files changed"
    lost = [content.unread for content in texts.values() if content.unread in (GONE, FORGED)]
    return f"of {len(lost)} contents that were kept: {lost[0]}" if lost else ""


# --- Comparing git trees ------------------------------------------------------------------------------------


async def _pair_moved_files(git: Git, known: Git, before: str, after: str) -> list[_Change]:
    """Return the changes between two trees, with a moved file as one change."""
    if before == after:
        return []
    changes = _parse_changes(split_at_nul(await git.told(*DIFF_COMMAND, "--no-renames", before, after)))
    olds = {change.path: change for change in changes if change.after is None}
    news = {change.path: change for change in changes if change.before is None}
    if not olds or not news:
        return changes
    # Git fails where an object that it would compare is gone.
    said = await known.ask(*DIFF_COMMAND, "--find-renames", "-l1000", "--diff-filter=R", before, after)
    moves = split_at_nul(said.output) if said.exit_code == 0 else []
    for old, new in zip(map(encode_path, moves[1::3]), map(encode_path, moves[2::3]), strict=True):
        if old in olds and new in news:
            changes.append(_Change(olds.pop(old).before, news.pop(new).after))
    paired = [change for change in changes if change.before and change.after]
    return [*paired, *olds.values(), *news.values()]


def _parse_changes(said: list[str]) -> list[_Change]:
    """Parse pairs of ":<mode> <mode> <name> <name> <status>" and path."""
    found = []
    for about, path in zip(said[::2], said[1::2], strict=True):
        modes, names = about.removeprefix(":").split(" ")[:2], about.split(" ")[2:4]
        was, now = (
            None if name == NO_OBJECT else _FileVersion(encode_path(path), name, mode=mode)
            for mode, name in zip(modes, names, strict=True)
        )
        found.append(_Change(was, now))
    return found


# --- Files that are in no tree ------------------------------------------------------------------------------


def _add_changes_outside_tree(
    top: Path, changes: list[_Change], before: TreeState, after: TreeState
) -> list[_Change]:
    """Add changes of files that are in no tree, and complete changes with contents read from disk."""
    olds, news = _files_outside_tree(before), _files_outside_tree(after)
    joined = []
    for change in changes:
        was = change.before or olds.pop(change.path, None)
        now = change.after or news.pop(change.path, None) or _read_from_disk(top, change.path)
        same = was is not None and now is not None and was.name == now.name
        if change.after or not same:  # same content in two trees: its mode changed
            joined.append(_Change(was, now))
    others = (path for path in olds.keys() | news.keys() if olds.get(path) != news.get(path))
    joined.extend(_Change(olds.get(path), news.get(path)) for path in others)
    return joined


def _files_outside_tree(look: TreeState) -> dict[bytes, _FileVersion]:
    fingerprints = {
        path: _FileVersion(path, about, FileContent(unread="it was not read: too big, or not open to us"))
        for path, about in look.fingerprints.items()
    }
    steering = {
        path: _FileVersion(path, git_blob_name(content), decode_file_content(content))
        for path, content in look.steering.items()
    }
    return fingerprints | steering


def _read_from_disk(top: Path, path: bytes) -> _FileVersion | None:
    """Read a file that git no longer lists because it is ignored now."""
    place = top / decode_git_text(path)
    try:
        about = place.lstat()
        if stat.S_ISLNK(about.st_mode):
            content = os.fsencode(place.readlink())
        elif not stat.S_ISREG(about.st_mode):
            return None
        elif about.st_size > TEXT_LIMIT:
            return _FileVersion(path, "", FileContent(unread=TOO_BIG_REASON))
        else:
            content = place.read_bytes()
    except OSError:
        return None
    return _FileVersion(path, git_blob_name(content), decode_file_content(content))


# --- Building FileChange objects ----------------------------------------------------------------------------


def _object_names(changes: list[_Change]) -> list[str]:
    """Return the git object names of all contents still to be read."""
    sides = [side for change in changes for side in (change.before, change.after)]
    return [side.name for side in sides if side and side.content == FileContent() and side.name]


def _file_change(change: _Change, texts: Mapping[str, FileContent], inside: str) -> FileChange:
    was, now = (_version_content(side, texts) for side in (change.before, change.after))
    named, link = _named_change(change, inside), change.after is not None and change.after.mode == LINK_MODE
    described = describe_change(named.path, was, now, link=link, old_path=named.old_path)
    return replace(described, was=named.was, now=named.now)


def _version_content(side: _FileVersion | None, texts: Mapping[str, FileContent]) -> FileContent:
    if side is None:
        return FileContent()
    return texts.get(side.name, side.content) if side.content == FileContent() else side.content


def _named_change(change: _Change, inside: str) -> FileChange:
    old = change.before.path if change.before else change.path
    moved = old if old != change.path else b""
    return FileChange(
        path=_relative_path(change.path, inside),
        old_path=_relative_path(moved, inside) if moved else "",
        unread=TOO_MANY_FILES,
        was=change.before.whole if change.before else "",
        now=change.after.whole if change.after else "",
    )


def _relative_path(path: bytes, inside: str) -> str:
    name = decode_git_text(path)
    return name if inside == "." else posixpath.relpath(name, inside)


# --- reading contents by git object name, verified against it, because an object may have been forged -------


TEXTS: Final = 32 << 20
"""Maximum bytes read of all files together."""
GONE: Final = "it is not in the repository any more"
"""For a content that existed when the snapshot was taken, and is gone, for example after a `git gc`."""
FORGED: Final = "what git keeps of it was altered"


async def read_blob_contents(git: Git, names: Iterable[str]) -> Mapping[str, FileContent]:
    """Read the contents of these objects, in order until `TEXTS` is used up. Raises UnseenError."""
    wanted = list(dict.fromkeys(names))
    found: dict[str, FileContent] = {}
    fit: list[str] = []
    left = TEXTS
    for name, size in zip(wanted, await _blob_sizes(git, wanted), strict=True):
        if size is None:
            found[name] = FileContent(unread=GONE)
        elif size > TEXT_LIMIT:
            found[name] = FileContent(unread=TOO_BIG_REASON)
        elif size > left:
            found[name] = FileContent(unread=f"all changed texts together are bigger than {TEXTS >> 20} MiB")
        else:
            left -= size
            fit.append(name)
    found.update(
        [(name, _verified_content(name, content)) for name, content in await _blob_contents(git, fit)]
    )
    return found


def _verified_content(name: str, content: bytes | None) -> FileContent:
    if content is None:
        return FileContent(unread=GONE)
    return decode_file_content(content) if name == git_blob_name(content) else FileContent(unread=FORGED)


async def _blob_sizes(git: Git, names: list[str]) -> list[int | None]:
    if not names:
        return []
    said = await git.told("cat-file", "--batch-check=%(objecttype) %(objectsize)", stdin=_name_lines(names))
    lines = [line.split(" ") for line in decode_git_text(said).splitlines()]
    return [int(line[1]) if line[0] == "blob" else None for line in lines]


async def _blob_contents(git: Git, names: list[str]) -> Iterable[tuple[str, bytes | None]]:
    if not names:
        return ()
    said = await git.ask("cat-file", "--batch=%(objecttype) %(objectsize)", stdin=_name_lines(names))
    return zip(names, _split_batch_output(said.output, len(names)), strict=True)


def _split_batch_output(said: bytes, number: int) -> Iterator[bytes | None]:
    """Yield contents, each after a line with its type and size; None from where git's output ends."""
    at = 0
    for _ in range(number):
        line, _, _ = said[at : at + 200].partition(b"\n")
        at += len(line) + 1
        kind, _, size = line.partition(b" ")
        if kind != b"blob" or at + int(size) > len(said):
            yield None
            continue
        yield said[at : at + int(size)]
        at += int(size) + 1


def _name_lines(names: Iterable[str]) -> bytes:
    return "".join(f"{name}\n" for name in names).encode()


def describe_change(
    path: str, was: FileContent, now: FileContent, *, link: bool, old_path: str = ""
) -> FileChange:
    """Return the change of a file from one content to another. `link`: it is a symbolic link now."""
    unread = (f"{when}: {side.unread}" for when, side in (("before", was), ("after", now)) if side.unread)
    why = "; ".join(unread)
    return FileChange(path=path, old_path=old_path, before=was.text, after=now.text, unread=why, link=link)
