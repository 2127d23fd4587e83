"""What a file is by its name alone: data/check_files.toml."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from msgspec import Struct

from sidecar.platform.data import load_data


class CheckFiles(Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of files that bear on a check: data/check_files.toml, which explains each list."""

    folders: tuple[str, ...]
    tests: tuple[str, ...]
    settings: tuple[str, ...]
    shadows: str
    code: str
    tested: str
    inline: tuple[tuple[str, str], ...]
    manifests: str
    dependency: str
    ci: str
    hides_failure: frozenset[str]
    test_files: str
    other_settings: str
    documents: str
    locks: str
    generated: str
    says_generated: str


@cache
def _form(name: str) -> re.Pattern[str]:
    form = getattr(load_data("check_files", CheckFiles), name)
    return re.compile(form if isinstance(form, str) else "|".join(form))


def has_form(path: str, *forms: str) -> bool:
    """Whether a path has one of these forms of the data file."""
    return any(_form(name).search(path) for name in forms)


def is_source(path: str) -> bool:
    """Whether a file's ending is one of source code, which people write line by line."""
    return has_form(path, "code")


def is_document(path: str) -> bool:
    """Whether a file is documentation."""
    return has_form(path, "documents")


def is_known_kind(path: str) -> bool:
    """Whether a name is that of a file of code, of settings or of documentation."""
    return has_form(path, "code", "other_settings", "documents")


def file_reading_order(path: str) -> int:
    """Return the sort position of a file for a reader: source, test, settings, document, other.

    Source holds what the user asked for, and tests show what was expected.
    """
    kinds = (("test_files", 1), ("code", 0), ("documents", 3), ("other_settings", 2))
    return next((order for form, order in kinds if has_form(path, form)), 4)


FILE_HEADER_LENGTH: Final = 1_000
"""Characters at the start of a file in which a "generated" marker is searched for."""


def generated_file_reason(path: str, text: str) -> str:
    """Say why the file was not written by hand; "" where it may have been."""
    if has_form(path, "locks"):
        return "a lock file"
    generated = has_form(path, "generated") or has_form(text[:FILE_HEADER_LENGTH], "says_generated")
    return "a generated file" if generated else ""
