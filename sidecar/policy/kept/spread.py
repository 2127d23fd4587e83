"""What a test expects for each of its parameter sets: the names in its expectations replaced by their values.

So a table, a loop, parameters and single tests that say the same have the same keys. A name is replaced only
by what is written out for it; what cannot be told apart is left as it is. All of it is bounded.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final

from msgspec import structs

from sidecar.policy.kept.forms import LITERAL, key, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sidecar.model.inspection import Assertion, TestCase

Key = tuple[str, str, str]
KEYS: Final = 2_000
"""Keys of one test that are told."""
LONG: Final = 2_000
"""Characters of an expectation after its names were replaced."""
NAMES: Final = 40
"""Names of one test that are replaced."""
ROUNDS: Final = 3
"""How often values are looked for names that have values themselves."""
TOKEN: Final = re.compile(rf"{LITERAL.pattern}|[\[\](){{}},]|[^\[\](){{}},\"'`\d-]+|.", re.DOTALL)
CALLED: Final = re.compile(r"([^\W\d]\w*)\s*\(")
EMPTY: Final = re.compile(r"\[\s*\]|\{\s*\}|\"\"|''")


def spread(test: TestCase) -> dict[Key, frozenset[Key]]:
    """By the key of each expectation that can fail: its keys with all values, at least one."""
    rows = [dict(zip(test.parameters, found, strict=True)) for row in test.sets if (found := _row(test, row))]
    given = dict(test.given)
    whole = len(rows) == len(test.sets)
    spread_out: dict[Key, frozenset[Key]] = {}
    left = KEYS
    for one in test.assertions:
        if one.void or left <= 0:
            continue
        filled = filled_in(one, given)
        varies = any(_name(name).search(f"{filled.subject} {filled.expected}") for name in test.parameters)
        keys = (key(filled_in(filled, row)) for row in rows) if varies and rows and whole else (key(filled),)
        spread_out[key(one)] = frozenset(islice(keys, left))
        left -= len(spread_out[key(one)])
    return spread_out


def keys_of(test: TestCase) -> frozenset[Key]:
    """Everything that a test expects, with all values."""
    return frozenset(one for keys in spread(test).values() for one in keys)


def keys_of_case(test: TestCase, case: str) -> frozenset[Key]:
    """What a test expects for one of its parameter sets."""
    return keys_of(structs.replace(test, sets=(case,)))


def filled_in(one: Assertion, values: Mapping[str, str]) -> Assertion:
    """An expectation with its names replaced by values, names in those values among them."""
    if not one.form or not values:
        return one
    subject, expected = one.subject, one.expected
    for _ in range(ROUNDS):
        known = dict(islice(values.items(), NAMES))
        new = _filled(subject, known), _filled(expected, known)
        if new == (subject, expected) or max(map(len, new)) > LONG:
            break
        subject, expected = new
    return structs.replace(one, subject=subject, expected=expected)


def near(lost: Assertion, before: TestCase, after: TestCase) -> bool:
    """Whether the function and all the values of a lost expectation occur together in one test of now."""
    wanted = filled_in(lost, dict(before.given))
    if not wanted.form or before.parameters:
        return False
    functions, values = called(wanted), _values(f"{wanted.subject}\n{wanted.expected}")
    if not functions or not values:
        return False
    for one in after.assertions:
        now = filled_in(one, dict(after.given))
        if one.void or one.form != lost.form or not functions <= called(now):
            continue
        text = f"{now.subject}\n{now.expected}"
        if any(values <= _values(f"{text}\n{row}") for row in after.sets or ("",)):
            return True
    return False


def called(one: Assertion) -> set[str]:
    """The names of the functions that an expectation calls."""
    return set(CALLED.findall(f"{one.subject} {one.expected}"))


def _values(text: str) -> Counter[str]:
    return Counter(plain(value) for value in [*LITERAL.findall(text), *EMPTY.findall(text)])


def _name(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.\"'`]){re.escape(name)}(?![\w\"'`]|\s*=[^=])")


def _filled(text: str, values: Mapping[str, str]) -> str:
    """A source with names replaced, all at once; what stands in quotes is no name."""
    if not values:
        return text
    either = "|".join(sorted(map(re.escape, values), key=len, reverse=True))
    names = re.compile(rf"(?<![\w.])(?:{either})(?!\w|\s*=[^=])")
    parts, end = list[str](), 0
    for literal in LITERAL.finditer(text):
        parts += [names.sub(partial(_value, values), text[end : literal.start()]), literal[0]]
        end = literal.end()
    return "".join([*parts, names.sub(partial(_value, values), text[end:])])


def _value(values: Mapping[str, str], found: re.Match[str]) -> str:
    return values[found[0]]


def _row(test: TestCase, row: str) -> list[str] | None:
    """The members of a set, one for each parameter; None where they are not as many."""
    members = list(_members(row))
    if len(test.parameters) == 1:
        return [f"({row})" if len(members) > 1 else row]
    return members if members and len(members) == len(test.parameters) else None


def _members(row: str) -> Iterator[str]:
    depth, part = 0, ""
    for found in TOKEN.finditer(row):
        piece = found[0]
        depth += (piece in "([{") - (piece in ")]}") if len(piece) == 1 else 0
        if piece == "," and depth == 0:
            yield part.strip()
            part = ""
        else:
            part += piece
    if part.strip():
        yield part.strip()
