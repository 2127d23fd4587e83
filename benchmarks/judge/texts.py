"""What agents and users say in generated turns, by language.

`words/LANGUAGE.txt` and `words/LANGUAGE-*.txt` hold blocks of four kinds: `words` (phrases for everything),
`task NAME` (what is asked, and sentences about it; `also` is the file that its second part is in), `frame
FAMILY NAME` (a message around a task), and `tale FAMILY NAME` (a whole turn, in the form of the endings
written by hand).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from judge.blocks import Block, load
from judge.mix import BY_NAME
from msgspec import Struct

FOLDER: Final = Path(__file__).resolve().parent / "words"
TASK: Final = frozenset(("also", "prompt", "did", "did2", "left", "next", "ask", "offer", "goal"))
WORDS: Final = frozenset(
    (
        *("done", "summary", "files", "verified", "failing", "remaining"),
        *("proceed", "found", "now", "tail", "plan"),
    )
)
WITHOUT_SPACES: Final = frozenset(("zh", "ja"))
"""Languages whose sentences stand side by side."""


class Texts(Struct, frozen=True):
    """All texts of one language."""

    language: str
    words: dict[str, str]
    tasks: tuple[dict[str, str], ...]
    frames: dict[str, tuple[Block, ...]]
    tales: dict[str, tuple[Block, ...]]

    @property
    def space(self) -> str:
        """What stands between two sentences."""
        return "" if self.language in WITHOUT_SPACES else " "


@cache
def texts(language: str) -> Texts:
    """The texts of a language. Raises TextError where they are not whole."""
    blocks = load(*sorted((*FOLDER.glob(f"{language}.txt"), *FOLDER.glob(f"{language}-*.txt"))))
    words = [_fields(block, WORDS) for block in blocks if block.name == "words"]
    return Texts(
        language=language,
        words=words[0],
        tasks=tuple(_fields(block, TASK) for block in blocks if block.name.startswith("task ")),
        frames=_by_family("frame", blocks),
        tales=_by_family("tale", blocks),
    )


def _fields(block: Block, wanted: frozenset[str]) -> dict[str, str]:
    if block.fields.keys() != wanted:
        raise block.wrong(f"not these fields: {sorted(block.fields.keys() ^ wanted)}")
    return {key: block.get(key) for key in block.fields}


def _by_family(kind: str, blocks: list[Block]) -> dict[str, tuple[Block, ...]]:
    found: dict[str, list[Block]] = {}
    for block in blocks:
        words = block.name.split()
        if words[0] == kind:
            if len(words) < 3 or words[1] not in BY_NAME:  # noqa: PLR2004 - kind, family, name
                raise block.wrong(f"'{kind} FAMILY NAME' with a family of MIX.md is needed")
            found.setdefault(words[1], []).append(block)
    return {family: tuple(each) for family, each in found.items()}
