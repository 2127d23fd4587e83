"""How strong one expectation is beside another.

The words for comparisons are those that the readers of every language use. A comparison is weaker than
another on the same subject when it lets more pass: `==` pins a value, "truthy" hardly anything.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Final

from sidecar.model.inspection import Assertion

EXACT: Final = 5
STRENGTH: Final = {
    "==": EXACT,
    "snapshot": EXACT,
    "called with": EXACT,
    "raises": EXACT,
    "warns": EXACT,
    "~=": 4,
    "called once": 4,
    "not called": 4,
    "matches": 3,
    "in": 3,
    "not in": 3,
    "isinstance": 2,
    "<": 2,
    "<=": 2,
    ">": 2,
    ">=": 2,
    "called": 2,
    "falsy": 2,
    "!=": 1,
    "not isinstance": 1,
    "not matches": 1,
    "not raises": 1,
    "or": 1,
    "is not None": 1,
    "truthy": 1,
}
TURNED: Final = frozenset((("truthy", "falsy"), ("falsy", "truthy"), ("isinstance", "not isinstance")))
"""Forms of which the second says the opposite of the first, and no less."""
UNKNOWN: Final = 3
"""Strength of a matcher that is not in the table."""
FLOAT: Final = 1e-3
"""The part of a value by which a comparison of floating point numbers may be off."""
BROAD: Final = re.compile(
    r"(?:\w+[.:]+)*(?:Exception|BaseException|Throwable|RuntimeException|Error|StandardError|object|Object)(?:\.class)?"
)
"""Errors that nearly every other one is."""
LITERAL: Final = re.compile(
    r"""(?<!\w)[rbfuRBFU]{0,2}(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|`[^`]*`"""
    r"|(?<![\w.])-?\d[\w.]*|\b(?:True|False|None|true|false|null|nil|undefined)\b"
)
IDENTIFIER: Final = re.compile(r"(?<![\w.\"'#])[a-z_]\w*(?!\w|\s*\(|[\"'])")
"""The bare name of a variable: no attribute, no type, not what is called."""
SELF: Final = re.compile(r"\b(?:self|this|cls)\.")
NAME: Final = re.compile(r"[^\W\d]\w+")
WORD: Final = re.compile(r"[A-Z]?[a-z\d]{2,}|[A-Z]{2,}")
LAST: Final = re.compile(r"([^\W\d]\w*)\s*(?:\([^()]*(?:\([^()]*\)[^()]*){0,5}\))?$")
SPACE: Final = re.compile(r"\s+")
WITHIN: Final = re.compile(r"(?P<value>.*) within (?P<kind>abs |rel )?(?P<off>[\d.eE+_-]+)")
QUOTES: Final = re.compile(r"^[rbfu]{0,2}[\"'`/]|[\"'`/]$")


class Step(Enum):
    """What became of an expectation on the same subject."""

    SAME = "same"
    STRONGER = "stronger"
    CHANGED = "changed"
    WEAKER = "weaker"


def plain(text: str) -> str:
    """A source without what a change of style changes."""
    return SPACE.sub("", SELF.sub("", text)).replace("'", '"')


def key(one: Assertion) -> tuple[str, str, str]:
    """What tells an expectation from others, however it is laid out."""
    if not one.form:
        return "", plain(one.text), ""
    if one.form in ("==", "!="):
        first, second = sorted((plain(one.subject), plain(one.expected)))
        return one.form, first, second
    return one.form, plain(one.subject), plain(one.expected)


def outline(one: Assertion, parameters: tuple[str, ...] = ()) -> tuple[str, str, str]:
    """An expectation with its literals and parameters blanked: what is alike in copies of one test."""
    blank = r"|".join(rf"(?<![\w.]){re.escape(name)}\b" for name in parameters[:20])

    def blanked(text: str) -> str:
        text = re.sub(blank, "#", text) if blank else text
        return plain(IDENTIFIER.sub("#", LITERAL.sub("#", text)))

    if not one.form:
        return "", blanked(one.text), ""
    return one.form, blanked(one.subject), blanked(one.expected)


def renamed(one: Assertion, other: Assertion, uses: tuple[str, ...]) -> bool:
    """Whether two expectations differ in the names of their variables alone.

    `uses` are the names of the test as it is now: a variable that is still there has not got another name.
    """
    if one.form != other.form or not one.form:
        return False
    for old, new in ((one.subject, other.subject), (one.expected, other.expected)):
        old_text, new_text = SELF.sub("", old), SELF.sub("", new)
        if LITERAL.findall(old_text) != LITERAL.findall(new_text):
            return False
        old_text, new_text = LITERAL.sub("#", old_text), LITERAL.sub("#", new_text)
        if IDENTIFIER.sub("_", old_text) != IDENTIFIER.sub("_", new_text):
            return False
        gone = set(IDENTIFIER.findall(old_text)) - set(IDENTIFIER.findall(new_text))
        if gone.intersection(uses):
            return False
    return True


