"""Reads JSON that others wrote."""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec
from msgspec import Raw

from sidecar.kernel.text import repair_json

UNREADABLE: Final = (msgspec.DecodeError, ValueError, RecursionError)
"""What a decoder raises for JSON that cannot be read."""

K = TypeVar("K")


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
