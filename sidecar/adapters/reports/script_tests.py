"""JSON of test runners: jest, mocha and RSpec, each in a form of its own."""

from __future__ import annotations

from itertools import chain

from msgspec import Struct

from sidecar.adapters.reports.report import Fault, Report, Written, data, decoded, of, placeless

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


def read_jest(written: Written) -> Report | None:
    """`jest --json --outputFile`. A file that cannot be loaded fails by its own name."""
    jest = decoded(data(written.report()), _Jest)
    if jest is None:
        return None
    return of(
        chain.from_iterable(map(_jest_faults, jest.test_results)),
        written.folder,
        executed=jest.num_passed_tests + jest.num_failed_tests,
        skipped=jest.num_pending_tests + jest.num_todo_tests,
    )


def _jest_faults(file: _JestFile) -> list[Fault]:
    failed = [test for test in file.assertion_results if test.status == "failed"]
    if failed or file.status != "failed":
        return [
            _said(f"{file.name}: {test.full_name}", "".join(test.failure_messages[:1])) for test in failed
        ]
    told = [line.strip() for line in file.message[:10_000].split("\n") if line.strip()]
    return [_said(file.name, told[1] if len(told) > 1 else "")]


def _said(name: str, message: str) -> Fault:
    line = message.strip().partition("\n")[0]
    return Fault(name, f"{name}: {line}" if line else "")


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


def read_mocha(written: Written) -> Report | None:
    """`mocha --reporter json`. It shows nothing else, so what a person would see is made here."""
    mocha = decoded(data(written.report()), _Mocha)
    if mocha is None:
        return None
    stats = mocha.stats
    report = of(
        (
            _said(f"{test.file or ''}: {test.full_title}".removeprefix(": "), test.err.message)
            for test in mocha.failures
        ),
        written.folder,
        executed=stats.passes + stats.failures,
        skipped=stats.pending,
    )
    summary = f"{stats.passes} passing, {stats.pending} pending, {stats.failures} failing"
    text = "\n".join((written.text.rstrip("\n"), *report.failures, summary)).lstrip("\n")
    return Report(
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


def read_rspec(written: Written) -> Report | None:
    """`rspec --format json`. An error outside of examples fails by what it says."""
    rspec = decoded(data(written.report()), _RSpec)
    if rspec is None:
        return None
    failed = (example for example in rspec.examples if example.status == "failed")
    faults = [
        _said(
            f"{example.file_path.removeprefix('./')}: {example.full_description}",
            (example.exception.message or "" if example.exception else ""),
        )
        for example in failed
    ]
    outside = [message for message in rspec.messages if rspec.summary.errors_outside_of_examples_count]
    faults += [_said(placeless(message.strip().partition("\n")[0]), "") for message in outside]
    return of(
        faults,
        written.folder,
        executed=rspec.summary.example_count - rspec.summary.pending_count,
        skipped=rspec.summary.pending_count,
    )