def names(text: str) -> frozenset[str]:
    """The names that a source mentions."""
    return frozenset(NAME.findall(SELF.sub("", LITERAL.sub("", text))))


def words(text: str) -> frozenset[str]:
    """The words of which the names in a source are made."""
    return frozenset(word.lower() for name in names(text) for word in WORD.findall(name))


def last_words(text: str) -> frozenset[str]:
    """The words of the name that decides: of what is called at last, or of the last attribute."""
    found = LAST.search(LITERAL.sub("", text))
    return words(found[1]) if found else frozenset()


def related(one: Assertion, other: Assertion) -> bool:
    """Whether two expectations look at parts of the same thing."""
    first, second = words(one.subject), words(other.subject)
    subject, looked = plain(one.subject), plain(other.subject)
    return bool(first & second) or subject == looked or (bool(subject) and looked.startswith(f"{subject}."))


def part_of(whole: Assertion, part: Assertion) -> bool:
    """Whether one pins the whole thing of which the other looks at a part."""
    subject, inner = plain(whole.subject), plain(part.subject)
    if not subject or subject == inner:
        return False
    return inner.startswith((f"{subject}.", f"{subject}[")) or f"({subject})" in inner


def step(before: Assertion, after: Assertion) -> Step:
    """What became of `before`, if `after` stands in its place."""
    old, new = STRENGTH.get(before.form, UNKNOWN), STRENGTH.get(after.form, UNKNOWN)
    if after.form == "==" and plain(after.subject) == plain(after.expected):
        return Step.WEAKER
    if before.form == "==" and after.form == "~=" and _near(before.expected, after.expected):
        return Step.CHANGED
    if before.form == after.form:
        return _same_form(before, after)
    raised = {"raises", "warns"} & {before.form, after.form}
    if new == old or (new > old and raised) or (before.form, after.form) in TURNED:
        return Step.CHANGED
    return Step.STRONGER if new > old else Step.WEAKER


def _same_form(before: Assertion, after: Assertion) -> Step:
    old, new = before.expected, after.expected
    if plain(old) == plain(new):
        return Step.SAME
    rules = {"raises": _raised, "warns": _raised, "~=": _within, "matches": _partial, "in": _partial}
    if before.form in rules:
        return rules[before.form](old, new)
    weaker = {
        "called with": "ANY" in new and "ANY" not in old,
        "isinstance": BROAD.fullmatch(new) is not None,
        "or": plain(new).startswith(plain(old)),
    }
    return Step.WEAKER if weaker.get(before.form) else Step.CHANGED


def _raised(old: str, new: str) -> Step:
    old_error, _, old_pattern = old.partition(" matching ")
    new_error, _, new_pattern = new.partition(" matching ")
    if plain(old_error) != plain(new_error):
        if BROAD.fullmatch(new_error) or (old_error and not new_error):
            return Step.WEAKER
        if plain(old_error) in plain(new_error).strip("()").split(","):
            return Step.WEAKER
        return Step.STRONGER if BROAD.fullmatch(old_error) or not old_error else Step.CHANGED
    if not old_pattern:
        return Step.STRONGER
    return _partial(old_pattern, new_pattern) if new_pattern else Step.WEAKER


def _partial(old: str, new: str) -> Step:
    """A pattern or member: weaker where the new one is a smaller piece of the old one."""
    was, now = QUOTES.sub("", old), QUOTES.sub("", new)
    loose = now in ("", ".", ".*", ".+", "^", "$")
    if loose or (len(now) < len(was) and now.strip("^$.*") in was and old[-1:] in "\"'`/"):
        return Step.WEAKER
    return Step.STRONGER if was and was in now else Step.CHANGED


def _near(old: str, new: str) -> bool:
    """Whether a tolerance is what floating point needs: at most a thousandth of the same value."""
    now = WITHIN.fullmatch(new)
    if now is None or plain(now["value"]) != plain(old):
        return False
    try:
        size = 1.0 if now["kind"] == "rel " else max(abs(float(old)), FLOAT)
        return float(now["off"]) <= FLOAT * size
    except ValueError:
        return now["kind"] == "rel "


def _within(old: str, new: str) -> Step:
    was, now = WITHIN.fullmatch(old), WITHIN.fullmatch(new)
    if was is None or now is None or plain(was["value"]) != plain(now["value"]) or was["kind"] != now["kind"]:
        return Step.CHANGED
    try:
        before, after = float(was["off"]), float(now["off"])
    except ValueError:
        return Step.CHANGED
    if before == after:
        return Step.SAME
    return Step.WEAKER if after > before else Step.STRONGER
