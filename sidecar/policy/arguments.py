"""Reads what a person typed after /supervisor:goal. Prose stays prose; only --check names commands."""

from __future__ import annotations

import re
from difflib import get_close_matches

from msgspec import Struct

OPTION = re.compile(
    r"""(?:^|(?<=\s))--(?P<name>check|max-minutes|max-tokens)\b(?:=|\s+)?"""
    r"""(?P<value>"(?:[^"\\]|\\.)*"|'[^']*'|(?:[^\s"'-]|-\d)\S*)?"""
)
UNKNOWN = re.compile(r"(?:^|(?<=\s))--(?P<name>[a-z][a-z-]*)")
QUOTES = ("'", '"')
CLOSE = 0.85
"""How alike two options must be, by difflib's ratio, that one is taken for a slip of the other."""


class Refusal(Exception):  # noqa: N818 - it is what the person is told, not a fault of ours
    """What was typed cannot be carried out. The message says why and what to type instead."""


class GoalArguments(Struct, frozen=True, kw_only=True):
    """Condition, shell lines of --check in order, and limits in seconds and tokens."""

    condition: str
    checks: tuple[str, ...] = ()
    max_seconds: int | None = None
    max_tokens: int | None = None


def parse_goal(text: str) -> GoalArguments:
    """Split options from prose; raises Refusal."""
    checks: list[str] = []
    limits: dict[str, int] = {}
    for found in OPTION.finditer(text):
        name, value = found["name"], _unquoted(found["value"] or "")
        if not value:
            lack = "has a quote that is not closed" if text[found.end() :][:1] in QUOTES else "needs a value"
            raise Refusal(f"--{name} {lack}. Example: {EXAMPLES[name]}")
        if name == "check":
            checks.append(value)
        else:
            limits[name] = _positive(name, value)
    rest = OPTION.sub(" ", text)
    _refuse_typos(rest)
    minutes = limits.get("max-minutes")
    return GoalArguments(
        condition=_condition(" ".join(rest.split()) if checks or limits else text.strip()),
        checks=tuple(checks),
        max_seconds=None if minutes is None else minutes * 60,
        max_tokens=limits.get("max-tokens"),
    )


EXAMPLES = {
    "check": '/supervisor:goal the build is clean --check "make build"',
    "max-minutes": "/supervisor:goal all tests pass --max-minutes 60",
    "max-tokens": "/supervisor:goal all tests pass --max-tokens 200000",
}


def _refuse_typos(prose: str) -> None:
    """An option that is nearly one of ours is a slip; any other is the user's own word."""
    for found in UNKNOWN.finditer(prose):
        meant = get_close_matches(found["name"], EXAMPLES, n=1, cutoff=CLOSE)
        if meant:
            raise Refusal(f"there is no --{found['name']}. Did you mean --{meant[0]}? {EXAMPLES[meant[0]]}")


def _condition(text: str) -> str:
    """The prose without quotes around the whole of it."""
    bare = text[1:-1]
    return bare.strip() if len(text) > 1 and text[0] == text[-1] in QUOTES and text[0] not in bare else text


def _unquoted(value: str) -> str:
    if value[:1] == '"':
        return re.sub(r'\\(["\\])', r"\1", value[1:-1]).strip()
    return value[1:-1].strip() if value[:1] == "'" else value


def _positive(name: str, value: str) -> int:
    if not value.isascii() or not value.isdigit() or not 1 <= int(value[:12]) <= 10**9:
        raise Refusal(
            f"--{name} takes a whole number of at least 1, not {value[:40]!r}. Example: {EXAMPLES[name]}"
        )
    return int(value)
