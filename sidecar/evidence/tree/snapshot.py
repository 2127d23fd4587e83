"""Scans all files of a work tree into a tree state.

Rules:

- Only files on disk count. One thing is taken from the user's index: which ignored files are tracked.
- Different contents never give the same state: a file that cannot be read whole is represented by its size,
  times, inode and mode; if even these are unavailable, the scan fails.
- Repositories inside the repository (submodules or not) are scanned as if they were plain folders.
- A file is read again only if its size, times, inode, owner or mode changed; ctimes, which nobody can set,
  make this reliable (see `outdate_recent_entries`).
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import stat
import time
from collections.abc import Iterable, Mapping
from hashlib import blake2b, sha1
from itertools import chain
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.tree import ignored_files
from sidecar.evidence.tree.shadow_repository import ShadowRepository, with_user_objects
from sidecar.evidence.tree.work_tree import WorkTree
from sidecar.platform import files
from sidecar.platform.concurrency import gather_or_cancel
from sidecar.platform.environments import tool_folders, written_patterns
from sidecar.platform.git import (
    GIT_OUTPUT_LIMIT,
    Git,
    UnseenError,
    checked_git_output,
    decode_git_text,
    encode_path,
    git_config_arguments,
    join_with_nul,
    split_at_nul,
)

BIG_FILE: Final = 64 << 20
"""Bytes above which a file is represented by its size, times, inode and mode."""
NEW_BYTES: Final = 256 << 20
"""Maximum bytes of all files together that the user's repository does not hold, so we would have to store."""
NEW_FILES: Final = 100_000
"""Maximum number of such files."""
NESTED_LIMIT: Final = 200
"""Maximum number of newly found repositories inside the repository."""
CLOCK_S: Final = 0.1
"""Seconds by which file time stamps may lag behind our clock: they tick 100 to 1,000 times a second."""
CLOSED_FOLDER: Final = re.compile(rb"^warning: could not open directory '(.*)/': ", re.MULTILINE)
"""Git's warning about a folder that it may not read."""
KNOWN_INDEX: Final = "known"
"""File of a shadow repository: `_KnownIndex`."""
STATUS: Final = ("status", "--porcelain=v1", "-z", "-uall", "--ignored=matching", "--no-renames")
NESTING_DEPTH: Final = 20
SUBMODULE_MODE: Final = "160000"
"""Maximum levels of nested repositories."""
NO_BLOB: Final = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
"""The git object name of an empty file."""
NO_OBJECT: Final = "0" * 40


class TooMuchError(UnseenError):
    """There is more data than may be stored."""


class TreeState(Struct, frozen=True, kw_only=True):
    """The state of all files. Paths are bytes, relative to the work tree's top.

    `tree` is the git tree of all contents, except those in `fingerprints` (by their stat, of files that were
    not read) and in `steering` (contents of ignored files that affect checks, and of ignore rules). `unread`:
    the files in `fingerprints` that are not ignored; it is not serialized.
    """

    tree: str
    fingerprints: Mapping[bytes, str]
    steering: Mapping[bytes, bytes]
    unread: frozenset[str] = frozenset()

    def digest(self) -> str:
        """Return one digest of the whole state."""
        whole = blake2b(self.tree.encode(), digest_size=16)
        for kind in ({path: about.encode() for path, about in self.fingerprints.items()}, self.steering):
            for path, content in sorted(kind.items()):
                whole.update(b"\0%d %d\0%b%b" % (len(path), len(content), path, content))
            whole.update(b"\1")
        return whole.hexdigest()


class _Listing(Struct, frozen=True, kw_only=True):
    """What differs from our index, and what is ignored; nested repositories and folders end with a slash.

    `new`: neither in the index nor ignored.
    """

    edited: list[str]
    gone: list[str]
    new: list[str]
    ignored: list[str]

    def touches_rules(self) -> bool:
        """Whether a file of ignore rules is among them."""
        listed = chain(self.edited, self.gone, self.new, self.ignored)
        return any(path.rpartition("/")[2] == ".gitignore" for path in listed)


class _KnownIndex(Struct, frozen=True, kw_only=True):
    """What our index contains besides entries, as long as the `stamps` fit and no ignore rules changed.

    `tree`: its git tree. `hidden`: its entries that are ignored. `tracked`: ignored files that the user's
    repository tracks nevertheless.
    """

    stamps: tuple[str, ...]
    tree: str
    hidden: list[str]
    tracked: list[str]


