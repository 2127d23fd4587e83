"""What the output of a check says by itself, where its exit code does not tell.

Read are the summaries that runners print, in the shape in which they print them; a line of a log that speaks
of failures is no summary.
"""

from __future__ import annotations

import re
from typing import Final

from sidecar.model.gate import Kind

FLAGS: Final = re.MULTILINE
FAILED: Final[dict[Kind, str]] = {
    Kind.TESTS: (
        r"^(?:=+ )?(?:\d+ \w+, ){0,6}[1-9]\d* (?:failed|errors?)(?:, \d+ \w+){0,6} in [\d.]+ ?s"  # pytest
        r"|^(?:=+ )?[1-9]\d* failed(?:, \d+ \w+){0,6}(?: in [\d.]+ ?s)?(?: =+)?$"
        r"|^(?:FAILED|ERROR) \S+::\S+"
        r"|^FAILED \((?:failures|errors)="  # unittest
        r"|^[ \t]*Tests?:?[ \t]+(?:\d+ \w+(?:, | \| )){0,4}[1-9]\d* failed"  # jest, vitest
        r"|^[ \t]*[1-9]\d* failing$"  # mocha
        r"|^--- FAIL: |^FAIL(?:$|\t)"  # go
        r"|^test result: FAILED"  # cargo
        r"|^\d+ (?:examples?|tests?|runs?), (?:\d+ assertions, )?[1-9]\d* failures?"  # rspec, mix, minitest
        r"|^(?:FAILURES|ERRORS)!|^Tests: \d+, Assertions: \d+, (?:Failures|Errors): [1-9]"  # phpunit
        r"|^(?:# |\u2139 )fail [1-9]|^not ok \d"  # node, TAP
        r"|Tests run: \d+, Failures: (?:[1-9]|0, Errors: [1-9])|^(?:\[ERROR\] )?BUILD FAIL"  # Maven, Gradle
        r"|^Failed! +- Failed: +[1-9]"  # dotnet
        r"|tests passed, [1-9]\d* tests failed out of"  # ctest
    ),
    Kind.TYPES: r"\berror TS\d+:|^Found [1-9]\d* errors? in \d+ file|^[1-9]\d* errors?, \d+ warning",
    Kind.LINT: (
        r"^Found [1-9]\d* errors?\b|^\u2716 [1-9]\d* problems? \([1-9]\d* errors?"
        r"|^\S+?:\d+:\d+: [A-Z]{1,4}\d{2,4} |^error: could not compile|^[1-9]\d* issues?:$"
    ),
    Kind.BUILD: (
        r"\berror TS\d+:|^error(?:\[E\d+\])?: |BUILD FAIL|^Failed to compile|^make(?:\[\d+\])?: \*\*\* "
        r"|^npm (?:ERR!|error) "
    ),
}
PRINTED_CODE: Final = (
    r"^\W{0,9}(?:\w+ )?(?:exit(?:ed)?(?:[ _-]?(?:code|status|with))?|rc|status|ret(?:urn code)?|code)"
    r"\s?[:=]?\s?([1-9]\d{0,2})\W{0,9}$"
)
"""`echo "exit: $?"` after the check."""
SOME_RAN: Final = (
    r"\b[1-9]\d* (?:passed|passing|tests? passed|examples?,|tests?, 0 f|runs?,)|\bRan [1-9]\d* tests?"
    r"|^ok\s+\S+"
    r"|Tests run: [1-9]|^(?:# |\u2139 )pass [1-9]|^ok [1-9]|OK \([1-9]\d* tests?|Passed: +[1-9]"
    r"|tests passed, 0 tests failed"
)
NONE_RAN: Final = (
    r"no tests ran|collected 0 items|\b0 passed|No tests? (?:found|files? found|executed|specified|to run)"
    r"|\[no test files\]|\[no tests to run\]|Ran 0 tests|NO TESTS RAN|running 0 tests|\b0 examples,"
    r"|^1\.\.0\b|\b0 passing"
    r"|no test specified|No tests were found|Tests run: 0\b|^(?:# |\u2139 )tests 0$|\ball deselected"
    r"|\b[1-9]\d* deselected in|Nothing to be done for|deselected / 0 selected"
)


def says_failed(kind: Kind, output: str) -> bool:
    """Whether the summary of such a check says that it failed."""
    pattern = FAILED.get(kind)
    return pattern is not None and re.search(pattern, output, FLAGS) is not None


def prints_failure(output: str) -> bool:
    """Whether the line itself printed an exit code other than 0."""
    return re.search(PRINTED_CODE, output, FLAGS | re.IGNORECASE) is not None


def says_passed(output: str) -> bool:
    """Whether a summary says that tests ran and passed, and none that one failed."""
    return re.search(SOME_RAN, output, FLAGS) is not None and not says_failed(Kind.TESTS, output)


def says_none_ran(output: str) -> bool:
    """Whether the summary says that no test ran; of many packages, some may have none."""
    return (
        re.search(NONE_RAN, output, FLAGS | re.IGNORECASE) is not None
        and re.search(SOME_RAN, output, FLAGS) is None
    )
