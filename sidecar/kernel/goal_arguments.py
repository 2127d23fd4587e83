"""Parses what a person typed after /supervisor:goal.

Plain text is the condition; only --check names commands.
"""

from __future__ import annotations

import re

from msgspec import Struct

from sidecar.kernel.errors import CommandRefusal

OPTION_PATTERN = re.compile(
    r"""(?:^|(?<=\s))--(?P<name>check|max-minutes|max-tokens)\b(?:=|\s+)?"""
    r"""(?P<value>"(?:[^"\\]|\\.)*"|'[^']*'|(?:[^\s"'-]|-\d)\S*)?"""
)
UNKNOWN_OPTION_PATTERN = re.compile(r"(?:^|(?<=\s))--(?P<name>[a-z][a-z-]*)")
QUOTES = ("'", '"')
HELP_WORDS = ("help", "--help", "-h")
CLEAR_WORDS = ("clear", "stop", "off", "reset", "none", "cancel")
COMMAND_WORDS = frozenset({"", "status", *HELP_WORDS, *CLEAR_WORDS, "pause", "resume"})
"""Arguments of /supervisor:goal that are subcommands and not a condition."""
TYPO_SIMILARITY = 0.85
"""Minimum difflib ratio at which an unknown option counts as a misspelling of one of ours."""


class GoalArguments(Struct, frozen=True, kw_only=True):
    """The condition, the shell lines of --check in order, and the limits in seconds and tokens."""

    condition: str
    checks: tuple[str, ...] = ()
    max_seconds: int | None = None
    max_tokens: int | None = None


def parse_goal(text: str) -> GoalArguments:
    """Separate the options from the condition; raises CommandRefusal."""
    checks: list[str] = []
    limits: dict[str, int] = {}
    for found in OPTION_PATTERN.finditer(text):
        name, value = found["name"], _unquote_value(found["value"] or "")
        if not value:
            fault = "has a quote that is not closed" if text[found.end() :][:1] in QUOTES else "needs a value"
            raise CommandRefusal(f"--{name} {fault}. Example: {OPTION_EXAMPLES[name]}")
        if name == "check":
            _refuse_unquoted_words(found, text)
            checks.append(value)
        else:
            limits[name] = _parse_positive_integer(name, value)
    rest = OPTION_PATTERN.sub(" ", text)
    _refuse_typos(rest)
    minutes = limits.get("max-minutes")
    return GoalArguments(
        condition=_strip_outer_quotes(" ".join(rest.split()) if checks or limits else text.strip()),
        checks=tuple(checks),
        max_seconds=None if minutes is None else minutes * 60,
        max_tokens=limits.get("max-tokens"),
    )


OPTION_EXAMPLES = {
    "check": '/supervisor:goal the build is clean --check "make build"',
    "max-minutes": "/supervisor:goal all tests pass --max-minutes 60",
    "max-tokens": "/supervisor:goal all tests pass --max-tokens 200000",
}


def _refuse_unquoted_words(found: re.Match[str], text: str) -> None:
    """Refuse a command without quotes that words follow: they would become part of the condition."""
    value, words = found["value"] or "", re.split(r"(?:^|\s)--[a-z]", text[found.end() :])[0].strip()
    if words and value[:1] not in QUOTES:
        whole, before = (
            f"{value} {words}".replace('"', "'")[:200],
            text[: found.start()].strip() or "it works",
        )
        raise CommandRefusal(
            f'a command of several words needs quotes: /supervisor:goal {before} --check "{whole}"'
        )


def _refuse_typos(prose: str) -> None:
    """Refuse options that look like misspellings of ours; any others belong to the condition."""
    from difflib import get_close_matches  # noqa: PLC0415 - a typed goal needs it, and no other event

    for found in UNKNOWN_OPTION_PATTERN.finditer(prose):
        meant = get_close_matches(found["name"], OPTION_EXAMPLES, n=1, cutoff=TYPO_SIMILARITY)
        if meant:
            raise CommandRefusal(
                f"there is no --{found['name']}. Did you mean --{meant[0]}? {OPTION_EXAMPLES[meant[0]]}"
            )


def _strip_outer_quotes(text: str) -> str:
    """Remove quotes around the whole text."""
    bare = text[1:-1]
    return bare.strip() if len(text) > 1 and text[0] == text[-1] in QUOTES and text[0] not in bare else text


def _unquote_value(value: str) -> str:
    if value[:1] == '"':
        return re.sub(r'\\(["\\])', r"\1", value[1:-1]).strip()
    return value[1:-1].strip() if value[:1] == "'" else value


def _parse_positive_integer(name: str, value: str) -> int:
    if not value.isascii() or not value.isdigit() or not 1 <= int(value[:12]) <= 10**9:
        raise CommandRefusal(
            f"--{name} takes a whole number of at least 1, not {value[:40]!r}. "
            f"Example: {OPTION_EXAMPLES[name]}"
        )
    return int(value)
