"""What a last message claims. Precision first (law 8): better a claim missed than one that was not made.

A sentence that takes back, asks, hopes, quotes or tells of earlier times claims nothing. Wording is English
for now.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from sidecar.kernel.evidence import ClaimKind

MESSAGE_LIMIT: Final = 20_000
"""Characters of a message that are read, its end."""
CLAIMS: Final = 30
"""Claims of one message that are kept."""
TEXT: Final = 300
"""Characters of a sentence that are kept."""

FLAGS: Final = re.IGNORECASE | re.MULTILINE
TESTS_PASSING: Final = (
    r"\b(all|the|every|unit)?\s*(tests?|test suite|suite|specs?)( now| all| should)*"
    r" (pass(es|ed|ing)?|(is|are) (green|passing))\b"
)
DENIES: Final = re.compile(
    r"n['\u2019]t\b|\b(not|never|none|fail(s|ed|ing)?|before|without|cannot|unable|(other|remaining|rest)\b.{0,20}"
    r"\btests?|(no|only|some|few|most|half)( \w+)? (tests?|specs?))\b",
    re.IGNORECASE,
)
"""Takes back what its own clause says, and what the clauses before it say."""
WITHDRAWS: Final = re.compile(
    r"\?\s*$|\b(except|but|until|unless|once|if|when|whether|needs?|must|would|could|might|hope"
    r"|expect(s|ed)?|to (make|get|have|see))\b",
    re.IGNORECASE,
)
"""Takes back what the whole sentence says."""
CLAUSE: Final = re.compile(r"(?:,| \u2014| -) (?:and|so) |; ")
CLEANLY: Final = re.compile(
    r"\bwithout (?:any )?(?:errors?|warnings?|issues?|problems?|failures?)\b", re.IGNORECASE
)
"""The one "without" that takes nothing back."""
PLANS: Final = re.compile(
    r"\b(will|shall|can|should|may|going to|want(s|ed)?|plan(s|ned)?|ready to|try|tried|remains?|still|let me"
    r"|please|you can|next step|to be|yet to|nothing|previously|already|earlier|yesterday|last week)\b",
    re.IGNORECASE,
)
"""For what is claimed of git and the world: what will be, what others do and what was there already."""
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
SENTENCE_LIMIT: Final = 1000
"""Characters; what is longer is no sentence, and what its end takes back cannot be told."""
SHORTEST: Final = 8
"""Characters of the shortest claim."""
SENTENCE: Final = re.compile(r"(?<=[.!?])\s|\n")
TOOLS: Final = (
    (
        re.compile(r"`(?:py\.?test|(?:npm|yarn|pnpm)(?: run)? test|(?:go|cargo|make) test)\b[^`\n]{0,80}`"),
        "the tests",
    ),
    (re.compile(r"`(?:mypy|pyright|tsc --noEmit|npm run type-?check)\b[^`\n]{0,80}`"), "the type check"),
    (
        re.compile(r"`(?:ruff check|ruff|eslint|flake8|npm run lint|golangci-lint|make lint)\b[^`\n]{0,80}`"),
        "the linter",
    ),
    (re.compile(r"`(?:npm run build|go build|cargo build|make build|make|tsc)\b[^`\n]{0,80}`"), "the build"),
)
"""A command named in backticks stands for what it checks."""
ENDS_WELL: Final = (
    r"(?:(?:now|all|still|also|both) )*(?:pass(?:es|ed|ing)?|succeed(?:s|ed)?"
    r"|(?:is|are) (?:now )?(?:clean|green|passing)|reports? (?:no|0|zero) (?:errors|issues|problems))\b"
)
WHOLE: Final = re.compile(r"\b(all|every|everything|whole|entire|full|suite)\b", re.IGNORECASE)
PATH: Final = r"`?((?:[\w.@-]+/)*[\w@-][\w.@-]*\.[A-Za-z]\w{0,7})`?"
THING: Final = (
    r"(?:(?:a|an|the|new|both|files?|tests?|module|script|document|config|configuration|page|component"
    r"|called|named|at|in|to)\s+){0,5}"
)


FORMS: Final[tuple[tuple[ClaimKind, str], ...]] = (
    (ClaimKind.TESTS_PASS, TESTS_PASSING),
    (ClaimKind.TESTS_PASS, (r"\bthe tests " + ENDS_WELL)),
    (ClaimKind.TESTS_PASS, (r"\btests?\W{1,4}(?:all )?(?:passed|passing|green)\b|\ball green\b")),
    (
        ClaimKind.TESTS_PASS,
        (r"\btests? (?:in|of|for|under)\b(?: +[\w/.-]+){0,4} +pass(?:es)?(?: now)? *(?:[.!,;]|$|and\b)"),
    ),
    (ClaimKind.TESTS_PASS, (r"\b(?:pytest|vitest|jest|go test|cargo test) " + ENDS_WELL)),
    (ClaimKind.BUILD_CLEAN, (r"\b(?:the |a )?(?:build|compilation)(?: step)? " + ENDS_WELL)),
    (
        ClaimKind.BUILD_CLEAN,
        (
            r"\b(?:it|code|project|crate|app|everything|and) (?:now )?(?:builds|compiles)\b"
            r"(?! (?:on|the|a|an)\b)"
        ),
    ),
    (
        ClaimKind.BUILD_CLEAN,
        (r"\b(?:builds|compiles) (?:cleanly|successfully|fine)"),
    ),
    (
        ClaimKind.BUILD_CLEAN,
        (r"\b(?:no|zero|0) (?:build|compile|compilation|compiler) errors\b|\bbuild is clean\b"),
    ),
    (
        ClaimKind.TYPES_CLEAN,
        (r"\b(?:type[- ]?check(?:s|er|ing)?|types|mypy|pyright|tsc) (?:check )?" + ENDS_WELL),
    ),
    (ClaimKind.TYPES_CLEAN, (r"\b(?:no|zero|0) type errors\b|\btype[- ]?checks (?:cleanly|fine)\b")),
    (
        ClaimKind.LINT_CLEAN,
        (r"\b(?:lint(?:er|ers|ing|s)?|ruff|eslint|flake8|clippy|biome) (?:checks? )?" + ENDS_WELL),
    ),
    (
        ClaimKind.LINT_CLEAN,
        (r"\b(?:no|zero|0) lint(?:er|ing)? (?:errors|warnings|issues|problems)\b|\blint(?:ing)? clean\b"),
    ),
    (
        ClaimKind.COMMITTED,
        (
            r"^\W*committed\b(?! to (?!main|master|the (?:branch|repo)))"
            r"|\b(?:i|and|have|i've|changes?|everything|work|it|all|fix|was|were|been|is|are|now)"
            r" (?:also |now |just )?(?:committed|is committed|are committed)\b"
            r"(?! to (?!main|master|the (?:branch|repo)|git))"
        ),
    ),
    (
        ClaimKind.PUSHED,
        (
            r"^\W*pushed (?:to|it|the (?:branch|commits?|changes?)|everything)\b"
            r"|\bpushed (?:(?:it|them|everything|(?:the|my|all) (?:\w+ )?(?:changes?|commits?|branch|work)) )"
            r"?to (?:the )?(?:origin|remote|main|master|github|gitlab|upstream|branch|repo)"
            r"|\bcommitted (?:it |them |everything )?and (?:then )?pushed\b"
            r"|\b(?:i|i've|have) (?:also |now )?pushed"
            r" (?:it|them|everything|the (?:changes?|commits?|branch))\b"
            r"|\b(?:changes?|commits?|branch|everything|work|fix(?:es)?|feature|code|patch)"
            r" (?:is|are|was|were|has been|have been) (?:now )?pushed\b"
        ),
    ),
    (
        ClaimKind.PR_OPENED,
        (
            r"\b(?:opened|created|submitted|raised|filed)\b[^.\n]{0,30}\b"
            r"(?:PRs?|pull request|merge request|MR)\b"
            r"|\b(?:PR|pull request|merge request|MR)\b[^.\n]{0,20}\b"
            r"(?:is|was|has been) (?:now )?(?:open|opened|created|up)\b"
        ),
    ),
    (
        ClaimKind.DEPLOYED,
        (
            r"^\W*(?:successfully )?deployed\b|\b(?:i|i've|have|and|been|now|successfully|was) deployed\b"
            r"|\bis deployed (?:to|on|at)\b"
            r"|\bdeploy(?:ment)? (?:has )?(?:succeeded|completed|finished|is live)\b"
        ),
    ),
    (
        ClaimKind.FILE_CREATED,
        (
            r"\b(?:created|generated|wrote|saved|added)\s+"
            + THING
            + PATH
            + r"|\badded\s+(?:a |the )?(?:new )?(?:\w+ )?file\s+"
            + PATH
            + r"|"
            + PATH
            + r" (?:is|was|has been) (?:now )?(?:created|added|written)\b"
        ),
    ),
)
"""Patterns, compiled when the first claim is looked for: at import they would cost a cold start 20 ms."""
GIT: Final = frozenset(
    {ClaimKind.COMMITTED, ClaimKind.PUSHED, ClaimKind.PR_OPENED, ClaimKind.DEPLOYED, ClaimKind.FILE_CREATED}
)


class Utterance(Struct, frozen=True):
    """One claim as it was said. `whole`: of all, not of some. `path`: the file that it names."""

    said: ClaimKind
    text: str
    whole: bool = False
    path: str = ""


def utterances(message: str) -> tuple[Utterance, ...]:
    """The claims of a message, each kind once; files once each."""
    found: dict[tuple[ClaimKind, str], Utterance] = {}
    whole = IN_BACKTICKS.sub(_joined, BLOCKS.sub(" ", message[-MESSAGE_LIMIT:]))
    for joined in SENTENCE.split(whole):
        if not SHORTEST <= len(joined) <= SENTENCE_LIMIT:
            continue
        for each in _of_sentence(joined.replace(JOINT, " ")):
            key = (each.said, each.path)
            if key not in found or (each.whole and not found[key].whole):
                found[key] = each
    return tuple(found.values())[:CLAIMS]


def claims_pass(message: str) -> bool:
    """Whether a sentence says that tests pass, without taking it back in the same sentence."""
    return any(each.said is ClaimKind.TESTS_PASS for each in utterances(message))


def asserted_part(sentence: str) -> str:
    """Return the clauses of a sentence that are not taken back; "" if none is."""
    if WITHDRAWS.search(sentence):
        return ""
    clauses = CLAUSE.split(sentence)
    denied = max((at for at, clause in enumerate(clauses, 1) if DENIES.search(clause)), default=0)
    return "; ".join(clauses[denied:])


def _of_sentence(sentence: str) -> list[Utterance]:
    bare = asserted_part(CLEANLY.sub("cleanly", QUOTED.sub(" ", _named(sentence))))
    if not bare.strip():
        return []
    planned = PLANS.search(bare) is not None
    whole = WHOLE.search(bare) is not None
    said: list[Utterance] = []
    for kind, pattern in FORMS:
        if kind in GIT and planned:
            continue
        if kind is ClaimKind.FILE_CREATED:
            said.extend(_files(sentence, pattern))
        elif re.search(pattern, bare, FLAGS) and all(each.said is not kind for each in said):
            said.append(Utterance(kind, sentence.strip()[:TEXT], whole=whole))
    return said


def _files(sentence: str, pattern: str) -> list[Utterance]:
    found = (next(filter(None, match.groups()), "") for match in re.finditer(pattern, sentence, FLAGS))
    return [Utterance(ClaimKind.FILE_CREATED, sentence.strip()[:TEXT], path=path) for path in found if path]


def _joined(quoted: re.Match[str]) -> str:
    return re.sub(r"\s", JOINT, quoted[0])


def _named(sentence: str) -> str:
    for pattern, noun in TOOLS:
        sentence = pattern.sub(noun, sentence)
    return sentence
