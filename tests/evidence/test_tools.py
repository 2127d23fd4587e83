"""One entry of data/tools.toml is all that a tool needs to be known."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

import sidecar
from sidecar.evidence.claims.check_runs import CheckScope, find_check_scope
from sidecar.evidence.claims.turn_effects import writes_into_project
from sidecar.evidence.commands import kinds
from sidecar.evidence.reports import tools as reports
from sidecar.evidence.reports.report import GateOutput
from sidecar.kernel.gate import Kind
from sidecar.platform import tools
from sidecar.platform.shell.line import parse_simple_commands
from support.projects import offered

RECORDED = Path(__file__).parent / "recorded"
CATALOGUE = (Path(sidecar.__file__).parent / "data" / "tools.toml").read_text()
ENTRY = """
[tools.quicktest]
names = ["qt"]
kinds = { run = ["tests"], types = ["types"] }
runs_nothing = ["-n"]
narrows = ["-o"]
never_fails = ["--lenient"]
passes_empty = ["--may-be-empty"]
rewrites = ["tidy"]
language = "node"
package = "@quick/test"
gate = { kind = "tests", command = "quicktest run", files = ["quicktest.json"] }
report = { after = ["run"], flags = "--xml {report}", reader = "junit", unless = ["--xml"] }
"""


def catalogue(entry: str) -> tools.ToolIndex:
    return tools.ToolIndex(msgspec.convert(tomllib.loads(CATALOGUE + entry), tools.Catalogue))


@pytest.fixture
def quicktest(monkeypatch: pytest.MonkeyPatch) -> None:
    known = catalogue(ENTRY)
    monkeypatch.setattr(tools, "known_tools", lambda: known)


@pytest.mark.usefixtures("quicktest")
@pytest.mark.parametrize(
    ("line", "kind", "scope"),
    [
        ("quicktest run", Kind.TESTS, CheckScope.WHOLE),
        ("npx qt run", Kind.TESTS, CheckScope.WHOLE),
        ("qt types", Kind.TYPES, CheckScope.WHOLE),
        ("quicktest run -o fast", Kind.TESTS, CheckScope.PART),
        ("quicktest run -n", Kind.TESTS, CheckScope.NOTHING),
        ("quicktest run --lenient", Kind.TESTS, CheckScope.TOOTHLESS),
        ("quicktest run --may-be-empty", Kind.TESTS, CheckScope.COUNTED),
    ],
)
def test_an_entry_tells_what_a_command_checks_and_how_far_it_reaches(
    line: str, kind: Kind, scope: CheckScope
) -> None:
    (run,) = parse_simple_commands(line)
    assert kinds.kinds_of(run) == {kind}
    assert find_check_scope(run, kind) is scope


@pytest.mark.usefixtures("quicktest")
def test_an_entry_tells_what_rewrites_files() -> None:
    lines = ("quicktest tidy", "quicktest tidy --check", "quicktest run")
    written = [any(writes_into_project(run, line) for run in parse_simple_commands(line)) for line in lines]
    assert written == [True, False, False]


@pytest.mark.usefixtures("quicktest")
def test_an_entry_tells_how_its_report_is_asked_for_and_read(tmp_path: Path) -> None:
    asked = reports.add_report_flags("npx quicktest run", tmp_path, Path("/s"))
    assert asked.line == "npx quicktest run --xml /s/report"
    shutil.copy(RECORDED / "vitest.xml", tmp_path / "report")
    report = asked.read(GateOutput(scratch=tmp_path, folder=Path("/project")))
    assert report is not None
    assert (report.executed, report.skipped) == (2, 2)
    for line in ("quicktest types", "quicktest run --xml mine.xml"):
        assert reports.add_report_flags(line, tmp_path, Path("/s")).line == line


@pytest.mark.usefixtures("quicktest")
def test_an_entry_tells_by_what_sign_a_tool_is_found(tmp_path: Path) -> None:
    listed = json.dumps({"devDependencies": {"@quick/test": "1"}})
    assert offered(tmp_path, {"package.json": listed}) == {"tests": "quicktest run"}


@pytest.mark.parametrize(
    "wrong",
    ['kind = ["tests"]', 'kinds = ["test"]', 'kinds_from = "words"', 'report = { form = "xml" }'],
)
def test_an_entry_with_a_field_or_a_kind_that_is_not_known_is_refused(wrong: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        catalogue(f"[tools.quicktest]\n{wrong}")


def test_every_reader_that_an_entry_names_is_there() -> None:
    asked = [tool.report for tool in tools.known_tools().tools if tool.report]
    assert {report.reader for report in asked if report.reader} == set(reports.READERS)
    assert {tool.kinds_from for tool in tools.known_tools().tools if tool.kinds_from} == set(kinds.READERS)


def test_no_two_entries_have_a_name_in_common() -> None:
    names = Counter(name for tool in tools.known_tools().tools for name in (tool.name, *tool.names))
    assert [name for name, number in names.items() if number > 1] == []


def test_every_pattern_of_an_entry_compiles_with_the_groups_that_are_read() -> None:
    for tool in tools.known_tools().tools:
        failed = (pattern for patterns in tool.output.failed.values() for pattern in patterns)
        watch = structs.astuple(tool.watch) if tool.watch else ()
        for pattern in (tool.named, *watch, *tool.output.counts, *failed):
            assert not re.compile(pattern).groupindex
        for pattern in tool.output.total:
            assert re.compile(pattern).groupindex.keys() <= {"ran", "more", "less", "beside"}
        for pattern in tool.output.failing:
            assert {"what"} <= re.compile(pattern).groupindex.keys() <= {"what", "why"}
