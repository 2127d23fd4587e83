"""The project's files: one digest of them, and what changed since an earlier look.

The laws of this file:

- Nothing is written into the user's repository. (Git renews time stamps of objects that it meets.)
- No program that a repository names runs: no hook, no file system monitor, no filter. Nothing is fetched.
- Two contents never get the same digest: not for want of a complete look, and not by settings, flags, forged
  indexes or times set back. What could not be seen whole is "".
- Nothing raises, and everything ends within `LIMIT_S`.

How it is done: `tree.ground` finds the user's repository, `tree.room` keeps a git folder of our own,
`tree.look` looks, `tree.compare` compares. Where there is no git program, `tree.walk` looks, and nothing can
be kept.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from sidecar.adapters.tree import snapshot
from sidecar.adapters.tree.compare import compared
from sidecar.adapters.tree.git import UnseenError
from sidecar.adapters.tree.ground import Ground, ground
from sidecar.adapters.tree.look import TooMuchError, look
from sidecar.adapters.tree.repository import head, repository
from sidecar.adapters.tree.room import Room, Rooms, furnished
from sidecar.adapters.tree.walk import walked
from sidecar.model.inspection import Base, Changes, Repository

LIMIT_S: Final = 30.0
"""Seconds for each of the port's duties."""
NAMED: Final = 50
"""Paths of one question whether they are there."""
FAULTS: Final = (UnseenError, OSError, TimeoutError, ValueError)
"""What the world does to us. Anything else is a bug."""


class GitWorkspace:
    """Implements `Workspace`. `kept`: the folder for what is remembered, None where nothing may be."""

    def __init__(self, kept: Path | None = None) -> None:
        self._rooms = None if kept is None else Rooms(kept)

    async def fingerprint(self, project: str, environment: Mapping[str, str]) -> str:
        """One digest of all content that is not ignored; "" where it cannot be had."""
        try:
            async with asyncio.timeout(LIMIT_S):
                return await self._digest(project, environment)
        except FAULTS:
            return ""

    async def remember(self, project: str, environment: Mapping[str, str]) -> Base:
        """Keep the files as they are now; `unseen` says why they could not be kept whole."""
        try:
            async with asyncio.timeout(LIMIT_S):
                return await self._remember(project, environment)
        except FAULTS as error:
            return Base(unseen=_why(error))

    async def since(self, base: Base, project: str, environment: Mapping[str, str]) -> Changes:
        """What changed since then."""
        try:
            async with asyncio.timeout(LIMIT_S):
                return await self._since(base, project, environment)
        except FAULTS as error:
            return Changes(unseen=base.unseen or _why(error))

    async def repository(self, base: Base, project: str, environment: Mapping[str, str]) -> Repository | None:
        """What git knows of the project, without asking a remote."""
        try:
            async with asyncio.timeout(LIMIT_S):
                found = await ground(project, environment)
                return await repository(found, base.head) if found else None
        except FAULTS:
            return None

    def absent(self, project: str, paths: Sequence[str]) -> tuple[str, ...]:
        """Which of these are not there; of more than 50 the first."""
        root = os.path.normpath(project)
        named = {path: os.path.normpath(Path(root, path)) for path in paths[:NAMED]}
        inside = {path: place for path, place in named.items() if place.startswith(f"{root}{os.sep}")}
        return tuple(path for path, place in inside.items() if not os.path.lexists(place))

    def forget(self, base: Base, project: str) -> None:  # noqa: ARG002 - the snapshot's name says it
        """Give back what was kept."""
        if self._rooms:
            self._rooms.forget(base.snapshot)

    async def _digest(self, project: str, environment: Mapping[str, str]) -> str:
        found = await ground(project, environment)
        if found is None:
            return await asyncio.to_thread(walked, Path(project))
        try:
            with self._room(found) as room:
                return (await look(room, found)).digest()
        except TooMuchError:
            return await asyncio.to_thread(walked, found.top)

    async def _remember(self, project: str, environment: Mapping[str, str]) -> Base:
        found = await ground(project, environment)
        if found is None:
            return Base(tree=await self._digest(project, environment), unseen="there is no git program")
        commit = await head(found.git)
        if self._rooms is None or found.bare:
            why = "the repository is bare: it has no files" if found.bare else "there is no place to keep it"
            return Base(tree=await self._digest(project, environment), head=commit, unseen=why)
        try:
            room = self._rooms.newest(found.top)
            seen = await look(room, found)
        except TooMuchError as error:
            return Base(tree=await asyncio.to_thread(walked, found.top), head=commit, unseen=str(error))
        name = await asyncio.to_thread(room.keep, snapshot.encoded(seen))
        with suppress(OSError):
            await asyncio.to_thread(self._rooms.tidy, found.top)
        return Base(tree=seen.digest(), snapshot=name, head=commit)

    async def _since(self, base: Base, project: str, environment: Mapping[str, str]) -> Changes:
        if self._rooms is None or not base.snapshot:
            return Changes(unseen=base.unseen or "nothing was kept")
        room, kept = self._rooms.snapshot(base.snapshot)
        before = snapshot.decoded(kept)
        if before.digest() != base.tree:
            raise UnseenError("what was kept was altered")
        found = await ground(project, environment)
        if found is None:
            raise UnseenError("there is no git program")
        if not self._rooms.holds(base.snapshot, found.top):
            raise UnseenError("another repository is around the project now")
        now = await look(room, found)
        changes = await compared(room, found, before, now)
        if changes.unseen:
            room.index.unlink(missing_ok=True)  # it knows contents that are gone: the next look reads anew
        return replace(changes, tree=now.digest())

    @contextmanager
    def _room(self, found: Ground) -> Iterator[Room]:
        if self._rooms:
            yield self._rooms.newest(found.top)
            return
        with tempfile.TemporaryDirectory(prefix="supervisor-tree-", ignore_cleanup_errors=True) as scratch:
            yield furnished(Path(scratch))


def _why(error: BaseException) -> str:
    if isinstance(error, TimeoutError) and not str(error):
        return f"it could not be looked at within {LIMIT_S:g} s"
    return str(error) or type(error).__name__
