"""Builds a Struct from others that know the same by the same names, or from JSON that others wrote."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Raw, Struct

from sidecar.kernel.text import repair_json

UNREADABLE: Final = (msgspec.DecodeError, ValueError, RecursionError)
"""What a decoder raises for JSON that cannot be read."""

K = TypeVar("K")
T = TypeVar("T", bound=Struct)


def find_fields(names: Iterable[str], *sources: object) -> dict[str, Any]:
    """Return the attributes of these names; where several sources have one, the first serves."""
    found = {}
    for name in names:
        holders = [source for source in sources if hasattr(source, name)]
        if holders:
            found[name] = getattr(holders[0], name)
    return found


def fill_struct(kind: type[T], /, *sources: object, **own: object) -> T:
    """Return a Struct with the fields `own`, and all others that a source has."""
    return kind(**find_fields(kind.__struct_fields__, *sources) | own)


def decode_repaired(raw: bytes | Raw, decoder: msgspec.json.Decoder[K]) -> K:
    """Decode JSON that others wrote, repaired where that is needed (`repair_json`). Raises UNREADABLE."""
    try:
        return decoder.decode(raw)
    except msgspec.ValidationError:
        raise
    except UNREADABLE:
        return decoder.decode(repair_json(bytes(raw)))


def read_json(text: bytes | str | Raw, kind: type[K]) -> K | None:
    """Return JSON as a Struct or another type; None for what is no JSON, or none of this type."""
    try:
        return msgspec.json.decode(text, type=kind)
    except UNREADABLE:
        return None
