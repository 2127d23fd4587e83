"""The forms of a checked change hold the same findings, and texts of the change stay texts in each."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as ET

import msgspec
import pytest
from jsonschema import Draft7Validator  # type: ignore[import-untyped]

from sidecar.cli import change_forms as forms
from sidecar.kernel.evidence import CheckChange
from sidecar.kernel.gate import Outcome
from sidecar.systems.supervision.changes import (
    ON_CHANGE,
    ChangeFinding,
    CheckedChange,
    Level,
    RanCheck,
    finding_rules,
)
from support import changes

pytestmark = pytest.mark.proves("seeing and asking back")

SCHEMA_PAGE: Final = Path(__file__).parents[2] / "docs" / "pull-request.schema.json"
SARIF: Final = json.loads(Path(changes.__file__).with_name("sarif-2.1.0.json").read_text(encoding="utf-8"))
HOSTILE: Final = "100%\n::error::x ``` | <img src=x> @all \x1b[2J, a: b"
FOUND: Final = CheckedChange(
    base="1" * 40,
    head="2" * 40,
    tree="3" * 40,
    goal="",
    result="found",
    exit_code=1,
    changed=("shop.py", "tests/test a.py"),
    ran=(
        RanCheck(
            check="tests", command="`pytest`", what="the base as it was", outcome=Outcome.PASSED, tests=3
        ),
        RanCheck(
            check="tests", command="`pytest`", what=ON_CHANGE, outcome=Outcome.PASSED, tests=2, seconds=1.5
        ),
    ),
    proof=(),
    findings=(
        ChangeFinding(rule="check-gone", level=Level.ERROR, message=HOSTILE, file="tests/test a.py", line=7),
        ChangeFinding(rule="expectation-changed", level=Level.WARNING, message="it fails", file="a:b,c.py"),
        ChangeFinding(rule="check-added", level=Level.NOTE, message="lint: `ruff check`"),
    ),
)


def test_every_finding_has_a_meaning_and_one_that_has_no_weight_a_level() -> None:
    rules = finding_rules()
    assert {one.value for one in CheckChange} <= rules.keys()
    assert all(rule.level for name, rule in rules.items() if name not in {one.value for one in CheckChange})


def test_sarif_fits_its_official_schema_and_names_files_and_lines() -> None:
    log: Any = json.loads(forms.change_sarif(FOUND))
    Draft7Validator.check_schema(SARIF)
    assert list(Draft7Validator(SARIF).iter_errors(log)) == []
    (run,) = log["runs"]
    places = [one["locations"][0]["physicalLocation"] for one in run["results"] if one["locations"]]
    assert [(one["ruleId"], one["level"]) for one in run["results"]] == [
        (one.rule, one.level) for one in FOUND.findings
    ]
    assert [run["tool"]["driver"]["rules"][one["ruleIndex"]]["id"] for one in run["results"]] == [
        one.rule for one in FOUND.findings
    ]
    assert places[0] == {
        "artifactLocation": {"uri": "tests/test%20a.py", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 7},
    }


def test_junit_has_a_case_for_each_pass_and_each_finding_but_notes() -> None:
    root = ET.fromstring(forms.change_junit(FOUND))  # noqa: S314 - made here
    cases = [(case.get("classname"), [child.tag for child in case]) for case in root.iter("testcase")]
    assert cases == [
        ("supervisor.checks", []),
        ("supervisor.check-gone", ["failure"]),
        ("supervisor.expectation-changed", ["skipped"]),
    ]
    assert (root.get("tests"), root.get("failures"), root.get("skipped")) == ("3", "1", "1")


def test_an_annotation_is_one_command_whatever_the_change_prints() -> None:
    lines = forms.change_annotations(FOUND).decode().splitlines()
    assert [line.partition(" ")[0] for line in lines] == ["::error", "::warning", "::notice"]
    assert all("\n" not in line and "\r" not in line for line in lines)
    assert "file=tests/test a.py,line=7::100%25%0A" in lines[0]
    assert "file=a%3Ab%2Cc.py::" in lines[1]


def test_a_summary_fits_a_screen_and_its_quotes_cannot_be_left() -> None:
    many = msgspec.structs.replace(FOUND, findings=FOUND.findings * 30)
    page = forms.change_markdown(many)
    assert len(page.splitlines()) <= 40
    text = forms.change_markdown(FOUND)
    outside = re.sub(r"(`+) .*? \1(?!`)", "", text)
    assert not any(part in outside for part in ("<img", "@all", "\x1b", "::error"))
    assert finding_rules()["check-gone"].means in outside


def test_a_statement_is_one_of_in_toto_about_the_tree() -> None:
    """The field rules of the statement v1 and of the predicate test-result v0.1."""
    said: Any = json.loads(forms.change_statement(FOUND))
    predicate = said.pop("predicate")
    assert said == {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": "tree", "digest": {"gitTree": FOUND.tree}}],
        "predicateType": "https://in-toto.io/attestation/test-result/v0.1",
    }
    assert predicate["result"] in {"PASSED", "WARNED", "FAILED"}
    assert predicate["configuration"] == [{"name": "base", "digest": {"gitCommit": FOUND.base}}]
    names = [predicate[name] for name in ("passedTests", "warnedTests", "failedTests")]
    assert [len(some) for some in names] == [1, 1, 1]
    assert predicate.keys() == {"result", "configuration", "passedTests", "warnedTests", "failedTests"}


@pytest.mark.parametrize(
    ("code", "result", "level"),
    [(0, "PASSED", "SLSA_BUILD_LEVEL_UNEVALUATED"), (1, "FAILED", "FAILED"), (2, "FAILED", "FAILED")],
)
def test_a_verification_summary_of_slsa_passes_nothing_that_is_not_known(
    code: int, result: str, level: str
) -> None:
    """The field rules of the predicate verification_summary v1; a verified level is one of SLSA's words."""
    said: Any = json.loads(forms.change_verification_summary(msgspec.structs.replace(FOUND, exit_code=code)))
    predicate = said.pop("predicate")
    assert said == {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": "tree", "digest": {"gitTree": FOUND.tree}}],
        "predicateType": "https://slsa.dev/verification_summary/v1",
    }
    assert (predicate["verificationResult"], predicate["verifiedLevels"]) == (result, [level])
    uris = (predicate["verifier"]["id"], predicate["resourceUri"], predicate["policy"]["uri"])
    assert [uri.partition(":")[0] for uri in uris] == ["pkg", "swh", "swh"]
    assert predicate["policy"]["digest"] == {"gitCommit": FOUND.base}


def test_no_statement_of_a_change_for_which_nothing_ran_has_passed() -> None:
    unrun = msgspec.structs.replace(FOUND, exit_code=0, ran=(), findings=())
    said = [json.loads(form(unrun)) for form in (forms.change_statement, forms.change_verification_summary)]
    results = (said[0]["predicate"]["result"], said[1]["predicate"]["verificationResult"])
    assert results == ("WARNED", "FAILED")


def test_the_schema_of_the_documentation_is_that_of_the_json() -> None:
    """After a change that you mean, run this file with RENEW_SNAPSHOTS=1."""
    schema = msgspec.json.schema(CheckedChange)
    written = json.dumps(schema, indent=1) + "\n"
    if os.environ.get("RENEW_SNAPSHOTS"):
        SCHEMA_PAGE.write_text(written, encoding="utf-8")
    assert SCHEMA_PAGE.read_text(encoding="utf-8") == written
    assert {"result", "exit_code", "ran"} <= set(schema["$defs"]["CheckedChange"]["required"])
    assert json.loads(msgspec.json.encode(FOUND))["findings"][0]["rule"] == "check-gone"
