"""A project whose files are what one says they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class ScriptedWorkspace:
    """A `Workspace` that looks at no file: `tree` stands for all content; "" cannot be had."""

    def __init__(self, tree: str = "tree-1") -> None:
        self.tree = tree

    async def fingerprint(self, project: str, environment: Mapping[str, str]) -> str:  # noqa: ARG002 - the port's
        return self.tree
