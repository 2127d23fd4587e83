"""Takes secrets out of texts: those of the session's environment by value, others by their form (law 10).

The forms are those of the library detect-secrets. Its two detectors of entropy are left out, for they take
digests and ids of commits for secrets, and so is the one of IP addresses. A few forms that it lacks are in
LACKING. What has no form (a password that a person made up) is found only beside a name that says so.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sidecar.policy.masking import MASK, SECRET_NAME, masker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from sidecar.ports import Environment, Mask

LEFT_OUT: Final = frozenset(
    ("Base64 High Entropy String", "Hex High Entropy String", "Public IP (ipv4)", "Secret Keyword")
)
"""Detectors by what they call their finding. The last one is asked apart, for it knows no whole match."""
LACKING: Final = (
    r"\bsk-ant-[\w-]{20,}",  # Anthropic
    r"\bAIza[\w-]{30,}",  # Google
    r"\bgithub_pat_\w{22,}",
    r"\b(?:hf|npm)_[A-Za-z0-9]{30,}",  # Hugging Face, npm
    r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*",  # a JSON web token with its signature
    r"(?i:\bbearer\s+)[\w.~+/=-]{16,}",
    r"(?i:\bbasic\s+)(?=[\w+/]*[\d=])[\w+/=-]{16,}",  # a header of HTTP
    r"(?<=://:)[^\s/@]{1,200}(?=@)",  # a URL with a password and no name
)
SHORTEST: Final = 6
"""Characters of a value that stands beside a name that speaks of a secret."""
WINDOW: Final = 4_000
"""Characters of a line that are looked at together."""
REMEMBERED: Final = 8_192
"""Lines whose secrets are remembered."""

_KEY_BLOCK = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----.*?(?:-----END [^\n]*|\Z)"
    r"|\A[\w+/=\s]{40,}-----END [A-Z0-9 ]{0,40}PRIVATE KEY[^\n]*",  # what a cut left of one
    re.DOTALL,
)
_WORTH = re.compile(
    rf"[\w+/.=-]{{16,}}|://[^\s/:@]{{0,200}}:[^\s/@]{{1,200}}@|{SECRET_NAME.pattern}|PASS|BEGIN ",
    re.IGNORECASE,
)
"""What a line must have before all detectors look at it."""
_NAME = rf"(?P<name>[\w.-]{{0,60}}?(?:{SECRET_NAME.pattern})[\w.-]{{0,60}})"
_NAMED = (
    re.compile(rf"^[+\s-]*(?:export\s+)?{_NAME}\s*[=:]\s*(?P<value>[^\s()]+)$", re.IGNORECASE),
    re.compile(rf"(?<![\w.$-]){_NAME}(?:=|:\s?)(?P<value>[^\s()&;|\"'`,]+)(?=[\s&;|\"'`]|$)", re.IGNORECASE),
)
"""A line of an environment or configuration file, and an assignment, option or header within a line, that
name something secret and have no quotes."""
LONG: Final = 16
"""Characters of a value that is believed beside a name that is neither all capitals nor an option; a digit
must be among them."""


class SecretForms:
    """Implements `Secrets`."""

    def masker(self, environment: Environment) -> Mask:
        """What takes secrets out of a text."""
        by_value = masker(environment)
        return lambda text: _masked(by_value(text))


class _Forms(NamedTuple):
    whole: tuple[re.Pattern[str], ...]
    parts: tuple[Callable[[str], Iterable[str]], ...]
    """Each yields the values in a line."""


def _masked(text: str) -> str:
    if not _WORTH.search(text):
        return text
    text = _KEY_BLOCK.sub(MASK, text)
    return "".join(_line(piece) if _WORTH.search(piece) else piece for piece in _pieces(text))


def _pieces(text: str) -> Iterator[str]:
    """The lines with their ends; one that is too long in pieces, cut at a space where there is one."""
    for line in text.splitlines(keepends=True):
        while len(line) > WINDOW:
            at = line.rfind(" ", WINDOW // 2, WINDOW) + 1 or WINDOW
            yield line[:at]
            line = line[at:]  # noqa: PLW2901 - what is left of it
        yield line


@lru_cache(REMEMBERED)
def _line(line: str) -> str:
    forms = _forms()
    for pattern in forms.whole:
        line = pattern.sub(MASK, line)
    values = {value for part in forms.parts for value in part(line) if MASK not in value}
    for value in sorted(values, key=len, reverse=True):
        line = line.replace(value, MASK)
    return line


@cache
def _forms() -> _Forms:
    from detect_secrets.core.plugins.util import (  # noqa: PLC0415 - a quarter of a second, at the first text
        get_mapping_from_secret_type_to_class,
    )
    from detect_secrets.plugins.basic_auth import BasicAuthDetector  # noqa: PLC0415
    from detect_secrets.plugins.jwt import JwtTokenDetector  # noqa: PLC0415
    from detect_secrets.plugins.keyword import KeywordDetector  # noqa: PLC0415

    apart = (BasicAuthDetector, JwtTokenDetector)
    whole = [re.compile(form) for form in LACKING]
    kinds: dict[str, Any] = get_mapping_from_secret_type_to_class()
    for name, kind in sorted(kinds.items()):
        if name not in LEFT_OUT and not issubclass(kind, apart):
            whole += kind().denylist
    quoted = KeywordDetector().analyze_string
    return _Forms(
        tuple(whole),
        (
            BasicAuthDetector().analyze_string,
            JwtTokenDetector().analyze_string,
            lambda line: (value for value in quoted(line) if len(value) >= SHORTEST),
            _assigned,
        ),
    )


def _assigned(line: str) -> tuple[str, ...]:
    found = (match for pattern in _NAMED for match in pattern.finditer(line.rstrip()))
    return tuple(filter(None, (_value(match["name"], match["value"]) for match in found)))


def _value(name: str, written: str) -> str:
    """The value that such a name is given, "" where it does not look like a secret."""
    value = written.strip("\"',;")
    sure = name.isupper() or name.startswith("-")
    plain = name.isupper() or any(map(str.isdigit, value))
    return value if plain and len(value) >= (SHORTEST if sure else LONG) and value[0] not in "$<[{" else ""
