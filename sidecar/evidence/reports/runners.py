"""Reads reports of test runs, and handles the flags and exit codes of pytest.

Formats: JUnit XML (pytest, vitest, node, bun, PHPUnit, Surefire, Gradle); the JSON of jest; `go test -json`,
which writes one event per line of output, with the output of the tests inside the events.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.reports.report import (
    INSPECTED_FAILURES,
    GateOutput,
    ReportedFailure,
    RunReport,
    build_report,
    decode_json_report,
    find_report_files,
    iterate_xml_elements,
    read_report_bytes,
)

CaseNamer = Callable[[ET.Element], str]

COLLECTION_FAILURE: Final = "collection failure"
"""The message in pytest's report for a file that it could not import."""
NAMED_TESTS: Final = 20_000
"""Maximum number of tests that ran whose names are kept."""
MODULE_DEPTH: Final = 20
"""Folders in which a module is searched for."""
MARKED_BELOW: Final = re.compile(rf'{COLLECTION_FAILURE}|failed on \w+ with "file ')
"""A message of pytest whose reason is in the lines below that it marks, such as a missing fixture."""


def read_junit_report(written: GateOutput) -> RunReport | None:
    """Read the one report that was requested."""
    return combine_junit_reports((written.report(),), written.folder)


def read_pytest_report(written: GateOutput) -> RunReport | None:
    """Read a report of pytest in the xunit1 format."""
    name = partial(_pytest_node_id, written.folder)
    return combine_junit_reports((written.report(),), written.folder, name)


def combine_junit_reports(
    paths: Iterable[Path], folder: Path, name: CaseNamer | None = None
) -> RunReport | None:
    """Combine reports. None if there are none; a broken one makes the counts unknown."""
    executed, skipped, found, broken = 0, 0, False, False
    faults: list[ReportedFailure] = []
    ran: list[str] = []
    for path in paths:
        try:
            for case in _read_test_cases(path):
                found = True
                executed += _case_ran(case)
                skipped += _case_skipped(case)
                if _case_ran(case) and len(ran) < NAMED_TESTS:
                    ran.append((name or _case_name)(case))
                if len(faults) < INSPECTED_FAILURES:
                    faults.extend(_case_failures(case, name or _case_name))
        except (OSError, ET.ParseError, ValueError):
            broken = True
        else:
            found = True
    if not found:
        return None
    counts = (None, None) if broken else (executed, skipped)
    return build_report(faults, folder, executed=counts[0], skipped=counts[1], ran=None if broken else ran)


def _read_test_cases(path: Path) -> Iterator[ET.Element]:
    raw = read_report_bytes(path)
    if raw is None:
        raise FileNotFoundError(path)
    for element in iterate_xml_elements(raw):
        if element.tag == "testcase":
            yield element
            element.clear()
        elif element.tag in ("system-out", "system-err"):
            element.clear()


def _case_ran(case: ET.Element) -> bool:
    """Return whether a test ran; an expected failure did, a skipped or unloadable test did not.

    For a file that cannot be loaded, vitest and node write a failed case that is named like its class. pytest
    does so for `test_main.py::test_main`, where `file` says that it is a test.
    """
    skipped, error = case.find("skipped"), case.find("error")
    if skipped is not None:
        return skipped.get("type") == "pytest.xfail"
    if error is not None and error.get("message") == COLLECTION_FAILURE:
        return False
    unloadable = case.get("name") == case.get("classname") and case.get("file") is None
    return not (unloadable and case.find("failure") is not None)


def _case_skipped(case: ET.Element) -> bool:
    skipped = case.find("skipped")
    return skipped is not None and skipped.get("type") != "pytest.xfail"


def _case_failures(case: ET.Element, name: CaseNamer) -> list[ReportedFailure]:
    for fault in (case.find("failure"), case.find("error")):
        if fault is not None:
            message = (fault.get("message") or _first_line(fault.text)).partition("\n")[0]
            said = _marked_error(fault) if MARKED_BELOW.match(message) else message
            return [ReportedFailure(name(case), f"{name(case)}: {said}" if said else "")]
    return []


def _first_line(text: str | None) -> str:
    return next((line for line in (text or "").splitlines() if line.strip()), "")


def _marked_error(fault: ET.Element) -> str:
    """Return the last line that pytest marks as the error."""
    marked = [line[1:].strip() for line in (fault.text or "").split("\n") if line.startswith("E ")]
    return marked[-1] if marked else "it could not be collected"


