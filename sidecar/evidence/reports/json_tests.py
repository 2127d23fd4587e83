"""Reads JSON reports of test runners: `go test -json`, jest, mocha and RSpec.

`go test -json` writes one event per line of output; the output of the tests is inside the events.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Final

from msgspec import Struct

from sidecar.evidence.reports.report import (
    INSPECTED_FAILURES,
    GateOutput,
    ReportedFailure,
    RunReport,
    build_report,
    decode_json_report,
    read_report_bytes,
    without_line_numbers,
)

END_ACTIONS: Final = frozenset(("pass", "fail", "skip"))
GO_NOISE: Final = re.compile(r"^\s*(?:=== |--- |FAIL|PASS|ok\s|panic: test timed out|exit status)")
"""Lines of a test's output that come from go, not from the test."""
GO_PACKAGE: Final = re.compile(r"^# \[?([^\s\]]+)")
"""The line above what the compiler says of a package."""
GO_NOT_BUILT: Final = re.compile(r"^FAIL\s+(\S+) \[(?:build|setup) failed\]")
SOURCE_PLACE: Final = re.compile(r"^\S+\.go:\d+: ?")
TEST_LIMIT: Final = 100_000
"""Maximum number of tests of one run that are tracked."""


class _GoEvent(Struct, frozen=True, rename="pascal"):
    action: str = ""
    package: str = ""
    import_path: str = ""
    test: str = ""
    output: str = ""


class _GoTests:
    """The state of each test, updated event by event; `broken`: by package, what the compiler says first."""

    def __init__(self) -> None:
        self.ends: dict[tuple[str, str], str] = {}
        self.said: dict[tuple[str, str], str] = {}
        self.broken: dict[str, str] = {}
        self._package = ""

    def take_build_line(self, line: str) -> None:
        """Take a line of go itself; before Go 1.24, those of the compiler are no events."""
        if failed := GO_NOT_BUILT.match(line):
            self.broken.setdefault(failed[1], "it does not build")
            self.ends[failed[1], ""] = "fail"
        elif package := GO_PACKAGE.match(line):
            self._package = package[1].removesuffix(".test")
        elif self._package and line.strip():
            self.broken.setdefault(self._package, line.strip())
            self._package = ""

    def take(self, event: _GoEvent) -> None:
        key = (event.package or event.import_path.partition(" ")[0], event.test)
        if (
            event.output
            and key not in self.said
            and not GO_NOISE.match(event.output)
            and len(self.said) < INSPECTED_FAILURES
        ):
            self.said[key] = SOURCE_PLACE.sub("", event.output.strip())
        if event.output and not event.test:
            self.take_build_line(event.output)
        if event.action in END_ACTIONS and len(self.ends) < TEST_LIMIT:
            self.ends[key] = event.action


def read_go_report(written: GateOutput) -> RunReport | None:
    """Read `go test -json`. Subtests count as tests; a package fails itself if none of its tests failed."""
    tests, shown, events = _GoTests(), list[str](), 0
    for line in written.text.split("\n"):
        event = decode_json_report(line, _GoEvent) if line.startswith("{") else None
        if event is None:
            shown.append(line)
            tests.take_build_line(line)
            continue
        events += 1
        tests.take(event)
        shown.append(event.output.removesuffix("\n") if event.action in ("output", "build-output") else "")
    if not events and not tests.ends:
        return None
    named = {key: end for key, end in tests.ends.items() if key[1]}
    report = build_report(
        _go_failures(tests),
        written.folder,
        executed=sum(end != "skip" for end in named.values()),
        skipped=sum(end == "skip" for end in named.values()),
    )
    return RunReport(
        executed=report.executed,
        skipped=report.skipped,
        failures=report.failures,
        failing=report.failing,
        text="\n".join(line for line in shown if line),
    )


def _go_failures(tests: _GoTests) -> Iterator[ReportedFailure]:
    """Yield failures that no failed subtest, or failed test of the package, explains."""
    failed = [key for key, end in tests.ends.items() if end == "fail"]
    above = {(package, test.rpartition("/")[0]) for package, test in failed if test}
    for package, test in failed:
        if (package, test) in above:
            continue
        name = f"{package}: {test}" if test else package
        said = (not test and tests.broken.get(package)) or tests.said.get((package, test), "")
        yield ReportedFailure(name, f"{name}: {said}" if said else "")


# --- jest ---------------------------------------------------------------------------------------------------


class _JestTest(Struct, frozen=True, rename="camel"):
    full_name: str = ""
    status: str = ""
    failure_messages: tuple[str, ...] = ()


