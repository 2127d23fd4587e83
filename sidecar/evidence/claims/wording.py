"""What a last message claims. Precision first (law 8): better a claim missed than one that was not made.

A sentence that takes back, asks, hopes, quotes or tells of earlier times claims nothing. Wording is English
for now, and stands in data/claims.toml.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import count
from typing import Final

from msgspec import Struct

from sidecar.kernel.evidence import ClaimKind
from sidecar.platform.data import load_data

MESSAGE_LIMIT: Final = 20_000
"""Characters of a message that are read, its end."""
CLAIMS: Final = 30
"""Claims of one message that are kept."""
TEXT: Final = 300
"""Characters of a sentence that are kept."""
SENTENCE_LIMIT: Final = 1000
"""Characters; what is longer is no sentence, and what its end takes back cannot be told."""
SHORTEST: Final = 8
"""Characters of the shortest claim."""

FLAGS: Final = re.IGNORECASE | re.MULTILINE
QUOTED: Final = re.compile(
    r"```.*?(?:```|\Z)|^[ \t]*>[^\n]*|`[^`\n]*`|\"[^\"\n]*\"|\u201c[^\u201d\n]*\u201d",
    re.DOTALL | re.MULTILINE,
)
"""What a message repeats is not what it says."""
BLOCKS: Final = re.compile(
    r"```.*?(?:```|\Z)|^[ \t]*>[^\n]*|\"[^\"\n]*\"|\u201c[^\u201d\n]*\u201d", re.DOTALL | re.MULTILINE
)
"""The same without what stands between single backticks, where a path or a command is named."""
IN_BACKTICKS: Final = re.compile(r"`[^`\n]*`")
JOINT: Final = "\ue000"
"""Stands for a space in backticks while a message is cut into sentences; no language uses it."""
SENTENCE: Final = re.compile(r"(?<=[.!?])\s|\n")
CLAUSE: Final = re.compile(r"(?:,| \u2014| -) (?:and|so) |; ")
"""Between clauses of which each says something for itself."""
PHRASE: Final = re.compile(r"[,;:()\u2013\u2014]\s|\bso (?:that )?|\bbut\b|\bwhich\b", re.IGNORECASE)
"""Between parts of a sentence, of which each may tell of another time."""
WHOLE: Final = re.compile(r"\b(all|every|everything|whole|entire|full|suite)\b", re.IGNORECASE)
PART: Final = re.compile(r"(?<!\?P)<(\w+)>")
"""A part of a pattern, by its name."""
GROUP: Final = re.compile(r"\(\?P<(\w+)>")
"""A named group; several of one name get numbers, for the alternatives of a pattern share them."""
EMPHASIS: Final = re.compile(r"\*\*|__")


class ClaimForm(Struct, frozen=True, forbid_unknown_fields=True):
    """How one kind of claim is worded; the data file explains each field."""

    kind: ClaimKind
    pattern: str
    named: bool = False
    world: bool = False
    plain: bool = False


class ClaimWording(Struct, frozen=True, forbid_unknown_fields=True):
    """The content of the data file."""

    denies: str
    withdraws: str
    plans: str
    conditions: str
    restores: str
    cleanly: str
    parts: dict[str, str]
    nouns: dict[str, str]
    forms: tuple[ClaimForm, ...]
    commands: dict[str, str]


class Utterance(Struct, frozen=True):
    """One claim as it was said.

    `whole`: of all, not of some. `path`: the file that it names, `to`: its new name. `name`: the branch, tag,
    package or command that it names. `count`: how many it tells of, as a word.
    """

    said: ClaimKind
    text: str
    whole: bool = False
    path: str = ""
    to: str = ""
    name: str = ""
    count: str = ""


def utterances(message: str) -> tuple[Utterance, ...]:
    """The claims of a message, each kind once; those that name something once for each name."""
    found: dict[tuple[str, ...], Utterance] = {}
    restored = _compiled(load_data("claims", ClaimWording).restores).search(message) is not None
    whole = IN_BACKTICKS.sub(_joined, BLOCKS.sub(" ", EMPHASIS.sub("", message[-MESSAGE_LIMIT:])))
    for joined in SENTENCE.split(whole):
        if not SHORTEST <= len(joined) <= SENTENCE_LIMIT:
            continue
        for each in _of_sentence(joined.replace(JOINT, " ")):
            if restored and each.said is ClaimKind.FILE_DELETED:
                continue
            key = (each.said, each.path, each.name)
            if key not in found or (each.whole and not found[key].whole):
                found[key] = each
    return tuple(found.values())[:CLAIMS]


def claims_pass(message: str) -> bool:
    """Whether a sentence says that tests pass, without taking it back in the same sentence."""
    return any(each.said is ClaimKind.TESTS_PASS for each in utterances(message))


def _is_planned(text: str, hit: re.Match[str]) -> bool:
    """Whether the clause of a claim tells of plans, of others or of earlier times."""
    begin = max((end.end() for end in PHRASE.finditer(text, 0, hit.start())), default=0)
    following = PHRASE.search(text, hit.end())
    clause = QUOTED.sub(" ", text[begin : following.start() if following else len(text)])
    return _compiled(load_data("claims", ClaimWording).plans).search(clause) is not None


def command_pattern(name: str) -> re.Pattern[str]:
    """Return the commands of this name in the data file, as one pattern."""
    return _compiled(load_data("claims", ClaimWording).commands[name])


def asserted_part(sentence: str) -> str:
    """Return the clauses of a sentence that are not taken back; "" if none is."""
    known = load_data("claims", ClaimWording)
    if _compiled(known.withdraws).search(QUOTED.sub(" ", sentence)):
        return ""
    clauses = CLAUSE.split(sentence)
    denies = _compiled(known.denies)
    taken_back = (at for at, clause in enumerate(clauses, 1) if denies.search(QUOTED.sub(" ", clause)))
    return "; ".join(clauses[max(taken_back, default=0) :])


def _of_sentence(sentence: str) -> list[Utterance]:
    known = load_data("claims", ClaimWording)
    conditional = _compiled(known.conditions).search(QUOTED.sub(" ", sentence)) is not None
    asserted = asserted_part(_compiled(known.cleanly).sub("cleanly", sentence))
    bare = asserted
    for noun, pattern in known.nouns.items():
        bare = _compiled(pattern).sub(noun, bare)
    bare = QUOTED.sub(" ", bare)
    whole = WHOLE.search(bare) is not None
    said: list[Utterance] = []
    for form in known.forms:
        heard = asserted if form.named else bare
        text = heard if not form.plain else "" if conditional else sentence
        hits = [
            hit
            for hit in _compiled(form.pattern).finditer(text)
            if not (form.world and _is_planned(text, hit))
        ]
        for hit in hits if form.named else hits[:1]:
            groups = {name.rpartition("_")[0]: found for name, found in hit.groupdict().items() if found}
            said.append(Utterance(form.kind, sentence.strip()[:TEXT], whole=whole, **groups))
    return said


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of the data file when it is first looked for: at import all would cost 20 ms."""
    parts = load_data("claims", ClaimWording).parts
    whole = PART.sub(lambda part: parts[part[1]], pattern).replace("\\\n", "")
    numbers = count()
    return re.compile(GROUP.sub(lambda group: f"(?P<{group[1]}_{next(numbers)}>", whole), FLAGS)


def _joined(quoted: re.Match[str]) -> str:
    return re.sub(r"\s", JOINT, quoted[0])
