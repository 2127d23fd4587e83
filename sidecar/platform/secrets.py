"""Masks secrets in texts: values of the session's environment, and others by their form (law 10).

The rules are data: those of gitleaks, converted, and ours (sidecar/data/secrets). A secret without a form is
found beside or below a name that suggests one, or because it can only be drawn at random; written in base64
or hexadecimal, by what that says. What was found is masked wherever else the text holds it.

A text is searched as it reads, without what a screen obeys or does not show; forms are searched once more
with the lines joined, because terminals and tools wrap long tokens. What is found is masked in the text
as it is.
"""

from __future__ import annotations

import re
from base64 import b64decode
from bisect import bisect_right
from functools import cache, lru_cache, partial, reduce
from itertools import chain
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.masking import MASK_TEXT, TOKEN, build_secret_mask, looks_drawn, looks_random
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

_BORDERS: Final = tuple(map(re.compile, ("[|]", ";", ",", "\t", r"(?<=\S) {2,}(?=\S)")))
"""What stands between the columns of a table."""
_HEAD_END: Final = re.compile(r"""[\w ]{0,20}["`*]{0,2}[ \t]*(?:[|;,\t\n]| {2}|$)""")
"""The rest of the head of a column."""
_TELLING: Final = re.compile(r"(?=\D*\d).{8,}")
"""A secret that is one wherever else a text holds it."""
_PAIR: Final = re.compile(r"[^\s:/]{1,64}:[^\s:/]{4,}")
"""User and password."""
_WORD: Final = re.compile(r"[A-Za-z0-9+]{12,}(?![A-Za-z0-9+]|\.[a-z][a-z\d]{1,4}\b)")
"""What of a token may have been drawn; the name of a file is no secret."""
_PUBLIC: Final = re.compile(r"_[ZR]|AAAA|MIIBIj|/nix/|(?i:sha\d+-)|.{64}\Z|(?<!=)(?:.{27}|.{43}|.{86}=)=\Z")
"""What is drawn and no secret: names of the linker, public keys, digests, lines of a certificate."""
_LABEL: Final = re.compile(
    r"""(?i)(?:\b(?:sha-?\d*|md5|h1|crc\w+)[:=]|(?<!session)(?<!session[_-])(?<![a-z]s)(?:id|etag|weak|digest"""
    r"""|checksum|fingerprint|hash|version|boundary|"[xyn])\W{1,24}(?:W/")?|base64,)\Z"""
)
"""What stands before a digest or the name of a thing."""

Span = tuple[int, int]


class SecretRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one kind of secret looks like; sidecar/data/secrets/ours.toml describes the fields."""

    id: str
    pattern: str
    keywords: tuple[str, ...] = ("",)
    after: bool = False
    column: bool = False
    random: bool = False


class SecretRules(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of rules: those that know a secret by its form, and those that know what stands beside it.

    `about` says whose they are.
    """

    forms: tuple[SecretRule, ...]
    named: tuple[SecretRule, ...] = ()
    words: dict[str, tuple[str, ...]] = {}
    parts: dict[str, str]
    about: tuple[str, ...] = ()


RulesByKeyword = dict[str, list[SecretRule]]


class SecretForms:
    """Implements `SecretDetector`."""

    def masker(self, environment: Environment) -> SecretMask:
        """A function that masks the secrets in a text."""
        by_value = build_secret_mask(environment)
        return lambda text: _mask_secrets(by_value(text))


def _mask_secrets(text: str) -> str:
    return _mask_cached(text) if len(text) <= CACHED_LENGTH else _mask_text(text)


def _mask_text(text: str) -> str:
    forms, named = _index_rules()
    read = _View(text, (gap.span() for gap in _UNSEEN.finditer(text)))
    spans = [*read.find(forms, _REST), *read.find(named), *map(read.span, _find_tokens(read.text))]
    joined = _View(read.text, _find_wraps(read.text))
    spans += map(read.span, joined.find(forms, _REST) if joined.text else ())
    again = filter(_TELLING.fullmatch, sorted({text[start:end] for start, end in spans}, key=len)[:-100:-1])
    return reduce(lambda masked, value: masked.replace(value, MASK_TEXT), again, _mask_spans(text, spans))


_mask_cached = lru_cache(CACHED_TEXTS)(_mask_text)


def _find_wraps(text: str) -> Iterator[Span]:
    """Yield the breaks within lines that wrap, and all other lines."""
    last = 0
    for wrap in _WRAP.finditer(text):
        if (start := text.rfind("\n", 0, wrap.start()) + 1) > last:
            yield last, start - 1
        yield wrap.span()
        last = _find_end(text, wrap.end())
    yield last, len(text)


def _find_tokens(text: str) -> Iterator[Span]:
    """Yield where tokens are that encode a secret, or hold what was drawn at random."""
    for match in TOKEN.finditer(text):
        start, end = match.span()
        said = _decode(match[0])
        if said and (_PAIR.fullmatch(said) or _has_secret(said)):
            yield start, end
        elif not said or (" " not in said and any(map(str.isdigit, said))):
            drawn = [word.span() for word in _WORD.finditer(text, start, end + 6) if looks_drawn(word[0])]
            if drawn and not (
                _PUBLIC.match(text, start, end) or _LABEL.search(text, max(0, start - 40), start)
            ):
                yield from drawn


