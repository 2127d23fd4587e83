"""What a last message claims. Precision first (law 8): better a claim missed than one that was not made.

A sentence that takes back, asks, hopes, quotes or tells of earlier times claims nothing. Wording is English
for now, and stands in data/claims.toml.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import count
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.evidence import ClaimKind
from sidecar.platform.data import expand_parts, load_data

MESSAGE_LIMIT: Final = 20_000
"""Characters of a message, and of what was asked for, that are read, the end of each."""
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
SHORT_QUOTATION: Final = re.compile(
    r"\"[^\"\n]{1,80}\"|\u201c[^\u201d\n]{1,80}\u201d|(?<![\w*])\*[^*\n]{1,80}\*(?![\w*])"
)
"""Such as the title of a commit."""
JOINT: Final = "\ue000"
"""Stands for a space in backticks while a message is cut into sentences; no language uses it."""
SENTENCE: Final = re.compile(r"(?<=[.!?])\s|\n")
CLAUSE: Final = re.compile(r"(?:,| \u2014| -) (?:and|so) |; ")
"""Between clauses of which each says something for itself."""
PHRASE: Final = re.compile(r"[,;:()\u2013\u2014]\s|\bso (?:that )?|\bbut\b|\bwhich\b", re.IGNORECASE)
"""Between parts of a sentence, of which each may tell of another time."""
GOING_ON: Final = re.compile(r"\W*(?:which|that|not|but|still|yet)\b", re.IGNORECASE)
WHOLE: Final = re.compile(r"\b(all|every|everything|whole|entire|full|suite)\b", re.IGNORECASE)
GROUP: Final = re.compile(r"\(\?P<(\w+)>")
"""A named group; several of one name get numbers, for the alternatives of a pattern share them."""
HEADING: Final = re.compile(r"#{1,6} |[*_]{2}[^*_\n]{2,60}[*_]{2}:?\s*$|[^\n]{2,60}:\s*$")
"""A line that stands above what follows it: marked as such, in bold, or with a colon at its end."""
LIST_ITEM: Final = re.compile(r"\s*(?:[-*\u2022]\s+|\d{1,2}[.)]\s+|\|\s*)([^\s|].*)")
"""A point of a list, or a row of a table."""
SINGLE_QUOTED: Final = re.compile(r"(?<!\w)'[^'\n]{2,80}'(?!\w)")
ASIDE: Final = re.compile(r"\(([^()\n]*)\)")
ORDER_CLAUSE: Final = re.compile(r"[,;:(]\s|\bbut\b|(?<=[.!?])\s|\n")
"""Between clauses of a prompt, of which each may be an order, a question or a prohibition."""
EMPHASIS: Final = re.compile(r"\*\*|(?<![\w/`])__(?=\w)|(?<=\w)__(?![\w.(`])")
"""Not the underscores of a name such as `__init__.py`."""


class ClaimForm(Struct, frozen=True, forbid_unknown_fields=True):
    """How one kind of claim is worded; the data file explains each field."""

    kind: ClaimKind
    pattern: str
    named: bool = False
    world: bool = False
    plain: bool = False
    near: bool = False
    cautious: bool = False
    asked: str = ""
    each: str = ""
    count: str = ""


class OrderForm(Struct, frozen=True, forbid_unknown_fields=True):
    """How one kind of order is worded; the data file explains each field."""

    kind: ClaimKind
    about: str
    pattern: str
    each: str = ""
    name: str = ""
    count: str = ""


class ClaimWording(Struct, frozen=True, forbid_unknown_fields=True):
    """The content of the data file."""

    denies: str
    withdraws: str
    plans: str
    proposes: str
    finished: str
    conditions: str
    heads: str
    listed: str
    uncommitted: str
    gone_or_to_come: str
    all_of_them: str
    told_as_done: str
    enumerated: str
    restores: str
    last_commit: str
    of_code: str
    trunk: str
    unchecked: str
    elsewhere: str
    cleanly: str
    succeeds: str
    praises: str
    failure: str
    untroubled: str
    rehearsal: str
    in_earnest: str
    open: str
    not_ordered: str
    combining: frozenset[str]
    meeting_others: frozenset[str]
    rehearsing: frozenset[str]
    rehearsing_with_n: frozenset[str]
    pushing_tags: frozenset[str]
    alike: dict[str, str]
    by_name: frozenset[str]
    listing: frozenset[str]
    numbers: tuple[str, ...]
    parts: dict[str, str]
    nouns: dict[str, str]
    subjects: dict[str, str]
    failure_marks: dict[str, str]
    orders: tuple[OrderForm, ...]
    forms: tuple[ClaimForm, ...]
    commands: dict[str, str]


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
    forms = [form for form in load_data("claims", ClaimWording).forms if compiled(form.asked).search(asked)]
    restored = compiled(load_data("claims", ClaimWording).restores).search(message) is not None
    whole = IN_BACKTICKS.sub(join_quoted, BLOCKS.sub(" ", message[-MESSAGE_LIMIT:]))
    for joined in SENTENCE.split(EMPHASIS.sub("", _of_this_turn(whole))):
        if not SHORTEST <= len(joined) <= SENTENCE_LIMIT:
            continue
        sentence = joined.replace(JOINT, " ")
        denied |= _denied_kinds(sentence)
        for each in _of_sentence(sentence, forms):
            if restored and each.said is ClaimKind.FILE_DELETED:
                continue
            key = (each.said, each.path, each.name)
            if key not in found or (each.whole and not found[key].whole) or found[key].loose > each.loose:
                found[key] = each
    said = (each for each in found.values() if not (each.loose and each.said in denied))
    named_last = sorted(said, key=lambda each: each.loose and each.said is ClaimKind.FILE_CREATED)
    return tuple(named_last)[:CLAIMS]


def order_clauses(prompt: str) -> list[str]:
    """Return the clauses of a prompt that may be orders: neither questions nor prohibitions, nor quoted."""
    known = load_data("claims", ClaimWording)
    plain = SINGLE_QUOTED.sub(" ", BLOCKS.sub(" ", prompt[-MESSAGE_LIMIT:]))
    apart = "\n".join((ASIDE.sub(" ", plain), *ASIDE.findall(plain)))
    clauses = (clause for clause in ORDER_CLAUSE.split(apart) if len(clause) <= SENTENCE_LIMIT)
    return [clause for clause in clauses if not compiled(known.not_ordered).search(clause)]


def claims_pass(message: str) -> bool:
    """Whether a sentence says that tests pass, without taking it back in the same sentence."""
    return any(each.said is ClaimKind.TESTS_PASS for each in utterances(message))


def _denied_kinds(sentence: str) -> set[ClaimKind]:
    """Return what a sentence says was not done, of what has loose wordings."""
    known = load_data("claims", ClaimWording)
    denied = [clause for clause in CLAUSE.split(sentence) if _is_denied(clause)]
    return {
        form.kind
        for form in known.forms
        for clause in denied
        if form.asked and not (form.plain or form.near) and compiled(form.pattern).search(clause)
    }


def _is_denied(clause: str) -> bool:
    known = load_data("claims", ClaimWording)
    return compiled(known.denies).search(QUOTED.sub(" ", clause)) is not None


def _of_this_turn(message: str) -> str:
    """Return a message without open points of lists, and without what is below headings of other things.

    Points below a heading such as "Deleted" begin with it.
    """
    known = load_data("claims", ClaimWording)
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
    return compiled(load_data("claims", ClaimWording).plans).search(clause) is not None


def _is_taken_back(text: str, hit: re.Match[str]) -> bool:
    """Whether a sentence takes back, before it or where it goes on about it, that a file is there.

    So it does where it tells of nothing that was done.
    """
    ends = (end.start() for end in PHRASE.finditer(text, hit.end()) if not GOING_ON.match(text, end.start()))
    said = QUOTED.sub(" ", text[: next(ends, len(text))])
    known = load_data("claims", ClaimWording)
    back = any(compiled(each).search(said) for each in (known.withdraws, known.denies, known.proposes))
    return back or _is_planned(text, hit) or compiled(known.finished).search(said) is None


def tells_of_trouble(text: str) -> bool:
    """Whether a text tells of what is open or went wrong, beside the names in backticks and in quotes."""
    known = load_data("claims", ClaimWording)
    plain = SHORT_QUOTATION.sub("", IN_BACKTICKS.sub("``", compiled(known.untroubled).sub("cleanly", text)))
    return compiled(known.open).search(plain) is not None


def says_success(text: str) -> bool:
    """Whether a text says of a command that it ran well."""
    return compiled(load_data("claims", ClaimWording).succeeds).search(text) is not None


def tells_of_failure(text: str) -> bool:
    """Whether a text tells of a failure, of anything."""
    known = load_data("claims", ClaimWording)
    return compiled(known.failure).search(compiled(known.untroubled).sub("cleanly", text)) is not None


def says_code(text: str) -> bool:
    """Whether a text speaks of code, and not of files of any kind."""
    return compiled(load_data("claims", ClaimWording).of_code).search(text) is not None


def is_trunk(branch: str) -> bool:
    """Whether a branch of this name is what others are merged into."""
    return compiled(load_data("claims", ClaimWording).trunk).fullmatch(branch) is not None


def names_last_commit(text: str) -> bool:
    """Whether a text names the last commit."""
    return compiled(load_data("claims", ClaimWording).last_commit).search(text) is not None


def pushing_tags() -> frozenset[str]:
    """Return the words of a push that carry tags, beside their names."""
    return load_data("claims", ClaimWording).pushing_tags


def meeting_others() -> frozenset[str]:
    """Return the subcommands of git that meet the work of others."""
    return load_data("claims", ClaimWording).meeting_others


def read_number(said: str) -> int:
    """Return the number that a word or digits of the part `many` stand for."""
    numbers = load_data("claims", ClaimWording).numbers
    return numbers.index(said.lower()) if said.lower() in numbers else int(said)


def command_pattern(name: str) -> re.Pattern[str]:
    """Return the commands of this name in the data file, as one pattern."""
    return compiled(load_data("claims", ClaimWording).commands[name])


def _asserted_clauses(sentence: str, *, world: bool) -> str:
    """Return the clauses of a sentence that are not taken back; "" if none is.

    Of checks a denial or a condition takes back what stands before it, too ("all tests pass, and two fail"),
    of the world a denial what its own clause says ("I committed it, and I did not push"), and a condition
    what follows ("I installed it, so it is there when you need it").
    """
    clauses = CLAUSE.split(sentence)
    withdrawn = compiled(load_data("claims", ClaimWording).withdraws)
    held = [withdrawn.search(QUOTED.sub(" ", clause)) is not None for clause in clauses]
    if any(held) and not world:
        return ""
    clauses = clauses[: held.index(True)] if any(held) else clauses
    denied = [_is_denied(clause) for clause in clauses]
    last = max((at for at, taken_back in enumerate(denied, 1) if taken_back), default=0)
    kept = (clause for clause, no in zip(clauses, denied, strict=True) if not no) if world else clauses[last:]
    return "; ".join(kept)


def _without_quotations(text: str) -> str:
    """Return a text in which commands are named by what they check, and nothing else is quoted."""
    for noun, pattern in load_data("claims", ClaimWording).nouns.items():
        text = compiled(pattern).sub(noun, text)
    return QUOTED.sub(" ", text)


def _of_sentence(sentence: str, forms: list[ClaimForm]) -> list[Utterance]:
    known = load_data("claims", ClaimWording)
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
            if not (form.world and _is_planned(text, hit)) and not (form.near and _is_taken_back(text, hit))
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


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of the data file when it is first looked for: at import all would cost 20 ms."""
    whole = expand_parts(pattern, load_data("claims", ClaimWording).parts)
    numbers = count()
    return re.compile(GROUP.sub(lambda group: f"(?P<{group[1]}_{next(numbers)}>", whole), FLAGS)


def named_groups(hit: re.Match[str]) -> dict[str, str]:
    """Return the named groups that took part in a hit of a compiled pattern, without their numbers."""
    return {name.rpartition("_")[0]: found for name, found in hit.groupdict().items() if found}


def join_quoted(quoted: re.Match[str]) -> str:
    """Return what stands in backticks as one word, for a text that is cut into sentences."""
    return re.sub(r"\s", JOINT, quoted[0])
