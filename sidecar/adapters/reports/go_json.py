"""`go test -json`: one event for each line of the output, and the tests' own output inside the events."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from sidecar.adapters.reports.report import LOOKED_AT, Fault, Report, Written, decoded, of

ENDED: Final = frozenset(("pass", "fail", "skip"))
NOISE: Final = re.compile(r"^\s*(?:=== |--- |FAIL|PASS|ok\s|panic: test timed out|exit status)")
"""Lines of a test's output that are go's, not its own."""
PLACE: Final = re.compile(r"^\S+\.go:\d+: ?")
TESTS: Final = 100_000
"""Tests of one run that are told apart."""


class _Event(Struct, frozen=True, rename="pascal"):
    action: str = ""
    package: str = ""
    import_path: str = ""
    test: str = ""
    output: str = ""


class _Tests:
    """What is known of each test, while the events come."""

    def __init__(self) -> None:
        self.ends: dict[tuple[str, str], str] = {}
        self.said: dict[tuple[str, str], str] = {}
        self.broken: dict[str, str] = {}

    def take(self, event: _Event) -> None:
        key = (event.package or event.import_path.partition(" ")[0], event.test)
        if (
            event.output
            and key not in self.said
            and not NOISE.match(event.output)
            and len(self.said) < LOOKED_AT
        ):
            self.said[key] = PLACE.sub("", event.output.strip())
        if event.action == "build-fail":
            self.broken[key[0]] = "it does not build"
        if event.action in ENDED and len(self.ends) < TESTS:
            self.ends[key] = event.action


def read(written: Written) -> Report | None:
    """Count tests, subtests among them; a package that fails without a failing test fails by itself."""
    tests, shown, events = _Tests(), list[str](), 0
    for line in written.text.split("\n"):
        event = decoded(line, _Event) if line.startswith("{") else None
        if event is None:
            shown.append(line)
            continue
        events += 1
        tests.take(event)
        shown.append(event.output.removesuffix("\n") if event.action in ("output", "build-output") else "")
    if not events:
        return None
    named = {key: end for key, end in tests.ends.items() if key[1]}
    report = of(
        _faults(tests),
        written.folder,
        executed=sum(end != "skip" for end in named.values()),
        skipped=sum(end == "skip" for end in named.values()),
    )
    return Report(
        executed=report.executed,
        skipped=report.skipped,
        failures=report.failures,
        failing=report.failing,
        text="\n".join(line for line in shown if line),
    )


def _faults(tests: _Tests) -> Iterator[Fault]:
    """Those that fail by themselves: not for a subtest, nor for a test of the package."""
    failed = [key for key, end in tests.ends.items() if end == "fail"]
    above = {(package, test.rpartition("/")[0]) for package, test in failed if test}
    for package, test in failed:
        if (package, test) in above:
            continue
        name = f"{package}: {test}" if test else package
        said = tests.broken.get(package, "") or tests.said.get((package, test), "")
        yield Fault(name, f"{name}: {said}" if said else "")
