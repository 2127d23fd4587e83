"""Changes to a project between two points in time."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

TEXT_LIMIT: Final = 512 << 10
"""Maximum bytes read of one file."""
TOO_BIG_REASON: Final = f"it is bigger than {TEXT_LIMIT >> 10} KiB"


class FileContent(Struct, frozen=True):
    """The content of a file: its text, or the reason why there is none."""

    text: str | None = None
    unread: str = ""


def decode_file_content(content: bytes) -> FileContent:
    """Decode a content as text, if it is text and not too big."""
    if len(content) > TEXT_LIMIT:
        return FileContent(unread=TOO_BIG_REASON)
    if b"\0" in content:
        return FileContent(unread="it is no text")
    return FileContent(text=content.decode("utf-8", "replace"))


class FileBaseline(Struct, frozen=True, kw_only=True):
    """A state of a project's files with which later states are compared.

    `tree` is the fingerprint of the files. `snapshot` is the workspace's name for the stored copy, "" where
    nothing could be stored (`unseen` says why). `head` is the checked-out commit, "" where there is none.
    """

    tree: str = ""
    snapshot: str = ""
    head: str = ""
    unseen: str = ""


class FileChange(Struct, frozen=True, kw_only=True):
    """One changed file.

    `path` is relative to the project, with `/`; bytes that are not UTF-8 appear as surrogates. `before` and
    `after` are the whole text, None where the file did not or does not exist, is not text, or is too big
    (`unread` says which). `old_path` is the path before a move. `link`: it is a symbolic link now, and
    `after` is where it leads.
    """

    path: str
    old_path: str = ""
    before: str | None = None
    after: str | None = None
    unread: str = ""
    link: bool = False


class FileDiff(Struct, frozen=True, kw_only=True):
    """How one file differs from the baseline, for display.

    `added` and `removed` count lines. `hunks` is the unified diff without its header, with secrets masked,
    cut to 2,000 characters at the end of a line; "" where the file is not text or nothing of it is shown.
    `told` says why it is not shown, else "".
    """

    path: str
    old_path: str = ""
    added: int = 0
    removed: int = 0
    hunks: str = ""
    told: str = ""


class ProjectChanges(Struct, frozen=True, kw_only=True):
    """All changes since a baseline, ordered by path.

    `tree` is the fingerprint of exactly the files that were compared, "" where none were. `unseen` says why
    the changes are not completely known.
    """

    files: tuple[FileChange, ...] = ()
    tree: str = ""
    unseen: str = ""


class RepositoryState(Struct, frozen=True, kw_only=True):
    """State of the git repository, from local data only.

    `commits` counts commits since the baseline, None where the baseline had no commit. `ahead` counts commits
    that the upstream branch, as last fetched, does not have; None where there is no upstream. `dirty` is the
    number of tracked or untracked files that are not committed, and `uncommitted` are the first of them, by
    their paths in the repository. `branches` and `tags` are their names, None where they are not known.
    `old_branches` and `old_tags` are those of commits that the baseline had, where there are newer ones.
    `unpushed` are the branches of which no remote branch of that name, as last fetched, has the commit.
    `behind` are the remotes that have the commit checked out on no branch, `on_remote` tells whether one has
    it. `merging`: a merge has begun and is not committed.
    """

    head: str = ""
    branch: str = ""
    upstream: str = ""
    remote: bool = False
    commits: int | None = None
    ahead: int | None = None
    dirty: int = 0
    uncommitted: tuple[str, ...] = ()
    branches: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    old_branches: tuple[str, ...] = ()
    old_tags: tuple[str, ...] = ()
    unpushed: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()
    on_remote: bool = True
    merging: bool = False
