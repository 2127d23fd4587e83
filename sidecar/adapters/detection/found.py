"""What an ecosystem offers to check in one package root, before it has an id."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from sidecar.model.gate import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sidecar.adapters.detection.folder import Folder

BEHIND: Final = 4_000
"""Characters of what a command stands for that are shown; the digest tells a change in the rest."""
BLOCKS: Final = 50
"""Scripts or recipes that one of them may draw in."""
WORD: Final = re.compile(r"[\w:.@/-]+")


class Found(Struct, frozen=True, kw_only=True):
    """A check. `tool` names it beside another of its kind ("lint:eslint").

    `weak`: the sign is so general that a check of the same kind with a better one takes its place.
    """

    kind: Kind
    tool: str
    command: str
    why: str
    behind: str = ""
    least: float | None = None
    weak: bool = False


def one_line(text: str, limit: int = 100) -> str:
    """A text of a project's file for the middle of a sentence."""
    return " ".join("".join(char if char.isprintable() else " " for char in text[: 4 * limit]).split())[
        :limit
    ]


def whole(text: str) -> str:
    """A text to be approved: as it is, or its beginning with the digest of all of it."""
    text = text.strip().replace("\0", " ")
    if len(text) <= BEHIND:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    return f"{text[:BEHIND]}\n[... {len(text) - BEHIND} more characters; sha256 of all: {digest}]"


def drawn_in(blocks: Mapping[str, str], name: str) -> str:
    """The script or recipe of this name with those that it names, and so on: all that it may run.

    A word that only looks like a name draws in too much, which asks for approval once too often.
    """
    order = [name]
    for known in order:
        words = (f"pre{known}", f"post{known}", *WORD.findall(blocks.get(known, "")))
        for word in dict.fromkeys(words):
            if word in blocks and word not in order and len(order) < BLOCKS:
                order.append(word)
    return whole("\n".join(blocks[known] for known in order if known in blocks))


def files_behind(root: Folder, *names: str) -> str:
    """Name files with their digests: what a wrapper or a script file is at the moment."""
    digests = ((name, root.digest(name)) for name in names)
    return "\n".join(f"{name} (sha256 {digest})" for name, digest in digests if digest)
