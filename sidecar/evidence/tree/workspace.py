"""The project's files: one digest of them, and the changes since an earlier snapshot.

Rules:

- Nothing is written into the user's repository. (Git refreshes time stamps of objects that it meets.)
- No program that a repository names runs: no hook, file system monitor or filter. Nothing is fetched.
- Different contents never get the same digest: neither through an incomplete scan, nor through settings,
  flags, forged indexes or times set back. If not everything could be read, the digest is "".
- Nothing raises, and everything ends within `LIMIT_S`.

`work_tree` finds the user's repository, `shadow_repository` manages our own git folder, `snapshot` scans, and
`compare` compares. Without a git program, `work_tree` digests file metadata, and nothing can be stored.
"""

from __future__ import annotations

import asyncio
import math
import os
import posixpath
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial, wraps
from pathlib import Path, PurePath
from typing import Any, Final, ParamSpec, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.ports import CopyVersion, ProjectCopy, WorkPlace
from sidecar.evidence.proof.check_files import bears_on_checks, choose_kept_files
from sidecar.evidence.tree import snapshot
from sidecar.evidence.tree.checkout import (
    SHOWN_HISTORY,
    find_recent_ignored,
    link_surroundings,
    list_ignored,
    map_environment,
    show_history,
    write_files,
    write_mixed_files,
)
from sidecar.evidence.tree.compare import compare_tree_states
from sidecar.evidence.tree.shadow_repository import (
    ShadowRepositories,
    ShadowRepository,
    with_user_objects,
)
from sidecar.evidence.tree.snapshot import TooMuchError, TreeState, read_tree_state, without_unshared
from sidecar.evidence.tree.work_tree import (
    GitAnswers,
    WorkTree,
    digest_folder_stats,
    existing_paths,
    find_work_tree,
    known_head,
    read_change,
    read_commit_at,
    read_repository,
)
from sidecar.kernel.evidence import FileBaseline, ProjectChanges, RepositoryState
from sidecar.platform.git import UnseenError, find_checkout
from sidecar.platform.ports import remember_newest

LIMIT_S: Final = 30.0
"""Seconds for each method of the port."""
LIST_FILES: Final = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")
NAMES_LEFT: Final = ("-r", "-z", "--name-only", "--no-renames", "--diff-filter=D")
ALL_LINKS: Final = ("-r", "-z", "--no-renames", "--ignore-submodules=none")
"""Shows also submodules that the change's own .gitmodules tells git to ignore."""
MODES: Final = len(":100644 100644")
"""Characters of a line of git's raw diff that hold the modes; names of objects follow."""
NEW_FIRST: Final = (CopyVersion.NOW, CopyVersion.WHOLE, CopyVersion.NEW_CHECKS, CopyVersion.BASE_PRODUCT)
"""Copies of which what is no code, or bears on a check, is of now."""
UNMIXED: Final = (CopyVersion.BASE, CopyVersion.NOW, CopyVersion.WHOLE)
NAMED_PATHS: Final = 50
"""Paths checked for existence per call."""
KEPT_STATES: Final = 32
"""States of files that are kept in memory."""
EXPECTED_ERRORS: Final = (UnseenError, OSError, TimeoutError, ValueError)
"""Errors that the environment can cause. Anything else is a bug."""

P = ParamSpec("P")
R = TypeVar("R")
Look = Callable[P, Coroutine[Any, Any, R]]
"""A method that looks at the project's files."""


def _bounded(otherwise: Callable[[str], R]) -> Callable[[Look[P, R]], Look[P, R]]:
    """Let a method end within LIMIT_S; where it cannot do its work, it returns `otherwise` of the reason."""

    def bound(work: Look[P, R]) -> Look[P, R]:
        @wraps(work)
        async def bounded(*arguments: P.args, **named: P.kwargs) -> R:
            try:
                async with asyncio.timeout(LIMIT_S):
                    return await work(*arguments, **named)
            except EXPECTED_ERRORS as error:
                return otherwise(_failure_reason(error))

        return bounded

    return bound


