"""Elixir: mix, and credo where it is a dependency."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from sidecar.adapters.detection.found import Found
from sidecar.model.gate import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sidecar.adapters.detection.folder import Folder

CREDO: Final = re.compile(r"\{\s*:credo\b")
UMBRELLA: Final = re.compile(r"\bapps_path:")


def find(root: Folder) -> Iterator[Found]:
    """Tests, build and credo."""
    if not root.has("mix.exs"):
        return
    why = "the project has a mix.exs"
    yield Found(kind=Kind.TESTS, tool="mix", command="mix test", why=why)
    yield Found(kind=Kind.BUILD, tool="mix", command="mix compile --warnings-as-errors", why=why)
    if CREDO.search(root.text("mix.exs")):
        yield Found(kind=Kind.LINT, tool="credo", command="mix credo", why="mix.exs lists credo")


def spans(root: Folder, member: Folder, found: Found) -> bool:  # noqa: ARG001 - all commands span the same
    """Whether the root is an umbrella: its commands go through all its apps."""
    return bool(UMBRELLA.search(root.text("mix.exs")))
