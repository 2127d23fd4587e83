"""How a bug council decides, and what it is told and may cost.

Five proposals are each weighed by their confidence and by what they cite:

    vote = confidence * evidence

- `confidence` is the member's own, from 0.1 (at 0) to 1 (at 100).
- `evidence` is the share of its findings that name something that is known to be there (`CouncilFacts`), from
  0.4 (just above none) to 1 (all); 0.04 where none does.

So a proposal that cites anything that is there beats each that cites nothing, whatever both say of their
confidence. A further finding that cites, and a further fact, never lower a vote. Votes do not depend on the
order of submission; equal votes go to the first in the order of `CouncilMember`.

A cited name is known to exist. Whether what is said of it is true is not known here: the gates of the next
report show that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Final

from msgspec import Struct

from sidecar.judging.backends.tokens import estimate_tokens
from sidecar.kernel.loop import CouncilDecision, CouncilMember, CouncilProposal, GateVerdict, Loop
from sidecar.kernel.settings import Settings, TokenUsage, answer_price_cents, model_prices, resolve_model
from sidecar.kernel.text import one_printable_line, quote_as_code_block, truncate_middle
from sidecar.systems.taskloop.policy.agents import find_paths

LEAST_PROPOSALS: Final = 3
"""Proposals that a decision needs."""
LEAST_CONFIDENCE: Final = 0.1
LEAST_EVIDENCE: Final = 0.4
NO_EVIDENCE: Final = LEAST_CONFIDENCE * LEAST_EVIDENCE
"""Not above the product of the other two: see the rules."""
QUOTED_ERROR: Final = 12
"""Characters of an error's text that a finding must repeat; less could be chance."""
TEST_NAME_LENGTH: Final = 5
"""Characters of a test's name from which on it is looked for."""
LINE_LENGTH: Final = 300
"""Characters of a finding or a hypothesis in a decision."""

SECTION_LENGTH: Final = 6_000
"""Characters of each part of a case."""
READ_TOKENS: Final = 60_000
"""Allowance for what one member reads beside its prompt: files, and the output of its commands."""
WRITTEN_TOKENS: Final = 5_000
"""Allowance for what one member writes."""


class CouncilFacts(Struct, frozen=True, kw_only=True):
    """What is known to be true: tests that fail, errors, files that changed, files that are there.

    Paths are relative to the project, with `/`.
    """

    failing: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


class CouncilEstimate(Struct, frozen=True, kw_only=True):
    """What a council may cost, with a line for a person. `cents`: None without a known price.

    `obstacle` says why none can be held now, "" if one can.
    """

    cents: float | None
    text: str
    obstacle: str = ""


class _Weighed(Struct, frozen=True):
    """A proposal, and how many of its findings cite something."""

    proposal: CouncilProposal
    cited: int

    @property
    def vote(self) -> float:
        confidence = LEAST_CONFIDENCE + (1 - LEAST_CONFIDENCE) * self.proposal.confidence / 100
        if not self.cited:
            return confidence * NO_EVIDENCE
        share = self.cited / len(self.proposal.findings)
        return confidence * (LEAST_EVIDENCE + (1 - LEAST_EVIDENCE) * share)

    @property
    def reason(self) -> str:
        known = f"{self.cited} of {len(self.proposal.findings)} findings name what is there"
        return f"{self.proposal.member}: {self.vote:.2f} (confidence {self.proposal.confidence}, {known})"


def decide_council(proposals: Iterable[CouncilProposal], facts: CouncilFacts) -> CouncilDecision:
    """Weigh the proposals, at most one of each member, and choose. There must be one."""
    order, is_cited = list(CouncilMember), _citations(facts)
    mine = sorted(proposals, key=lambda one: order.index(one.member))
    weighed = [_Weighed(one, sum(map(is_cited, one.findings))) for one in mine]
    best = max(weighed, key=lambda one: one.vote)
    return CouncilDecision(
        winner=best.proposal.member,
        votes=tuple((one.proposal.member, one.vote) for one in weighed),
        root_cause=best.proposal.hypothesis,
        recommended_fix=best.proposal.suggested_fix,
        additional_context="\n".join(f"- {_shorten(finding)}" for finding in best.proposal.findings),
        dissent=tuple(
            f"{one.proposal.member} ({one.vote:.2f}): {_shorten(one.proposal.hypothesis)}"
            for one in weighed
            if one is not best
        ),
        reasons=tuple(one.reason for one in weighed),
    )


