"""Rates a comparison of checks: as they were at the baseline, and as they are, on today's code.

    the old checks pass on the new code        nothing was weakened: no finding
    fewer tests ran than of the old checks     dropped: shown, and weighed
    fails as it did at the baseline            the failure was made to go away: the agent is asked about it
    fails, and did not, or otherwise           an expectation changed: usual in honest work, shown and weighed
    nothing could be compared                  shown and weighed: gates alone decide nothing
    new tests pass on the old code, too        shown, where the goal asks for something new

"Weighed" means that a judge must cite it, and that without a judge the goal ends unverified.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from msgspec.structs import replace

from sidecar.evidence.gates.goal_checks import asks_for_change_of_checks
from sidecar.evidence.proof.opened import language_family
from sidecar.kernel.evidence import CheckChange, FindingSeverity, IntegrityFinding
from sidecar.kernel.gate import CheckComparison, CheckTrial, Gate, GateRun, Kind, Outcome
from sidecar.kernel.text import without_line_numbers

NAMED: Final = 10
"""Findings that the agent or the user is told of at once."""
NAMED_TESTS: Final = 5
"""Tests of one comparison that become findings of their own; the others are counted."""
TEXT_LENGTH: Final = 300
EXECUTED_CHANGES: Final = frozenset(
    (
        CheckChange.NEW_CHECKS_SHOW_NOTHING,
        CheckChange.OLD_FAILURE_REMAINS,
        CheckChange.EXPECTATION_CHANGED,
        CheckChange.CHECKS_DROPPED,
        CheckChange.NOT_COMPARED,
        CheckChange.CHECK_GONE,
        CheckChange.CANNOT_FAIL,
    )
)
"""What was found by running checks."""
UNLOADABLE: Final = "its file could not be loaded"
FILE_NAME: Final = re.compile(r"[\w-]+([./][\w-]+)+")
"""A file or a dotted module, as a runner names one that it cannot load."""
SENTENCES: Final = {
    CheckChange.OLD_FAILURE_REMAINS: "as it was {began}, it still fails: {after}",
    CheckChange.EXPECTATION_CHANGED: "as it was {began}, it fails on the new code: {after}",
    CheckChange.CHECKS_DROPPED: "checks were dropped: {before} {began}, {after} now",
    CheckChange.NOT_COMPARED: "changed, and {after}",
    CheckChange.NEW_CHECKS_SHOW_NOTHING: "what was added passes on the old code, too: it shows nothing new",
    CheckChange.CHECK_GONE: "it passed {began}, runs no more, and fails as it was: {after}",
    CheckChange.LOOKED_ELSEWHERE: "no check that passed opened it",
    CheckChange.COMMAND_WEAKENED: "the command of a check was weakened: {after}",
    CheckChange.CANNOT_FAIL: "passes {after}, too",
    CheckChange.ANSWERS_COPIED: "values of the tests stand in it now: {after}",
    CheckChange.GATE_CHANGED: "was changed since you approved it, so it was not run ({before})",
    CheckChange.TOOL_REPLACED: "changed since the work began, outside of what the project holds",
    CheckChange.LINK_LEAVES_TREE: "is a link out of the project now, to {after}",
    CheckChange.CI_CHANGED: "what the CI service runs was changed",
}
"""What is said of a change; of all others its name and the new line."""


# --- Rating -------------------------------------------------------------------------------------------------


def rate_surroundings(runs: Iterable[GateRun]) -> tuple[IntegrityFinding, ...]:
    """Rate what a passing gate loaded from outside the project: a change that nobody explains is grave."""
    files = dict.fromkeys(file for run in runs for file in run.unexplained)
    return tuple(
        IntegrityFinding(change=CheckChange.TOOL_REPLACED, weight=FindingSeverity.GRAVE, file=file)
        for file in files
    )


def rate_changed_gates(gates: Iterable[Gate]) -> tuple[IntegrityFinding, ...]:
    """Rate tests that may not run any more, because somebody changed what they run."""
    return tuple(
        IntegrityFinding(
            change=CheckChange.GATE_CHANGED,
            file=f"`{gate.command}`",
            before=gate.why[:TEXT_LENGTH],
            after=gate.behind[:TEXT_LENGTH],
        )
        for gate in gates
    )


def rate_comparison(
    seen: CheckComparison, asked: str = "", *, upgraded: bool = False
) -> tuple[IntegrityFinding, ...]:
    """Rate one comparison; see the table above.

    `asked`: what the user asked for, in their words. `upgraded`: a dependency got another version, with which
    the old code may fail though it did not then.
    """
    old, base, copy, line = seen.old, seen.base, seen.copy, f"`{seen.now.gate.command}`"
    if old is None:
        return (_unknown(seen, f"{line} could not be run with them as they were: {seen.unseen}"),)
    if old.outcome is Outcome.PASSED:
        return (_dropped(seen, old),) if fewer_ran(seen.now, old) else ()
    if _came_with_work(seen) or (base is not None and _was_no_check(old, base)):
        return ()
    if why := _why_not_comparable(seen.now, old, base, copy):
        return (_unknown(seen, f"{line} {why}"),)
    found = (*_rate_gone(seen, asked), *_rate_failures(seen, old, base or old))
    if upgraded or asks_for_change_of_checks(asked):  # the user's wish may be just this: the judge weighs it
        return tuple(replace(one, weight=FindingSeverity.SHOWN) for one in found)
    return found


def _rate_gone(seen: CheckComparison, asked: str) -> Iterator[IntegrityFinding]:
    """Rate tests that passed, run no more, and fail as they were: asked about, unless the user wants that."""
    told = asks_for_change_of_checks(asked)
    for name in seen.gone[:NAMED_TESTS]:
        after = (seen.old and _message(seen.old, name)) or name
        yield IntegrityFinding(
            change=CheckChange.CHECK_GONE,
            weight=FindingSeverity.SHOWN if told else FindingSeverity.GRAVE,
            file=_file_of(f"{name} {after}", seen),
            before=name,
            after=after,
        )


def rate_trial(trial: CheckTrial) -> tuple[IntegrityFinding, ...]:
    """Rate the trial of a check that passed: one that passes whatever the code does is no check."""
    tried = (
        (trial.on_base, "with the old code, with which it failed"),
        (trial.falsified, f"with the expectation at {trial.expectation} turned wrong"),
    )
    copied = (
        IntegrityFinding(change=CheckChange.ANSWERS_COPIED, file=file, after=", ".join(numbers))
        for file, numbers in trial.answers.items()
    )
    vain = (
        IntegrityFinding(
            change=CheckChange.CANNOT_FAIL,
            weight=FindingSeverity.GRAVE,
            file=f"`{trial.now.gate.command}`",
            after=how,
        )
        for run, how in tried
        if run is not None and run.outcome is Outcome.PASSED
    )
    return (*vain, *copied)


def rate_new_checks(comparisons: Iterable[CheckComparison]) -> tuple[IntegrityFinding, ...]:
    """Rate the new tests where a goal asks for something new: they show it if they fail on the old code."""
    seen = [one for one in comparisons if one.fresh is not None]
    if not seen or any(one.fresh is None or one.fresh.outcome is not Outcome.PASSED for one in seen):
        return ()
    return tuple(
        IntegrityFinding(change=CheckChange.NEW_CHECKS_SHOW_NOTHING, file=", ".join(one.files[:3]))
        for one in seen
        if one.base is not None and one.fresh is not None and fewer_ran(one.base, one.fresh)
    )


def _came_with_work(seen: CheckComparison) -> bool:
    """Whether the changed files that a gate's command names, as files or modules, were not there before."""
    words = {word.removeprefix("./") for word in re.split(r"[\s'\"]+|::", seen.now.gate.command)}
    named = {path for path in seen.files if words & {path, path.removesuffix(".py").replace("/", ".")}}
    return bool(named) and named <= {*seen.absent}


