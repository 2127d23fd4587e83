"""How a message or a prompt is cut, and what its words tell. The wording is English, in data/claims.toml."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import count
from typing import Final

from msgspec import Struct

from sidecar.kernel.evidence import ClaimKind
from sidecar.platform.data import expand_parts, load_data

MESSAGE_LIMIT: Final = 20_000
"""Characters of a message, and of what was asked for, that are read, the end of each."""
SENTENCE_LIMIT: Final = 1000
"""Characters; what is longer is no sentence, and what its end takes back cannot be told."""

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
    advises: str
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
    all_remotes: str
    nothing_done: str
    of_remote: str
    on_branch: str
    exit_code: str
    not_found: str
    trunk: str
    unchecked: str
    elsewhere: str
    cleanly: str
    succeeds: str
    praises: str
    failure: str
    share: str
    untroubled: str
    rehearsal: str
    in_earnest: str
    open: str
    not_ordered: str
    excluded: str
    planned: str
    combining: frozenset[str]
    meeting_others: frozenset[str]
    rehearsing: frozenset[str]
    rehearsing_with_n: frozenset[str]
    pushing_tags: frozenset[str]
    alike: dict[str, str]
    by_name: frozenset[str]
    only_ordered: frozenset[ClaimKind]
    listing: frozenset[str]
    numbers: tuple[str, ...]
    parts: dict[str, str]
    nouns: dict[str, str]
    subjects: dict[str, str]
    failure_marks: dict[str, str]
    orders: tuple[OrderForm, ...]
    forms: tuple[ClaimForm, ...]
    wanted: dict[str, str]
    commands: dict[str, str]


@lru_cache(maxsize=16)
def order_clauses(prompt: str) -> tuple[str, ...]:
    """Return the clauses of a prompt that may be orders: no questions, prohibitions, plans or quotations."""
    known = claim_wording()
    plain = SINGLE_QUOTED.sub(" ", BLOCKS.sub(" ", prompt[-MESSAGE_LIMIT:]))
    plain = compiled(known.excluded).sub("", plain)
    apart = "\n".join((ASIDE.sub(" ", plain), *ASIDE.findall(plain)))
    clauses = [clause for clause in ORDER_CLAUSE.split(apart) if len(clause) <= SENTENCE_LIMIT]
    if any(map(compiled(known.planned).search, clauses)):
        return ()
    return tuple(clause for clause in clauses if not compiled(known.not_ordered).search(clause))


def tells_of_trouble(text: str) -> bool:
    """Whether a text tells of what is open or went wrong, beside the names in backticks and in quotes."""
    known = claim_wording()
    plain = SHORT_QUOTATION.sub("", IN_BACKTICKS.sub("``", compiled(known.untroubled).sub("cleanly", text)))
    return compiled(known.open).search(plain) is not None


def says_success(text: str) -> bool:
    """Whether a text says of a command that it ran well."""
    return compiled(claim_wording().succeeds).search(text) is not None


def tells_of_failure(text: str) -> bool:
    """Whether a text tells of a failure, of anything."""
    known = claim_wording()
    return compiled(known.failure).search(compiled(known.untroubled).sub("cleanly", text)) is not None


def only_ordered() -> frozenset[ClaimKind]:
    """Return the kinds of claims that count, without a goal, only where the prompt orders such a thing."""
    return claim_wording().only_ordered


def speaks_of_remote(text: str) -> bool:
    """Whether a text speaks of a remote."""
    return compiled(claim_wording().of_remote).search(text) is not None


def names_branch(text: str, branch: str) -> bool:
    """Whether a text tells of something on this branch, or that went to it."""
    hits = compiled(claim_wording().on_branch).finditer(text)
    return any(named_groups(hit)["name"] == branch for hit in hits)


def tells_exit_code(text: str, code: int) -> bool:
    """Whether a text says that something ended with this code."""
    hits = compiled(claim_wording().exit_code).finditer(text)
    return any(int(named_groups(hit)["count"]) == code for hit in hits)


def tells_a_share(text: str) -> bool:
    """Whether a text tells of some of a number: "30 of 31 pass"."""
    return compiled(claim_wording().share).search(text) is not None


def says_nothing_done(text: str) -> bool:
    """Whether a text says that the agent changed nothing."""
    return compiled(claim_wording().nothing_done).search(text) is not None


def says_all_remotes(text: str) -> bool:
    """Whether a text speaks of all remotes."""
    return compiled(claim_wording().all_remotes).search(text) is not None


def is_trunk(branch: str) -> bool:
    """Whether a branch of this name is what others are merged into."""
    return compiled(claim_wording().trunk).fullmatch(branch) is not None


def names_last_commit(text: str) -> bool:
    """Whether a text names the last commit."""
    return compiled(claim_wording().last_commit).search(text) is not None


def pushing_tags() -> frozenset[str]:
    """Return the words of a push that carry tags, beside their names."""
    return claim_wording().pushing_tags


def read_number(said: str) -> int:
    """Return the number that a word or digits of the part `many` stand for."""
    numbers = claim_wording().numbers
    return numbers.index(said.lower()) if said.lower() in numbers else int(said)


def command_pattern(name: str) -> re.Pattern[str]:
    """Return the commands of this name in the data file, as one pattern."""
    return compiled(claim_wording().commands[name])


def claim_wording() -> ClaimWording:
    """Return the content of the data file."""
    return load_data("claims", ClaimWording)


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of the data file when it is first looked for: at import all would cost 20 ms."""
    whole = expand_parts(pattern, claim_wording().parts)
    numbers = count()
    return re.compile(GROUP.sub(lambda group: f"(?P<{group[1]}_{next(numbers)}>", whole), FLAGS)


def named_groups(hit: re.Match[str]) -> dict[str, str]:
    """Return the named groups that took part in a hit of a compiled pattern, without their numbers."""
    return {name.rpartition("_")[0]: found for name, found in hit.groupdict().items() if found}


def join_quoted(quoted: re.Match[str]) -> str:
    """Return what stands in backticks as one word, for a text that is cut into sentences."""
    return re.sub(r"\s", JOINT, quoted[0])
