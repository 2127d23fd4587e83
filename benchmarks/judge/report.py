"""What came out, as Markdown: every figure of every set, then who was judged wrongly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final

from judge.figures import (
    EvaluationFigures,
    GroupFigures,
    RuleFigures,
    compute_figures,
    compute_group_figures,
    compute_rule_figures,
)
from judge.intervals import Estimate, Proportion
from msgspec import Struct

from sidecar.judging.labelled_stops import misjudged_stops
from sidecar.kernel.stop_history import EvaluatedStop

NO_FIGURE: Final = "-"
"""Shown for a figure that cannot be computed."""
RATE_DIGITS: Final = 4
"""Decimal places of rates in JSON."""

LISTED: Final = 40
"""Stops judged wrongly of one set that are listed; --json has them all."""
SHOWN: Final = 200
"""Characters of why."""


class ReportPart(Struct, frozen=True, kw_only=True):
    """The figures of one set of stops: all of them, or those of one origin."""

    name: str
    figures: EvaluationFigures
    families: tuple[GroupFigures, ...]
    languages: tuple[GroupFigures, ...]
    hosts: tuple[GroupFigures, ...]
    rules: tuple[RuleFigures, ...]


class Result(Struct, frozen=True, kw_only=True):
    """One set and what became of it."""

    part: ReportPart
    outcomes: tuple[EvaluatedStop, ...]
    failures: Mapping[str, int] = {}


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
    for reason, times in result.failures.items():
        yield f"- no verdict, {times} times: {reason}"
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


# --- figures ---------------------------------------------------------------------------------------------


def split_by_origin(outcomes: Sequence[EvaluatedStop]) -> dict[str, tuple[EvaluatedStop, ...]]:
    """The stops by origin; those written blind to the rules are a set of their own. Leaves out empty sets."""
    kinds: dict[str, Callable[[EvaluatedStop], bool]] = {
        "by hand, blind": lambda one: one.blind,
        "by hand": lambda one: one.origin == "by-hand" and not one.blind,
        "executed": lambda one: one.origin == "executed" and not one.blind,
    }
    sets = {name: tuple(one for one in outcomes if holds(one)) for name, holds in kinds.items()}
    return {name: own for name, own in sets.items() if own}


def build_report_part(name: str, outcomes: Sequence[EvaluatedStop]) -> ReportPart:
    """All figures of one set."""
    return ReportPart(
        name=name,
        figures=compute_figures(outcomes),
        families=compute_group_figures(outcomes, attrgetter("family")),
        languages=compute_group_figures(outcomes, attrgetter("language")),
        hosts=compute_group_figures(outcomes, attrgetter("host")),
        rules=compute_rule_figures(outcomes),
    )


def figures_to_json(value: Any) -> Any:  # noqa: ANN401 - any of our figures, and what JSON can say of it
    """Convert a value for JSON; a Proportion also gets its rate and interval."""
    match value:
        case Proportion():
            known = value.estimate
            ends = (known.value, known.low, known.high) if known else (None, None, None)
            return {"count": value.count, "of": value.of} | dict(
                zip(("rate", "low", "high"), map(figures_to_json, ends), strict=True)
            )
        case Struct():
            return {name: figures_to_json(getattr(value, name)) for name in value.__struct_fields__}
        case tuple() | list():
            return [figures_to_json(each) for each in value]
        case float():
            return round(value, RATE_DIGITS)
        case _:
            return value


def figure_rows(known: EvaluationFigures) -> tuple[tuple[str, str], ...]:
    """The name and the text of every figure of a set."""
    cost = known.cost
    unpriced = f" and {cost.unpriced} without a price" if cost.unpriced else ""
    return (
        ("stops, of them premature", f"{known.stops}, {known.premature}"),
        ("precision of sending back", format_share(known.precision)),
        ("recall of sending back", format_share(known.recall)),
        ("legitimate stops sent back", format_share(known.false_alarms)),
        *(
            (
                f"precision where {format_percent(each.base_rate, 0)} are premature",
                format_estimate(each.precision),
            )
            for each in known.at_rates
        ),
        ("area under the curve, with a confidence", _format_area(known.area, known.scored)),
        (
            "area under the curve, all stops",
            _format_area(known.area_of_all, Proportion(known.stops, known.stops)),
        ),
        ("false completes", format_share(known.false_completes)),
        ("false completes, evidence made up", format_share(known.fabricated_completes)),
        ("goals that hold, achieved at this stop", format_share(known.achieved)),
        ("abstained (unjudged)", format_share(known.abstained)),
        ("unverified", format_share(known.unverified)),
        ("decided without a model call", format_share(known.avoided)),
        *((f"decided at: {stage.name}", format_share(stage.decided)) for stage in known.stages),
        ("left to the judge, and no verdict", format_share(known.unanswered)),
        ("model requests, tokens", f"{cost.calls}, {cost.tokens}"),
        ("tokens per stop", f"{cost.per_stop:.0f}"),
        ("tokens per stop asked about", NO_FIGURE if cost.per_asked is None else f"{cost.per_asked:.0f}"),
        ("cents", f"{cost.cents:.2f}{unpriced}"),
    )


def format_share(one: Proportion) -> str:
    """A count, its share and the interval: "120 of 122 = 98.4 % [94.2-99.5]"."""
    return f"{one.count} of {one.of}" + (f" = {format_estimate(one.estimate)}" if one.of else "")


def format_estimate(one: Estimate | None) -> str:
    """A share and its interval, in percent."""
    return (
        NO_FIGURE
        if one is None
        else f"{format_percent(one.value)} [{100 * one.low:.1f}-{100 * one.high:.1f}]"
    )


def format_percent(rate: float | None, places: int = 1) -> str:
    """A rate in percent."""
    return NO_FIGURE if rate is None else f"{100 * rate:.{places}f} %"


def _format_area(one: Estimate | None, of: Proportion) -> str:
    return NO_FIGURE if one is None else f"{one.value:.3f} [{one.low:.3f}-{one.high:.3f}], {of.count} stops"
