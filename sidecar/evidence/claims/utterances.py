"""What a last message claims, of the few kinds that a fact can decide.

Precision first (law 8): better a claim missed than one that was not made. A clause that denies, plans, asks,
quotes or tells of others claims nothing. The wording is English, in data/claims.toml, and may only shrink.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Final

from msgspec import Struct

from sidecar.evidence.message import (
    BLOCKS,
    CLAUSE,
    EMPHASIS,
    HEADING,
    OPEN_ITEM,
    QUOTED,
    ends_in_question,
    split_sentences,
)
from sidecar.kernel.evidence import ClaimKind
from sidecar.platform.data import expand_parts, load_data

MESSAGE_LIMIT: Final = 20_000
"""Characters of a message that are read, from its end."""
SENTENCE_LIMIT: Final = 1000
"""Characters; what is longer is no sentence, and what its end takes back cannot be told."""
CLAIMS_LIMIT: Final = 30
TEXT_LIMIT: Final = 300
"""Characters of a sentence that are kept."""
CHECK_KINDS: Final = frozenset(
    {ClaimKind.TESTS_PASS, ClaimKind.BUILD_CLEAN, ClaimKind.TYPES_CLEAN, ClaimKind.LINT_CLEAN}
)
FILE_KINDS: Final = frozenset({ClaimKind.FILE_CREATED, ClaimKind.FILE_DELETED, ClaimKind.DEPENDENCY_ADDED})
GROUP: Final = re.compile(r"\(\?P<name>")


class ClaimWording(Struct, frozen=True, forbid_unknown_fields=True):
    """The content of the data file, which explains each field."""

    taken_back: tuple[str, ...]
    conditional: str
    harmless: str
    elsewhere: str
    share: str
    whole: str
    listed: str
    endings: frozenset[str]
    failure_marks: dict[str, str]
    forms: dict[ClaimKind, tuple[str, ...]]
    parts: dict[str, str]


class Utterance(Struct, frozen=True):
    """One claim as it was said. `name`: the file, branch or tag. `whole`: it is of all, not of some."""

    kind: ClaimKind
    text: str
    name: str = ""
    whole: bool = False


@lru_cache(maxsize=16)
def utterances(message: str) -> tuple[Utterance, ...]:
    """Return the claims of a message: each kind once, those that name something once for each name."""
    found: dict[tuple[ClaimKind, str], Utterance] = {}
    for sentence in _sentences_of_this_turn(message[-MESSAGE_LIMIT:]):
        for said in _claims_of_sentence(sentence):
            before = found.get((said.kind, said.name))
            if before is None or (said.whole and not before.whole):
                found[said.kind, said.name] = said
    return tuple(found.values())[:CLAIMS_LIMIT]


def claims_tests_pass(message: str) -> bool:
    """Whether a sentence says that tests pass, without taking it back in the same sentence."""
    return any(said.kind is ClaimKind.TESTS_PASS for said in utterances(message))


def claimed_files(message: str) -> tuple[str, ...]:
    """Return the files that the claims of a message name."""
    return tuple(dict.fromkeys(said.name for said in utterances(message) if said.kind in FILE_KINDS))


def claim_wording() -> ClaimWording:
    """Return the content of the data file."""
    return load_data("claims", ClaimWording)


@cache
def compiled(*patterns: str) -> re.Pattern[str]:
    """Compile patterns of the data file as one, when they are first looked for: all at once take 20 ms."""
    return re.compile("|".join(patterns), re.IGNORECASE | re.MULTILINE)


@cache
def _form_patterns(kind: ClaimKind) -> tuple[re.Pattern[str], ...]:
    """Compile the forms of a kind; the alternatives of one share their group, which gets numbers."""
    known = claim_wording()
    numbered = (re.split(GROUP, expand_parts(each, known.parts)) for each in known.forms[kind])
    joined = (
        parts[0] + "".join(f"(?P<name{at}>{part}" for at, part in enumerate(parts[1:])) for parts in numbered
    )
    return tuple(re.compile(each, re.IGNORECASE) for each in joined)


def _sentences_of_this_turn(message: str) -> Iterator[str]:
    """Yield the sentences, without quotations, open points, and what is below headings of other things."""
    known, skipped = claim_wording(), False
    for line in EMPHASIS.sub("", BLOCKS.sub(" ", message)).split("\n"):
        if HEADING.match(line):
            skipped = compiled(known.elsewhere).search(line) is not None
        if not skipped and not OPEN_ITEM.match(line):
            yield from (each for each in split_sentences(line) if len(each) <= SENTENCE_LIMIT)


def _claims_of_sentence(sentence: str) -> Iterator[Utterance]:
    if ends_in_question(sentence):
        return
    known = claim_wording()
    plain = compiled(known.harmless).sub("cleanly", sentence)
    clauses = _unconditional_clauses(plain)
    taken_back = compiled(*known.taken_back)
    asserted = [clause for clause in clauses if not taken_back.search(QUOTED.sub(" ", clause))]
    whole = compiled(known.whole).search(QUOTED.sub(" ", plain)) is not None
    for kind in known.forms:
        if kind is ClaimKind.TREE_CLEAN:  # which denies by itself that something is left
            texts = _unconditional_clauses(sentence)
        elif kind in CHECK_KINDS:  # which another clause takes back, too: "all tests pass, and two fail"
            texts = asserted if len(asserted) == len(CLAUSE.split(plain)) else []
        else:
            texts = asserted
        for name in _names_in(texts, kind):
            yield Utterance(kind, sentence.strip()[:TEXT_LIMIT], name, whole)


def _unconditional_clauses(sentence: str) -> list[str]:
    """Return the clauses up to the first that tells a condition."""
    clauses = CLAUSE.split(sentence)
    conditional = compiled(claim_wording().conditional)
    held = (at for at, clause in enumerate(clauses) if conditional.search(QUOTED.sub(" ", clause)))
    return clauses[: next(held, len(clauses))]


def _names_in(texts: list[str], kind: ClaimKind) -> Iterator[str]:
    """Yield what the clauses claim of a kind: a name for each named thing, "" for what is not named."""
    known = claim_wording()
    for text in texts:
        for pattern in _form_patterns(kind):
            read = text if "`" in pattern.pattern else QUOTED.sub(" ", text)
            for hit in pattern.finditer(read):
                named = next(filter(None, hit.groupdict().values()), "")
                if named or not hit.groupdict():
                    yield from (name for name in (named,) if _is_nameable(kind, name))
                at = hit.end()
                while kind in FILE_KINDS and (more := compiled(known.listed).match(read, at)):
                    at = more.end()
                    yield from (name for name in (more["name"],) if _is_nameable(kind, name))


def _is_nameable(kind: ClaimKind, name: str) -> bool:
    """Whether a name can be that of a file, where the kind needs one: code stands in backticks, too."""
    if kind is ClaimKind.FILE_CREATED:
        return name.rpartition(".")[2].lower() in claim_wording().endings and not name.startswith(("/", ".."))
    return kind is not ClaimKind.FILE_DELETED or "." in name or "/" in name
