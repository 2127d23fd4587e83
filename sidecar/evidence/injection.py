"""Finds text that is addressed to a judge, and tells of it. Pure; the patterns are in data/injection.toml.

Finding it is not what protects a verdict: foreign text is quoted (judging/backends/quoting.py), and a verdict
counts only where evidence carries it (judging/verdicts.py). What is found here becomes evidence that speaks
against being done. Where it is by the worker's own hand, and no check decides the goal, a person must look.
It is never a reason to send an agent back.

Looked at is all that the worker wrote, ran or was shown and that reaches the judge. A text is read without
colours and invisible characters, with look-alike letters as the Latin ones, escapes resolved, and what is
encoded in base64 or hex decoded, one level deep. Of that only the words are left, with bars between
sentences.
"""

from __future__ import annotations

import binascii
import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.message import QUOTED
from sidecar.kernel.events import ProjectState
from sidecar.kernel.evidence import Evidence, EvidenceStrength, FileDiff, Source
from sidecar.kernel.gate import GateRun
from sidecar.kernel.turn import ToolAction, ToolCall, Turn
from sidecar.platform.data import load_data

TEXT_LIMIT: Final = 24_000
"""Characters of one text that are looked at, half from each end: more than a judge is shown of it."""
FOUND_LIMIT: Final = 10
"""Places that are told one by one."""
READABLE: Final = 0.9
"""The share of a decoded run's characters that must be printable for it to be text."""

SHOWN: Final = re.compile(rf"{QUOTED.pattern}|^[ \t]*\|[^\n]*", QUOTED.flags)
"""What a message only shows: code, quotations and tables."""
TERMINAL_ESCAPE: Final = re.compile(
    r"\x1b(?:\[[0-?]{0,40}[ -/]{0,8}[@-~]|[\]PX^_]|[ -/]{0,4}[0-~])|[\x00-\x08\x0e-\x1f\x7f]"
)
"""Colours and control characters; of titles and links only the introducer, for what they say is read."""
ESCAPED: Final = re.compile(r"\\u\{?([0-9a-fA-F]{4,5})\}?|\\x([0-9a-fA-F]{2})|%([0-9a-fA-F]{2})|&#(\d{2,6});")
BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{20,8000}={0,2}")
HEX: Final = re.compile(r"(?:(?:0x|\\x)?[0-9a-fA-F]{2}[ ,:]?){16,4000}")
SENTENCE_END: Final = re.compile(r"[.!?;](?=\s|$)|[\u3002\uff1f\uff01]|\n\s*\n")
CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
TAG_LETTERS: Final = {0xE0000 + code: chr(code) for code in range(0x20, 0x7F)}
"""Characters that no screen shows and that a model reads as these."""
UNSEEN: Final = frozenset({"Cf", "Cc", "Cn", "Co", "Cs", "Mn", "Me"})
"""Unicode categories of what is not seen by itself: format and control characters, accents."""


class Pattern(Struct, frozen=True, forbid_unknown_fields=True):
    """`always`: odd even where such text stands in the user's own words."""

    name: str
    pattern: str
    always: bool = False


class InjectionTable(Struct, frozen=True, forbid_unknown_fields=True):
    """data/injection.toml."""

    words: dict[str, str]
    patterns: tuple[Pattern, ...]
    confusables: dict[str, str]


class Place(Struct, frozen=True):
    """A text that may reach the judge, and where it stands.

    `own`: by the worker's own hand. `said`: the worker says it itself; it is no content of files or outputs.
    """

    where: str
    text: str
    own: bool = True
    name: bool = False
    said: bool = False


def find_injections(
    turn: Turn, calls: Iterable[ToolCall], runs: Iterable[GateRun], project_state: ProjectState
) -> Iterator[Evidence]:
    """Return a fact for each place where text addressed to a judge stands. `calls`: those that are evidence.

    What the worker plainly says itself weighs as a failed check does. What only stands in a file, a name or
    an output, or only speaks of a judge, weighs less, for a project may be about such things.
    """
    found = dict[str, tuple[str, Place]]()
    for place in _places(turn, calls, runs, project_state):
        text = CAMEL.sub(" ", place.text) if place.name else place.text
        plain = place.said and find_addressed_text(text, always=True)
        hit = plain or find_addressed_text(text)
        here = replace(place, said=bool(plain))
        if hit and (place.where not in found or _rank(here) > _rank(found[place.where][1])):
            found[place.where] = (hit, here)
    ordered = sorted(found.items(), key=lambda one: _rank(one[1][1]), reverse=True)
    for where, (hit, place) in ordered[:FOUND_LIMIT]:
        yield Evidence(
            source=Source.STEERING,
            fact=f"text addressed to the judge was found in {where}: {hit}",
            bad=True,
            own=place.own,
            worth=EvidenceStrength.CHECK if place.said else EvidenceStrength.WORK,
        )


def addresses_judge(fact: Evidence, asked: Iterable[str]) -> bool:
    """Whether a fact is text that is meant for the judge. `asked`: the user's own words.

    Where such text stands in these, it is what the work is about: then only what the worker says itself, and
    not in quotation marks, is meant for the judge.
    """
    if fact.source is not Source.STEERING or fact.stale:
        return False
    return fact.worth is EvidenceStrength.CHECK or not any(map(find_addressed_text, asked))


