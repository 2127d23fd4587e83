"""What every reader of tests needs: one-line sources, digests, names, and the words for comparisons.

The words are the same for every language, so that a test keeps its meaning when its style changes:

    ==  !=  <  <=  >  >=  in  not in       as everywhere; True is truthy, False is falsy
    ~=             about equal; `expected` ends in "within abs N", "within rel N" or "within N"
    truthy falsy   `is not None`           the weak ones
    isinstance     `not isinstance`
    matches        a part of it: a pattern, a prefix, some of its fields
    or             one of several
    raises         `expected` is the error, then " matching " and the pattern; `not raises`
    called         a mock was; `called once`, `called with`, `not called`
    snapshot       the expectation is kept by the runner
    opaque         a helper decides
    fails          reaching it is the failure
"""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, NamedTuple

from sidecar.model.inspection import Assertion

if TYPE_CHECKING:
    from collections.abc import Iterable

LINE: Final = 300
"""Characters of a source in one line."""
ASSERTIONS: Final = 300
"""Assertions of one test that are looked at."""
SETS: Final = 500
"""Parameter sets of one test that are told apart."""
USES: Final = 300
"""Names of one test that are kept."""
NAME: Final = re.compile(r"[^\W\d]\w+")
COMMON: Final = frozenset(
    (
        *(
            "assert",
            "assert_eq",
            "assertEquals",
            "assertThat",
            "assertTrue",
            "require",
            "expect",
            "toBe",
            "toEqual",
        ),
        *(
            "self",
            "this",
            "pytest",
            "raises",
            "None",
            "True",
            "False",
            "null",
            "true",
            "false",
            "nil",
            "let",
            "mut",
        ),
        *(
            "const",
            "var",
            "async",
            "await",
            "def",
            "fn",
            "func",
            "if",
            "else",
            "for",
            "in",
            "is",
            "not",
            "and",
        ),
        *("or", "with", "as", "return", "try", "except", "new", "do", "end"),
    )
)
"""Words that say nothing of what a test is about."""
HELPER: Final = re.compile(r"_?(?:assert|check|verify|expect|ensure|should|must)(?![a-z])", re.IGNORECASE)
"""How a helper is called that makes expectations."""


class Form(NamedTuple):
    """One comparison: its word, what is looked at, what it is compared with, whether it can fail."""

    name: str
    subject: str = ""
    expected: str = ""
    void: bool = False


def one_line(text: str) -> str:
    """A source in one bounded line."""
    return " ".join(text[: 4 * LINE].split())[:LINE]


def digest(text: str) -> str:
    """A short name for a text; "" for an empty one."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest() if text else ""


def names_in(text: str) -> tuple[str, ...]:
    """The names that a source mentions, each once; what every test says is left out."""
    return tuple(name for name in dict.fromkeys(NAME.findall(text)) if name not in COMMON)[:USES]


def assertion(line: int, text: str, form: Form) -> Assertion:
    """An assertion in the bounds that are promised for it."""
    return Assertion(
        line=line,
        text=one_line(text),
        form=form.name,
        subject=one_line(form.subject),
        expected=one_line(form.expected),
        void=form.void,
    )


def bounded(assertions: Iterable[Assertion]) -> tuple[Assertion, ...]:
    """Each expectation once, in the order of the source."""
    return tuple(dict.fromkeys(assertions))[:ASSERTIONS]