async def read_tree_state(room: ShadowRepository, ground: WorkTree) -> TreeState:
    """Scan all files; retry with a new index if the current one fails. Raises UnseenError, OSError."""
    try:
        return await _scan_work_tree(room, ground)
    except TooMuchError:
        raise
    except UnseenError:
        if not room.index.exists():
            raise
    room.index.unlink(missing_ok=True)  # it may be damaged, or refer to objects that are gone
    return await _scan_work_tree(room, ground)


async def _scan_work_tree(room: ShadowRepository, ground: WorkTree) -> TreeState:
    begun = int(time.time() - CLOCK_S)
    rules = ignore_rules(room, ground)
    room.obey(rules)
    with room.entered(ground) as (git, index):
        stamps = _stamps(index, ground, rules)
        listing = await _list_files(git)
        known = _read_known_index(room, stamps)
        if known is None or listing.touches_rules():
            known = await _ask_index(git, ground, stamps)
        listing, inner = await _open_nested_repositories(git, listing)
        hidden, tracked, tree = set(known.hidden), set(known.tracked), known.tree
        leaving = {*listing.gone, *inner, *(hidden - tracked)}
        candidates = {*listing.edited, *listing.new, *(tracked - hidden)} - leaving
        fit, fingerprints = await asyncio.to_thread(_divide_by_readability, ground.top, candidates)
        steers = await asyncio.to_thread(ignored_files.read_ignored_check_files, ground.top, listing.ignored)
        leaving |= fingerprints.keys() & set(listing.edited)
        if leaving or fit:
            await _require_affordable(ground, fit)
            tree = await _update_index(git, ground, leaving, fit)
            await _commit_once(room, git, tree)
            hidden = (hidden - leaving) | tracked.intersection(fit)
        if _stamps(index, ground, rules) != stamps:
            await asyncio.to_thread(outdate_recent_entries, index, begun)
            index.replace(room.index)
            stamps = _stamps(room.index, ground, rules)
        now = _KnownIndex(stamps=stamps, tree=tree, hidden=sorted(hidden), tracked=sorted(tracked))
        if now != known:
            files.write_whole(room.folder / KNOWN_INDEX, msgspec.msgpack.encode(now))
    own = {encode_path(name): encode_path(rules) for name, rules in ground.rules.items()}
    stamped = fingerprints | steers.fingerprints
    return TreeState(
        tree=tree,
        fingerprints={encode_path(path): about for path, about in stamped.items()},
        steering={encode_path(path): content for path, content in steers.contents.items()} | own,
        unread=frozenset(fingerprints),
    )


def ignore_rules(room: ShadowRepository, ground: WorkTree) -> str:
    """Build the ignore rules: the user's, our own folder, and folders that tools fill."""
    kept = room.folder.parent.parent.resolve()
    own = f"/{kept.relative_to(ground.top)}/" if kept.is_relative_to(ground.top) else ""
    folders = sorted(tool_folders()) if ground.index is None else ()
    made = (*(f"{name}/" for name in folders), *written_patterns())
    return "\n".join([*made, *ground.rules.values(), own, ""])


# --- Listing files ------------------------------------------------------------------------------------------


async def _list_files(git: Git) -> _Listing:
    """Compare the files with our index, in which git notes files that were only touched."""
    said = await replace(git, environment={**git.environment, "GIT_OPTIONAL_LOCKS": "1"}).ask(*STATUS)
    lines = split_at_nul(checked_git_output(said, STATUS[0]))
    closed = [decode_git_text(path) for path in CLOSED_FOLDER.findall(said.errors)]
    return _Listing(
        edited=[line[3:] for line in lines if line[1] in "MT"],
        gone=[line[3:] for line in lines if line[1] == "D"],
        new=[*(line[3:] for line in lines if line[1] == "?"), *closed],
        ignored=[line[3:] for line in lines if line[1] == "!"],
    )


def _stamps(index: Path, ground: WorkTree, rules: str) -> tuple[str, ...]:
    """Return what identifies our index, the user's, and the ignore rules outside the tree.

    Ours has two names while it is looked at, which changes its ctime.
    """
    own, theirs = (path.stat() if path and path.exists() else None for path in (index, ground.index))
    return (
        f"{own.st_ino} {own.st_mtime_ns} {own.st_size}" if own else "",
        ignored_files.stat_fingerprint(theirs) if theirs else "",
        blake2b(encode_path(rules), digest_size=16).hexdigest(),
    )


def _read_known_index(room: ShadowRepository, stamps: tuple[str, ...]) -> _KnownIndex | None:
    try:
        data = files.read_whole(room.folder / KNOWN_INDEX, GIT_OUTPUT_LIMIT)
        known = msgspec.msgpack.decode(data, type=_KnownIndex)
    except (OSError, files.UnusableFileError, msgspec.MsgspecError):
        return None
    return known if known.stamps == stamps else None