def _case_name(case: ET.Element) -> str:
    """Return class or file, and name. node's class is always "test", so there the suites are used instead."""
    name, owner = case.get("name") or "", case.get("classname") or case.get("class") or ""
    if owner == "test":
        return " > ".join(filter(None, (case.get("suites"), name)))
    return name if owner in ("", name) else f"{owner}: {name}"


def _pytest_node_id(folder: Path, case: ET.Element) -> str:
    """Return the node ID with which pytest would run only this test.

    The report names the file in which the function is, which for an inherited test is not that of its class.
    """
    name, file, dotted = case.get("name") or "", case.get("file") or "", case.get("classname") or ""
    if not file or not dotted:
        return file or name
    module = file.removesuffix(".py").replace("/", ".")
    parts = dotted.split(".")
    classes = dotted[len(module) :].split(".")
    if not f"{dotted}.".startswith(f"{module}."):
        above = [("/".join(parts[:length]) + ".py", parts[length:]) for length in range(1, MODULE_DEPTH)]
        found = [(path, rest) for path, rest in above if (folder / path).is_file()]
        file, classes = found[-1] if found else (file, parts)
    return "::".join(part for part in (file, *classes, name) if part)


# --- Maven and Gradle: both always write JUnit XML into the build folder of each module ---------------------


JVM_REPORTS: Final = re.compile(r"/target/(?:surefire|failsafe)-reports$|/build/test-results(?:/|$)")


def read_jvm_report(written: GateOutput) -> RunReport | None:
    """Read the reports of this run; None if all tests were up to date, so that only the exit code counts."""
    paths = find_report_files(written.folder, within=JVM_REPORTS, named="TEST-*.xml", since=written.since)
    return combine_junit_reports(paths, written.folder)


# --- pytest: the flags that request a report, and the meaning of exit codes ---------------------------------


NOTHING_COLLECTED: Final = 5
"""Exit code of pytest if it found no tests."""
TESTS_FAILED: Final = 1
PYTEST_INTERNAL_ERROR: Final = 3
PYTEST_USAGE_ERROR: Final = 4
NOT_INSTALLED: Final = re.compile(r"No module named '?pytest'?\s*$", re.MULTILINE)
BROKEN_CONFTEST: Final = re.compile(r"while loading conftest")
"""pytest calls it a usage error, but it is a fault of the project."""
INTERNAL_ERROR: Final = re.compile(r"^INTERNALERROR> (?=\S)(?!Traceback)(.+)$", re.MULTILINE)
"""The line below the traceback says what was raised."""
USAGE_LINE: Final = re.compile(r"^(?:\S+: error|ERROR): (?!usage:)(.+)$", re.MULTILINE)
"""A wrong option is named below the usage, "PROGRAM: error: unrecognized arguments: --cov"."""


def build_pytest_flags(words: Sequence[str]) -> str:
    """Return flags for a report in the xunit1 format, which names files, and for coverage if it is used.

    The terminal report of coverage is requested explicitly, as pytest-cov omits it once another one is named.
    """
    asked = "--junitxml={report} -o junit_family=xunit1"
    if any(word == "--cov" or word.startswith("--cov=") for word in words):
        named = any(word.startswith("--cov-report") for word in words)
        asked += f"{'' if named else ' --cov-report=term'} --cov-report=json:{{folder}}/coverage.json"
    return asked


def explain_pytest_error(exit_code: int, text: str) -> str:
    """Return why this exit of pytest says nothing about the tests; "" if it does."""
    if exit_code == TESTS_FAILED and NOT_INSTALLED.search(text):
        return "pytest is not installed"
    if exit_code == PYTEST_INTERNAL_ERROR:
        raised = INTERNAL_ERROR.findall(text)
        return f"pytest had an internal error{f': {raised[-1]}' if raised else ''}"
    if exit_code == PYTEST_USAGE_ERROR and not BROKEN_CONFTEST.search(text):
        said = USAGE_LINE.search(text)
        return f"pytest was called wrongly: {said[1] if said else 'see the output'}"
    return ""


# --- go ----------------------------------------------------------------------------------------------------


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
        ran=[f"{package}: {test}" for (package, test), end in named.items() if end != "skip"],
    )
    return replace(report, text="\n".join(line for line in shown if line))


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
        ran=[
            f"{file.name}: {test.full_name}"
            for file in jest.test_results
            for test in file.assertion_results
            if test.status in ("passed", "failed")
        ],
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
