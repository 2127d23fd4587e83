"""Masks the session's secrets in what was recorded, before anything else sees it (law 10).

A secret is the value of an environment variable whose name says so, words without grammar, and each part of a
value that looks drawn at random. Secrets that are not in the session's environment are not recognized here.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.effects import Continue, JudgeCase, Rest, Ruling
from sidecar.kernel.evidence import Evidence
from sidecar.kernel.gate import CheckComparison, CheckTrial, GateRun
from sidecar.kernel.turn import CommandRun, Turn

SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|COOKIE", re.IGNORECASE)
MIN_SECRET_LENGTH = 8
"""Minimum characters of a secret; a shorter value cannot be told from ordinary words."""
MIN_RANDOM_LENGTH: Final = 13
MASK_TEXT = "[masked]"
TOKEN: Final = re.compile(r"(?<![\w+/~-])(?=[a-z_/~-]*[A-Z\d+])[\w+/~-]{13,8000}={0,2}", re.ASCII)
"""What may have been drawn at random: a word of over twelve characters, of base64 and hexadecimal too."""
CHANGES_NAMED: Final = 0.25
"""Changes of digits, capitals and small letters: 0.30 (base32) to 0.47 (hexadecimal) in drawn characters,
less than 0.2 in names of files, versions and dates."""
CHANGES_ALONE: Final = 0.3
"""The same, where nothing says that a word is a secret."""
HEXADECIMAL: Final = re.compile("0x[0-9a-fA-F]+|[0-9a-f]+|[0-9A-F]+")
"""Digests, commits and addresses: secrets only where something says so."""
PHRASE: Final = re.compile(r"[a-z]{3,12}(?: [^\W\d_]{3,12}){3,11}")
"""Words without grammar, as they are drawn for a password."""
COMMIT: Final = re.compile("[0-9a-f]{40}")
"""What CI tells in a variable, and a judge must be able to read."""

S = TypeVar("S", bound=Struct)

SecretMask = Callable[[str], str]
"""Returns a text with its secrets masked."""


def looks_random(token: str, length: int = MIN_RANDOM_LENGTH, changes: float = CHANGES_NAMED) -> bool:
    """Return whether a token has digits and letters in the disorder of drawn characters."""
    kinds = [(one.isdigit(), one.isupper()) for one in token if one.isascii() and one.isalnum()]
    changed = sum(one != other and not (one[1] and not any(other)) for one, other in pairwise(kinds))
    drawn = len(kinds) >= length and any(digit for digit, _ in kinds)
    return drawn and changed >= len(kinds) * changes and not COMMIT.fullmatch(token)


def looks_drawn(word: str) -> bool:
    """Return whether a word of letters and digits is no name, number or digest, wherever it stands."""
    length = 16 if word.islower() or word.isupper() else 12
    return not HEXADECIMAL.fullmatch(word) and looks_random(word, length, CHANGES_ALONE)


def _secrets_in(variables: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, value in variables:
        if (SECRET_NAME.search(name) and len(value) >= MIN_SECRET_LENGTH) or PHRASE.fullmatch(value):
            yield value
        if not value.startswith(("/", "~", ".")):  # a path has no part that looks drawn
            yield from filter(looks_random, TOKEN.findall(value))


def _write_forms(secret: str) -> tuple[str, ...]:
    """Return a secret, and how base64 and hexadecimal write it."""
    encoded = secret.encode(errors="replace")
    return secret, b64encode(encoded).decode().rstrip("="), encoded.hex()


def build_secret_mask(environment: Mapping[str, str]) -> SecretMask:
    """Return a function that masks the secrets of this environment in a text."""
    return _build_mask(frozenset(environment.items()))


@lru_cache(maxsize=64)  # each stop asks for its own several times
def _build_mask(variables: frozenset[tuple[str, str]]) -> SecretMask:
    values = {form for secret in _secrets_in(variables) for form in _write_forms(secret)}
    if not values:
        return str
    pattern = re.compile("|".join(re.escape(value) for value in sorted(values, key=len, reverse=True)))
    return lambda text: pattern.sub(MASK_TEXT, text)


def _mask_fields(value: S, mask: SecretMask, *names: str) -> S:
    """Mask secrets in these fields: texts, or tuples of texts."""
    texts = {name: getattr(value, name) for name in names}
    return replace(
        value,
        **{name: mask(was) if isinstance(was, str) else tuple(map(mask, was)) for name, was in texts.items()},
    )


def mask_turn(turn: Turn, mask: SecretMask) -> Turn:
    """Mask secrets in the messages, commands and outputs of a turn."""
    turn = replace(
        turn,
        todos=tuple(_mask_fields(todo, mask, "text") for todo in turn.todos),
        planned=tuple(_mask_fields(task, mask, "text") for task in turn.planned),
        calls=tuple(
            _mask_fields(
                replace(call, runs=tuple(_mask_command_run(run, mask) for run in call.runs)),
                mask,
                "command",
                "output",
            )
            for call in turn.calls
        ),
    )
    return _mask_fields(turn, mask, "prompts", "last_message", "stuck", "native_goal")


def _mask_command_run(run: CommandRun, mask: SecretMask) -> CommandRun:
    return _mask_fields(replace(run, argv=_mask_words(run.argv, mask)), mask, "text", "assignments")


def _mask_words(words: tuple[str, ...], mask: SecretMask) -> tuple[str, ...]:
    """Mask secrets in words that belong together: an option says of the next word that it is one."""
    if (line := mask(whole := " ".join(words))) == whole:
        return words
    masked = ((word, mask(word)) for word in words)
    return tuple(word if word in line else (alone if alone != word else MASK_TEXT) for word, alone in masked)


def mask_case(case: JudgeCase, mask: SecretMask) -> JudgeCase:
    """Mask secrets in every part of a case except the rubric, which the user wrote."""
    edits = tuple(_mask_fields(edit, mask, "path", "old_path", "hunks") for edit in case.edits)
    case = replace(case, edits=edits, evidence=_mask_evidence(case.evidence, mask))
    return _mask_fields(case, mask, "condition", "suspicion", "prompts", "last_message", "edits_unseen")


def _mask_evidence(evidence: tuple[Evidence, ...], mask: SecretMask) -> tuple[Evidence, ...]:
    return tuple(_mask_fields(one, mask, "fact", "detail") for one in evidence)


def mask_ruling(ruling: Ruling, mask: SecretMask) -> Ruling:
    """Mask secrets in what the agent and the user are told about a stop."""
    if isinstance(ruling, Rest):
        return _mask_fields(ruling, mask, "detail", "note")
    said = replace(ruling.feedback, evidence=_mask_evidence(ruling.feedback.evidence, mask))
    said = _mask_fields(said, mask, "condition", "missing", "next_step")
    return Continue(feedback=said, note=mask(ruling.note))


def mask_gate_run(run: GateRun, mask: SecretMask) -> GateRun:
    """Mask secrets in the output of a gate run. Its command stays: the user or the project wrote it."""
    return _mask_fields(run, mask, "output", "failures", "failing", "noticed", "reason")


T = TypeVar("T", CheckComparison, CheckTrial)


def mask_gate_runs_in(seen: T, mask: SecretMask) -> T:
    """Mask secrets in every run of a comparison or of a trial."""
    runs = {name: run for name in seen.__struct_fields__ if isinstance(run := getattr(seen, name), GateRun)}
    return replace(seen, **{name: mask_gate_run(run, mask) for name, run in runs.items()})


def mask_texts(value: Any, mask: SecretMask) -> Any:  # noqa: ANN401 - what msgspec makes of a Struct or of JSON
    """Mask each text of a JSON value; in its encoded form, a mask could reach beyond a text."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, list | tuple):
        return [mask_texts(each, mask) for each in value]
    if isinstance(value, dict):
        return {name: mask_texts(each, mask) for name, each in value.items()}
    return value
