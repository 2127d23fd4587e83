"""Changes one list of the user's config.toml, and no other byte of it.

The syntax tree locates the list; the result is parsed again before it is written. An existing list is changed
item by item, so that its comments stay.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from sidecar.platform import files, grammar
from sidecar.platform.toml import FILE_LIMIT, TomlFile, UnusableError, read_toml

if TYPE_CHECKING:
    from sidecar.platform.grammar import Node


BOM: Final = b"\xef\xbb\xbf"

ByteEdit = tuple[int, int, bytes]
"""Start byte, end byte (exclusive), and the replacement."""


def write_toml_list(path: Path, key: str, wanted: Sequence[str]) -> None:
    """Write the list into the file, which is created if missing. A link is followed.

    Raises UnusableError for a file that is not TOML, OSError.
    """
    read_toml(path, follow=True)
    path = path.resolve()
    try:
        raw, mode = files.read_whole(path, FILE_LIMIT), path.stat().st_mode
    except FileNotFoundError:
        raw, mode = b"", files.OWNER_FILE
    path.parent.mkdir(mode=files.OWNER_FOLDER, parents=True, exist_ok=True)
    lead = BOM if raw.startswith(BOM) else b""
    files.write_whole(path, lead + edit_toml_list(raw.removeprefix(lead), key, wanted), durable=True)
    path.chmod(mode & 0o777)


def edit_toml_list(source: bytes, key: str, wanted: Sequence[str]) -> bytes:
    """Return the source with the list set under a key at its root. Raises UnusableError."""
    now = TomlFile("", source.decode())
    there = now.table.get(key)
    if there == list(wanted):
        return source
    meant = {**now.table, key: list(wanted)}
    for cuts in _possible_edits(source, key, there, wanted):
        if (made := _apply_edits(source, cuts)) and _parses_to_values(made, meant):
            return made
    raise UnusableError(
        f"it cannot be changed safely. Write this into it: {key} = {_format_array(wanted).decode()}"
    )


def _possible_edits(source: bytes, key: str, there: Any, wanted: Sequence[str]) -> Iterator[list[ByteEdit]]:  # noqa: ANN401 - TOML
    """Possible edits, the least intrusive first."""
    root = grammar.parse_source(grammar.SourceLanguage.TOML, source.decode()).root_node
    pairs = [node for node in root.children if node.type == "pair" and len(node.named_children) > 1]
    for pair in pairs:
        if _key_name(pair.named_children[0]) == key:
            value = pair.named_children[1]
            if value.type == "array" and isinstance(there, list):
                yield [*_item_removals(value, there, wanted), *_item_addition(value, there, wanted)]
            yield [(value.start_byte, value.end_byte, _format_array(wanted))]
    end = b"\r\n" if b"\r\n" in source else b"\n"
    line = key.encode() + b" = " + _format_array(wanted) + end
    if not pairs:
        yield [(0, 0, line)]
    else:
        at = source.find(b"\n", pairs[-1].named_children[1].end_byte) + 1
        yield [(at, at, line)] if at else [(len(source), len(source), end + line)]


def _item_removals(array: Node, there: Sequence[object], wanted: Sequence[str]) -> Iterator[ByteEdit]:
    """Remove unwanted items, each with the comma after it and the space after that."""
    text = array.text or b""
    for item, value in zip(_array_items(array), there, strict=False):
        if value in wanted:
            continue
        yield (item.start_byte, item.end_byte, b"")
        after = item.next_sibling
        while after is not None and after.type == "comment":
            after = after.next_sibling
        if after is not None and after.type == ",":
            space = text.startswith(b" ", after.end_byte - array.start_byte)
            yield (after.start_byte, after.end_byte + space, b"")


def _item_addition(array: Node, there: Sequence[object], wanted: Sequence[str]) -> Iterator[ByteEdit]:
    """Insert the missing items after the last item that stays."""
    new = b", ".join(msgspec.json.encode(one) for one in wanted if one not in there)
    staying = [item for item, value in zip(_array_items(array), there, strict=False) if value in wanted]
    if new:
        at = staying[-1].end_byte if staying else array.start_byte + 1
        yield (at, at, b", " + new if staying else new)


def _array_items(array: Node) -> list[Node]:
    return [node for node in array.named_children if node.type != "comment"]


def _apply_edits(source: bytes, cuts: Sequence[ByteEdit]) -> bytes:
    for start, end, new in sorted(cuts, reverse=True):
        source = source[:start] + new + source[end:]
    return source


def _parses_to_values(source: bytes, meant: dict[str, Any]) -> bool:
    try:
        return tomllib.loads(source.decode()) == meant
    except ValueError:
        return False


def _key_name(node: Node) -> str:
    return grammar.node_text(node).strip("\"'")


def _format_array(wanted: Sequence[str]) -> bytes:
    return b"[" + b", ".join(msgspec.json.encode(one) for one in wanted) + b"]"
