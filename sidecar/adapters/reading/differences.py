"""Where two versions of a text first differ in more than comments and blank lines."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from sidecar.model.inspection import Difference

if TYPE_CHECKING:
    from collections.abc import Iterator

SHOWN: Final = 300
"""Characters of a line that are shown."""
COMMENT: Final = re.compile(r"(?:#(?![!\[])|//|;|--\s|<!--)")
"""How a line begins that is a comment in the languages of settings and tests; `#!` and `#[` are none."""


def difference(before: str | None, after: str | None) -> Difference | None:
    """The first line that differs; None where nothing does. None as a version is an empty one."""
    versions = _telling(before or ""), _telling(after or "")
    line = 1
    for old, new in zip_longest(*versions):
        line = new[0] if new else line
        if old is None or new is None or old[1] != new[1]:
            return Difference(line, _shown(old), _shown(new))
    return None


def _telling(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), start=1):
        bare = line.rstrip()
        if bare and not COMMENT.match(bare.lstrip()):
            yield number, bare


def _shown(line: tuple[int, str] | None) -> str:
    return " ".join(line[1].split())[:SHOWN] if line else ""