class ChangeCopy(Struct, frozen=True, kw_only=True):
    """The files at the end of a change, in a copy. `environment` is the one for commands in it.

    `inside` is what the project's paths begin with in its repository. The change begins at the commit
    `began`; `commit` is the last one, before files that are in none, and `tree` git's name of all files.
    `submodules` are those of which it takes another commit, and `unseen` says why there is no copy.
    """

    project: str = ""
    environment: Mapping[str, str] = {}
    inside: str = ""
    began: str = ""
    commit: str = ""
    tree: str = ""
    submodules: tuple[str, ...] = ()
    unseen: str = ""


class GitWorkspace:
    """Implements `Workspace`. `kept` is the folder for snapshots."""

    def __init__(self, kept: Path) -> None:
        self._rooms = ShadowRepositories(kept)
        self._states: OrderedDict[tuple[Path, str], TreeState] = OrderedDict()
        self._answers = GitAnswers()

    @_bounded(lambda _: "")
    async def fingerprint(self, project: str, environment: Mapping[str, str]) -> str:
        """Return one digest of all content that is not ignored; "" where none can be computed."""
        return await self._digest(project, environment)

    @_bounded(lambda why: FileBaseline(unseen=why))
    async def remember(self, project: str, environment: Mapping[str, str]) -> FileBaseline:
        """Store the current files as a baseline; `unseen` says why they could not be stored completely."""
        found = await find_work_tree(project, environment, self._answers)
        if found is None:
            return FileBaseline(
                tree=await self._digest(project, environment), unseen="there is no git program"
            )
        commit = await known_head(found, self._answers)
        if found.bare:
            why = "the repository is bare: it has no files"
            return FileBaseline(tree=await self._digest(project, environment), head=commit, unseen=why)
        try:
            room = self._rooms.newest(found.top)
            seen = await read_tree_state(room, found)
        except TooMuchError as error:
            return FileBaseline(
                tree=await asyncio.to_thread(digest_folder_stats, found.top), head=commit, unseen=str(error)
            )
        name = await asyncio.to_thread(room.keep, snapshot.encode_tree_state(seen))
        with suppress(OSError):
            await asyncio.to_thread(self._rooms.tidy, found.top)
        return FileBaseline(tree=seen.digest(), snapshot=name, head=commit)

    @_bounded(lambda why: (FileBaseline(unseen=why), False))
    async def remember_commit(
        self, project: str, environment: Mapping[str, str], at: float | str
    ) -> tuple[FileBaseline, bool]:
        """Store the commit that was checked out `at` a time as a baseline, and whether that is a guess.

        A text is the commit itself.
        """
        found = _with_files(await find_work_tree(project, environment, self._answers))
        commit, guessed = (at, False) if isinstance(at, str) else await read_commit_at(found.git, at)
        if not commit:
            raise UnseenError("nothing was committed before the session began")
        room = self._rooms.newest(found.top)
        now = await read_tree_state(room, found)
        tree = await snapshot.write_commit_tree(room, found, commit)
        state = replace(now, tree=tree)  # what no commit holds is taken as unchanged
        name = await asyncio.to_thread(room.keep, snapshot.encode_tree_state(state))
        return FileBaseline(tree=state.digest(), snapshot=name, head=commit), guessed

    @_bounded(lambda why: ChangeCopy(unseen=why))
    async def copy_change(
        self, project: str, environment: Mapping[str, str], base: str, head: str, into: Path
    ) -> ChangeCopy:
        """Write the files at the end of a change below `into`, with what is ignored and needed to run them.

        `base` and `head` are names of commits; without `head` the files are as they are in the project. It
        begins at the newest commit that both have.
        """
        found = _with_files(await find_work_tree(project, environment, self._answers))
        began, commit = await read_change(found.git, base, head)
        room = self._rooms.newest(found.top)
        room.obey(snapshot.ignore_rules(room, found))
        if head:
            tree = await snapshot.write_commit_tree(room, found, commit)
        else:
            tree = (await read_tree_state(room, found)).tree
        with room.entered(found) as (git, _):
            own = with_user_objects(git, found)
            await write_files(own, tree, into)
            dropped = await own.names("diff-tree", *NAMES_LEFT, f"{began}^{{tree}}", tree)
        raw = await found.git.names("diff-tree", *ALL_LINKS, began, commit)
        pairs = zip(raw[::2], raw[1::2], strict=True)
        await link_surroundings(room, found, into, math.inf)
        # Left out is what was followed and is ignored now, and settings of checks that no commit has.
        own_settings = filter(bears_on_checks, await list_ignored(room, found, "--directory"))
        await asyncio.to_thread(_remove_files, into, [*dropped, *own_settings])
        return ChangeCopy(
            project=str(into / found.inside),
            environment=map_environment(dict(environment), found.top, into),
            inside="" if found.inside == "." else f"{found.inside}/",
            began=began,
            commit=commit,
            tree=tree,
            submodules=tuple(path for modes, path in pairs if snapshot.SUBMODULE_MODE in modes[:MODES]),
        )

    @_bounded(lambda why: ProjectChanges(unseen=why))
    async def since(self, base: FileBaseline, project: str, environment: Mapping[str, str]) -> ProjectChanges:
        """Return the changes since `base`."""
        room, before, found = await self._baseline(base, project, environment)
        now = await self._read(room, found)
        held = (top for top in _checkout_tops(found) if self._rooms.holds(base.snapshot, top))
        of_base = next(held, found.top)
        if of_base != found.top:
            before = without_unshared(before, now)
        changes = await compare_tree_states(room, found, before, now)
        if of_base != found.top:
            changes = _without_worktrees(changes, of_base, found)
        if changes.unseen:
            room.index.unlink(missing_ok=True)  # it refers to contents that are gone: rebuild it next time
        return replace(changes, tree=now.digest(), head=await known_head(found, self._answers))

    @_bounded(lambda _: cast("RepositoryState | None", None))
    async def repository(
        self, base: FileBaseline, project: str, environment: Mapping[str, str]
    ) -> RepositoryState | None:
        """Return git's state of the project, without contacting a remote."""
        found = await find_work_tree(project, environment, self._answers)
        return await read_repository(found, base.head, self._answers) if found else None

    @_bounded(lambda why: ProjectCopy(unseen=why))
    async def copy(
        self,
        base: FileBaseline,
        project: str,
        environment: Mapping[str, str],
        version: CopyVersion,
        into: Path,
    ) -> ProjectCopy:
        """Write a copy of the project below `into`."""
        room, before, found = await self._baseline(base, project, environment)
        now = before if version is CopyVersion.BASE else await read_tree_state(room, found)
        first, second = (now.tree, before.tree) if version in NEW_FIRST else (before.tree, now.tree)
        if version in UNMIXED:
            second = first
        also = frozenset(str(PurePath(found.inside, path)) for path in base.checks)
        choose = partial(choose_kept_files, version, also)
        mixed = await write_mixed_files(room, found, (first, second), into, choose)
        since = self._rooms.kept_at(base.snapshot)
        whole = version in (CopyVersion.WHOLE, CopyVersion.BASE_PRODUCT)
        newer = await link_surroundings(room, found, into, since, newer=whole)
        if (found.top / ".git" / SHOWN_HISTORY).exists():  # copies of a copy show what it does
            shown = base.head if version is CopyVersion.BASE else ""
            await show_history(project, environment, into, shown)
        whose = {before.tree: before, now.tree: now}.get(mixed.content)
        content = whose.digest() if whose and not whose.fingerprints else mixed.content
        no_code = version is CopyVersion.PRODUCT_ALONE
        left_out = () if whole else newer if no_code else filter(bears_on_checks, newer)
        return ProjectCopy(
            project=str(into / found.inside),
            environment=map_environment(dict(environment), found.top, into),
            checks=tuple(sorted({*mixed.kept, *left_out})),
            absent=await asyncio.to_thread(_list_absent, into, mixed.kept),
            content="" if whole and newer else "\0".join((content, *sorted(newer))),
        )

    @_bounded(lambda why: ProjectCopy(unseen=why))
    async def copy_at(
        self, tree: str, base: FileBaseline, project: str, environment: Mapping[str, str], into: Path
    ) -> ProjectCopy:
        """Write a copy of the files as they were when `tree` was the fingerprint."""
        room, _, found = await self._baseline(base, project, environment)
        state = self._states.get((found.top, tree))
        if state is None:
            raise UnseenError("these files are not remembered")
        with room.entered(found) as (git, _):
            await write_files(with_user_objects(git, found), state.tree, into)
        await link_surroundings(room, found, into, self._rooms.kept_at(base.snapshot))
        return ProjectCopy(
            project=str(into / found.inside), environment=map_environment(dict(environment), found.top, into)
        )

    @_bounded(lambda _: False)
    async def touched(self, project: str, environment: Mapping[str, str], since: float) -> bool:
        """Whether a file that is not ignored, or its folder, changed since, by its change time."""
        found = await find_work_tree(project, environment, self._answers)
        if found is None:
            return False
        with self._rooms.newest(found.top).entered(found) as (git, _):
            paths = await git.names("ls-files", "-z", "--cached")
        return await asyncio.to_thread(_any_changed, found.top, paths, since)

    @_bounded(lambda _: tuple[str, ...]())
    async def moved(
        self, tree: str, base: FileBaseline, project: str, environment: Mapping[str, str]
    ) -> tuple[str, ...]:
        """Return the files that differ from when `tree` was the fingerprint."""
        room, _, found = await self._baseline(base, project, environment)
        before, now = self._states.get((found.top, tree)), await self._read(room, found)
        changes = await compare_tree_states(room, found, before or now, now)
        return tuple(file.path for file in changes.files)

    @_bounded(lambda _: tuple[str, ...]())
    async def recent_ignored(
        self, base: FileBaseline, project: str, environment: Mapping[str, str]
    ) -> tuple[str, ...]:
        """Return the ignored files that changed since the baseline was stored."""
        room, _, found = await self._baseline(base, project, environment)
        files = await find_recent_ignored(room, found, self._rooms.kept_at(base.snapshot))
        return tuple(posixpath.relpath(path, found.inside) for path in files)

    async def followed(
        self, project: str, environment: Mapping[str, str], paths: Sequence[str]
    ) -> tuple[str, ...]:
        """Return those of these paths that end the path of a file, which git does not ignore."""
        inside = [path for path in paths if not path.startswith(("/", ".."))][:NAMED_PATHS]
        files = await self._ending(project, environment, inside) if inside else []
        if files is None:
            return tuple(path for path in inside if "/" not in path)
        return tuple(path for path in inside if any(f"/{file}".endswith(f"/{path}") for file in files))

    @_bounded(lambda _: cast("list[str] | None", None))
    async def _ending(
        self, project: str, environment: Mapping[str, str], paths: list[str]
    ) -> list[str] | None:
        """Return the files whose paths end so; None where nobody can tell."""
        found = await find_work_tree(project, environment, self._answers)
        if found is None or found.index is None:
            return None
        listed = await found.git.names(*LIST_FILES, "--", *(f":(top,glob)**/{path}" for path in paths))
        return await asyncio.to_thread(existing_paths, found.top, listed)

    def place(self, project: str, cwd: str, edited: Iterable[str] = ()) -> WorkPlace:
        """Return where to look; see the port."""
        folder = Path(project)
        if not folder.is_dir():
            return WorkPlace(project, f"the session's folder {project} is not there any more")
        own, now = find_checkout(folder), find_checkout(Path(cwd or project))
        if own and now and now.top != own.top and now.common == own.common:
            inside = now.top / folder.resolve().relative_to(own.top)
            folder, own = (inside if inside.is_dir() else now.top), now
        top, common = (own.top, own.common) if own else (folder.resolve(), None)
        files = [Path(folder, path) for path in edited]
        found = {folder: find_checkout(folder) for folder in {file.parent for file in files}}
        for checkout, file in ((now, top), *((found[file.parent], file) for file in files)):
            if checkout is None or checkout.top in (top, Path.home()):
                continue
            nested = checkout.top.is_relative_to(top) and checkout.common != common  # looked at with the rest
            if not nested and not (checkout.common == common and _is_in_both(file, checkout.top, top)):
                why = f"the work of this turn is in {checkout.top}, which nobody looked at"
                return WorkPlace(str(folder), why)
        return WorkPlace(str(folder))

    def absent(self, project: str, paths: Sequence[str]) -> tuple[str, ...]:
        """Return the paths that do not exist; only the first 50 are checked."""
        root = os.path.normpath(project)
        named = {path: os.path.normpath(Path(root, path)) for path in paths[:NAMED_PATHS]}
        inside = {path: place for path, place in named.items() if place.startswith(f"{root}{os.sep}")}
        return tuple(path for path, place in inside.items() if not os.path.lexists(place))

    def forget(self, base: FileBaseline, project: str) -> None:  # noqa: ARG002 - the snapshot's name says it
        """Delete a stored baseline."""
        self._rooms.forget(base.snapshot)

    async def _digest(self, project: str, environment: Mapping[str, str]) -> str:
        found = await find_work_tree(project, environment, self._answers)
        if found is None:
            return await asyncio.to_thread(digest_folder_stats, Path(project))
        try:
            return (await self._read(self._rooms.newest(found.top), found)).digest()
        except TooMuchError:
            return await asyncio.to_thread(digest_folder_stats, found.top)

    async def _read(self, room: ShadowRepository, found: WorkTree) -> TreeState:
        """Scan all files; the last states are kept, to be copied or compared when files have moved."""
        state = await read_tree_state(room, found)
        remember_newest(self._states, (found.top, state.digest()), state, KEPT_STATES)
        return state

    async def _baseline(
        self, base: FileBaseline, project: str, environment: Mapping[str, str]
    ) -> tuple[ShadowRepository, TreeState, WorkTree]:
        """Return the stored baseline and where it is. Raises UnseenError."""
        if not base.snapshot:
            raise UnseenError(base.unseen or "nothing was kept")
        room, kept = self._rooms.snapshot(base.snapshot)
        before = snapshot.decode_tree_state(kept)
        if before.digest() != base.tree:
            raise UnseenError("what was kept was altered")
        found = await find_work_tree(project, environment, self._answers)
        if found is None:
            raise UnseenError("there is no git program")
        if not any(self._rooms.holds(base.snapshot, top) for top in _checkout_tops(found)):
            raise UnseenError("another repository is around the project now")
        return room, before, found