def _decode(token: str) -> str:
    """Return the text of which a token is the base64 or hexadecimal; nothing where it is none."""
    if token.islower() and token.strip("0123456789abcdef"):
        return ""
    whole = token.replace("-", "+").replace("_", "/") + "=" * (-len(token) % 4)
    for decode, encoded in ((partial(b64decode, validate=True), whole), (bytes.fromhex, token)):
        try:
            said = decode(encoded).decode().strip()
        except ValueError:
            continue
        if said.isprintable():
            return said
    return ""


def _has_secret(text: str) -> bool:
    found = chain.from_iterable(map(_View(text, ()).find, _index_rules()))
    return any(True for _ in found) or any(map(looks_drawn, _WORD.findall(text)))


def _mask_spans(text: str, spans: Iterable[Span]) -> str:
    parts: list[str] = []
    at = 0
    for start, end in sorted(spans):
        if start >= at:
            parts += (text[at:start], MASK_TEXT)
        at = max(at, end)
    return "".join((*parts, text[at:]))


class _View:
    """A text without its gaps, and the way back from its places to those of the text."""

    def __init__(self, text: str, gaps: Iterable[Span]) -> None:
        pieces, self._here, self._there = [], [0], [0]
        for start, end in gaps:
            pieces.append(text[self._there[-1] : start])
            self._here.append(self._here[-1] + len(pieces[-1]))
            self._there.append(end)
        self.text = "".join((*pieces, text[self._there[-1] :]))

    def span(self, span: Span) -> Span:
        """Return where a span of this view lies in the text."""
        return self._place(span[0]), self._place(span[1] - 1) + 1

    def _place(self, at: int) -> int:
        piece = bisect_right(self._here, at) - 1
        return self._there[piece] + at - self._here[piece]

    def find(self, rules: RulesByKeyword, rest: re.Pattern[str] | None = None) -> Iterator[Span]:
        """Yield where the secrets are in the text; `rest` matches what belongs to a secret after its form."""
        lowered = self.text.replace("\u0130", "i").lower()  # the only character whose lower case is longer
        ends = cache(lambda word: [at.end() for at in re.finditer(re.escape(word), lowered)])
        there = {word: rules[word] for word in rules if word in lowered}
        for rule in dict.fromkeys(chain.from_iterable(there.values())):
            pattern, words = compile_rule(rule), filter(there.__contains__, rule.keywords)
            if rule.after:
                places: Iterable[int] = chain.from_iterable(map(ends, words))
                places = self._find_cells(places) if rule.column else places
                found = filter(None, (pattern.match(self.text, at) for at in places))
            else:
                lines = {line for word in words for line in _find_lines(lowered, word)}
                found = filter(None, chain.from_iterable(pattern.finditer(self.text, *at) for at in lines))
            for match in found:
                group = next((number for number, part in enumerate(match.groups(), 1) if part), 0)
                start, end = match.span(group)
                whole = rest.match(self.text, end) if rest else None
                if not rule.random or looks_random(match[group], 8):
                    yield self.span((start, whole.end() if whole else end))

    def _find_cells(self, places: Iterable[int]) -> Iterator[int]:
        """Yield where the cells of tables begin, below the heads in which a word ends in these places."""
        last = 0
        for at in sorted(places):
            for border in _BORDERS if at >= last and _HEAD_END.match(self.text, at) else ():
                start, end = self.text.rfind("\n", 0, at) + 1, _find_end(self.text, at)
                heads, row, below = [mark.end() for mark in border.finditer(self.text, start, end)], end, end
                while heads and heads[0] < end and below < len(self.text):
                    row, below = below + 1, _find_end(self.text, below + 1)
                    cells = [row, *(mark.end() for mark in border.finditer(self.text, row, below))]
                    if len(cells) == len(heads) + 1:
                        yield cells[bisect_right(heads, at)]
                    elif self.text[row:below].strip("-+ ") or row == below:
                        break
                last = max(last, row)


def _find_end(text: str, at: int) -> int:
    """Return where the line ends."""
    return len(text) if (end := text.find("\n", at)) < 0 else end


def _find_lines(lowered: str, keyword: str) -> Iterator[Span]:
    """Yield where the lines are that hold a keyword; the whole text where it is empty."""
    if not keyword:
        yield 0, len(lowered)
        return
    at = lowered.find(keyword)
    while at >= 0:
        end = _find_end(lowered, at)
        yield lowered.rfind("\n", 0, at) + 1, end
        at = lowered.find(keyword, end)


@cache
def load_rules() -> tuple[tuple[SecretRule, ...], tuple[SecretRule, ...]]:
    """Return the rules by form, and those by what stands beside the secret."""
    files = [load_data(f"secrets/{name}", SecretRules) for name in list_data("secrets")]
    return (
        tuple(_expand_rule(rule, file) for file in files for rule in file.forms),
        tuple(_expand_rule(rule, file) for file in files for rule in file.named),
    )


@cache
def _index_rules() -> tuple[RulesByKeyword, ...]:
    """Return both kinds of rules by their keywords: most texts hold none of a rule's."""
    kinds: tuple[RulesByKeyword, ...] = ({}, {})
    for index, rules in zip(kinds, load_rules(), strict=True):
        for rule in rules:
            for word in rule.keywords:
                index.setdefault(word, []).append(rule)
    return kinds


def _expand_rule(rule: SecretRule, file: SecretRules) -> SecretRule:
    keywords = chain.from_iterable(file.words.get(word, (word,)) for word in rule.keywords)
    return replace(rule, pattern=expand_parts(rule.pattern, file.parts), keywords=tuple(keywords))


@cache
def compile_rule(rule: SecretRule) -> re.Pattern[str]:
    """Return the pattern of a rule."""
    return re.compile(rule.pattern, re.ASCII | re.MULTILINE)
