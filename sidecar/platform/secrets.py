"""Masks secrets in texts: values of the session's environment, and others by their form (law 10).

The rules are data: those of gitleaks, converted, and ours (sidecar/data/secrets). A secret without a form is
found next to a name that suggests one; written in base64 or hexadecimal, by what that says.

A text is searched as it reads, without what a screen obeys or does not show; forms are searched once more
with the lines joined, because terminals and tools wrap long tokens. What is found is masked in the text
as it is.
"""

from __future__ import annotations

import re
from base64 import b64decode
from bisect import bisect_right
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.masking import MASK_TEXT, TOKEN, build_secret_mask
from sidecar.kernel.text import CONTROL_CHARACTER, TERMINAL_ESCAPE
from sidecar.platform.data import expand_parts, list_data, load_data

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sidecar.kernel.masking import SecretMask
    from sidecar.kernel.session import Environment

CACHED_TEXTS: Final = 2_048
"""Number of texts whose masked form is cached: at each stop most of a turn has been masked before."""
CACHED_LENGTH: Final = 4_096
"""Maximum characters of such a text."""

_UNSEEN: Final = re.compile(
    f"{TERMINAL_ESCAPE.pattern}|{CONTROL_CHARACTER.pattern}"
    "|[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e01ef]"
)
"""What a screen obeys, and characters without width."""
_WRAP: Final = re.compile(
    r"(?:\n(?<=[\w.+/=-]\n)|\\\n(?<=[\w.+/=-]\\\n))[ \t]{0,8}(?=[A-Za-z_.+/=-]{0,60}?(?:\d|[a-z][A-Z]))",
    re.ASCII,
)
"""A line break, with a backslash or not, at which a token may go on; what follows is no plain word."""
_REST: Final = re.compile(r"[\w=-]*", re.ASCII)
"""The rest of a token, of which a form describes the beginning."""

_PAIR: Final = re.compile(r"[^\s:/]{1,64}:[^\s:/]{4,}")
"""User and password."""

Span = tuple[int, int]


class SecretRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one kind of secret looks like; sidecar/data/secrets/ours.toml describes the fields."""

    id: str
    pattern: str
    keywords: tuple[str, ...] = ("",)


class SecretRules(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of rules: those that know a secret by its form, and those that know what stands beside it.

    `about` says whose they are.
    """

    forms: tuple[SecretRule, ...]
    named: tuple[SecretRule, ...] = ()
    parts: dict[str, str]
    about: tuple[str, ...] = ()


class SecretForms:
    """Implements `SecretDetector`."""

    def masker(self, environment: Environment) -> SecretMask:
        """A function that masks the secrets in a text."""
        by_value = build_secret_mask(environment)
        return lambda text: _mask_secrets(by_value(text))


def _mask_secrets(text: str) -> str:
    return _mask_cached(text) if len(text) <= CACHED_LENGTH else _mask_text(text)


def _mask_text(text: str) -> str:
    forms, named = load_rules()
    read = _View(text, _UNSEEN)
    spans = [*read.find(forms, _REST), *read.find(named), *map(read.span, _find_encoded(read.text))]
    joined = _View(read.text, _WRAP)
    if len(joined.text) < len(read.text):
        spans += map(read.span, joined.find(forms, _REST))
    return _mask_spans(text, spans) if spans else text


_mask_cached = lru_cache(CACHED_TEXTS)(_mask_text)


def _find_encoded(text: str) -> Iterator[Span]:
    return (match.span() for match in TOKEN.finditer(text) if _encodes_secret(match[0]))


def _encodes_secret(token: str) -> bool:
    """Return whether it is base64 or hexadecimal of `user:password`, or of a text that holds a secret."""
    whole = token.replace("-", "+").replace("_", "/") + "=" * (-len(token) % 4)
    for decode, encoded in ((partial(b64decode, validate=True), whole), (bytes.fromhex, token)):
        try:
            said = decode(encoded).decode()
        except ValueError:
            continue
        if said.isprintable() and (_PAIR.fullmatch(said) or _has_secret(said)):
            return True
    return False


def _has_secret(text: str) -> bool:
    view = _View(text, _UNSEEN)
    return any(True for rules in load_rules() for _ in view.find(rules))


def _mask_spans(text: str, spans: Iterable[Span]) -> str:
    parts: list[str] = []
    at = 0
    for start, end in sorted(spans):
        if start >= at:
            parts += (text[at:start], MASK_TEXT)
        at = max(at, end)
    return "".join((*parts, text[at:]))


class _View:
    """A text without what a pattern matches, and the way back from its places to those of the text."""

    def __init__(self, text: str, hidden: re.Pattern[str]) -> None:
        pieces, self._here, self._there = [], [0], [0]
        for match in hidden.finditer(text):
            pieces.append(text[self._there[-1] : match.start()])
            self._here.append(self._here[-1] + len(pieces[-1]))
            self._there.append(match.end())
        self.text = "".join((*pieces, text[self._there[-1] :]))

    def span(self, span: Span) -> Span:
        """Return where a span of this view lies in the text."""
        return self._place(span[0]), self._place(span[1] - 1) + 1

    def _place(self, at: int) -> int:
        piece = bisect_right(self._here, at) - 1
        return self._there[piece] + at - self._here[piece]

    def find(self, rules: Iterable[SecretRule], rest: re.Pattern[str] | None = None) -> Iterator[Span]:
        """Yield where the secrets are in the text; `rest` matches what belongs to a secret after its form."""
        lowered = self.text.replace("\u0130", "i").lower()  # the only character whose lower case is longer
        for rule in rules:
            for line in {line for word in rule.keywords for line in _find_lines(lowered, word)}:
                for match in compile_rule(rule).finditer(self.text, *line):
                    group = next((number for number, found in enumerate(match.groups(), 1) if found), 0)
                    start, end = match.span(group)
                    whole = rest.match(self.text, end) if rest else None
                    yield self.span((start, whole.end() if whole else end))


def _find_lines(lowered: str, keyword: str) -> Iterator[Span]:
    """Yield where the lines are that hold a keyword; the whole text where it is empty."""
    if not keyword:
        yield 0, len(lowered)
        return
    at = lowered.find(keyword)
    while at >= 0:
        end = lowered.find("\n", at)
        end = len(lowered) if end < 0 else end
        yield lowered.rfind("\n", 0, at) + 1, end
        at = lowered.find(keyword, end)


@cache
def load_rules() -> tuple[tuple[SecretRule, ...], tuple[SecretRule, ...]]:
    """Return the rules by form, and those by what stands beside the secret."""
    files = [load_data(f"secrets/{name}", SecretRules) for name in list_data("secrets")]
    return (
        tuple(_expand_rule(rule, file.parts) for file in files for rule in file.forms),
        tuple(_expand_rule(rule, file.parts) for file in files for rule in file.named),
    )


def _expand_rule(rule: SecretRule, parts: dict[str, str]) -> SecretRule:
    return replace(rule, pattern=expand_parts(rule.pattern, parts))


@cache
def compile_rule(rule: SecretRule) -> re.Pattern[str]:
    """Return the pattern of a rule."""
    return re.compile(rule.pattern, re.ASCII | re.MULTILINE)
