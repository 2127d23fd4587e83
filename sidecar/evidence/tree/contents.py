"""Reads file contents and repository state from git, and adjusts our own git index.

Contents are read by git object name and verified against it, because an object may have been forged.
"""

from __future__ import annotations

import datetime as dt
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha1
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from sidecar.evidence.tree.work_tree import WorkTree
from sidecar.kernel.changes import (
    TEXT_LIMIT,
    TOO_BIG_REASON,
    FileChange,
    FileContent,
    RepositoryState,
    decode_file_content,
)
from sidecar.platform.git import Git, UnseenError, decode_git_text, git_blob_name, join_with_nul

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


# --- State of the user's repository, without contacting a remote --------------------------------------------


NAMED_FILES: Final = 200
"""Files that are not committed and are told by name."""
NAMED_REFS: Final = 20_000
"""Branches and tags of a repository, with those of remotes, whose names are known."""
HEADS: Final = "refs/heads/"
TAGS: Final = "refs/tags/"
REMOTES: Final = "refs/remotes/"
COMMIT_HASH: Final = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
BRANCH_PREFIX: Final = "# branch."
STATUS_COMMAND: Final = (
    *("status", "--porcelain=v2", "--branch", "-z", "--ahead-behind"),
    *("--untracked-files=all", "--ignore-submodules=none", "--no-renames"),
)


async def read_repository(ground: WorkTree, base: str) -> RepositoryState | None:
    """Read the state of the project's repository; `base` is a commit, or "". Raises UnseenError, OSError."""
    if ground.index is None:
        return (
            RepositoryState(head=await read_head_commit(ground.git), remote=bool(ground.remotes))
            if ground.bare
            else None
        )
    with tempfile.TemporaryDirectory(prefix="supervisor-status-", ignore_cleanup_errors=True) as scratch:
        git = await _git_without_index_flags(ground.git, ground.index, Path(scratch) / "index")
        lines = await git.names(*STATUS_COMMAND)
    about = dict(
        line.removeprefix(BRANCH_PREFIX).split(" ", 1) for line in lines if line.startswith(BRANCH_PREFIX)
    )
    commit, branch = about.get("oid", ""), about.get("head", "")
    uncommitted = [line for line in lines if not line.startswith("#")]
    refs, commits = await _read_refs(ground.git), await _count_commits(ground.git, base)
    behind = _behind(ground.remotes, commit, refs or {})
    old = await _refs_at(ground.git, base) if refs and commits else {}
    return RepositoryState(
        head="" if commit == "(initial)" else commit,
        branch="" if branch == "(detached)" else branch,
        upstream=about.get("upstream", ""),
        remote=bool(ground.remotes),
        commits=commits,
        ahead=_parse_ahead(about.get("ab", "")),
        dirty=len(uncommitted),
        uncommitted=tuple(map(_status_path, uncommitted[:NAMED_FILES])),
        branches=None if refs is None else tuple(_below(HEADS, refs)),
        tags=None if refs is None else tuple(_below(TAGS, refs)),
        old_branches=tuple(_below(HEADS, old)),
        old_tags=tuple(_below(TAGS, old)),
        unpushed=_unpushed(refs or {}) if ground.remotes else (),
        behind=tuple(behind),
        on_remote=len(behind) < len(ground.remotes),
        merging=Path(f"{ground.index}").with_name("MERGE_HEAD").exists(),
    )


def _status_path(line: str) -> str:
    """Return the path of a line of the status: behind one field if untracked, else behind eight or ten."""
    fields = {"?": 1, "u": 10}.get(line[0], 8)
    return line.split(" ", fields)[-1]


async def _read_refs(git: Git) -> dict[str, str] | None:
    """Return the object of each branch, tag and remote branch; None where there are too many to name."""
    refs = await _named_refs(git, f"--count={NAMED_REFS + 1}", HEADS, TAGS, REMOTES)
    return refs if len(refs) <= NAMED_REFS else None


async def _refs_at(git: Git, commit: str) -> dict[str, str]:
    """Return the branches and tags of this commit and of those before it."""
    return await _named_refs(git, f"--merged={commit}", HEADS, TAGS)


