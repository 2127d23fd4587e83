"""Formats the sections of a case, each within a number of tokens, and marks what was cut.

Only our own evidence ids appear as such. A fact is on one line and its detail is indented, so that neither
can look like another fact.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from sidecar.judging.backends.quoting import clean_foreign_text, clean_one_line
from sidecar.judging.backends.tokens import cut_middle, cut_to_tokens, estimate_tokens
from sidecar.kernel.evidence import EvidenceStrength, Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sidecar.kernel.effects import JudgeCase
    from sidecar.kernel.evidence import Evidence, FileDiff
    from sidecar.kernel.rubric import Criterion


TEXT_LIMIT: Final = 32_000
"""Characters of one text that are used, half from each end: more than any budget holds."""
PROMPT_FILES_LIMIT: Final = 30
"""Changed files that are named; the rest are only counted."""
PATH_LIMIT: Final = 120
"""Characters of a path that are shown."""
FACT_LIMIT: Final = 1_000
"""Characters of a fact that are used."""
DETAIL_LIMIT: Final = 2_000
"""Characters of a detail that are used, from its end: more than any budget holds."""
MORE_LINES_TOKENS: Final = 8
"""Tokens reserved to say how many lines of a diff are not shown."""
BARE_FACT_TOKENS: Final = 50
"""Tokens per fact if there is no room for anything else."""
LEAST_PROMPT: Final = 40
"""Least tokens of each prompt that is shown."""
PRINTED_BY: Final = {Source.GATE: "printed by the check", Source.TOOL: "printed by the agent's command"}
"""Where the detail of a fact comes from."""


def clean_bounded_text(text: str) -> str:
    """Bound a foreign text, then clean it."""
    return clean_foreign_text(cut_middle(text, TEXT_LIMIT)).strip()


# --- rubric ---


def format_criteria(groups: Iterable[tuple[str, tuple[Criterion, ...]]], tokens: int) -> str:
    """Format the criteria under headings. If they do not fit, texts are cut; ids and names stay."""
    groups = tuple((heading, ones) for heading, ones in groups if ones)
    text = ""
    for room in (TEXT_LIMIT, 150, 80, 40, 20, 0):
        parts = (
            f"# {heading}\n\n" + "\n".join(_format_criterion(one, room) for one in ones)
            for heading, ones in groups
        )
        text = "\n\n".join(parts)
        if estimate_tokens(text) <= tokens:
            return text
    return cut_to_tokens(text, tokens)


def _format_criterion(one: Criterion, room: int) -> str:
    name = clean_one_line(one.name)[:PATH_LIMIT]
    ident = clean_one_line(one.id or one.name)[:PATH_LIMIT]
    said = "" if _id_repeats_name(ident, name) else f" {name}"
    when = f" (when: {cut_to_tokens(clean_one_line(one.when), room)})" if one.when and room else ""
    shown = cut_to_tokens(clean_one_line(", ".join(one.evidence)), room)
    by = f" (shown by: {shown})" if one.evidence and room else ""
    text = _indent_lines(cut_to_tokens(clean_bounded_text(one.text), room), "  ").lstrip()
    return f"- {ident} [{one.severity}]{said}{when}{by}{':' if text else ''} {text}".rstrip()


def _id_repeats_name(ident: str, name: str) -> bool:
    """Whether an id says the same as the name."""
    return "".join(filter(str.isalnum, ident.lower())) == "".join(filter(str.isalnum, name.lower()))


# --- prompts ---


def prompts_section(texts: Sequence[str], tokens: int) -> str:
    """Number the clean prompts; long ones are cut in the middle, and of too many the middle ones go."""
    most, shown = max(2, tokens // LEAST_PROMPT), list(enumerate(texts, start=1))
    if (left_out := len(shown) - most) > 0:
        del shown[most // 2 : most // 2 + left_out]
    level = _fair_share([estimate_tokens(text) for _, text in shown], tokens)
    lines = [_indent_lines(f"{number}. {cut_to_tokens(text, level)}", "   ") for number, text in shown]
    if left_out > 0:
        lines.insert(most // 2, f"[... {left_out} prompts left out ...]")
    return "\n\n".join(lines)


def _fair_share(sizes: list[int], tokens: int) -> int:
    """Maximum tokens for each, so that all together have at most `tokens`."""
    left = tokens
    for place, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - place)
        if size > share:
            return share
        left -= size
    return tokens


# --- edits ---


def edits_section(case: JudgeCase, tokens: int) -> str:
    """List how many files changed, which, and as many of their lines as fit."""
    lines = list(_edits_summary(case))
    for edit in case.edits[:PROMPT_FILES_LIMIT]:
        lines.append(_edit_heading(edit))
        if tokens > 0 and edit.hunks:
            shown, cost = _beginning_of_diff(edit.hunks, tokens)
            tokens -= cost
            lines.append(_indent_lines(shown, "    ") if shown else "    (no room for its lines)")
    if (more := len(case.edits) - PROMPT_FILES_LIMIT) > 0:
        lines.append(f"[... {more} more files ...]")
    return "\n".join(lines)


def _beginning_of_diff(hunks: str, tokens: int) -> tuple[str, int]:
    """Return as many lines of a diff as fit, and their tokens."""
    lines = clean_foreign_text(hunks).split("\n")
    sums = [0, *accumulate(estimate_tokens(line) + 1 for line in lines)]
    kept = bisect_right(sums, tokens - MORE_LINES_TOKENS) - 1 if sums[-1] > tokens else len(lines)
    if kept <= 0:
        return "", 0
    more = [f"... {len(lines) - kept} more lines"] if kept < len(lines) else []
    return "\n".join([*lines[:kept], *more]), sums[kept] + MORE_LINES_TOKENS


def _edits_summary(case: JudgeCase) -> Iterator[str]:
    if case.edits:
        added, removed = sum(edit.added for edit in case.edits), sum(edit.removed for edit in case.edits)
        yield f"{len(case.edits)} changed, +{added} -{removed} lines; the most telling first"
    if case.edits_unseen:
        yield f"not all of them are known: {cut_to_tokens(clean_one_line(case.edits_unseen), 80)}"


def _edit_heading(edit: FileDiff) -> str:
    path, told = cut_middle(clean_one_line(edit.path), PATH_LIMIT), clean_one_line(edit.unshown)[:PATH_LIMIT]
    if not path:
        return told
    moved = f"{cut_middle(clean_one_line(edit.old_path), PATH_LIMIT)} -> " if edit.old_path else ""
    return f"{moved}{path} (+{edit.added} -{edit.removed}){f': {told}' if told else ''}"


# --- evidence ---


CleanEvidence = list[tuple["Evidence", str, str]]
"""Evidence, with its clean fact and detail."""


def clean_evidence(evidence: Iterable[Evidence]) -> CleanEvidence:
    """Clean the evidence of a case."""
    return [
        (one, clean_one_line(one.fact[:FACT_LIMIT]), clean_bounded_text(one.detail[-DETAIL_LIMIT:]))
        for one in evidence
    ]


def evidence_section(known: CleanEvidence, line: int, good: int, detail: int, bad_detail: int) -> str:
    """Format every fact against being done, and the `good` strongest ones of the others.

    The other arguments are tokens: of a fact, of a detail, and of a detail of a fact against.
    """
    others = sorted((_evidence_rank(one), place) for place, (one, _, _) in enumerate(known) if not one.bad)
    left_out = {place for _, place in others[: max(0, len(others) - good)]}
    lines = [
        _format_fact(one, cut_to_tokens(fact, line), cut_to_tokens(text, bad_detail if one.bad else detail))
        for place, (one, fact, text) in enumerate(known)
        if place not in left_out
    ]
    if left_out:
        lines.insert(0, f"[... {len(left_out)} facts that are not AGAINST left out ...]")
    return "\n".join(lines)


def facts_against(known: CleanEvidence, tokens: int) -> str:
    """Format only the facts against, in short lines; of too many the middle ones go."""
    against = ((one, cut_to_tokens(fact, BARE_FACT_TOKENS)) for one, fact, _ in known if one.bad)
    lines = [_format_fact(one, fact, "") for one, fact in against]
    sizes, room = [estimate_tokens(line) + 1 for line in lines], tokens - 30
    kept = 0
    for place in range(len(lines)):
        room -= sizes[place // 2] if place % 2 == 0 else sizes[-1 - place // 2]
        if room < 0:
            break
        kept += 1
    head, last = lines[: (kept + 1) // 2], lines[len(lines) - kept // 2 :]
    left = len(lines) - kept
    return "\n".join([*head, f"[... {left} facts AGAINST left out ...]", *last] if left else lines)


def _format_fact(one: Evidence, fact: str, detail: str) -> str:
    """Format one fact with its marks: its strength, or why it proves nothing."""
    shows = f" {one.worth.upper()}" if _evidence_rank(one) else ""
    marks = f"{' STALE' if one.stale else ''}{' AGAINST' if one.bad else shows}"
    head = f"{one.id} [{one.source}{marks}] {fact}"
    if not detail:
        return head
    return f"{head}\n  {PRINTED_BY.get(one.source, 'quoted')}:\n{_indent_lines(detail, '    ')}"


def _evidence_rank(one: Evidence) -> int:
    """How strong a fact is: 0 if it is stale, speaks against, or is a mere claim."""
    return list(EvidenceStrength).index(one.proves or EvidenceStrength.NOTHING)


def _indent_lines(text: str, by: str) -> str:
    """Indent all lines but the first; by four spaces, the first too."""
    first, *more = text.split("\n")
    lead = by if by == "    " else ""
    return "\n".join([lead + first, *(by + line if line else "" for line in more)])
