"""What `supervisor eval` has found: the schema of `--json`, the exit code, and each figure in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from operator import attrgetter
from typing import Any, Final

from msgspec import Struct

from sidecar.model.evaluation import Flip, Outcome
from sidecar.policy import figures
from sidecar.policy.figures import Figures, Group, RuleFigures
from sidecar.policy.intervals import Estimate, Share

NONE: Final = "-"
"""Stands for a figure that cannot be had."""
DIGITS: Final = 4
"""Decimal places of rates in JSON."""


class ExitCode(IntEnum):
    """What a script should know."""

    DONE = 0
    FELL_SHORT = 1
    COULD_NOT_RUN = 2


class Part(Struct, frozen=True, kw_only=True):
    """One set of stops: all of them, or those of one origin."""

    name: str
    figures: Figures
    families: tuple[Group, ...]
    languages: tuple[Group, ...]
    hosts: tuple[Group, ...]
    rules: tuple[RuleFigures, ...]


class Failure(Struct, frozen=True):
    """Why the judge gave no verdict, and how often."""

    reason: str
    times: int


class Report(Struct, frozen=True, kw_only=True):
    """One measurement.

    `against`, with what goes before, is there where two rubrics are compared: `flips` then lead from `rubric`
    to `against`. `missed` are the floors that were not reached. `version` is raised when a field changes its
    meaning or goes; new fields may come at any time.
    """

    version: int = 1
    backend: str
    rubric: str
    files: tuple[str, ...]
    parts: tuple[Part, ...]
    wrong: tuple[Outcome, ...]
    failures: tuple[Failure, ...]
    against: str = ""
    parts_against: tuple[Part, ...] = ()
    flips: tuple[Flip, ...] = ()
    missed: tuple[str, ...] = ()
    exit_code: int = ExitCode.DONE


class Floors(Struct, frozen=True):
    """The least precision and recall, None where any will do."""

    precision: float | None = None
    recall: float | None = None

    def missed(self, known: Figures) -> tuple[str, ...]:
        """What was not reached; a figure that cannot be had reaches no floor."""
        pairs = ("precision", self.precision, known.precision), ("recall", self.recall, known.recall)
        return tuple(
            f"{name} {percent(share.rate)} is below {percent(floor)}"
            for name, floor, share in pairs
            if floor is not None and (share.rate is None or share.rate < floor)
        )


def parts(outcomes: Sequence[Outcome]) -> tuple[Part, ...]:
    """All stops; then, where there are several kinds, each apart."""
    sets = apart(outcomes)
    return (part("all", outcomes), *(part(name, own) for name, own in sets.items() if len(sets) > 1))


def apart(outcomes: Sequence[Outcome]) -> dict[str, tuple[Outcome, ...]]:
    """By origin, and what was written blind to the rules by itself; no empty sets."""
    kinds: dict[str, Callable[[Outcome], bool]] = {
        "by hand, blind": lambda one: one.blind,
        "by hand": lambda one: one.origin == "by-hand" and not one.blind,
        "executed": lambda one: one.origin == "executed" and not one.blind,
        "generated": lambda one: one.origin == "generated" and not one.blind,
    }
    sets = {name: tuple(one for one in outcomes if holds(one)) for name, holds in kinds.items()}
    return {name: own for name, own in sets.items() if own}


def part(name: str, outcomes: Sequence[Outcome]) -> Part:
    """All figures of one set."""
    return Part(
        name=name,
        figures=figures.figures(outcomes),
        families=figures.groups(outcomes, attrgetter("family")),
        languages=figures.groups(outcomes, attrgetter("language")),
        hosts=figures.groups(outcomes, attrgetter("host")),
        rules=figures.rules(outcomes),
    )


def failures(outcomes: Iterable[Outcome]) -> tuple[Failure, ...]:
    """Why judges failed, the most frequent reason first."""
    counts = Counter(one.failed for one in outcomes if one.failed)
    return tuple(Failure(reason, times) for reason, times in counts.most_common())


def exit_code(outcomes: Iterable[Outcome], missed: Sequence[str]) -> ExitCode:
    """Whether it fell short: a false complete, or a floor that was not reached."""
    short = missed or figures.false_completes(outcomes)
    return ExitCode.FELL_SHORT if short else ExitCode.DONE


def plain(value: Any) -> Any:  # noqa: ANN401 - any of our figures, and what JSON can say of it
    """The value for JSON; a share with its rate and interval."""
    match value:
        case Share():
            known = value.estimate
            ends = (known.value, known.low, known.high) if known else (None, None, None)
            return {"count": value.count, "of": value.of} | dict(
                zip(("rate", "low", "high"), map(plain, ends), strict=True)
            )
        case Struct():
            return {name: plain(getattr(value, name)) for name in value.__struct_fields__}
        case tuple() | list():
            return [plain(each) for each in value]
        case float():
            return round(value, DIGITS)
        case _:
            return value


def headline(known: Figures) -> tuple[tuple[str, str], ...]:
    """Every figure of a set: its name, and what it is in words."""
    cost = known.cost
    unpriced = f" and {cost.unpriced} without a price" if cost.unpriced else ""
    return (
        ("stops, of them premature", f"{known.stops}, {known.premature}"),
        ("precision of sending back", share(known.precision)),
        ("recall of sending back", share(known.recall)),
        ("legitimate stops sent back", share(known.false_alarms)),
        *(
            (f"precision where {percent(each.base_rate, 0)} are premature", estimate(each.precision))
            for each in known.at_rates
        ),
        ("area under the curve, with a confidence", _area(known.area, known.scored)),
        ("area under the curve, all stops", _area(known.area_of_all, Share(known.stops, known.stops))),
        ("false completes", share(known.false_completes)),
        ("false completes, evidence made up", share(known.fabricated_completes)),
        ("goals that hold, achieved at this stop", share(known.achieved)),
        ("abstained (unjudged)", share(known.abstained)),
        ("unverified", share(known.unverified)),
        ("decided without a model call", share(known.avoided)),
        *((f"decided at: {stage.name}", share(stage.decided)) for stage in known.stages),
        ("left to the judge, and no verdict", share(known.unanswered)),
        ("model requests, tokens", f"{cost.calls}, {cost.tokens}"),
        ("tokens per stop", f"{cost.per_stop:.0f}"),
        ("tokens per stop asked about", NONE if cost.per_asked is None else f"{cost.per_asked:.0f}"),
        ("cents", f"{cost.cents:.2f}{unpriced}"),
    )


def share(one: Share) -> str:
    """A count, its share and the interval: "120 of 122 = 98.4 % [94.2-99.5]"."""
    return f"{one.count} of {one.of}" + (f" = {estimate(one.estimate)}" if one.of else "")


def estimate(one: Estimate | None) -> str:
    """A share and its interval, in percent."""
    return NONE if one is None else f"{percent(one.value)} [{100 * one.low:.1f}-{100 * one.high:.1f}]"


def percent(rate: float | None, places: int = 1) -> str:
    """A rate in percent."""
    return NONE if rate is None else f"{100 * rate:.{places}f} %"


def _area(one: Estimate | None, of: Share) -> str:
    return NONE if one is None else f"{one.value:.3f} [{one.low:.3f}-{one.high:.3f}], {of.count} stops"