class _JestFile(Struct, frozen=True, rename="camel"):
    name: str = ""
    status: str = ""
    message: str = ""
    assertion_results: tuple[_JestTest, ...] = ()


class _Jest(Struct, frozen=True, rename="camel"):
    test_results: tuple[_JestFile, ...]
    num_passed_tests: int = 0
    num_failed_tests: int = 0
    num_pending_tests: int = 0
    num_todo_tests: int = 0


def read_jest_report(written: GateOutput) -> RunReport | None:
    """Read `jest --json --outputFile`. A file that cannot be loaded fails under its own name."""
    jest = decode_json_report(read_report_bytes(written.report()), _Jest)
    if jest is None:
        return None
    return build_report(
        chain.from_iterable(map(_jest_failures, jest.test_results)),
        written.folder,
        executed=jest.num_passed_tests + jest.num_failed_tests,
        skipped=jest.num_pending_tests + jest.num_todo_tests,
    )


def _jest_failures(file: _JestFile) -> list[ReportedFailure]:
    failed = [test for test in file.assertion_results if test.status == "failed"]
    if failed or file.status != "failed":
        return [
            _failure_with_message(f"{file.name}: {test.full_name}", "".join(test.failure_messages[:1]))
            for test in failed
        ]
    told = [line.strip() for line in file.message[:10_000].split("\n") if line.strip()]
    return [_failure_with_message(file.name, told[1] if len(told) > 1 else "")]


def _failure_with_message(name: str, message: str) -> ReportedFailure:
    line = message.strip().partition("\n")[0]
    return ReportedFailure(name, f"{name}: {line}" if line else "")


# --- mocha --------------------------------------------------------------------------------------------------


class _MochaError(Struct, frozen=True):
    message: str = ""


class _MochaTest(Struct, frozen=True, rename="camel"):
    full_title: str = ""
    file: str | None = None
    err: _MochaError = _MochaError()


class _MochaStats(Struct, frozen=True):
    passes: int = 0
    failures: int = 0
    pending: int = 0


class _Mocha(Struct, frozen=True):
    stats: _MochaStats
    passes: tuple[_MochaTest, ...] = ()
    pending: tuple[_MochaTest, ...] = ()
    failures: tuple[_MochaTest, ...] = ()


def read_mocha_report(written: GateOutput) -> RunReport | None:
    """Read `mocha --reporter json`. mocha shows nothing else, so the text for a person is built here."""
    mocha = decode_json_report(read_report_bytes(written.report()), _Mocha)
    if mocha is None:
        return None
    stats = mocha.stats
    report = build_report(
        (
            _failure_with_message(
                f"{test.file or ''}: {test.full_title}".removeprefix(": "), test.err.message
            )
            for test in mocha.failures
        ),
        written.folder,
        executed=stats.passes + stats.failures,
        skipped=stats.pending,
    )
    summary = f"{stats.passes} passing, {stats.pending} pending, {stats.failures} failing"
    text = "\n".join((written.text.rstrip("\n"), *report.failures, summary)).lstrip("\n")
    return RunReport(
        executed=report.executed,
        skipped=report.skipped,
        failures=report.failures,
        failing=report.failing,
        text=f"{text}\n",
    )


# --- RSpec --------------------------------------------------------------------------------------------------


class _RSpecException(Struct, frozen=True):
    message: str | None = None


class _RSpecExample(Struct, frozen=True):
    full_description: str = ""
    status: str = ""
    file_path: str = ""
    exception: _RSpecException | None = None


class _RSpecSummary(Struct, frozen=True):
    example_count: int = 0
    pending_count: int = 0
    errors_outside_of_examples_count: int = 0


class _RSpec(Struct, frozen=True):
    examples: tuple[_RSpecExample, ...]
    summary: _RSpecSummary
    messages: tuple[str, ...] = ()


def read_rspec_report(written: GateOutput) -> RunReport | None:
    """Read `rspec --format json`. An error outside of examples is named by its message."""
    rspec = decode_json_report(read_report_bytes(written.report()), _RSpec)
    if rspec is None:
        return None
    failed = (example for example in rspec.examples if example.status == "failed")
    faults = [
        _failure_with_message(
            f"{example.file_path.removeprefix('./')}: {example.full_description}",
            (example.exception.message or "" if example.exception else ""),
        )
        for example in failed
    ]
    outside = [message for message in rspec.messages if rspec.summary.errors_outside_of_examples_count]
    faults += [
        _failure_with_message(without_line_numbers(message.strip().partition("\n")[0]), "")
        for message in outside
    ]
    return build_report(
        faults,
        written.folder,
        executed=rspec.summary.example_count - rspec.summary.pending_count,
        skipped=rspec.summary.pending_count,
    )
