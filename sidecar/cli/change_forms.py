"""The forms of a checked change: text, Markdown, SARIF, JUnit, annotations of GitHub, an in-toto statement.

All are made of its one list of findings. Texts come from the change, so each form quotes them in its own way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, Literal
from urllib.parse import quote
from xml.etree import ElementTree as ET

import msgspec
from msgspec import Struct

from sidecar import __version__
from sidecar.kernel.gate import Outcome
from sidecar.kernel.text import counted, escape_unprintable
from sidecar.systems.supervision.changes import (
    ON_CHANGE,
    ChangeFinding,
    CheckedChange,
    Level,
    RanCheck,
    finding_rules,
)
from sidecar.systems.supervision.checking import CheckResult

MARKS: Final = {
    CheckResult.CLEAR: "✔ nothing speaks against it",
    CheckResult.FOUND: "✗ something fails, or was made to go away",
    CheckResult.UNKNOWN: "? not known: a person should look",
}
HASH: Final = 10
"""Characters of a commit's name."""
SHOWN: Final = {Level.ERROR: 8, Level.WARNING: 6, Level.NOTE: 4}
"""Findings of each level that a summary names."""
SARIF_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
RESULTS: Final[tuple[Literal["PASSED", "FAILED", "WARNED"], ...]] = ("PASSED", "FAILED", "WARNED")
"""How in-toto calls the results, in the order of `CheckResult`."""
COMMANDS: Final = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "notice"}
"""How GitHub calls the levels."""


def _headline(checked: CheckedChange) -> str:
    files = "not known" if checked.changed is None else counted(len(checked.changed), "file")
    until = checked.head[:HASH] or "the files as they are"
    since = f"{checked.base[:HASH]} to {until}, {files} changed"
    return f"{MARKS[CheckResult(checked.exit_code)]} ({since})"


def _place(one: ChangeFinding) -> str:
    return f"{one.file}:{one.line}" if one.line else one.file


def _run_line(run: RanCheck) -> str:
    tests = "" if run.tests is None else f", {counted(run.tests, 'test')}"
    why = f": {run.reason}" if run.reason else ""
    return f"{run.outcome.replace('-', ' ')} in {run.seconds:.1f} s{tests}: {run.command} on {run.what}{why}"


def _shown(checked: CheckedChange) -> Iterator[tuple[ChangeFinding, bool]]:
    """Yield the findings of a summary, the worst first, and whether each is the first of its rule."""
    told = set[str]()
    for level, most in SHOWN.items():
        for one in [one for one in checked.findings if one.level is level][:most]:
            yield one, one.rule not in told
            told.add(one.rule)


def change_text(checked: CheckedChange) -> str:
    """Return the text for a terminal."""
    lines = [f"  {_run_line(run)}" for run in checked.ran]
    lines += [f"  proof: {line}" for line in checked.proof]
    for one, first in _shown(checked):
        lines.append(f"{one.level}: {': '.join(filter(None, (_place(one), one.message)))}")
        lines += [f"  {one.rule}: {finding_rules()[one.rule].means}"] if first else []
    return "\n".join(map(escape_unprintable, (*lines, _headline(checked))))


def change_markdown(checked: CheckedChange) -> str:
    """Return a summary of at most a screen."""
    lines = [f"### {_headline(checked)}", ""]
    if checked.findings:
        lines += ["| | where | what was seen |", "|---|---|---|"]
    for one, first in _shown(checked):
        means = f"<br>{finding_rules()[one.rule].means}" if first else ""
        lines.append(f"| {one.level} | {_code(_place(one))} | {_code(one.message)}{means} |")
    lines += ["", "What ran:", "", *(f"- {_code(_run_line(run))}" for run in checked.ran)]
    lines += [f"- proof: {_code(line)}" for line in checked.proof]
    return "\n".join(lines) + "\n"


def _code(text: str) -> str:
    """Quote a text as code in a cell of a table, where nothing of it is more than text."""
    text = escape_unprintable(text).replace("|", "\N{BROKEN BAR}")
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence} {text} {fence}" if text else ""


def change_annotations(checked: CheckedChange) -> bytes:
    """Return GitHub's commands that show the findings at their lines."""
    lines = list[str]()
    for one in checked.findings:
        named = {"title": f"supervisor: {one.rule}", "file": one.file, "line": str(one.line or "")}
        about = ",".join(f"{name}={_escape_property(value)}" for name, value in named.items() if value)
        said = _escape_data(f"{one.message}. {finding_rules()[one.rule].means}")
        lines.append(f"::{COMMANDS[one.level]} {about}::{said}\n")
    return "".join(lines).encode("utf-8", "replace")


def _escape_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_data(text).replace(":", "%3A").replace(",", "%2C")


