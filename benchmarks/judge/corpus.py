"""The stored corpus: JSON lines, one Labelled each, in benchmarks/judge/corpus/.

A line holds what differs from the defaults alone: whoever reads it with msgspec gets the same item.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import Final

import msgspec

from judge import by_hand
from sidecar.kernel.stop_history import LabelledStop

FOLDER: Final = Path(__file__).resolve().parent / "corpus"
SETS: Final = ("by_hand", "executed")
ITEMS: Final = msgspec.json.Decoder(LabelledStop)


def read(name: str, folder: Path = FOLDER) -> tuple[LabelledStop, ...]:
    """One of the stored sets. Raises ValueError where a line is no item, OSError where there is no file."""
    return tuple(_item(path_line) for path_line in _lines(folder / f"{name}.jsonl"))


def write(name: str, items: Iterable[LabelledStop], folder: Path = FOLDER) -> Path:
    """Store a set."""
    path = folder / f"{name}.jsonl"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text(items))
    return path


def text(items: Iterable[LabelledStop]) -> bytes:
    """The bytes of a set."""
    return b"".join(msgspec.json.encode(lean(item)) + b"\n" for item in items)


def written_by_hand() -> tuple[LabelledStop, ...]:
    """The endings as their sources say now."""
    return by_hand.endings()


def lean(value: object) -> object:
    """The value for JSON, without the fields of structs that are as they are by default."""
    if isinstance(value, msgspec.Struct):
        fields = msgspec.structs.fields(value)
        kept = {one.encode_name: getattr(value, one.name) for one in fields if not _default(one, value)}
        tag = value.__struct_config__.tag
        head = {value.__struct_config__.tag_field or "type": tag} if tag is not None else {}
        return head | {name: lean(one) for name, one in kept.items()}
    if isinstance(value, tuple | list):
        return [lean(one) for one in value]
    return value.value if isinstance(value, Enum) else value


def _default(field: msgspec.structs.FieldInfo, value: msgspec.Struct) -> bool:
    if field.default_factory is not msgspec.NODEFAULT:
        return bool(getattr(value, field.name) == field.default_factory())
    return field.default is not msgspec.NODEFAULT and bool(getattr(value, field.name) == field.default)


def _lines(path: Path) -> Iterator[tuple[str, bytes]]:
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        if line.strip():
            yield f"{path.name}:{number}", line


def _item(place_and_line: tuple[str, bytes]) -> LabelledStop:
    place, line = place_and_line
    try:
        return ITEMS.decode(line)
    except msgspec.DecodeError as error:
        raise ValueError(f"{place}: {error}") from error
