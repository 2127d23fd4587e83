"""What the documents promise is there: every test that they cite, every file that they link to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sidecar.policy.rules import RULES

ROOT = Path(__file__).resolve().parent.parent.parent
CITED = re.compile(r"`(?P<file>test_\w+\.py|…)::(?P<test>test_\w+)(?P<more>…?)`")
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")


def test_every_test_that_the_page_on_claude_code_cites_exists() -> None:
    page = (ROOT / "docs" / "claude-code.md").read_text(encoding="utf-8")
    file, cited = "", 0
    for found in CITED.finditer(page):
        file = file if found["file"] == "…" else found["file"]
        source = (ROOT / "tests" / "hosts" / file).read_text(encoding="utf-8")
        end = r"\w*\(" if found["more"] else r"\("
        assert re.search(rf"^def {found['test']}{end}", source, re.MULTILINE), found[0]
        cited += 1
    assert cited > 20


def test_every_row_of_the_table_of_gates_cites_a_test_that_exists() -> None:
    page = (ROOT / "docs" / "gates.md").read_text(encoding="utf-8")
    table = page.partition("## The table")[2].partition("##")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][2:]
    for row in rows:
        found = CITED.search(row)
        assert found is not None, row
        there = re.compile(rf"^(async )?def {found['test']}\(", re.MULTILINE)
        sources = (ROOT / "tests").rglob(found["file"])
        assert any(there.search(source.read_text(encoding="utf-8")) for source in sources), row
    assert len(rows) > 10


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "CONTRIBUTING.md",
        "docs/architecture.md",
        "docs/claude-code.md",
        "docs/eval.md",
        "docs/gates.md",
        "docs/judges.md",
        "docs/judging.md",
        "docs/rubric.md",
        "docs/settings.md",
    ],
)
def test_every_link_leads_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    broken = [target for target in LINK.findall(text) if not ((ROOT / page).parent / target).exists()]
    assert broken == []


def test_the_page_on_judging_names_every_rule_with_its_measured_precision() -> None:
    page = (ROOT / "docs" / "judging.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \| .* \| (\d+) of (\d+) \[", page, re.MULTILINE)
    told = {name: int(right) / int(every) for name, right, every in rows}

    assert told == {rule.id: rule.precision for rule in RULES}
