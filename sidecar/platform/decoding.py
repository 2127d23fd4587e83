"""Builds decoders, one at a time, where several threads read.

msgspec builds what it knows of a Struct when it first meets it. Two threads that do so at once crash Python.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

if TYPE_CHECKING:
    from msgspec import Raw

K = TypeVar("K")
_BUILDING: Final = threading.Lock()
_DECODERS: Final[dict[object, msgspec.json.Decoder[Any]]] = {}


def decode_json(text: bytes | Raw, kind: type[K]) -> K:
    """Return JSON as a Struct. Raises msgspec.DecodeError, UnicodeDecodeError, RecursionError."""
    return json_decoder(kind).decode(text)


def json_decoder(kind: type[K]) -> msgspec.json.Decoder[K]:
    """Return the decoder of a type; it is built at its first use."""
    if kind not in _DECODERS:
        with _BUILDING:
            _DECODERS[kind] = msgspec.json.Decoder(kind)
    return _DECODERS[kind]