async def _ask_index(git: Git, ground: WorkTree, stamps: tuple[str, ...]) -> _KnownIndex:
    hidden, tracked, tree = await gather_or_cancel(
        git.names("ls-files", "-z", "--cached", "--ignored", "--exclude-standard"),
        _tracked_ignored_files(ground),
        _write_tree(git),
    )
    return _KnownIndex(stamps=stamps, tree=tree[0], hidden=hidden, tracked=tracked)


async def _tracked_ignored_files(ground: WorkTree) -> list[str]:
    """Return ignored files that the user's repository tracks nevertheless."""
    if ground.index is None or not ground.index.exists():
        return []
    made = [f"--exclude={pattern}" for pattern in written_patterns()]
    return await ground.git.names("ls-files", "-z", "--cached", "--ignored", "--exclude-standard", *made)


async def _write_tree(git: Git) -> list[str]:
    return [decode_git_text(await git.told("write-tree", "--missing-ok")).strip()]


async def _open_nested_repositories(git: Git, listing: _Listing) -> tuple[_Listing, list[str]]:
    """List files of newly found nested repositories: git enters one once the index has a file in it.

    Also return the names of the placeholder files that were added to the index for this.
    """
    made_up: list[str] = []
    for _ in range(NESTING_DEPTH):
        inner = [path for path in listing.new if path.endswith("/")]
        if not inner:
            return listing, made_up
        names = [f"{path}.supervisor-{secrets.token_hex(8)}" for path in inner]
        made_up += names
        if len(made_up) > NESTED_LIMIT:
            break
        entries = join_with_nul(f"100644 {NO_BLOB} 0\t{name}" for name in names)
        await git.told("update-index", "-z", "--index-info", stdin=entries)
        found = await _list_files(git)
        listing = replace(listing, new=found.new, ignored=found.ignored)
    raise UnseenError(f"more than {NESTED_LIMIT} repositories inside the repository")


def _divide_by_readability(top: Path, paths: Iterable[str]) -> tuple[list[str], dict[str, str]]:
    """Split paths into files to read, and files represented by stat fingerprints. Raises OSError."""
    fit: list[str] = []
    fingerprints: dict[str, str] = {}
    for path in paths:
        place = f"{top}/{path}"  # there may be 50,000 of them, and Path is slow
        try:
            about = os.lstat(place)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except PermissionError:
            fingerprints[path] = "in a closed folder"
            continue
        plain = stat.S_ISREG(about.st_mode) and about.st_size <= BIG_FILE and os.access(place, os.R_OK)
        if plain or stat.S_ISLNK(about.st_mode):
            fit.append(path)
        else:
            fingerprints[path] = ignored_files.stat_fingerprint(about)
    return fit, fingerprints


# --- Storing new contents -----------------------------------------------------------------------------------


async def _require_affordable(ground: WorkTree, paths: list[str]) -> None:
    """Refuse to store too much that the user's repository does not hold. Raises TooMuchError."""
    if await asyncio.to_thread(_is_affordable, ground.top, paths):
        return
    held = set[str]()
    if ground.objects is not None and ground.index is not None:
        held.update(await ground.git.names("ls-files", "-z", "--cached"))
    if not await asyncio.to_thread(_is_affordable, ground.top, [path for path in paths if path not in held]):
        raise TooMuchError(f"more than {NEW_BYTES >> 20} MiB or {NEW_FILES:,} files are in no repository")


def _is_affordable(top: Path, paths: list[str]) -> bool:
    return len(paths) <= NEW_FILES and sum(_file_size(f"{top}/{path}") for path in paths) <= NEW_BYTES


def _file_size(place: str) -> int:
    try:
        return os.lstat(place).st_size
    except OSError:
        return 0


async def _update_index(git: Git, ground: WorkTree, leaving: Iterable[str], fit: Iterable[str]) -> str:
    """Update our index and return its tree."""
    if leaving:
        entries = join_with_nul(f"0 {NO_OBJECT}\t{path}" for path in sorted(leaving))
        await git.told("update-index", "-z", "--index-info", stdin=entries)
    if fit:
        names = join_with_nul(sorted(fit, key=encode_path))
        adding = ("update-index", "--add", "--remove", "--replace", "-z", "--stdin")
        await with_user_objects(git, ground).told(*adding, stdin=names)
    return (await _write_tree(git))[0]