def change_sarif(checked: CheckedChange) -> bytes:
    """Return a SARIF log of version 2.1.0."""
    used = sorted({one.rule for one in checked.findings})
    rules = [{"id": rule, "shortDescription": {"text": finding_rules()[rule].means}} for rule in used]
    driver = {"name": "supervisor", "semanticVersion": __version__, "rules": rules}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_sarif_result(one, used.index(one.rule)) for one in checked.findings],
        "invocations": [{"executionSuccessful": True, "exitCode": checked.exit_code}],
    }
    return msgspec.json.encode({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]})


def _sarif_result(one: ChangeFinding, index: int) -> dict[str, object]:
    region = {"region": {"startLine": one.line}} if one.line else {}
    place = {"artifactLocation": {"uri": quote(one.file), "uriBaseId": "%SRCROOT%"}, **region}
    return {
        "ruleId": one.rule,
        "ruleIndex": index,
        "level": one.level,
        "message": {"text": one.message},
        "locations": [{"physicalLocation": place}] if one.file else [],
    }


def change_junit(checked: CheckedChange) -> bytes:
    """Return a JUnit report: a case for each check that passed on the change, and one for each finding."""
    cases = [_junit_case("checks", run.command, seconds=run.seconds) for run in _passed(checked)]
    cases += [_junit_finding(one) for one in checked.findings if one.level is not Level.NOTE]
    marks = [child.tag for case in cases for child in case]
    counts = {"tests": len(cases), "failures": marks.count("failure"), "skipped": marks.count("skipped")}
    named = {name: str(number) for name, number in counts.items()}
    suite = ET.Element("testsuite", {"name": "supervisor", "errors": "0", **named})
    suite.extend(cases)
    return bytes(ET.tostring(suite, encoding="utf-8", xml_declaration=True))


def _passed(checked: CheckedChange) -> list[RanCheck]:
    return [run for run in checked.ran if run.what == ON_CHANGE and run.outcome is Outcome.PASSED]


def _junit_case(kind: str, name: str, *, seconds: float = 0.0) -> ET.Element:
    about = {"classname": f"supervisor.{kind}", "name": escape_unprintable(name), "time": str(seconds)}
    return ET.Element("testcase", about)


def _junit_finding(one: ChangeFinding) -> ET.Element:
    case = _junit_case(one.rule, _place(one) or one.message)
    tag = "failure" if one.level is Level.ERROR else "skipped"
    about = ET.SubElement(case, tag, {"message": escape_unprintable(one.message)})
    about.text = finding_rules()[one.rule].means
    return case


class Resource(Struct, frozen=True):
    """Something that a statement of in-toto names by its digests."""

    name: str
    digest: dict[str, str]


class Predicate(Struct, frozen=True, rename="camel"):
    """The result in a predicate of either kind; each kind has another field for it."""

    result: Literal["PASSED", "FAILED", "WARNED"] | None = None
    verification_result: Literal["PASSED", "FAILED"] | None = None


class Statement(Struct, frozen=True, rename="camel", tag_field="_type", tag=STATEMENT_TYPE):
    """A statement of in-toto, v1, as far as it is verified."""

    subject: tuple[Resource, ...]
    predicate_type: Literal[
        "https://in-toto.io/attestation/test-result/v0.1", "https://slsa.dev/verification_summary/v1"
    ]
    predicate: Predicate


def change_statement(checked: CheckedChange) -> bytes:
    """Return an in-toto statement of test results about the tree of the change; without a run none passed."""
    warned, failed = (
        [f"{one.rule}: {one.message}" for one in checked.findings if one.level is level]
        for level in (Level.WARNING, Level.ERROR)
    )
    predicate = {
        "result": RESULTS[checked.exit_code if checked.ran else CheckResult.UNKNOWN],
        "configuration": [Resource("base", {"gitCommit": checked.base})],
        "passedTests": [run.command for run in _passed(checked)],
        "warnedTests": warned,
        "failedTests": failed,
    }
    return _statement(checked, "https://in-toto.io/attestation/test-result/v0.1", predicate)


def change_verification_summary(checked: CheckedChange) -> bytes:
    """Return a verification summary of SLSA about the tree of the change: what is not known is not passed.

    The policy is the base, whose checks count. No level of SLSA is claimed, for none was looked at.
    """
    passed = checked.exit_code == CheckResult.CLEAR and bool(checked.ran)
    predicate = {
        "verifier": {"id": "pkg:generic/supervisor"},
        "resourceUri": f"swh:1:dir:{checked.tree}",
        "policy": {"uri": f"swh:1:rev:{checked.base}", "digest": {"gitCommit": checked.base}},
        "verificationResult": "PASSED" if passed else "FAILED",
        "verifiedLevels": ["SLSA_BUILD_LEVEL_UNEVALUATED" if passed else "FAILED"],
        "slsaVersion": "1.0",
    }
    return _statement(checked, "https://slsa.dev/verification_summary/v1", predicate)


def _statement(checked: CheckedChange, kind: str, predicate: Mapping[str, object]) -> bytes:
    subject = [Resource("tree", {"gitTree": checked.tree})]
    said = {"_type": STATEMENT_TYPE, "subject": subject, "predicateType": kind, "predicate": predicate}
    return msgspec.json.encode(said)
