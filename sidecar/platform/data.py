"""Reads what is known of the world: the TOML files in the folder `data` of the package."""

from __future__ import annotations

import re
import threading
import tomllib
from functools import cache
from pathlib import Path
from typing import Final, TypeVar

import msgspec

import sidecar

T = TypeVar("T", bound=msgspec.Struct)
PART: Final = re.compile(r"(?<!\?P)<(\w+)>")
"""A part of a pattern, by its name."""
ONE_AT_A_TIME: Final = threading.Lock()
"""msgspec builds what it knows of a Struct at its first use; two threads that do so at once crash Python."""


def load_data(name: str, kind: type[T]) -> T:
    """Load `data/NAME.toml` (NAME may include a folder) as this Struct, once per process.

    The files are ours: one that is missing or does not fit is a bug, and raises OSError, TOMLDecodeError or
    msgspec.ValidationError.
    """
    with ONE_AT_A_TIME:
        data: T = _load(name, kind)
    return data


@cache
def _load(name: str, kind: type[T]) -> T:
    path = _data_folder() / f"{name}.toml"
    return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), kind)


def expand_parts(pattern: str, parts: dict[str, str]) -> str:
    """Return a pattern with its parts <NAME> filled in, which may hold parts, and its line breaks taken out.

    A name that is no part raises KeyError.
    """
    while PART.search(pattern):
        pattern = PART.sub(lambda part: parts[part[1]], pattern)
    return pattern.replace("\\\n", "")


def list_data(folder: str) -> tuple[str, ...]:
    """Return the names of the files in `data/FOLDER`, without their suffix."""
    return tuple(sorted(path.stem for path in (_data_folder() / folder).glob("*.toml")))


def _data_folder() -> Path:
    return Path(sidecar.__file__).parent / "data"