async def _named_refs(git: Git, *words: str) -> dict[str, str]:
    said = await git.told("for-each-ref", "--format=%(refname) %(objectname)", *words)
    return dict(line.rsplit(" ", 1) for line in decode_git_text(said).splitlines())


def _below(folder: str, refs: dict[str, str]) -> dict[str, str]:
    return {name.removeprefix(folder): at for name, at in refs.items() if name.startswith(folder)}


def _unpushed(refs: dict[str, str]) -> tuple[str, ...]:
    there = {(name.partition("/")[2], at) for name, at in _below(REMOTES, refs).items()}
    return tuple(name for name, at in _below(HEADS, refs).items() if (name, at) not in there)


def _behind(remotes: tuple[str, ...], commit: str, refs: dict[str, str]) -> list[str]:
    having = [name for name, at in _below(REMOTES, refs).items() if at == commit]
    return [remote for remote in remotes if not any(name.startswith(f"{remote}/") for name in having)]


async def read_head_commit(git: Git) -> str:
    """Return the commit checked out; "" where there is none."""
    said = await git.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    commit = decode_git_text(said.output).strip()
    return commit if said.exit_code == 0 and COMMIT_HASH.fullmatch(commit) else ""


async def read_commit_at(git: Git, at: float) -> tuple[str, bool]:
    """Return the commit that was checked out at a time, "" if none was, and whether that is a guess.

    The reflog knows. Where it begins later, the newest commit of today's branch that is older is taken.
    """
    day = dt.datetime.fromtimestamp(at, tz=dt.UTC).strftime("%Y-%m-%d %H:%M:%S +0000")
    said = await git.ask("rev-parse", "--verify", f"HEAD@{{{day}}}")  # warns where the reflog begins later
    commit = decode_git_text(said.output).strip()
    if said.exit_code == 0 and not said.errors and COMMIT_HASH.fullmatch(commit):
        return commit, False
    said = await git.ask("rev-list", "--max-count=1", f"--before={day}", "HEAD")
    commit = decode_git_text(said.output).strip()
    return (commit if said.exit_code == 0 and COMMIT_HASH.fullmatch(commit) else ""), True


async def _git_without_index_flags(git: Git, index: Path, copy: Path) -> Git:
    """Use a copy of the index without assume-unchanged and skip-worktree flags on files that exist."""
    marked = [
        line[2:] for line in await git.names("ls-files", "-z", "-v") if line[0].islower() or line[0] == "S"
    ]
    there = _existing_paths(git.folder, marked)
    if not there:
        return git
    shutil.copy2(index, copy)
    own = replace(git, environment={**git.environment, "GIT_INDEX_FILE": str(copy)})
    for flag in ("--no-assume-unchanged", "--no-skip-worktree"):
        await own.told(
            "-c", "core.splitIndex=false", "update-index", flag, "-z", "--stdin", stdin=join_with_nul(there)
        )
    return own


def _existing_paths(top: Path, paths: list[str]) -> list[str]:
    return [path for path in paths if os.path.lexists(f"{top}/{path}")]


async def _count_commits(git: Git, base: str) -> int | None:
    """Count the commits since `base`; None where there is no base, or it is gone."""
    if not COMMIT_HASH.fullmatch(base):
        return None
    said = await git.ask("rev-list", "--count", f"{base}..HEAD")
    return int(said.output) if said.exit_code == 0 else None


def _parse_ahead(said: str) -> int | None:
    """Parse the first number of "+1 -2"."""
    found = re.fullmatch(r"\+(\d+) -\d+", said)
    return int(found[1]) if found else None


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


def describe_change(
    path: str, was: FileContent, now: FileContent, *, link: bool, old_path: str = ""
) -> FileChange:
    """Return the change of a file from one content to another. `link`: it is a symbolic link now."""
    unread = (f"{when}: {side.unread}" for when, side in (("before", was), ("after", now)) if side.unread)
    return FileChange(
        path=path, old_path=old_path, before=was.text, after=now.text, unread="; ".join(unread), link=link
    )
