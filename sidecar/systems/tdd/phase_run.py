"""One call of a phase of test-driven development: its attempts, and what they changed."""

from __future__ import annotations

import asyncio
import difflib
import re
from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.proof.check_files import (
    bears_on_checks,
    files_in,
    is_runner_setting,
    reported_places,
    text_of,
    with_old_inline_tests,
)
from sidecar.evidence.proof.file_names import CheckFiles
from sidecar.evidence.proof.opened import language_family
from sidecar.kernel.evidence import FileChange, ProjectChanges
from sidecar.kernel.gate import NOTHING_SHOWN, Gate, GateOrigin, GateRun, Kind, Outcome
from sidecar.platform.apply import ApplyError, ConflictError
from sidecar.platform.data import load_data
from sidecar.platform.paths import lies_inside
from sidecar.systems.tdd.policy.phases import (
    BrokenRule,
    ChangedFile,
    FailureReasons,
    Phase,
    PhaseFacts,
    broken_rule,
    find_test_file,
    missing_names,
    own_failures,
)
from sidecar.systems.tdd.policy.skills import PhaseAnswer
from sidecar.systems.tdd.workbench import OUTPUT_LENGTH, SkillResult, Workbench
from sidecar.work.place import CheckedCopy
from sidecar.workers.ports import FINAL_FAILURES, WorkerError

# --- what the rules ask of a changed file -------------------------------------------------------------------


LITERAL: Final = re.compile(r"\"[^\"\n]{3,200}\"|'[^'\n]{3,200}'|(?<![\w.])\d{2,}(?:\.\d+)?(?![\w.])")
"""A text of three characters or a number of two digits: shorter ones are everywhere."""


def classify_change(change: FileChange) -> ChangedFile:
    """Classify a file by its name; of a file that holds its tests itself, by the part that changed."""
    old, new = change.before or "", change.after or ""
    check = bears_on_checks(change.path)
    merged = None if check else with_old_inline_tests(change.path, old, new)
    before, after = _test_definitions(change.path, old), _test_definitions(change.path, new)
    return ChangedFile(
        path=change.path,
        check=check or merged is not None,
        product=not check and merged != old,
        new=change.before is None and not change.was,
        setting=is_runner_setting(change.path),
        added=_added_lines(old, new),
        defined=(after - before).total(),
        lost=(before - after).total(),
    )


def _added_lines(old: str, new: str) -> tuple[str, ...]:
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm="")
    return tuple(line[1:] for line in lines if line.startswith("+") and not line.startswith("+++"))


def _test_definitions(path: str, text: str) -> Counter[str]:
    """Return the lines that define a test; none where the language is unknown."""
    return Counter(
        hit[0].strip()
        for name, line in load_data("tdd", FailureReasons).definitions
        if re.search(name, path)
        for hit in re.finditer(rf"(?:{line}).*", text, re.MULTILINE)
    )


def repeated_values(test: str, changes: Iterable[FileChange]) -> tuple[str, ...]:
    """Return the literals of a test that the new code repeats: it may answer nothing but this example."""
    added = "\n".join(
        line for change in changes for line in _added_lines(change.before or "", change.after or "")
    )
    expected = dict.fromkeys(hit[0] for hit in LITERAL.finditer(test))
    return tuple(value for value in expected if re.search(rf"(?<![\w.]){re.escape(value)}(?![\w.])", added))


# --- what only the files can tell ---------------------------------------------------------------------------


def waiting_tests(run: GateRun, copy: Path) -> tuple[str, ...]:
    """Return the tests that cannot be loaded for want of a module that nothing else asks for.

    Where a manifest lists it, or where the product itself asks for it, a package is not installed.
    """
    places = dict.fromkeys(path for path, _ in reported_places(run, copy))
    manifests = re.compile(load_data("check_files", CheckFiles).manifests)
    listed = "\n".join(text_of(file) for file in files_in(copy, lambda path: bool(manifests.search(path))))
    unlisted = not any(re.search(rf"\b{re.escape(name)}\b", listed) for name in missing_names(run.output))
    return tuple(places) if unlisted and all(map(bears_on_checks, places)) else ()


def leave_alone(copy: Path, changed: Collection[str]) -> tuple[str, ...]:
    """Remove the tests that did not change from a copy; return its product files."""

    def is_product(path: str) -> bool:
        return path not in changed and bool(language_family(path)) and not bears_on_checks(path)

    for file in list(files_in(copy, lambda path: path not in changed and bears_on_checks(path))):
        if _test_definitions(file.name, text_of(file)):
            file.unlink()
    return tuple(str(file.relative_to(copy)) for file in files_in(copy, is_product))


# --- the attempts -------------------------------------------------------------------------------------------


FILES_NEEDED: Final = {
    Phase.RED: (),
    Phase.GREEN: ("test_path",),
    Phase.REFACTOR: ("test_path", "impl_path"),
}


