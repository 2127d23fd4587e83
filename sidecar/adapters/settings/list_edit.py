"""Changes one list of the user's config.toml, and no other byte of it.

The syntax tree says where the list is; what is written is read again before it is kept. A list that is there
is changed item by item, so that comments in it stay.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from sidecar.adapters import files, grammar
from sidecar.adapters.settings.toml_file import FILE_LIMIT, TomlFile, UnusableError, read_toml

if TYPE_CHECKING:
    from sidecar.adapters.grammar import Node

BOM: Final = b"\xef\xbb\xbf"

Cut = tuple[int, int, bytes]
"""From which byte to before which, and what comes there instead."""


def write_list(path: Path, key: str, wanted: Sequence[str]) -> None:
    """Put the list into the file, which is made where there is none. A link is followed.

    Raises UnusableError for a file that is no TOML, OSError.
    """
    read_toml(path, follow=True)
    path = path.resolve()
    try:
        raw, mode = files.read_whole(path, FILE_LIMIT), path.stat().st_mode
    except FileNotFoundError:
        raw, mode = b"", files.OWNER_FILE
    path.parent.mkdir(mode=files.OWNER_FOLDER, parents=True, exist_ok=True)
    lead = BOM if raw.startswith(BOM) else b""
    files.write_whole(path, lead + edited(raw.removeprefix(lead), key, wanted), durable=True)
    path.chmod(mode & 0o777)


def edited(source: bytes, key: str, wanted: Sequence[str]) -> bytes:
    """The source with that list under a key at its root. Raises UnusableError."""
    now = TomlFile("", source.decode())
    there = now.table.get(key)
    if there == list(wanted):
        return source
    meant = {**now.table, key: list(wanted)}
    for cuts in _ways(source, key, there, wanted):
        if (made := _with(source, cuts)) and _says(made, meant):
            return made
    raise UnusableError(f"it cannot be changed safely. Write this into it: {key} = {_array(wanted).decode()}")


def _ways(source: bytes, key: str, there: Any, wanted: Sequence[str]) -> Iterator[list[Cut]]:  # noqa: ANN401 - TOML
    """Ways to change it, the gentlest first."""
    root = grammar.parse(grammar.Tongue.TOML, source.decode()).root_node
    pairs = [node for node in root.children if node.type == "pair" and len(node.named_children) > 1]
    for pair in pairs:
        if _named(pair.named_children[0]) == key:
            value = pair.named_children[1]
            if value.type == "array" and isinstance(there, list):
                yield [*_removals(value, there, wanted), *_addition(value, there, wanted)]
            yield [(value.start_byte, value.end_byte, _array(wanted))]
    end = b"\r\n" if b"\r\n" in source else b"\n"
    line = key.encode() + b" = " + _array(wanted) + end
    if not pairs:
        yield [(0, 0, line)]
    else:
        at = source.find(b"\n", pairs[-1].named_children[1].end_byte) + 1
        yield [(at, at, line)] if at else [(len(source), len(source), end + line)]


def _removals(array: Node, there: Sequence[object], wanted: Sequence[str]) -> Iterator[Cut]:
    """Take out what is not wanted, each item with the comma behind it and the space behind that."""
    text = array.text or b""
    for item, value in zip(_items(array), there, strict=False):
        if value in wanted:
            continue
        yield (item.start_byte, item.end_byte, b"")
        after = item.next_sibling
        while after is not None and after.type == "comment":
            after = after.next_sibling
        if after is not None and after.type == ",":
            space = text.startswith(b" ", after.end_byte - array.start_byte)
            yield (after.start_byte, after.end_byte + space, b"")


def _addition(array: Node, there: Sequence[object], wanted: Sequence[str]) -> Iterator[Cut]:
    """Put in what is missing, behind the last item that stays."""
    new = b", ".join(msgspec.json.encode(one) for one in wanted if one not in there)
    staying = [item for item, value in zip(_items(array), there, strict=False) if value in wanted]
    if new:
        at = staying[-1].end_byte if staying else array.start_byte + 1
        yield (at, at, b", " + new if staying else new)


def _items(array: Node) -> list[Node]:
    return [node for node in array.named_children if node.type != "comment"]


def _with(source: bytes, cuts: Sequence[Cut]) -> bytes:
    for start, end, new in sorted(cuts, reverse=True):
        source = source[:start] + new + source[end:]
    return source


def _says(source: bytes, meant: dict[str, Any]) -> bool:
    try:
        return tomllib.loads(source.decode()) == meant
    except ValueError:
        return False


def _named(node: Node) -> str:
    return grammar.text_of(node).strip("\"'")


def _array(wanted: Sequence[str]) -> bytes:
    return b"[" + b", ".join(msgspec.json.encode(one) for one in wanted) + b"]"
