"""Numbers that a check must reach or stay below: lowered, raised, or gone.

A floor (coverage, a score) is looser when it is lower or gone, a ceiling (complexity, warnings, line length)
when it is higher. A number that was never there has no default here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sidecar.model.finding import Change, Finding, Weight
from sidecar.policy.kept.pairs import Pair, is_false, is_true, numbers

FLOORS = frozenset(
    {
        "fail_under",
        "cov_fail_under",
        "minimum_coverage",
        "minimum_coverage_by_file",
        "min_coverage",
        "coverage_min",
    }
    | {
        "minimumcoverage",
        "minmsi",
        "mincoveredmsi",
        "atleast",
        "fail_under_lines",
        "fail_under_branches",
        "break",
    }
    | {
        "line_coverage",
        "branch_coverage",
        "coverage_threshold",
        "min_line_coverage",
        "type_coverage",
        "docstring_threshold",
    }
)
"""Floors by the last part of their key, wherever they stand."""
COVERED = frozenset({"branches", "lines", "functions", "statements", "regions", "methods", "classes"})
"""Floors where the key or the file speaks of coverage."""
BOUNDED = frozenset({"minimum", "min", "target", "threshold", "100", "level", "value", "range"})
"""Floors where the key or the file says so: codecov, jacoco, phpstan."""
CEILINGS = frozenset(
    {
        "max_complexity",
        "max_warnings",
        "max_args",
        "max_positional_args",
        "max_locals",
        "max_branches",
        "max_returns",
    }
    | {"max_statements", "max_lines", "max_depth", "max_params", "max_nested_blocks", "max_nested_callbacks"}
    | {
        "max_public_methods",
        "max_attributes",
        "max_bool_expr",
        "max_module_lines",
        "max_cognitive_complexity",
    }
    | {"max_parents", "max_lines_per_function", "cognitive_complexity", "cyclomatic_complexity", "complexity"}
    | {
        "cognitive_complexity_threshold",
        "too_many_arguments_threshold",
        "too_many_lines_threshold",
        "errorlevel",
    }
    | {"min_complexity", "max_issues", "maxerrors", "maxwarnings"}
)
STYLE = frozenset({"max_line_length", "line_length", "max_doc_length", "printwidth", "linewidth", "max_len"})
"""Ceilings of taste."""
ABOUT_COVERAGE = re.compile(r"(?i)coverage|threshold|nyc|c8|codecov|kover|jacoco")
ABOUT_LIMIT = re.compile(
    r"(?i)codecov|coverage|threshold|jacoco|kover|verification|phpstan|sonar|score|minimum"
)
ABOUT_RULE = re.compile(r"(?i)rubocop|eslint|\brules?\b|golangci|gocyclo|cyclop|funlen|pylint|biome")
SWITCHES = frozenset({"check_coverage", "perfile", "per_file", "checkcoverage"})


def findings(pair: Pair) -> Iterator[Finding]:
    """What a pair says of a number; nothing where it holds none."""
    if _is_switch(pair):
        if is_true(pair.old) and not is_true(pair.new):
            yield pair.finding(Change.THRESHOLD_LOWERED, Weight.GRAVE)
    elif is_floor(pair):
        yield from _floor(pair)
    elif is_ceiling(pair):
        yield from _ceiling(pair)


def is_floor(pair: Pair) -> bool:
    """Whether a lower number finds less."""
    where = f"{pair.file} {pair.key}"
    if pair.tail in FLOORS:
        return True
    if pair.tail in COVERED or pair.tail.startswith("test_coverage"):
        return bool(ABOUT_COVERAGE.search(where))
    return pair.tail in BOUNDED and bool(ABOUT_LIMIT.search(where)) and not _is_allowance(pair)


def is_ceiling(pair: Pair) -> bool:
    """Whether a higher number finds less."""
    where = f"{pair.file} {pair.key}"
    in_rule = pair.tail in ("max", "max_len") or pair.key.split(".")[-2:-1] == ["rules"]
    return (
        pair.tail in CEILINGS | STYLE or (in_rule and bool(ABOUT_RULE.search(where))) or _is_allowance(pair)
    )


def _is_allowance(pair: Pair) -> bool:
    """Codecov's `threshold` is how much the coverage may fall."""
    return pair.tail == "threshold" and "codecov" in pair.file


def _is_switch(pair: Pair) -> bool:
    return pair.tail in SWITCHES or (pair.tail == "100" and "threshold" in pair.key.lower())


def _floor(pair: Pair) -> Iterator[Finding]:
    before, after = _of(pair, old=True), _of(pair, old=False)
    if before and (
        not after or any(new < old for old, new in zip(sorted(before), sorted(after), strict=False))
    ):
        if not after and (pair.after and pair.new == "auto"):
            yield pair.finding(Change.THRESHOLD_LOWERED, Weight.SHOWN)
        elif after or max(before) > 0:
            yield pair.finding(Change.THRESHOLD_LOWERED, Weight.GRAVE)


def _ceiling(pair: Pair) -> Iterator[Finding]:
    before, after = _of(pair, old=True), _of(pair, old=False)
    weight = Weight.SHOWN if pair.tail in STYLE else Weight.GRAVE
    if before and after and any(new > old for old, new in zip(sorted(before), sorted(after), strict=False)):
        yield pair.finding(Change.THRESHOLD_LOWERED, weight)
    elif before and not after and not pair.deleted and pair.tail in CEILINGS:
        yield pair.finding(Change.THRESHOLD_LOWERED, Weight.SHOWN)


def _of(pair: Pair, *, old: bool) -> list[float]:
    """The numbers of one side; an ESLint rule that is switched off holds none."""
    values = [setting.value for setting in (pair.before if old else pair.after)]
    if values and is_false(values[0]) and len(values) > 1:
        return []
    return [number for value in values if not value.startswith("$") for number in numbers(value)[:2]][:50]