class _Attempt(Struct, frozen=True, kw_only=True):
    """One attempt: what the worker changed, how the tests ended, and the rule that is broken.

    `file` is the test's. `final`: another attempt would not help. `applied`: the changes are in the project.
    """

    broken: BrokenRule | None
    changes: tuple[FileChange, ...] = ()
    after: GateRun | None = None
    file: str = ""
    final: bool = False
    applied: bool = False

    @property
    def failed(self) -> bool:
        """Whether the worker gave no answer."""
        return self.broken is not None and self.broken.rule == "worker-error"

    def repeats(self, last: _Attempt | None) -> bool:
        """Whether nothing is otherwise than in another attempt, whatever the worker says of it."""
        return last is not None and self.changes == last.changes and not (self.failed and self != last)


class PhaseRun:
    """One call of a phase."""

    def __init__(self, bench: Workbench, phase: Phase) -> None:
        """`bench` holds the request: the values `spec`, or `test_path` and in refactor `impl_path`.

        Raises SkillEndedError.
        """
        self._bench = bench
        self._services, self._request = bench.services, bench.request
        self._say = bench.services.texts.say
        self._phase = phase
        self._files = self._named_files()
        self._test_path = self._files["test_path"]
        at = Path(self._request.project, self._test_path)
        self._text = text_of(at) if at.is_file() else ""

    async def run(self) -> SkillResult:
        """Try it until it is verified or nothing more can be tried. Raises SkillEndedError."""
        gate, before, last = await self._test_gate(), None, None
        while True:
            async with self._bench.copy() as copy:
                before = before or await self._tests_before(gate, copy)
                attempt = await self._try(gate, copy, before, last)
                repeated = attempt.repeats(last)
                spent = self._bench.attempts == self._bench.skill.attempts
                if attempt.broken is None or (self._request.keep and (attempt.final or repeated or spent)):
                    attempt = self._apply(attempt, copy)
            if attempt.broken is None or attempt.final or repeated or spent:
                return self._result(attempt, repeated=repeated)
            last = attempt
            why, _, _ = self._bench.mask(self._why(attempt)).partition("\n")
            self._bench.tell(f"refused: {why}", outcome="refused")

    # --- steps of an attempt ------------------------------------------------------------------------------

    def _named_files(self) -> dict[str, str]:
        """Return the files that are named, as test runners name them. Raises SkillEndedError."""
        project, found = self._request.project, {}
        for name in ("test_path", "impl_path"):
            given = self._request.values.get(name, "")
            found[name] = path_in_project(project, given)
            if name in FILES_NEEDED[self._phase] and not Path(project, found[name]).is_file():
                raise self._bench.ended("no-file", path=given)
        return found

    async def _test_gate(self) -> Gate:
        """Return the command of the tests; a given one wins. Raises SkillEndedError."""
        request = self._request
        if request.test_cmd:
            gate = Gate(id="tests", command=request.test_cmd, why="it was given", origin=GateOrigin.TYPED)
        else:
            catalog = await self._services.shared.catalog.list(request.project, request.environment)
            found = [gate for gate in catalog.gates if gate.kind is Kind.TESTS]
            if not found:
                raise self._bench.ended("no-runner", project=request.project)
            gate = min(found, key=lambda gate: gate.folder)
            if not (gate.approved or request.approved):
                raise self._bench.ended("not-approved", command=gate.command)
        return replace(gate, kind=Kind.TESTS, counts=True, approved=True)

    async def _tests_before(self, gate: Gate, copy: CheckedCopy) -> GateRun:
        """Run the tests before anything was changed. Raises SkillEndedError if the phase cannot begin."""
        run = await self._tests(gate, copy, await copy.changes())
        own, missing = own_failures(run, self._test_path, self._text), missing_names(_run_output(run))
        elsewhere = bool(run.failing) and not own and all("::" in name for name in run.failing)
        rule, tests = "", ""
        if self._phase is Phase.GREEN and (run.outcome is Outcome.PASSED or elsewhere):
            rule = "green-first"
        elif self._phase is Phase.GREEN and missing:
            rule = ""  # a module that is missing is what makes the test fail
        elif run.outcome in NOTHING_SHOWN:
            tests = ", ".join(await asyncio.to_thread(waiting_tests, run, Path(copy.copy.project)))
            rule = "waiting" if missing and tests else "base-could-not-run"
        elif self._phase is Phase.REFACTOR and run.outcome is Outcome.FAILED and (own or not run.failing):
            rule = "refactor-first"
        if rule:
            said = {"why": run.reason, "output": _run_output(run), "tests": tests}
            raise self._bench.ended(rule, test_path=self._test_path, names=", ".join(missing), **said)
        return run

    async def _try(self, gate: Gate, copy: CheckedCopy, before: GateRun, last: _Attempt | None) -> _Attempt:
        """Let the worker work, and look at what it did."""
        try:
            done = await self._bench.work(copy.copy, self._values(gate, before, last))
        except WorkerError as error:
            why = f"{error.message}\n{error.output[-OUTPUT_LENGTH:]}".strip()
            final = error.failure in FINAL_FAILURES
            return _Attempt(broken=BrokenRule("worker-error", {"why": why}), final=final)
        answer = msgspec.convert(done.answer, PhaseAnswer, from_attributes=True)
        seen = await copy.changes()
        if answer.status == "fail":
            why = answer.message or "it does not say why"
            return _Attempt(broken=BrokenRule("worker-failed", {"why": why}), changes=seen.files, final=True)
        after = await self._tests(gate, copy, seen)
        files = tuple(map(classify_change, seen.files))
        facts = PhaseFacts(before=before, after=after, files=files, test=self._test_path, text=self._text)
        red, spec = self._phase is Phase.RED, self._request.values.get("spec", "")
        test = find_test_file(facts) if red else None
        broken = broken_rule(self._phase, facts, spec if red else self._test_path)
        broken = broken or await self._objection(gate, copy, facts)
        file = test.path if test else self._test_path
        return _Attempt(broken=broken, changes=seen.files, after=after, file=file)

    async def _objection(self, gate: Gate, copy: CheckedCopy, facts: PhaseFacts) -> BrokenRule | None:
        """Return the rule that is broken by what the rules of the phase cannot see.

        A new test that misses no name must open something of the product: a run without the other tests tells
        that. Against a pass speaks what would at a stop.
        """
        if self._phase is not Phase.RED:
            found = await copy.weakened((facts.after,), "")
            return BrokenRule("marks", {"lines": ", ".join(found)}) if found else None
        if facts.missing or not facts.defined:
            return None
        changed = {file.path for file in facts.files}
        product = await asyncio.to_thread(leave_alone, Path(copy.copy.project), changed)
        (run,) = await copy.run((gate,), watch=product)
        return BrokenRule("red-elsewhere", {"output": _run_output(run)}) if run.opened == () else None

    async def _tests(self, gate: Gate, copy: CheckedCopy, seen: ProjectChanges) -> GateRun:
        """Run the tests in the copy, on exactly the files that are there now."""
        self._bench.tell(f"the tests run there: {gate.command}", gate=gate.id)
        (run,) = await copy.run((gate,), seen)
        return replace(run, output=run.output.replace(f"{copy.copy.project}/", ""))

    def _values(self, gate: Gate, before: GateRun, last: _Attempt | None) -> dict[str, str]:
        """Return the values for the skill's text, with what the attempt before was refused for."""
        files, told = self._files, []
        if self._phase is Phase.RED:  # the file may be new
            files = dict.fromkeys(files, "")
            told = [self._say("red-where", file=self._test_path)] if self._test_path else []
        if last is not None:
            attempt, attempts = self._bench.attempts, self._bench.skill.attempts
            told.append(self._say("refused", attempt=attempt, attempts=attempts, why=self._why(last)))
        known = {"command": gate.command, "output": _run_output(before), "before": "\n\n".join(told)}
        return {**self._request.values, **files, **known}

    # --- the end ------------------------------------------------------------------------------------------

    def _apply(self, attempt: _Attempt, copy: CheckedCopy) -> _Attempt:
        """Apply the changes to the project, or say why that cannot be done: what was made, or a conflict."""
        try:
            copy.apply(self._services.applier, attempt.changes)
        except (ApplyError, OSError) as error:
            conflict = isinstance(error, (ConflictError, OSError))
            rule = BrokenRule("conflict" if conflict else "not-applied", {"why": str(error)})
            return replace(attempt, broken=rule, final=conflict)
        return replace(attempt, applied=True)

    def _why(self, attempt: _Attempt) -> str:
        broken = attempt.broken or BrokenRule("")
        return self._say(broken.rule, **{"test_path": self._test_path, **broken.values})

    def _result(self, attempt: _Attempt, *, repeated: bool) -> SkillResult:
        passed, say = attempt.broken is None, self._say
        applied = attempt.changes if attempt.applied else ()
        files = tuple(change.path for change in applied)
        idle = self._phase is Phase.REFACTOR and not files
        if passed:
            message = say("refactor-nothing" if idle else f"{self._phase}-done", file=attempt.file)
            if values := self._phase is Phase.GREEN and repeated_values(self._text, applied):
                message += f" {say('green-repeats', values=', '.join(values))}"
        else:
            notes = [rule for rule, applies in (("same-again", repeated), ("kept", bool(files))) if applies]
            message = "\n".join((self._why(attempt), *map(say, notes)))
        return self._bench.result(
            "pass" if passed else "error" if attempt.failed else "fail",
            message,
            _run_output(attempt.after) if attempt.after else "",
            file_path=attempt.file,
            files=files,
            verified=passed and not idle,
        )


def path_in_project(project: str, path: str) -> str:
    """Return a path as test runners name it, relative to the project; "" where it leads out."""
    root, place = Path(project), Path(project, path)
    if not path or not lies_inside(place, root):
        return ""
    return place.resolve().relative_to(root.resolve()).as_posix()


def _run_output(run: GateRun) -> str:
    return (run.output or "\n".join((run.reason, *run.failures))).strip()