def paths_to_check(proposals: Iterable[CouncilProposal]) -> tuple[str, ...]:
    """Return what in the proposals could be a file of the project; those that exist are facts."""
    texts = chain.from_iterable((*one.findings, one.hypothesis, one.suggested_fix) for one in proposals)
    words = chain.from_iterable(find_paths(text) for text in texts)
    return tuple(dict.fromkeys(word for word in words if ".." not in word.split("/")))


def quote_case(**parts: str) -> dict[str, str]:
    """Return what every member is told, each part as a code block that its content cannot close."""
    return {name: quote_as_code_block(truncate_middle(text, SECTION_LENGTH)) for name, text in parts.items()}


def council_facts(loop: Loop) -> CouncilFacts:
    """Return what the loop knows of the task at work."""
    mine = loop.own_failures
    bad = [gate for gate in loop.gates if gate.verdict is not GateVerdict.PASS]
    return CouncilFacts(
        failing=_distinct([gate.failing for gate in bad] or [one.failing for one in mine[-1:]]),
        errors=_distinct([*(gate.errors for gate in bad), *(failure.errors for failure in mine)]),
        changed=_distinct([failure.files for failure in mine]),
    )


def estimate_council(
    asked: Sequence[tuple[str, str]], settings: Settings, left: float | None = None
) -> CouncilEstimate:
    """Estimate what members cost, each by its prompt and its model, as `[models]` and `[price]` price it.

    `left`: cents that may still be spent, None for no limit.
    """
    prices, models = model_prices(settings), [resolve_model(model, settings) for _, model in asked]
    read = [estimate_tokens(prompt) + READ_TOKENS for prompt, _ in asked]
    priced = [
        answer_price_cents(model, TokenUsage(input=tokens, output=WRITTEN_TOKENS), prices)
        for model, tokens in zip(models, read, strict=True)
    ]
    cents = None if None in priced else sum(filter(None, priced))
    written = WRITTEN_TOKENS * len(asked)
    price = "the settings name no price for it" if cents is None else f"about {cents:.1f} cents"
    text = (
        f"{len(asked)} agents on {' and '.join(dict.fromkeys(models))}, "
        f"about {sum(read):,} tokens read and {written:,} written: {price}"
    )
    obstacle = f"a council costs about {cents or 0:.1f} cents, and {left or 0:g} are left"
    fits = left is None or 0 < left >= (cents or 0)
    return CouncilEstimate(cents=cents, text=text, obstacle="" if fits else obstacle)


def _distinct(lists: Sequence[Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for texts in lists for text in texts if text))


def _shorten(text: str) -> str:
    return one_printable_line(text, LINE_LENGTH)


def _citations(facts: CouncilFacts) -> Callable[[str], bool]:
    """Return what tells whether a finding names something of the facts."""
    names = {*facts.failing, *map(_test_name, facts.failing)}
    words = "|".join(re.escape(_flatten(name)) for name in names if len(name) >= TEST_NAME_LENGTH)
    tests = re.compile(rf"(?<!\w)(?:{words})(?!\w)") if words else None
    errors = {part for error in facts.errors for part in _error_parts(error)}
    ends = (end for path in facts.changed for end in _path_ends(path))  # it may be named without its folder
    files = {*facts.changed, *facts.files, *ends}

    def is_cited(finding: str) -> bool:
        text = _flatten(finding)
        named = not files.isdisjoint(find_paths(finding))
        return named or bool(tests and tests.search(text)) or any(error in text for error in errors)

    return is_cited


def _path_ends(path: str) -> Iterator[str]:
    parts = path.split("/")
    return ("/".join(parts[at:]) for at in range(1, len(parts)))


def _test_name(name: str) -> str:
    return name.rpartition("::")[2].partition("[")[0].partition(" (")[0]


def _error_parts(error: str) -> Iterator[str]:
    """Yield the texts one of which a finding repeats: each line of an error, and its message alone."""
    for line in error.splitlines():
        text = _flatten(line.strip().removeprefix("E "))
        for part in (text, text.rpartition(": ")[2]):
            if len(part) >= QUOTED_ERROR:
                yield part


def _flatten(text: str) -> str:
    return " ".join(text.replace("`", "").split()).casefold()
