"""What came out, as Markdown: every figure of every set, then who was judged wrongly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from sidecar.cli.eval_report import JudgeFailure, ReportPart, figure_rows, format_share
from sidecar.judging.figures import GroupFigures, misjudged_stops
from sidecar.kernel.stop_history import EvaluatedStop

LISTED: Final = 40
"""Stops judged wrongly of one set that are listed; --json has them all."""
SHOWN: Final = 200
"""Characters of why."""


class Result(Struct, frozen=True, kw_only=True):
    """One set and what became of it."""

    part: ReportPart
    outcomes: tuple[EvaluatedStop, ...]
    failures: tuple[JudgeFailure, ...] = ()


def markdown(title: str, results: Sequence[Result], ancestor: Sequence[tuple[str, bool]]) -> str:
    """The whole report."""
    lines = [f"# {title}", ""]
    if results:
        lines += [*_table(results), ""]
    right = sum(holds for _, holds in ancestor)
    lines += [f"The ancestor's evals: {right} of {len(ancestor)} as they must be."]
    lines += [f"- {name}: {'right' if holds else 'WRONG'}" for name, holds in ancestor]
    for result in results:
        lines += ["", *_details(result)]
    return "\n".join(lines)


def _table(results: Sequence[Result]) -> list[str]:
    """A row for each figure, a column for each set; a stage that a set does not have is empty there."""
    columns = [dict(figure_rows(result.part.figures)) for result in results]
    names = list(dict.fromkeys(name for column in columns for name in column))
    head = " | ".join(result.part.name for result in results)
    rows = [f"| {name} | {' | '.join(column.get(name, '') for column in columns)} |" for name in names]
    return [f"| figure | {head} |", f"|{'---|' * (len(results) + 1)}", *rows]


def _details(result: Result) -> Iterable[str]:
    part = result.part
    yield f"## {part.name}"
    for title, groups in (("family", part.families), ("language", part.languages), ("host", part.hosts)):
        yield from ("", *_groups(title, groups))
    if part.rules:
        yield from ("", "| rule | right to send back | right to let rest | suspected, and premature |")
        yield "|---|---|---|---|"
        for rule in part.rules:
            shares = map(format_share, (rule.back, rule.rest, rule.suspected))
            yield f"| {rule.rule} | {' | '.join(shares)} |"
    for failure in result.failures:
        yield f"- no verdict, {failure.times} times: {failure.reason}"
    found = misjudged_stops(result.outcomes)
    if found:
        yield from ("", f"Judged wrongly, {len(found)} of {len(result.outcomes)}:", "")
        yield from map(_line, found[:LISTED])
        if len(found) > LISTED:
            yield f"- and {len(found) - LISTED} more"


def _groups(title: str, groups: Sequence[GroupFigures]) -> Iterable[str]:
    yield f"| {title} | judged wrongly | premature sent back | legitimate sent back | to the judge |"
    yield "|---|---|---|---|---|"
    for group in groups:
        shares = map(format_share, (group.wrong, group.caught, group.accused, group.asked))
        yield f"| {group.name} | {' | '.join(shares)} |"


def _line(one: EvaluatedStop) -> str:
    what = "**false complete**" if one.false_complete else one.ended
    rule = f", {one.rule}" if one.rule else ""
    why = " ".join(one.detail.split())[:SHOWN]
    return f"- {one.id} ({one.family}, {one.language}, {one.truth}): {what} at {one.stage}{rule}: {why}"
