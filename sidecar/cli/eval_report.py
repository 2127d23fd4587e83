"""Results of `supervisor eval`: the schema of `--json`, the exit code, and each figure as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from operator import attrgetter
from typing import Any, Final

from msgspec import Struct

from sidecar.judging import figures
from sidecar.judging.figures import EvaluationFigures, GroupFigures, RuleFigures
from sidecar.judging.intervals import Estimate, Proportion
from sidecar.kernel.stop_history import ChangedOutcome, EvaluatedStop

NO_FIGURE: Final = "-"
"""Shown for a figure that cannot be computed."""
RATE_DIGITS: Final = 4
"""Decimal places of rates in JSON."""


class EvalExitCode(IntEnum):
    """The exit codes of `supervisor eval`."""

    DONE = 0
    FELL_SHORT = 1
    COULD_NOT_RUN = 2


class ReportPart(Struct, frozen=True, kw_only=True):
    """The figures of one set of stops: all of them, or those of one origin."""

    name: str
    figures: EvaluationFigures
    families: tuple[GroupFigures, ...]
    languages: tuple[GroupFigures, ...]
    hosts: tuple[GroupFigures, ...]
    rules: tuple[RuleFigures, ...]


class JudgeFailure(Struct, frozen=True):
    """Why the judge gave no verdict, and how often."""

    reason: str
    times: int


class EvalReport(Struct, frozen=True, kw_only=True):
    """One measurement.

    `against`, `parts_against` and `flips` are set where two rubrics are compared; `flips` then lead from
    `rubric` to `against`. `missed` are the floors that were not reached. `version` is raised when a field
    changes its meaning or is removed; fields may be added at any time.
    """

    version: int = 1
    backend: str
    rubric: str
    files: tuple[str, ...]
    parts: tuple[ReportPart, ...]
    wrong: tuple[EvaluatedStop, ...]
    failures: tuple[JudgeFailure, ...]
    against: str = ""
    parts_against: tuple[ReportPart, ...] = ()
    flips: tuple[ChangedOutcome, ...] = ()
    missed: tuple[str, ...] = ()
    exit_code: int = EvalExitCode.DONE


class FigureFloors(Struct, frozen=True):
    """The least precision and recall; None accepts any."""

    precision: float | None = None
    recall: float | None = None

    def missed(self, known: EvaluationFigures) -> tuple[str, ...]:
        """The floors that were not reached, as text; a figure that cannot be computed reaches none."""
        pairs = ("precision", self.precision, known.precision), ("recall", self.recall, known.recall)
        return tuple(
            f"{name} {format_percent(share.rate)} is below {format_percent(floor)}"
            for name, floor, share in pairs
            if floor is not None and (share.rate is None or share.rate < floor)
        )


def report_parts(outcomes: Sequence[EvaluatedStop]) -> tuple[ReportPart, ...]:
    """The figures of all stops; then, where there are several origins, of each."""
    sets = split_by_origin(outcomes)
    return (
        build_report_part("all", outcomes),
        *(build_report_part(name, own) for name, own in sets.items() if len(sets) > 1),
    )


def split_by_origin(outcomes: Sequence[EvaluatedStop]) -> dict[str, tuple[EvaluatedStop, ...]]:
    """The stops by origin; those written blind to the rules are a set of their own. Leaves out empty sets."""
    kinds: dict[str, Callable[[EvaluatedStop], bool]] = {
        "by hand, blind": lambda one: one.blind,
        "by hand": lambda one: one.origin == "by-hand" and not one.blind,
        "executed": lambda one: one.origin == "executed" and not one.blind,
        "generated": lambda one: one.origin == "generated" and not one.blind,
    }
    sets = {name: tuple(one for one in outcomes if holds(one)) for name, holds in kinds.items()}
    return {name: own for name, own in sets.items() if own}


def build_report_part(name: str, outcomes: Sequence[EvaluatedStop]) -> ReportPart:
    """All figures of one set."""
    return ReportPart(
        name=name,
        figures=figures.compute_figures(outcomes),
        families=figures.compute_group_figures(outcomes, attrgetter("family")),
        languages=figures.compute_group_figures(outcomes, attrgetter("language")),
        hosts=figures.compute_group_figures(outcomes, attrgetter("host")),
        rules=figures.compute_rule_figures(outcomes),
    )


def count_judge_failures(outcomes: Iterable[EvaluatedStop]) -> tuple[JudgeFailure, ...]:
    """Why judges failed, the most frequent reason first."""
    counts = Counter(one.failed for one in outcomes if one.failed)
    return tuple(JudgeFailure(reason, times) for reason, times in counts.most_common())


def eval_exit_code(outcomes: Iterable[EvaluatedStop], missed: Sequence[str]) -> EvalExitCode:
    """FELL_SHORT for a false complete or a floor that was not reached, else DONE."""
    short = missed or figures.count_false_completes(outcomes)
    return EvalExitCode.FELL_SHORT if short else EvalExitCode.DONE


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
