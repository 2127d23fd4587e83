"""The text form of stories: blocks of fields and parts.

    @@@@ name
    key: value
    @@ kind rest of the line
    lines

Every error names the file, the line and the block.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct, field

FILE_LIMIT: Final = 4 * 1024 * 1024
"""Bytes of one file."""


class TextError(ValueError):
    """A text is not as it should be."""


class Part(Struct):
    """One `@@` part: its kind, what stands behind it on its line, and the lines below."""

    kind: str
    rest: str
    line: int
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The lines below, without blank ones around them."""
        return "\n".join(self.lines).strip("\n").rstrip()


class Block(Struct):
    """One `@@@@` block."""

    name: str
    path: str
    line: int
    fields: dict[str, list[str]] = field(default_factory=dict)
    parts: list[Part] = field(default_factory=list)

    def get(self, key: str, default: str = "") -> str:
        """The one value of a field."""
        values = self.fields.get(key, [default])
        if len(values) > 1:
            raise self.wrong(f"{key!r} is given {len(values)} times")
        return values[0]

    def truthy(self, key: str) -> bool:
        """A field that says yes or no; no where it is not there."""
        return self.one_of(key, ("no", "yes")) == "yes"

    def one_of(self, key: str, allowed: tuple[str, ...]) -> str:
        """A field with a known set of values, the first where it is not there."""
        value = self.get(key, allowed[0])
        if value not in allowed:
            raise self.wrong(f"{key!r} is {value!r}, not one of: {', '.join(allowed)}")
        return value

    def wrong(self, what: str, line: int = 0) -> TextError:
        """The error that says what is wrong with this block, or one line of it."""
        return TextError(f"{self.path}:{line or self.line}: {self.name}: {what}")


def load(*paths: Path) -> list[Block]:
    """The blocks of these files, in order; no two may have the same name."""
    found: dict[str, Block] = {}
    for path in paths:
        for block in _blocks(path):
            if block.name in found:
                other = found[block.name]
                raise block.wrong(f"there is another one of this name at {other.path}:{other.line}")
            found[block.name] = block
    return list(found.values())


def _blocks(path: Path) -> Iterator[Block]:
    block: Block | None = None
    for number, line in enumerate(_lines(path), start=1):
        if line.startswith("@@@@"):
            if block:
                yield block
            block = Block(line.removeprefix("@@@@").strip(), path.name, number)
            if not block.name:
                raise block.wrong("a block needs a name")
        elif block:
            _take(block, line, number)
        elif line.strip() and not line.startswith("#"):
            raise TextError(f"{path.name}:{number}: this stands before the first block: {line!r}")
    if block:
        yield block


def _take(block: Block, line: str, number: int) -> None:
    """Take in one line of a block."""
    if line.startswith("@@ "):
        kind, _, rest = line.removeprefix("@@ ").partition(" ")
        block.parts.append(Part(kind, rest.strip(), number))
    elif block.parts:
        block.parts[-1].lines.append(line)
    elif line.strip():
        key, colon, value = line.partition(":")
        if not colon:
            raise block.wrong(f"neither a field nor a part: {line!r}", number)
        block.fields.setdefault(key.strip(), []).append(value.strip())


def _lines(path: Path) -> list[str]:
    """By line feeds alone: texts may hold every other character that looks like the end of a line."""
    raw = path.read_bytes()
    if len(raw) > FILE_LIMIT:
        raise TextError(f"{path.name}:1: more than {FILE_LIMIT} bytes")
    try:
        return raw.decode("utf-8").replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise TextError(f"{path.name}:{line}: no UTF-8") from error
