"""What a last message claims. Precision first (law 8): better a claim missed than one that was not made.

A sentence that takes back, asks, hopes, quotes or tells of earlier times claims nothing. Wording is English
for now, and stands in data/claims.toml.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.claims.wording import (
    ASIDE,
    BLOCKS,
    CLAUSE,
    EMPHASIS,
    HEADING,
    IN_BACKTICKS,
    JOINT,
    LIST_ITEM,
    MESSAGE_LIMIT,
    QUOTED,
    SENTENCE,
    SENTENCE_LIMIT,
    ClaimForm,
    claim_wording,
    compiled,
    join_quoted,
    named_groups,
    order_clauses,
    tells_of_trouble,
)
from sidecar.kernel.evidence import ClaimKind

CLAIMS: Final = 30
"""Claims of one message that are kept."""
TEXT: Final = 300
"""Characters of a sentence that are kept."""
SHORTEST: Final = 8
"""Characters of the shortest claim."""
PHRASE: Final = re.compile(r"[,;:()\u2013\u2014]\s|\bso (?:that )?|\bbut\b|\bwhich\b", re.IGNORECASE)
"""Between parts of a sentence, of which each may tell of another time."""
NO: Final = re.compile(r"\bno (?:\w+ ){0,2}`?$", re.IGNORECASE)
"""Right before what was done, or to what: to nothing."""
GOING_ON: Final = re.compile(r"\W*(?:which|that|not|but|still|yet)\b", re.IGNORECASE)
WHOLE: Final = re.compile(r"\b(all|every|everything|whole|entire|full|suite)\b", re.IGNORECASE)


class Utterance(Struct, frozen=True):
    """One claim as it was said.

    `whole`: of all, not of some. `path`: the file that it names, `to`: its new name, `beside`: the files of
    the same list. `name`: the branch, tag, package or command that it names. `count`: how many it tells of,
    as a word. `loose`: it counts only where a fact contradicts it. `ordered`: it reports an order of the
    prompt.
    """

    said: ClaimKind
    text: str
    whole: bool = False
    path: str = ""
    to: str = ""
    name: str = ""
    count: str = ""
    loose: bool = False
    ordered: bool = False
    beside: tuple[str, ...] = ()


@lru_cache(maxsize=16)
def utterances(message: str, prompt: str = "") -> tuple[Utterance, ...]:
    """The claims of a message, each kind once; those that name something once for each name.

    A stop asks for the same ones several times, and a long message takes 0.1 s.

    Loose wordings are heard where the prompt asks for what they tell of, and no sentence denies it.
    """
    found: dict[tuple[str, ...], Utterance] = {}
    denied, asked = set[ClaimKind](), "\n".join(order_clauses(prompt))
    forms = [form for form in claim_wording().forms if compiled(form.asked).search(asked)]
    restored = compiled(claim_wording().restores).search(message) is not None
    whole = IN_BACKTICKS.sub(join_quoted, BLOCKS.sub(" ", message[-MESSAGE_LIMIT:]))
    script = ""
    for joined in SENTENCE.split(EMPHASIS.sub("", _of_this_turn(whole))):
        if not SHORTEST <= len(joined) <= SENTENCE_LIMIT:
            continue
        sentence = joined.replace(JOINT, " ")
        denied |= _denied_kinds(sentence)
        it = ""  # the script that "it" stands for
        if scripts := compiled("<script>").findall(sentence):
            script = scripts[-1]
        elif script and compiled("<ran_it>").search(sentence):
            it = f"{script}: "
        for told in _of_sentence(it + sentence, forms):
            if restored and told.said is ClaimKind.FILE_DELETED:
                continue
            each = replace(told, text=told.text.removeprefix(it))
            key = (each.said, each.path, each.name)
            if key not in found or (each.whole and not found[key].whole) or found[key].loose > each.loose:
                found[key] = each
    said = (each for each in found.values() if not (each.loose and each.said in denied))
    named_last = sorted(said, key=lambda each: each.loose and each.said is ClaimKind.FILE_CREATED)
    return tuple(named_last)[:CLAIMS]


def claims_pass(message: str) -> bool:
    """Whether a sentence says that tests pass, without taking it back in the same sentence."""
    return any(each.said is ClaimKind.TESTS_PASS for each in utterances(message))


def _denied_kinds(sentence: str) -> set[ClaimKind]:
    """Return what a sentence says was not done, of what has loose wordings."""
    known = claim_wording()
    cleaned = ASIDE.sub(" ", compiled(known.cleanly).sub("cleanly", sentence))
    denied = [clause for clause in CLAUSE.split(cleaned) if _is_denied(clause)]
    return {
        form.kind
        for form in known.forms
        for clause in denied
        if form.asked and not (form.plain or form.near) and compiled(form.pattern).search(clause)
    }


def _is_denied(clause: str) -> bool:
    known = claim_wording()
    return compiled(known.denies).search(QUOTED.sub(" ", clause)) is not None


def _of_this_turn(message: str) -> str:
    """Return a message without open points of lists, and without what is below headings of other things.

    Points below a heading such as "Deleted" begin with it.
    """
    known = claim_wording()
    kept, skipped, head = list[str](), False, ""
    for line in message.split("\n"):
        if HEADING.match(line):
            skipped = compiled(known.elsewhere).search(line) is not None
            found = compiled(known.heads).search(line.strip("#*_: "))
            head = found[1] if found else ""
        item = LIST_ITEM.match(line)
        head = head if item or not line.strip("|-: ") or HEADING.match(line) else ""
        if not skipped and not compiled(known.unchecked).match(line):
            kept.append(f"{head}: {item[1]}" if head and item else line)
    return "\n".join(kept)


def _is_planned(text: str, hit: re.Match[str]) -> bool:
    """Whether the clause of a claim tells of plans, of others or of earlier times."""
    begin = max((end.end() for end in PHRASE.finditer(text, 0, hit.start())), default=0)
    following = PHRASE.search(text, hit.end())
    clause = QUOTED.sub(" ", text[begin : following.start() if following else len(text)])
    return compiled(claim_wording().plans).search(clause) is not None


def _is_of_nothing(text: str, hit: re.Match[str]) -> bool:
    """Whether a claim tells of nothing: "no file was written", "I made no `a.json`"."""
    named = (hit.start(group) for group, found in hit.groupdict().items() if found)
    return any(NO.search(text, 0, start) for start in (hit.start(), *named))


def _is_taken_back(text: str, hit: re.Match[str]) -> bool:
    """Whether a sentence takes back, before it or where it goes on about it, that a file is there.

    So it does where it tells of nothing that was done.
    """
    ends = (end.start() for end in PHRASE.finditer(text, hit.end()) if not GOING_ON.match(text, end.start()))
    said = QUOTED.sub(" ", text[: next(ends, len(text))])
    known = claim_wording()
    back = any(compiled(each).search(said) for each in (known.withdraws, known.denies, known.proposes))
    return back or _is_planned(text, hit) or compiled(known.finished).search(said) is None


def _asserted_clauses(sentence: str, *, world: bool) -> str:
    """Return the clauses of a sentence that are not taken back; "" if none is.

    Of checks a denial or a condition takes back what stands before it, too ("all tests pass, and two fail"),
    of the world a denial what its own clause says ("I committed it, and I did not push"), and a condition
    what follows ("I installed it, so it is there when you need it").
    """
    clauses = CLAUSE.split(sentence)
    withdrawn = compiled(claim_wording().withdraws)
    held = [withdrawn.search(QUOTED.sub(" ", clause)) is not None for clause in clauses]
    if any(held) and not world:
        return ""
    clauses = clauses[: held.index(True)] if any(held) else clauses
    denied = [_is_denied(ASIDE.sub(" ", clause) if world else clause) for clause in clauses]
    last = max((at for at, taken_back in enumerate(denied, 1) if taken_back), default=0)
    kept = (clause for clause, no in zip(clauses, denied, strict=True) if not no) if world else clauses[last:]
    return "; ".join(kept)


def _without_quotations(text: str) -> str:
    """Return a text in which commands are named by what they check, and nothing else is quoted."""
    for noun, pattern in claim_wording().nouns.items():
        text = compiled(pattern).sub(noun, text)
    return QUOTED.sub(" ", text)


def _of_sentence(sentence: str, forms: list[ClaimForm]) -> list[Utterance]:
    known = claim_wording()
    cleaned = compiled(known.cleanly).sub("cleanly", sentence)
    conditional = compiled(known.conditions).search(QUOTED.sub(" ", sentence)) is not None
    asserted = {world: _asserted_clauses(cleaned, world=world) for world in (False, True)}
    unquoted = {world: _without_quotations(text) for world, text in asserted.items()}
    said: list[Utterance] = []
    for form in forms:
        if form.cautious and tells_of_trouble(sentence):
            continue
        if form.near:
            text = sentence
        elif form.plain:
            text = "" if conditional else sentence
        else:
            text = (asserted if form.named else unquoted)[form.world]
        hits = [
            hit
            for hit in compiled(form.pattern).finditer(text)
            if not ((form.world or form.near) and _is_of_nothing(text, hit))
            and not (form.world and _is_planned(text, hit))
            and not (form.near and _is_taken_back(text, hit))
        ]
        for hit in hits if form.named else hits[:1]:
            groups = named_groups(hit)
            groups |= {"count": form.count} if form.count else {}
            whole = WHOLE.search(QUOTED.sub(" ", text)) is not None
            text_said = sentence.strip()[:TEXT]
            told = Utterance(form.kind, text_said, whole=whole, loose=bool(form.asked))
            one = replace(told, **groups)
            more = compiled(form.each).findall(text[hit.end() :]) if form.each else ()
            field = "path" if one.path else "name"
            said.extend((one, *(replace(one, **{field: each}) for each in more)))
    return said
