"""Reads what a person typed after /supervisor:goal. Prose stays prose; only --check names commands."""

from __future__ import annotations

import re

from msgspec import Struct

OPTION = re.compile(
    r"""(?:^|(?<=\s))--(?P<name>check|max-minutes|max-tokens)\b(?:=|\s+)?"""
    r"""(?P<value>"(?:[^"\\]|\\.)*"|'[^']*'|[^\s"'-]\S*)?"""
)


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
            raise Refusal(f"--{name} needs a value, for example: {EXAMPLES[name]}")
        if name == "check":
            checks.append(value)
        else:
            limits[name] = _positive(name, value)
    minutes = limits.get("max-minutes")
    return GoalArguments(
        condition=" ".join(OPTION.sub(" ", text).split()) if checks or limits else text.strip(),
        checks=tuple(checks),
        max_seconds=None if minutes is None else minutes * 60,
        max_tokens=limits.get("max-tokens"),
    )


EXAMPLES = {
    "check": '/supervisor:goal the build is clean --check "make build"',
    "max-minutes": "/supervisor:goal all tests pass --max-minutes 60",
    "max-tokens": "/supervisor:goal all tests pass --max-tokens 200000",
}


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