def _was_no_check(old: GateRun, base: GateRun) -> bool:
    """Whether there was no test yet when the work began, so that none was weakened."""
    return (old.idle or base.idle) and not old.executed and not base.executed


def _why_not_comparable(now: GateRun, old: GateRun, base: GateRun | None, copy: GateRun | None) -> str:
    """Say why a failure of the old checks says nothing; "" where it does."""
    # Where the old checks ran on the old code, the new one lacks what they need (a moved module).
    ran_before = base is not None and base.outcome in (Outcome.PASSED, Outcome.FAILED)
    if old.outcome is Outcome.COULD_NOT_RUN and not ran_before:
        return f"could not run with them as they were: {old.reason}"
    if base is None or copy is None:
        return "fails with them as they were; there was no time to find out why"
    if base.outcome is Outcome.COULD_NOT_RUN:
        return f"could not run on the files as they were: {base.reason}"
    same = copy.outcome is Outcome.PASSED or (copy.failing and {*copy.failing} <= {*now.failing})
    return "" if same else "does not pass in a copy without files that git ignores"


def _rate_failures(seen: CheckComparison, old: GateRun, base: GateRun) -> Iterator[IntegrityFinding]:
    """Rate old checks that fail on the new code: by test where the runner names them, else as a whole."""
    names = [name for name in old.failing or (f"`{old.gate.command}`",) if name not in seen.now.failing]
    for name in names[:NAMED_TESTS]:
        failed_before = _message(base, name) in (_message(old, name), UNLOADABLE)
        compared = not language_family(name)  # else a file of tests that could not be loaded, then and now
        yield IntegrityFinding(
            change=CheckChange.OLD_FAILURE_REMAINS if failed_before else CheckChange.EXPECTATION_CHANGED,
            weight=FindingSeverity.GRAVE if failed_before and compared else FindingSeverity.SHOWN,
            file=_file_of(f"{name} {_message(old, name)}", seen),
            before=name,
            after=_message(old, name) or name,
        )


