"""The sections of a case in words, each within so many tokens. What is cut is said to be cut.

Ids of evidence are ours alone. A fact is on one line and its detail is indented, so that neither can look
like a fact of its own.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from sidecar.adapters.judges.quoting import clean, one_line
from sidecar.adapters.judges.tokens import Measured, cut, estimate, middle_cut
from sidecar.model.evidence import Source, Worth

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sidecar.model.effects import Case
    from sidecar.model.evidence import Evidence
    from sidecar.model.inspection import Edit
    from sidecar.model.rubric import Criterion

TEXT_LIMIT: Final = 32_000
"""Characters of one text that are looked at at all, half from each end: more than any room holds."""
NAMED: Final = 30
"""Changed files that are named; the rest is one number."""
PATH_LIMIT: Final = 120
"""Characters of a path that are shown."""
FACT_LIMIT: Final = 1_000
"""Characters of a fact that are looked at."""
DETAIL_LIMIT: Final = 2_000
"""Characters of a detail, its end: more than there is room for."""
LEFT: Final = 8
"""Tokens that say how many lines of a diff are not shown."""
BARE: Final = 50
"""Tokens of a fact where there is room for nothing else."""
LEAST_PROMPT: Final = 40
"""Tokens that a prompt which is shown has at the least."""
WORTHS: Final = (Worth.NOTHING, Worth.FILES, Worth.WORK, Worth.CHECK)
"""What a fact can show, from least to most."""


def whole(text: str) -> str:
    """A foreign text, cleaned, and bounded before anything else is done with it."""
    return clean(middle_cut(text, TEXT_LIMIT)).strip()


# --- rubric ---


def criteria(groups: Iterable[tuple[str, tuple[Criterion, ...]]], tokens: int) -> str:
    """The criteria under their headings. Where they do not fit, their texts are cut; ids and names stay."""
    groups = tuple((heading, ones) for heading, ones in groups if ones)
    text = ""
    for room in (TEXT_LIMIT, 150, 80, 40, 20, 0):
        parts = (
            f"# {heading}\n\n" + "\n".join(_criterion(one, room) for one in ones) for heading, ones in groups
        )
        text = "\n\n".join(parts)
        if estimate(text) <= tokens:
            return text
    return cut(text, tokens)


def _criterion(one: Criterion, room: int) -> str:
    name = one_line(one.name)[:PATH_LIMIT]
    ident = one_line(one.id or one.name)[:PATH_LIMIT]
    said = "" if _alike(ident, name) else f" {name}"
    when = f" (when: {cut(one_line(one.when), room)})" if one.when and room else ""
    by = f" (shown by: {cut(one_line(', '.join(one.evidence)), room)})" if one.evidence and room else ""
    text = _indented(cut(whole(one.text), room), "  ").lstrip()
    return f"- {ident} [{one.severity}]{said}{when}{by}{':' if text else ''} {text}".rstrip()


def _alike(ident: str, name: str) -> bool:
    """Whether an id says all that a name says."""
    return "".join(filter(str.isalnum, ident.lower())) == "".join(filter(str.isalnum, name.lower()))


# --- prompts ---


class Prompts:
    """What the user wrote, weighed once."""

    def __init__(self, texts: tuple[str, ...]) -> None:
        self._known = tuple((number, Measured(whole(text))) for number, text in enumerate(texts, start=1))

    def within(self, tokens: int) -> str:
        """The prompts, numbered; long ones are cut in the middle, and of too many the middle ones go."""
        most = max(2, tokens // LEAST_PROMPT)
        left_out, shown = len(self._known) - most, self._known
        if left_out > 0:
            shown = (*shown[: most // 2], *shown[len(shown) - (most - most // 2) :])
        level = _level([text.tokens for _, text in shown], tokens)
        lines = [_indented(f"{number}. {text.cut(level)}", "   ") for number, text in shown]
        if left_out > 0:
            lines.insert(most // 2, f"[... {left_out} prompts left out ...]")
        return "\n\n".join(lines)


def _level(sizes: list[int], tokens: int) -> int:
    """How much each may have at most, so that all together have no more than `tokens`."""
    left = tokens
    for place, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - place)
        if size > share:
            return share
        left -= size
    return tokens


# --- edits ---


class Edits:
    """The changed files, each cleaned and weighed once."""

    def __init__(self, case: Case) -> None:
        self._summary = tuple(_summary(case))
        self._known = tuple((_named(edit), _Hunks(edit.hunks)) for edit in case.edits[:NAMED])
        self._more = max(0, len(case.edits) - NAMED)

    def within(self, tokens: int) -> str:
        """How many files changed, which, and as much of their lines as there is room for."""
        lines = list(self._summary)
        for named, hunks in self._known:
            lines.append(named)
            if tokens > 0 and hunks.text:
                shown, cost = hunks.beginning(tokens)
                tokens -= cost
                lines.append(_indented(shown, "    ") if shown else "    (no room for its lines)")
        if self._more:
            lines.append(f"[... {self._more} more files ...]")
        return "\n".join(lines)


class _Hunks:
    """The diff of one file, cut at the end of a line."""

    def __init__(self, text: str) -> None:
        self.text = text

    def beginning(self, tokens: int) -> tuple[str, int]:
        """As many lines as there is room for, and what they cost."""
        lines, sums = self._weighed
        kept = bisect_right(sums, tokens - LEFT) - 1 if sums[-1] > tokens else len(lines)
        if kept <= 0:
            return "", 0
        left = len(lines) - kept
        return "\n".join([*lines[:kept], f"... {left} more lines"] if left else lines), sums[kept] + LEFT

    @cached_property
    def _weighed(self) -> tuple[list[str], list[int]]:
        lines = clean(self.text).split("\n")
        return lines, [0, *accumulate(estimate(line) + 1 for line in lines)]


def _summary(case: Case) -> Iterator[str]:
    if case.edits:
        added, removed = sum(edit.added for edit in case.edits), sum(edit.removed for edit in case.edits)
        yield f"{len(case.edits)} changed, +{added} -{removed} lines; the most telling first"
    if case.edits_unseen:
        yield f"not all of them are known: {cut(one_line(case.edits_unseen), 80)}"


def _named(edit: Edit) -> str:
    path, told = middle_cut(one_line(edit.path), PATH_LIMIT), one_line(edit.told)[:PATH_LIMIT]
    if not path:
        return told
    moved = f"{middle_cut(one_line(edit.old_path), PATH_LIMIT)} -> " if edit.old_path else ""
    return f"{moved}{path} (+{edit.added} -{edit.removed}){f': {told}' if told else ''}"


# --- evidence ---


class Facts:
    """The evidence of a case, cleaned once."""

    def __init__(self, evidence: tuple[Evidence, ...]) -> None:
        self._known = tuple(
            (one, Measured(one_line(one.fact[:FACT_LIMIT])), Measured(whole(one.detail[-DETAIL_LIMIT:])))
            for one in evidence
        )

    def within(self, line: int, good: int, detail: int, bad_detail: int) -> str:
        """Every fact that speaks against being done, and the `good` ones of the others that show most.

        The others are tokens of a fact, of a detail, and of a detail of what speaks against.
        """
        others = sorted((_shows(one), place) for place, (one, _, _) in enumerate(self._known) if not one.bad)
        left_out = {place for _, place in others[: max(0, len(others) - good)]}
        lines = [
            _fact(one, fact.cut(line), text.cut(bad_detail if one.bad else detail))
            for place, (one, fact, text) in enumerate(self._known)
            if place not in left_out
        ]
        if left_out:
            lines.insert(0, f"[... {len(left_out)} facts that are not AGAINST left out ...]")
        return "\n".join(lines)

    def bare(self, tokens: int) -> str:
        """What speaks against alone, in short lines; of too many the middle ones go."""
        lines = [_fact(one, fact.cut(BARE), "") for one, fact, _ in self._known if one.bad]
        sizes, room = [estimate(line) + 1 for line in lines], tokens - 30
        kept = 0
        for place in range(len(lines)):
            room -= sizes[place // 2] if place % 2 == 0 else sizes[-1 - place // 2]
            if room < 0:
                break
            kept += 1
        head, last = lines[: (kept + 1) // 2], lines[len(lines) - kept // 2 :]
        left = len(lines) - kept
        return "\n".join([*head, f"[... {left} facts AGAINST left out ...]", *last] if left else lines)


def _fact(one: Evidence, fact: str, detail: str) -> str:
    """One fact with its marks: what it shows, or why it shows nothing."""
    shows = f" {one.worth.upper()}" if _shows(one) else ""
    marks = f"{' STALE' if one.stale else ''}{' AGAINST' if one.bad else shows}"
    head = f"{one.id} [{one.source}{marks}] {fact}"
    return f"{head}\n{_indented(detail, '    ')}" if detail else head


def _shows(one: Evidence) -> int:
    """How much a fact can show: 0 where it is stale, speaks against, or is only said."""
    if one.stale or one.bad or one.source in (Source.CLAIM, Source.STEERING):
        return 0
    return WORTHS.index(one.worth)


def _indented(text: str, by: str) -> str:
    """Each line but the first one of a numbered text: all that follow stand below it."""
    first, *more = text.split("\n")
    lead = by if by == "    " else ""
    return "\n".join([lead + first, *(by + line if line else "" for line in more)])
