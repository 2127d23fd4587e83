"""The tests of one version of a file, by its language.

Python is read by its own parser, JavaScript, TypeScript, Go, Rust and Java by grammars, all else as text.
What does not parse raises ValueError; `leniently` it is read for as much as can be made of it.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from sidecar.adapters.reading.go_tests import go_tests
from sidecar.adapters.reading.java_tests import java_tests
from sidecar.adapters.reading.javascript_tests import ENDINGS, javascript_tests
from sidecar.adapters.reading.python_tests import python_tests
from sidecar.adapters.reading.roles import CODE
from sidecar.adapters.reading.rust_tests import rust_tests
from sidecar.adapters.reading.text_tests import text_tests

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sidecar.model.inspection import TestCase

PARSED: Final[Mapping[str, Callable[..., tuple[TestCase, ...]]]] = {
    ".py": python_tests,
    ".go": go_tests,
    ".rs": rust_tests,
    ".java": java_tests,
    **dict.fromkeys(ENDINGS, javascript_tests),
}
LONGEST: Final = 1 << 20
"""Characters of a file that is read for tests."""


def tests_of(path: str, text: str) -> tuple[TestCase, ...]:
    """The tests of a file in the order of the source; raises ValueError where it does not parse.

    A file that is no code has none: data, or a test that was put aside as `test_a.py.bak`.
    """
    if len(text) > LONGEST:
        raise ValueError(f"{len(text)} characters; at most {LONGEST} are read for tests")
    if CODE.search(path) is None:
        return ()
    reader = PARSED.get(_ending(path))
    return text_tests(path, text) if reader is None else reader(path, text)


def tests_leniently(path: str, text: str) -> tuple[TestCase, ...]:
    """The tests of a file that does not parse, as far as they can be told; raises ValueError as above."""
    if len(text) > LONGEST:
        raise ValueError(f"{len(text)} characters; at most {LONGEST} are read for tests")
    reader = PARSED.get(_ending(path))
    if reader is None or reader is python_tests:
        return text_tests(path, text)
    return reader(path, text, lenient=True)


def read_as_text(path: str) -> bool:
    """Whether there is no parser for the language of this file."""
    return _ending(path) not in PARSED


def _ending(path: str) -> str:
    return PurePosixPath(path).suffix.lower()
