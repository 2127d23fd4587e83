"""Tells which tests passed when the work began, run no more, and fail by assertion as they were."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from sidecar.evidence.proof.opened import language_family
from sidecar.evidence.reports.report import without_line_numbers
from sidecar.kernel.gate import CheckComparison, GateRun, Outcome

UNCAUGHT: Final = re.compile(
    r"(?!Assertion)[A-Z]\w+(?:Error|Exception)\b(?! \[ERR_ASSERTION\])|fixture .* not found|collect"
)
"""How a failure begins that is none of an assertion: nothing was compared."""
NOT_BUILT: Final = re.compile(
    r"\berror(?:\[\w+\])?: |\*\*\* |undefined reference|[Cc]annot find (?:module|function)"
)
OUTER_NAMES: Final = re.compile(r"^.*(?:::| > )|^\S+: ")
"""What stands before the name of a test: its file, class or suites."""
FILE_NAME: Final = re.compile(r"[\w./-]+\.\w+")


def checks_gone(seen: CheckComparison) -> tuple[str, ...]:
    """Return the tests that passed at the baseline, run no more, and fail by assertion on today's code.

    Where no report names the tests that ran, fewer of them, or more that were skipped, tell that some went.
    """
    old, base, copy, now = seen.old, seen.base, seen.copy, seen.now
    if old is None or base is None or old.outcome is not Outcome.FAILED:
        return ()
    passed = base.outcome is Outcome.PASSED or (base.outcome is Outcome.FAILED and base.failing)
    broken = tuple(
        name
        for name in (old.failing if passed else ())
        if name not in base.failing and fails_by_assertion(old, name)
    )
    if copy is not None and copy.ran is not None and copy.gate.command == old.gate.command:
        return tuple(name for name in broken if not is_named(name, copy.ran))
    return broken if _some_went(now, base) else ()


def is_named(name: str, names: Iterable[str]) -> bool:
    """Whether a test is among these, in whatever file and with whatever parameters."""
    return bare_name(name) in map(bare_name, names)


def bare_name(name: str) -> str:
    """Return the name of a test without its file, its suites and its parameters."""
    return re.split(r"[\[(]", OUTER_NAMES.sub("", name))[0].strip()


def fails_by_assertion(run: GateRun, name: str) -> bool:
    """Whether this test ran and something that it compared was otherwise."""
    line = next(
        (line for line in run.failures if name in (line, without_line_numbers(line)) or f"{name}:" in line),
        "",
    )
    said = line.removeprefix(name).lstrip(": ")
    file = FILE_NAME.fullmatch(name) and ("/" in name or language_family(name))  # else module.Class.test
    loaded = not file and not UNCAUGHT.match(said)
    return bool(line) and loaded and not NOT_BUILT.search(line)


def _some_went(now: GateRun, base: GateRun) -> bool:
    fewer = now.executed is not None and base.executed is not None and now.executed < base.executed
    return fewer or (now.skipped or 0) > (base.skipped or 0)
