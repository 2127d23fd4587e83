"""Reads what is known of the world: the files in the folder `data` of the package.

They are TOML, but for what a program wrote and nobody edits: JSON, which is read fifty times as fast.
"""

from __future__ import annotations

import re
import threading
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

import sidecar

if TYPE_CHECKING:
    from msgspec import Raw

T = TypeVar("T", bound=msgspec.Struct)
PART: Final = re.compile(r"(?<!\?P)<(\w+)>")
"""A part of a pattern, by its name."""


def load_data(name: str, kind: type[T]) -> T:
    """Load `data/NAME.toml`, or `NAME.json` (NAME may include a folder) as this Struct, once per process.

    The files are ours: one that is missing or does not fit is a bug, and raises OSError, TOMLDecodeError or
    msgspec.ValidationError.
    """
    data: T = _load(name, kind)
    return data


@cache
def _load(name: str, kind: type[T]) -> T:
    path, decoder = _data_folder() / f"{name}.toml", json_decoder(kind)  # which builds the type for `convert`
    if not path.exists() and (written := path.with_suffix(".json")).exists():
        return decoder.decode(written.read_bytes())
    return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), kind)


def read_data_text(name: str) -> str:
    """Read `data/NAME`, which is text for another program, such as SQL."""
    return (_data_folder() / name).read_text(encoding="utf-8")


def expand_parts(pattern: str, parts: dict[str, str]) -> str:
    """Return a pattern with its parts <NAME> filled in, which may hold parts, and its line breaks taken out.

    A name that is no part raises KeyError.
    """
    while PART.search(pattern):
        pattern = PART.sub(lambda part: parts[part[1]], pattern)
    return pattern.replace("\\\n", "")


def list_data(folder: str) -> tuple[str, ...]:
    """Return the names of the files in `data/FOLDER`, without their suffix."""
    return tuple(sorted(path.stem for path in (_data_folder() / folder).glob("*.*")))


def _data_folder() -> Path:
    return Path(sidecar.__file__).parent / "data"


# --- decoders, built one at a time where several threads read -----------------------------------------------
# msgspec builds what it knows of a Struct when it first meets it. Two threads that do so at
# once crash Python.


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