def _message(run: GateRun, name: str) -> str:
    """Return how a test failed, or how the whole run did where no test is named; "" where it did not fail.

    A runner names a file that it cannot load as a test of its own.
    """
    if run.outcome is Outcome.COULD_NOT_RUN:
        return "it cannot be run any more"
    if not run.failing:
        return next(iter(run.failures), name) if run.outcome is Outcome.FAILED else ""
    if name in run.failing:
        return next((line for line in run.failures if name in line), name)
    files = [one.partition(" ")[0] for one in run.failing]
    return UNLOADABLE if any(FILE_NAME.fullmatch(file) and file in name for file in files) else ""


def _dropped(seen: CheckComparison, old: GateRun) -> IntegrityFinding:
    return IntegrityFinding(
        change=CheckChange.CHECKS_DROPPED,
        file=seen.files[0] if seen.files else "",
        before=f"{old.executed} tests ran",
        after=f"{seen.now.executed} run",
    )


def _unknown(seen: CheckComparison, why: str) -> IntegrityFinding:
    return IntegrityFinding(
        change=CheckChange.NOT_COMPARED, file=", ".join(seen.files[:3]), after=why[:TEXT_LENGTH]
    )


def fewer_ran(now: GateRun, old: GateRun) -> bool:
    """Whether fewer tests ran than before, where both are known."""
    return now.executed is not None and old.executed is not None and now.executed < old.executed


def _file_of(name: str, seen: CheckComparison) -> str:
    """Return the changed check file that a failure mentions, by path or as a module, else the first one."""
    files = sorted(seen.files, key=lambda path: path.startswith("."))  # settings of CI last
    stems = {path: path.rpartition("/")[2].partition(".")[0] for path in seen.files}
    named = [path for path in seen.files if path in name] or [
        path for path in seen.files if stems[path] in name
    ]
    return next(iter((*named, *files)), "")