def find_addressed_text(text: str, *, always: bool = False) -> str:
    """Say what in a text is addressed to a judge, by the name of the pattern; "" where nothing is.

    It is not quoted: a secret beside it would get past masking. `always`: only what is odd whatever the work
    is about.
    """
    if len(text) > TEXT_LIMIT:
        text = f"{text[: TEXT_LIMIT // 2]}\n\n{text[-TEXT_LIMIT // 2 :]}"
    return _find_addressed(text, always=always)


@lru_cache(maxsize=128)
def _find_addressed(text: str, *, always: bool) -> str:
    """Find it in a text of at most TEXT_LIMIT; one stop reads the same texts several times."""
    for reading in (text, _decoded(text)):
        words = _words(reading)
        for name, pattern in _patterns(always=always):
            if pattern.search(words):
                return name
    return ""


def _rank(place: Place) -> tuple[bool, bool]:
    return place.own, place.said


# --- where such text can stand ------------------------------------------------------------------------------


def _places(
    turn: Turn, calls: Iterable[ToolCall], runs: Iterable[GateRun], project_state: ProjectState
) -> Iterator[Place]:
    yield Place("the last message", SHOWN.sub(" ", turn.last_message), said=True)
    yield Place("the last message", turn.last_message)
    for call in calls:
        yield from _places_of_call(call)
    yield from (Place("the agent's own list of to-dos", todo.text, said=True) for todo in turn.todos)
    noted = (*(task.text for task in turn.planned), *turn.stuck)
    yield from (Place("the agent's journal", text, said=True) for text in noted)
    for edit in project_state.edits:
        yield from _places_of_edit(edit)
    for finding in project_state.findings:
        yield Place("the name of a changed file", finding.file, name=True)
        yield Place("a change to the checks", finding.after)
        yield Place("a change to the checks", finding.before, own=False)
    if project_state.repository is not None:
        yield Place("the name of a branch", project_state.repository.branch, name=True)
        yield Place("the name of a branch", project_state.repository.upstream, name=True)
    for run in runs:
        yield Place("the output of a check", "\n".join((*run.failures, run.output, run.reason)), own=False)


def _places_of_call(call: ToolCall) -> Iterator[Place]:
    if call.doing is ToolAction.RUN:
        commits = "git commit" in call.command or "git tag" in call.command
        yield Place("a commit message" if commits else "a command", call.command, said=commits)
        yield Place("the output of the agent's own run", call.output)
    yield from (Place("the name of a changed file", path, name=True) for path in call.paths)


def _places_of_edit(edit: FileDiff) -> Iterator[Place]:
    """What was added is the worker's; what was there before, or was taken away, need not be."""
    yield Place("the name of a changed file", edit.path, name=True)
    yield Place("the name of a changed file", edit.old_path, own=False, name=True)
    lines = edit.hunks.splitlines()
    where = f"an edit of {edit.path[:120]}"
    yield Place(where, "\n".join(line[1:] for line in lines if line.startswith("+")))
    yield Place(where, "\n".join(line[1:] for line in lines if line.startswith((" ", "-"))), own=False)


# --- how a text is read -------------------------------------------------------------------------------------


def _words(text: str) -> str:
    """Return the words of a text as a reader takes them in: small letters, bars between sentences."""
    text = ESCAPED.sub(_unescape, TERMINAL_ESCAPE.sub("", text.replace("|", " ")))
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text.translate(TAG_LETTERS))
        text = "".join(char for char in text if char.isascii() or unicodedata.category(char) not in UNSEEN)
        text = text.casefold().translate(_confusables())
    text = SENTENCE_END.sub(" | ", text.casefold())
    return " ".join(re.sub(r"[^\w|]+|_", " ", text).split())


def _unescape(found: re.Match[str]) -> str:
    code, byte, percent, entity = found.groups()
    number = int(entity) if entity else int(code or byte or percent, 16)
    return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else found[0]  # noqa: PLR2004 - Unicode


def _decoded(text: str) -> str:
    """Return what the encoded runs of a text say, one paragraph each."""
    joined = re.sub(r"(?<=[A-Za-z0-9+/_-]{40})\n[ \t>#+-]{0,4}", "", text)
    return "\n\n".join(
        (
            *(_readable(bytes.fromhex(re.sub(r"0x|\\x|[ ,:]", "", run[0]))) for run in HEX.finditer(text)),
            *(_readable(_from_base64(run[0])) for run in BASE64.finditer(joined)),
        )
    )


def _from_base64(run: str) -> bytes:
    digits = run.rstrip("=").replace("-", "+").replace("_", "/")
    return binascii.a2b_base64(digits[: len(digits) // 4 * 4])


def _readable(raw: bytes) -> str:
    """Return what bytes say; "" where it is not text."""
    text = raw.decode("utf-8", "ignore")
    good = sum(char.isprintable() or char.isspace() for char in text)
    return text if good >= READABLE * max(len(text), len(raw) // 3) else ""


# --- the table ----------------------------------------------------------------------------------------------


def _table() -> InjectionTable:
    return load_data("injection", InjectionTable)


@cache
def _patterns(*, always: bool) -> tuple[tuple[str, re.Pattern[str]], ...]:
    words = _table().words

    def filled(pattern: str) -> str:
        for name, text in words.items():
            pattern = pattern.replace(f"{{{name}}}", text)
        return pattern

    return tuple(
        (one.name, re.compile(filled(one.pattern))) for one in _table().patterns if one.always or not always
    )


@cache
def _confusables() -> dict[int, str]:
    return {
        ord(letter): latin
        for letters, latins in _table().confusables.items()
        for letter, latin in zip(letters, latins, strict=True)
    }
