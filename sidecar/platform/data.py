"""Reads what is known of the world: the files in the folder `data` of the package.

They are TOML, but for what a program wrote and nobody edits: JSON, which is read fifty times as fast.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Final, TypeVar

import msgspec

import sidecar
from sidecar.platform.decoding import json_decoder

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
