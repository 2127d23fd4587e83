"""Reads XML reports of test runs, and handles the flags and exit codes of pytest.

Formats: JUnit XML as written by pytest, vitest, node, bun, PHPUnit, Surefire and Gradle, and TRX of .NET.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from sidecar.evidence.reports.report import (
    INSPECTED_FAILURES,
    GateOutput,
    ReportedFailure,
    RunReport,
    build_report,
    find_report_files,
    iterate_xml_elements,
    read_report_bytes,
)

CaseNamer = Callable[[ET.Element], str]

COLLECTION_FAILURE: Final = "collection failure"
"""The message in pytest's report for a file that it could not import."""
MODULE_DEPTH: Final = 20
"""Folders in which a module is searched for."""
MARKED_BELOW: Final = re.compile(rf'{COLLECTION_FAILURE}|failed on \w+ with "file ')
"""A message of pytest whose reason is in the lines below that it marks, such as a missing fixture."""


def read_junit_report(written: GateOutput) -> RunReport | None:
    """Read the one report that was requested."""
    return combine_junit_reports((written.report(),), written.folder)


def read_pytest_report(written: GateOutput) -> RunReport | None:
    """Read a report of pytest in the xunit1 format."""
    return combine_junit_reports(
        (written.report(),), written.folder, partial(_pytest_node_id, written.folder)
    )


def combine_junit_reports(
    paths: Iterable[Path], folder: Path, name: CaseNamer | None = None
) -> RunReport | None:
    """Combine reports. None if there are none; a broken one makes the counts unknown."""
    executed, skipped, found, broken = 0, 0, False, False
    faults: list[ReportedFailure] = []
    for path in paths:
        try:
            for case in _read_test_cases(path):
                found = True
                executed += _case_ran(case)
                skipped += _case_skipped(case)
                if len(faults) < INSPECTED_FAILURES:
                    faults.extend(_case_failures(case, name or _case_name))
        except (OSError, ET.ParseError, ValueError):
            broken = True
        else:
            found = True
    if not found:
        return None
    counts = (None, None) if broken else (executed, skipped)
    return build_report(faults, folder, executed=counts[0], skipped=counts[1])


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


# --- TRX: the XML that `dotnet test` writes, one file per test project --------------------------------------


SKIPPED_OUTCOMES: Final = frozenset(("NotExecuted", "NotRunnable", "Inconclusive", "Pending", "Disconnected"))
"""Outcomes of tests that did not run."""
PASSED_OUTCOMES: Final = frozenset(("Passed", "PassedButRunAborted", "Warning", "Completed"))


def read_trx_report(written: GateOutput) -> RunReport | None:
    """Combine all reports of the run; None if there are none or one is broken."""
    results: list[tuple[str, str, str]] = []
    found = False
    for path in find_report_files(written.scratch, suffix=".trx"):
        try:
            results += _read_trx_results(path)
        except (OSError, ET.ParseError, ValueError):
            return None
        found = True
    if not found:
        return None
    ran = [result for result in results if result[1] not in SKIPPED_OUTCOMES]
    faults = [
        ReportedFailure(name, f"{name}: {said}" if said else "")
        for name, ended, said in ran
        if ended not in PASSED_OUTCOMES
    ]
    return build_report(faults, written.folder, executed=len(ran), skipped=len(results) - len(ran))


def _read_trx_results(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield name, outcome and message of each test."""
    raw = read_report_bytes(path)
    if raw is None:
        raise FileNotFoundError(path)
    for element in iterate_xml_elements(raw):
        if element.tag == "UnitTestResult":
            said = next((part.text for part in element.iter() if part.tag == "Message"), None) or ""
            yield element.get("testName") or "", element.get("outcome") or "", said.strip().partition("\n")[0]
            element.clear()


# --- Maven and Gradle: both always write JUnit XML into the build folder of each module ---------------------


MAVEN_FOLDERS: Final = ("/target/surefire-reports", "/target/failsafe-reports")
GRADLE_FOLDER: Final = "/build/test-results/"


def read_jvm_report(written: GateOutput) -> RunReport | None:
    """Read the reports of this run; None if all tests were up to date, so that only the exit code counts."""
    maven = find_report_files(written.folder, suffix=".xml", within=MAVEN_FOLDERS, since=written.since)
    gradle = (
        path
        for path in find_report_files(written.folder, suffix=".xml", since=written.since)
        if GRADLE_FOLDER in str(path)
    )
    paths = [path for path in (*maven, *gradle) if path.name.startswith("TEST-")]
    return combine_junit_reports(dict.fromkeys(paths), written.folder)


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
