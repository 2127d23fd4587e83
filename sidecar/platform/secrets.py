"""Masks secrets in texts: values of the session's environment, and others by their format (law 10).

The formats come from the library detect-secrets. Its two entropy detectors are left out, because they mistake
digests and commit ids for secrets, and so is its detector of IP addresses. A few formats that it lacks are in
EXTRA_SECRET_FORMS. A secret without a format (a password that a person made up) is found only next to a name
that suggests a secret.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sidecar.kernel.masking import MASK_TEXT, SECRET_NAME, build_secret_mask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from sidecar.kernel.masking import SecretMask
    from sidecar.kernel.session import Environment


SKIPPED_DETECTORS: Final = frozenset(
    ("Base64 High Entropy String", "Hex High Entropy String", "Public IP (ipv4)", "Secret Keyword")
)
"""Detectors that are skipped, by the name of their finding. The last one is called separately, because its
patterns match more than the secret itself."""
EXTRA_SECRET_FORMS: Final = (
    r"\bsk-ant-[\w-]{20,}",  # Anthropic
    r"\bAIza[\w-]{30,}",  # Google
    r"\bgithub_pat_\w{22,}",
    r"\b(?:hf|npm)_[A-Za-z0-9]{30,}",  # Hugging Face, npm
    r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*",  # a JSON web token with its signature
    r"(?i:\bbearer\s+)[\w.~+/=-]{16,}",
    r"(?i:\bbasic\s+)(?=[\w+/]*[\d=])[\w+/=-]{16,}",  # an HTTP header
    r"(?<=://:)[^\s/@]{1,200}(?=@)",  # a URL with a password and no name
)
SHORTEST_SECRET: Final = 6
"""Minimum characters of a secret next to a name that suggests a secret."""
LINE_WINDOW: Final = 4_000
"""Maximum characters of a line that are searched together."""
CACHED_LINES: Final = 8_192
"""Number of lines whose masked form is cached."""

_KEY_BLOCK = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----.*?(?:-----END [^\n]*|\Z)"
    r"|\A[\w+/=\s]{40,}-----END [A-Z0-9 ]{0,40}PRIVATE KEY[^\n]*",  # one whose beginning was cut off
    re.DOTALL,
)
_WORTH = re.compile(
    rf"[\w+/.=-]{{16,}}|://[^\s/:@]{{0,200}}:[^\s/@]{{1,200}}@|{SECRET_NAME.pattern}|PASS|BEGIN ",
    re.IGNORECASE,
)
"""What a line must contain before all detectors search it."""
_NAME = rf"(?P<name>[\w.-]{{0,60}}?(?:{SECRET_NAME.pattern})[\w.-]{{0,60}})"
_NAMED = (
    re.compile(rf"^[+\s-]*(?:export\s+)?{_NAME}\s*[=:]\s*(?P<value>[^\s()]+)$", re.IGNORECASE),
    re.compile(rf"(?<![\w.$-]){_NAME}(?:=|:\s?)(?P<value>[^\s()&;|\"'`,]+)(?=[\s&;|\"'`]|$)", re.IGNORECASE),
)
"""Unquoted values with a name that suggests a secret: a whole line of an environment or configuration file,
and an assignment, option or header within a line."""
LONG_SECRET: Final = 16
"""Minimum characters of a secret whose name is neither all capitals nor an option; it needs a digit too."""


class SecretForms:
    """Implements `SecretDetector`."""

    def masker(self, environment: Environment) -> SecretMask:
        """A function that masks the secrets in a text."""
        by_value = build_secret_mask(environment)
        return lambda text: _mask_secrets(by_value(text))


class _Forms(NamedTuple):
    whole: tuple[re.Pattern[str], ...]
    parts: tuple[Callable[[str], Iterable[str]], ...]
    """Functions that yield the secret values in a line."""


def _mask_secrets(text: str) -> str:
    if not _WORTH.search(text):
        return text
    text = _KEY_BLOCK.sub(MASK_TEXT, text)
    return "".join(_mask_line(piece) if _WORTH.search(piece) else piece for piece in _split_pieces(text))


def _split_pieces(text: str) -> Iterator[str]:
    """The lines with their line ends; a line that is too long is split, at a space if there is one."""
    for line in text.splitlines(keepends=True):
        while len(line) > LINE_WINDOW:
            at = line.rfind(" ", LINE_WINDOW // 2, LINE_WINDOW) + 1 or LINE_WINDOW
            yield line[:at]
            line = line[at:]  # noqa: PLW2901 - what is left of it
        yield line


@lru_cache(CACHED_LINES)
def _mask_line(line: str) -> str:
    forms = _load_secret_forms()
    for pattern in forms.whole:
        line = pattern.sub(MASK_TEXT, line)
    values = {value for part in forms.parts for value in part(line) if MASK_TEXT not in value}
    for value in sorted(values, key=len, reverse=True):
        line = line.replace(value, MASK_TEXT)
    return line


@cache
def _load_secret_forms() -> _Forms:
    from detect_secrets.core.plugins.util import (  # noqa: PLC0415 - a quarter of a second, at the first text
        get_mapping_from_secret_type_to_class,
    )
    from detect_secrets.plugins.basic_auth import BasicAuthDetector  # noqa: PLC0415
    from detect_secrets.plugins.jwt import JwtTokenDetector  # noqa: PLC0415
    from detect_secrets.plugins.keyword import KeywordDetector  # noqa: PLC0415

    apart = (BasicAuthDetector, JwtTokenDetector)
    whole = [re.compile(form) for form in EXTRA_SECRET_FORMS]
    kinds: dict[str, Any] = get_mapping_from_secret_type_to_class()
    for name, kind in sorted(kinds.items()):
        if name not in SKIPPED_DETECTORS and not issubclass(kind, apart):
            whole += kind().denylist
    quoted = KeywordDetector().analyze_string
    return _Forms(
        tuple(whole),
        (
            BasicAuthDetector().analyze_string,
            JwtTokenDetector().analyze_string,
            lambda line: (value for value in quoted(line) if len(value) >= SHORTEST_SECRET),
            _assigned_secrets,
        ),
    )


def _assigned_secrets(line: str) -> tuple[str, ...]:
    found = (match for pattern in _NAMED for match in pattern.finditer(line.rstrip()))
    return tuple(filter(None, (_secret_value(match["name"], match["value"]) for match in found)))


def _secret_value(name: str, written: str) -> str:
    """The value given to such a name, "" if it does not look like a secret."""
    value = written.strip("\"',;")
    sure = name.isupper() or name.startswith("-")
    plain = name.isupper() or any(map(str.isdigit, value))
    return (
        value
        if plain and len(value) >= (SHORTEST_SECRET if sure else LONG_SECRET) and value[0] not in "$<[{"
        else ""
    )