# --- Tests that are gone: they passed when the work began, run no more, and fail by assertion as they were --


UNCAUGHT: Final = re.compile(
    r"(?!Assertion)[A-Z]\w+(?:Error|Exception)\b(?! \[ERR_ASSERTION\])|fixture .* not found|collect"
)
"""How a failure begins that is none of an assertion: nothing was compared."""
NOT_BUILT: Final = re.compile(
    r"\berror(?:\[\w+\])?: |\*\*\* |undefined reference|[Cc]annot find (?:module|function)"
)
OUTER_NAMES: Final = re.compile(r"^.*(?:::| > )|^\S+: ")
"""What stands before the name of a test: its file, class or suites."""
TEST_FILE_PATH: Final = re.compile(r"[\w./-]+\.\w+")


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
    file = TEST_FILE_PATH.fullmatch(name) and ("/" in name or language_family(name))  # else module.Class.test
    loaded = not file and not UNCAUGHT.match(said)
    return bool(line) and loaded and not NOT_BUILT.search(line)


def _some_went(now: GateRun, base: GateRun) -> bool:
    return fewer_ran(now, base) or (now.skipped or 0) > (base.skipped or 0)


# --- In words -----------------------------------------------------------------------------------------------


def relevant_findings(
    found: Iterable[IntegrityFinding], kinds: Collection[Kind]
) -> tuple[IntegrityFinding, ...]:
    """Return those that bear on checks of these kinds: a silenced linter says nothing of the tests."""
    kinds = frozenset(kinds)
    return tuple(one for one in found if not one.kinds or not kinds.isdisjoint(one.kinds))


def grave_findings(
    found: Iterable[IntegrityFinding], asked_about: Iterable[str] = ()
) -> tuple[IntegrityFinding, ...]:
    """Return the grave ones that the agent was not asked about yet."""
    asked = frozenset(asked_about)
    return tuple(
        one for one in found if one.weight is FindingSeverity.GRAVE and finding_digest(one) not in asked
    )


CHANGED_CHECKS: Final = frozenset(
    (CheckChange.EXPECTATION_CHANGED, CheckChange.CHECKS_DROPPED, CheckChange.CHECK_GONE)
)
"""What may be done to checks only where somebody asked for it."""


def standing_findings(found: Iterable[IntegrityFinding], asked: str) -> tuple[IntegrityFinding, ...]:
    """Return those by which work is not complete where no judge weighs them. `asked`: what is to be done."""
    counted = frozenset() if asks_for_change_of_checks(asked) else CHANGED_CHECKS
    return tuple(one for one in found if one.weight is FindingSeverity.GRAVE or one.change in counted)


def finding_digest(finding: IntegrityFinding) -> str:
    """Return a name that is the same for the same change, wherever its line moved."""
    parts: tuple[str, ...] = (finding.change, finding.file, finding.before)
    if finding.change not in EXECUTED_CHANGES:  # what a failing check prints may differ in every run
        parts = (*parts, finding.after)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:12]


def describe_finding(finding: IntegrityFinding) -> str:
    """Describe one finding in one line."""
    place = f"{finding.file}:{finding.line}" if finding.line else finding.file
    return f"{place}: {describe_check_change(finding)}"


def describe_check_change(finding: IntegrityFinding, began: str = "when the work began") -> str:
    """Describe one finding in one line, but for its place. `began` names the baseline."""
    words = SENTENCES.get(finding.change, f"{finding.change.replace('-', ' ')}: `{{after}}`")
    return words.format(before=finding.before, after=finding.after, began=began)


def describe_findings(found: Iterable[IntegrityFinding]) -> tuple[str, ...]:
    """Describe the first findings, and how many there are besides."""
    lines = [describe_finding(one) for one in found]
    rest = (f"and {len(lines) - NAMED} more",) if len(lines) > NAMED else ()
    return (*lines[:NAMED], *rest)