def _with_files(found: WorkTree | None) -> WorkTree:
    if found is None or found.index is None:
        raise UnseenError("there is no git program, or no repository with files around this folder")
    return found


def _checkout_tops(found: WorkTree) -> tuple[Path, ...]:
    """Return the top folders of all checkouts of the repository, this one first."""
    checkout = find_checkout(found.top)
    return (found.top, *(checkout.tops if checkout else ()))


def _remove_files(folder: Path, paths: Iterable[str]) -> None:
    for path in paths:
        with suppress(OSError):
            (folder / path).unlink()


def _list_absent(folder: Path, paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(path for path in paths if not os.path.lexists(folder / path)))


def _without_worktrees(changes: ProjectChanges, of_base: Path, found: WorkTree) -> ProjectChanges:
    """Leave out other checkouts that lie in the one of the baseline."""
    inner = tuple(
        f"{os.path.relpath(top.relative_to(of_base), found.inside)}/"
        for top in _checkout_tops(found)
        if top != of_base and top.is_relative_to(of_base)
    )
    return replace(changes, files=tuple(file for file in changes.files if not file.path.startswith(inner)))


def _is_in_both(file: Path, one: Path, other: Path) -> bool:
    """Whether a file of one checkout is the same in the other: it was merged."""
    with suppress(OSError, ValueError):
        return file.read_bytes() == (other / file.resolve().relative_to(one)).read_bytes()
    return False


def _any_changed(top: Path, paths: Sequence[str], since: float) -> bool:
    places = {*paths, *(os.path.dirname(path) for path in paths)}  # noqa: PTH120 - a Path each would cost more
    for place in places:
        with suppress(OSError):
            if os.lstat(top / place).st_ctime >= since:
                return True
    return False


def _failure_reason(error: BaseException) -> str:
    if isinstance(error, TimeoutError) and not str(error):
        return f"it could not be looked at within {LIMIT_S:g} s"
    return str(error) or type(error).__name__
