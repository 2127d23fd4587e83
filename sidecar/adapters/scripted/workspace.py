"""A project whose files are what one says they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from sidecar.model.inspection import Base, Changes, Repository

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class ScriptedWorkspace:
    """A `Workspace` that looks at no file, and answers what its attributes say.

    `tree` stands for all content; "" cannot be had. `base` is what is remembered, None for the present tree.
    `changes` is what changed since any base, but for those in `forgotten`. `known` is what git knows,
    `missing` are paths that are not there.
    """

    def __init__(self, tree: str = "tree-1") -> None:
        self.tree = tree
        self.base: Base | None = None
        self.changes = Changes()
        self.known: Repository | None = None
        self.missing: set[str] = set()
        self.forgotten: set[str] = set()
        self._number = 0

    async def fingerprint(self, project: str, environment: Mapping[str, str]) -> str:  # noqa: ARG002 - the port's
        return self.tree

    async def remember(self, project: str, environment: Mapping[str, str]) -> Base:  # noqa: ARG002 - the port's
        self._number += 1
        present = Base(tree=self.tree, snapshot=f"snapshot-{self._number}")
        unseen = Base(unseen="it cannot be seen")
        return self.base or (present if self.tree else unseen)

    async def since(self, base: Base, project: str, environment: Mapping[str, str]) -> Changes:  # noqa: ARG002
        if not base.snapshot or base.snapshot in self.forgotten:
            return Changes(unseen=base.unseen or "nothing was kept")
        return replace(self.changes, tree=self.tree)

    async def repository(
        self,
        base: Base,  # noqa: ARG002 - the port's
        project: str,  # noqa: ARG002 - the port's
        environment: Mapping[str, str],  # noqa: ARG002 - the port's
    ) -> Repository | None:
        return self.known

    def absent(self, project: str, paths: Sequence[str]) -> tuple[str, ...]:  # noqa: ARG002 - the port's
        return tuple(path for path in paths if path in self.missing)

    def forget(self, base: Base, project: str) -> None:  # noqa: ARG002 - the port's
        self.forgotten.add(base.snapshot)
