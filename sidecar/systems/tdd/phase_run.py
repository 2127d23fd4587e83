"""One call of a phase of test-driven development: its attempts, and what they changed."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.ports import GateContext
from sidecar.evidence.proof.check_files import bears_on_checks, find_product_marks, with_old_inline_tests
from sidecar.evidence.tree.checkout import CheckedCopy, WorkCopy
from sidecar.kernel.evidence import FileChange, FindingSeverity
from sidecar.kernel.gate import NOTHING_SHOWN, Gate, GateOrigin, GateRun, Kind, Outcome
from sidecar.kernel.masking import mask_gate_run
from sidecar.platform.apply import ApplyError
from sidecar.platform.data import load_data
from sidecar.platform.paths import lies_inside
from sidecar.systems.tdd.policy.phases import (
    BrokenRule,
    ChangedFile,
    FailureReasons,
    Phase,
    PhaseFacts,
    broken_rule,
    misses_name,
)
from sidecar.systems.tdd.policy.skills import PhaseAnswer
from sidecar.systems.tdd.workbench import OUTPUT_LENGTH, SkillResult, Workbench
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
        added=_added_lines(old, new),
        defined=(after - before).total(),
        lost=(before - after).total(),
    )


def find_marks(changes: Iterable[FileChange]) -> tuple[str, ...]:
    """Return the new lines by which product code gets around its checks."""
    return tuple(
        f"{mark.file}:{mark.line}: {mark.after}"
        for mark in find_product_marks(changes)
        if mark.weight is not FindingSeverity.SHOWN
    )


def _added_lines(old: str, new: str) -> tuple[str, ...]:
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm="")
    return tuple(line[1:] for line in lines if line.startswith("+") and not line.startswith("+++"))


@cache
def _definitions() -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    known = load_data("tdd", FailureReasons).definitions
    return tuple((re.compile(name), re.compile(line, re.MULTILINE)) for name, line in known)


def _test_definitions(path: str, text: str) -> Counter[str]:
    """Return the lines that define a test; none where the language is unknown."""
    return Counter(
        text[hit.start() : text.find("\n", hit.end()) + 1 or len(text)].strip()
        for name, line in _definitions()
        if name.search(path)
        for hit in line.finditer(text)
    )


def repeated_values(test: str, changes: Iterable[FileChange]) -> tuple[str, ...]:
    """Return the literals of a test that the new code repeats: it may answer nothing but this example."""
    added = "\n".join(
        line for change in changes for line in _added_lines(change.before or "", change.after or "")
    )
    expected = dict.fromkeys(hit[0] for hit in LITERAL.finditer(test))
    return tuple(value for value in expected if re.search(rf"(?<![\w.]){re.escape(value)}(?![\w.])", added))


# --- the attempts -------------------------------------------------------------------------------------------


class _Attempt(Struct, frozen=True, kw_only=True):
    """One attempt: what the worker said and changed, how the tests ended, and the rule that is broken.

    `failed`: the worker gave no answer. `final`: another attempt would not help.
    """

    broken: BrokenRule | None
    answer: PhaseAnswer | None = None
    changes: tuple[FileChange, ...] = ()
    after: GateRun | None = None
    failed: bool = False
    final: bool = False

    @property
    def signature(self) -> str:
        """What is the same in an attempt that repeats another one."""
        return repr((self.answer, self.changes, self.failed and self.broken))


class PhaseRun:
    """One call of a phase."""

    def __init__(self, bench: Workbench, phase: Phase) -> None:
        """`bench` holds the request: the values `spec`, or `test_path` and in refactor `impl_path`."""
        self._bench = bench
        self._services, self._request = bench.services, bench.request
        self._say = bench.services.texts.say
        self._phase = phase
        self._test_path = path_in_project(self._request.project, self._request.values.get("test_path", ""))

    async def run(self) -> SkillResult:
        """Try it until it is verified or nothing more can be tried. Raises SkillEndedError."""
        if self._phase is not Phase.RED and not self._test_path:
            raise self._bench.ended("no-test-file", test_path=self._request.values["test_path"])
        gate, before, last = await self._test_gate(), None, None
        while True:
            async with self._bench.copy() as copy:
                before = before or await self._tests_before(gate, copy)
                attempt = await self._try(gate, copy, before, last)
                repeated = last is not None and attempt.signature == last.signature
                spent = self._bench.attempts == self._bench.skill.attempts
                over = attempt.broken is None or attempt.final or repeated or spent
                if attempt.broken is None or (over and self._request.keep):
                    attempt = self._apply(attempt, copy.copy)
            if over:
                return self._result(attempt, repeated=repeated)
            last = attempt
            why, _, _ = self._bench.mask(self._why(attempt)).partition("\n")
            self._bench.tell(f"{self._phase}: refused: {why}")

    # --- steps of an attempt ------------------------------------------------------------------------------

    async def _test_gate(self) -> Gate:
        """Return the command of the tests; a given one wins. Raises SkillEndedError."""
        settings, _ = self._services.shared.configuration.load()
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
        seconds = gate.seconds or settings.gates.seconds
        return replace(gate, kind=Kind.TESTS, counts=True, approved=True, seconds=seconds)

    async def _tests_before(self, gate: Gate, copy: CheckedCopy) -> GateRun:
        """Run the tests before anything was changed. Raises SkillEndedError if the phase cannot begin."""
        run = await self._tests(gate, copy.context(await copy.changes()))
        own = [name for name in run.failing if self._test_path in name]
        rule = ""
        if self._phase is Phase.GREEN and run.outcome is Outcome.PASSED:
            rule = "green-first"
        elif self._phase is Phase.GREEN and misses_name(_run_output(run)):
            rule = ""  # a module that is missing is what makes the test fail
        elif run.outcome in NOTHING_SHOWN:
            rule = "base-could-not-run"
        elif self._phase is Phase.REFACTOR and run.outcome is Outcome.FAILED and (own or not run.failing):
            rule = "refactor-first"
        if rule:
            output = _run_output(run)
            raise self._bench.ended(rule, test_path=self._test_path, why=run.reason, output=output)
        return run

    async def _try(self, gate: Gate, copy: CheckedCopy, before: GateRun, last: _Attempt | None) -> _Attempt:
        """Let the worker work, and look at what it did."""
        try:
            done = await self._bench.work(copy.copy, self._values(gate, before, last))
        except WorkerError as error:
            why = f"{error.message}\n{error.output[-OUTPUT_LENGTH:]}".strip()
            final = error.failure in FINAL_FAILURES
            return _Attempt(broken=BrokenRule("worker-error", {"why": why}), failed=True, final=final)
        answer = msgspec.convert(done.answer, PhaseAnswer, from_attributes=True)
        seen = await copy.changes()
        changes = seen.files
        if answer.status == "fail":
            why = answer.message or "it does not say why"
            return _Attempt(broken=BrokenRule("worker-failed", {"why": why}), answer=answer, changes=changes)
        after = await self._tests(gate, copy.context(seen))
        facts = PhaseFacts(
            before=before, after=after, files=tuple(map(classify_change, changes)), marks=find_marks(changes)
        )
        broken = broken_rule(self._phase, facts, self._request.values.get("spec", self._test_path))
        return _Attempt(broken=broken, answer=answer, changes=changes, after=after)

    async def _tests(self, gate: Gate, at: GateContext) -> GateRun:
        """Run the tests in the copy, on exactly the files that are there now."""
        self._bench.tell(f"{self._phase}: the tests run there: {gate.command}")
        (run,) = await self._services.shared.gates.run((gate,), at, float(gate.seconds or 0))
        return mask_gate_run(run, self._bench.mask)

    def _values(self, gate: Gate, before: GateRun, last: _Attempt | None) -> dict[str, str]:
        """Return the values for the skill's text, with what the attempt before was refused for."""
        refused = ""
        if last is not None:
            attempt, attempts = self._bench.attempts, self._bench.skill.attempts
            refused = self._say("refused", attempt=attempt, attempts=attempts, why=self._why(last))
        known = {"command": gate.command, "output": _run_output(before), "before": refused}
        known |= {"test_path": self._test_path} if self._test_path else {}
        return {**self._request.values, **known}

    # --- the end ------------------------------------------------------------------------------------------

    def _apply(self, attempt: _Attempt, copy: WorkCopy) -> _Attempt:
        """Apply the changes to the project, or say why that cannot be done."""
        try:
            self._services.applier.apply(Path(self._request.project), Path(copy.project), attempt.changes)
        except (ApplyError, OSError) as error:
            return replace(attempt, broken=BrokenRule("not-applied", {"why": str(error)}), changes=())
        return attempt

    def _repeated_values(self, changes: tuple[FileChange, ...]) -> tuple[str, ...]:
        try:
            test = Path(self._request.project, self._test_path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ()
        return repeated_values(test, changes)

    def _why(self, attempt: _Attempt) -> str:
        broken = attempt.broken or BrokenRule("")
        return self._say(broken.rule, **{"test_path": self._test_path, **broken.values})

    def _result(self, attempt: _Attempt, *, repeated: bool) -> SkillResult:
        verified, say = attempt.broken is None, self._say
        applied = attempt.changes if verified or self._request.keep else ()
        files = tuple(change.path for change in applied)
        path = self._test_path or _named_file(attempt, files)
        if verified:
            idle = self._phase is Phase.REFACTOR and not files
            message = say("refactor-nothing" if idle else f"{self._phase}-done", file=path)
            if values := self._phase is Phase.GREEN and self._repeated_values(applied):
                message += f" {say('green-repeats', values=', '.join(values))}"
        else:
            notes = [rule for rule, applies in (("same-again", repeated), ("kept", bool(files))) if applies]
            message = "\n".join((self._why(attempt), *map(say, notes)))
        return self._bench.result(
            "pass" if verified else "error" if attempt.failed else "fail",
            message,
            _run_output(attempt.after) if attempt.after else "",
            file_path=path,
            files=files,
        )


def path_in_project(project: str, path: str) -> str:
    """Return a file's path as test runners name it, relative to the project; "" where it is no file there."""
    root, place = Path(project), Path(project, path)
    if not path or not lies_inside(place, root) or not place.is_file():
        return ""
    return place.resolve().relative_to(root.resolve()).as_posix()


def _named_file(attempt: _Attempt, files: tuple[str, ...]) -> str:
    """Return the file that the worker names if it is one of these, else the first of them."""
    named = attempt.answer.file_path if attempt.answer else ""
    return named if named in files else next(iter(files), "")


def _run_output(run: GateRun) -> str:
    return (run.output or "\n".join((run.reason, *run.failures))).strip()[-OUTPUT_LENGTH:]