async def _commit_once(room: ShadowRepository, git: Git, tree: str) -> None:
    """Give the repository a commit: without one, a status lists every entry of the index as new."""
    if not room.branch.exists():
        named = git_config_arguments("user.name=Supervisor", "user.email=")
        commit = await replace(git, argv=(*git.argv, *named)).told("commit-tree", "-m", "", tree)
        room.branch.parent.mkdir(exist_ok=True)
        files.write_whole(room.branch, commit)


async def write_commit_tree(room: ShadowRepository, ground: WorkTree, commit: str) -> str:
    """Write the tree of a commit of the user's repository into ours, and return it. Raises UnseenError.

    Submodules are left out: a copy of the files has none, and their contents are in another repository.
    """
    with room.entered(ground) as (git, _):
        theirs = with_user_objects(git, ground)
        await theirs.told("read-tree", commit)
        listed = [line.partition("\t") for line in await git.names("ls-files", "-z", "--stage")]
        if links := [path for head, _, path in listed if head.startswith(SUBMODULE_MODE)]:
            await theirs.told("update-index", "--force-remove", "-z", "--stdin", stdin=join_with_nul(links))
        return (await _write_tree(git))[0]


def without_unshared(before: TreeState, now: TreeState) -> TreeState:
    """Return a state of another checkout without the ignored files that this one lacks."""
    return replace(
        before,
        fingerprints={path: value for path, value in before.fingerprints.items() if path in now.fingerprints},
        steering={path: value for path, value in before.steering.items() if path in now.steering},
    )


# --- Serializing tree states --------------------------------------------------------------------------------


SNAPSHOT_VERSION: Final = 1


SnapshotForm = tuple[int, str, dict[bytes, str], dict[bytes, bytes]]
"""The serialized form: version, tree, fingerprints, steering. Msgpack: paths and contents are bytes."""


def encode_tree_state(look: TreeState) -> bytes:
    """Serialize a tree state."""
    form: SnapshotForm = (SNAPSHOT_VERSION, look.tree, dict(look.fingerprints), dict(look.steering))
    return msgspec.msgpack.encode(form)


def decode_tree_state(data: bytes) -> TreeState:
    """Deserialize a tree state. Raises UnseenError."""
    try:
        version, tree, fingerprints, steering = msgspec.msgpack.decode(data, type=SnapshotForm)
    except msgspec.MsgspecError as error:
        raise UnseenError("what was kept is damaged") from error
    if version != SNAPSHOT_VERSION:
        raise UnseenError("what was kept is of another version")
    return TreeState(tree=tree, fingerprints=fingerprints, steering=steering)


# --- Correcting time stamps in our git index ----------------------------------------------------------------
# Git compares times by the second and considers a file unchanged if its size, times and inode equal those in
# the index. Within the second in which git read it, a file can be changed and its mtime set back unnoticed;
# its ctime, which nobody can set, is then in that same second. The times of such recent entries are zeroed,
# which makes git read these files again.


HEADER_BYTES: Final = 12
"""Bytes before the first entry: signature, version, number of entries."""
FIXED_BYTES: Final = 62
"""Bytes of an entry before its name: ctime, mtime (8 each), dev, ino, mode, uid, gid, size, SHA-1, flags."""
TIME_BYTES: Final = 16
INDEX_VERSION: Final = b"DIRC\0\0\0\2"
HASH_BYTES: Final = 20


def outdate_recent_entries(index: Path, since: int) -> None:
    """Zero the times of entries whose file changed since second `since`. Raises UnseenError, OSError."""
    read = index.read_bytes()
    young = _recent_entries(read, since.to_bytes(4))
    if not young:
        return
    data = bytearray(read)
    for at in young:
        data[at : at + TIME_BYTES] = bytes(TIME_BYTES)
    data[-HASH_BYTES:] = sha1(memoryview(data)[:-HASH_BYTES], usedforsecurity=False).digest()
    about, new = index.stat(), index.with_suffix(".new")
    new.write_bytes(data)
    os.utime(new, ns=(about.st_atime_ns, about.st_mtime_ns))  # git compares the other entries with this time
    new.replace(index)


def _recent_entries(data: bytes, since: bytes) -> list[int]:
    """Return the offsets of entries with a ctime >= `since`. Big-endian numbers compare as bytes do."""
    if not data.startswith(INDEX_VERSION):
        raise UnseenError("an index of another version")
    young, at, find = [], HEADER_BYTES, data.find
    for _ in range(int.from_bytes(data[8:HEADER_BYTES])):
        if data[at : at + 4] >= since:
            young.append(at)
        end = find(0, at + FIXED_BYTES)
        at = end + 8 - (end - at) % 8
    if at > len(data) - HASH_BYTES:
        raise UnseenError("a damaged index")
    return young
