"""What is said of a rubric: of good ones nothing, of weak ones the right thing, with fixes that mend it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from sidecar.kernel.rubric import Flaw, FlawSeverity, RubricContext, SectionRole
from sidecar.rubric.advice.advise import FLAWS_LIMIT, TEXT_LIMIT
from sidecar.rubric.advice.lines import Code
from sidecar.rubric.outline import parse_outline
from support.advice import AROUND, Case, advised, applied, cases, codes, rubric
from support.table import over_table

ROOT = Path(__file__).resolve().parents[2]
DEFAULT = (ROOT / "rubric" / "rubric.md").read_text(encoding="utf-8")
WEAK = list(cases("weak"))


# --- figures ------------------------------------------------------------------------------------------------


def test_nothing_is_weak_in_the_default_rubric() -> None:
    assert advised(DEFAULT, RubricContext(rules=AROUND.rules)) == ()


def test_nothing_is_said_of_good_criteria() -> None:
    told = {case.text: advised(rubric(case)) for case in cases("good")}
    assert len(told) >= 100
    assert [text for text, flaws in told.items() if flaws] == []


@over_table("case", WEAK, ids=lambda case: f"{case.code}: {case.text[:40]!r}")
def test_a_weak_criterion_gets_the_code_that_fits(case: Case) -> None:
    assert case.code in codes(rubric(case))


@over_table("case", list(cases("foreign")), ids=lambda case: str(case.text[14:40]))
def test_a_rubric_in_another_language_is_not_judged_by_its_words(case: Case) -> None:
    assert codes(case.text) == []


def test_every_code_is_shown_by_a_weak_criterion_or_by_a_test_of_its_own() -> None:
    elsewhere = {
        Code.TOO_LONG_CRITERION,
        Code.TOO_MANY_CRITERIA,
        Code.UNKNOWN_SECTION,
    }
    assert {case.code for case in WEAK} == set(Code) - elsewhere


def test_the_page_has_a_row_for_each_code_and_no_other() -> None:
    page = (ROOT / "docs" / "rubric.md").read_text(encoding="utf-8")
    table = page.partition("### What is checked")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([a-z-]+)` \| (\w+)", table, re.MULTILINE)
    assert [code for code, _ in rows] == sorted(Code)
    assert {weight for _, weight in rows} == {"warning", "hint"}


# --- fixes --------------------------------------------------------------------------------------------------


def kinds(flaws: tuple[Flaw, ...]) -> Counter[tuple[str, FlawSeverity]]:
    return Counter((flaw.code, flaw.weight) for flaw in flaws)


@over_table("end", ["\n", "\r\n", "\r"])
@over_table("case", WEAK, ids=lambda case: f"{case.code}: {case.text[:40]!r}")
def test_a_fix_removes_its_flaw_and_brings_no_other_one(case: Case, end: str) -> None:
    text = rubric(case).replace("\n", end)
    before = advised(text)
    for flaw in before:
        for fix in flaw.fixes:
            mended = applied(text, fix)
            after = kinds(advised(mended))
            assert after[flaw.code, flaw.weight] < kinds(before)[flaw.code, flaw.weight], fix.title
            assert all(weight is FlawSeverity.HINT for _, weight in after - kinds(before)), fix.title
            roles = {section.role for section in parse_outline(mended).sections if section.criteria}
            assert roles == set(SectionRole), fix.title
            assert end == "\n" or "\n" not in mended.replace(end, ""), fix.title


def test_most_weak_criteria_come_with_a_fix() -> None:
    without = {
        flaw.code
        for case in WEAK
        for flaw in advised(rubric(case))
        if case.code == flaw.code and not flaw.fixes
    }
    assert without <= {
        Code.GLOB_INVALID,
        Code.GLOB_MATCHES_NOTHING,
        Code.UNKNOWN_GATE,
        Code.UNKNOWN_RULE,
        Code.UNREAD_LINE,
    }


# --- bounds -------------------------------------------------------------------------------------------------

PIECES = st.sampled_from(
    [
        "## Patterns",
        "## Antipatterns",
        "## Legitimate stops",
        "## Notes",
        "### Tests {#goal}",
        "- **X**: Tests pass and docs are updated",
        "Severity: high",
        "Applies to: `src\\*.{py`, `!..`",
        "Evidence: gate:x, rule:y",
        "  - Evidence: tests and more",
        "Users are happy, as the tests are not.",
        "```",
        "> Always run the tests",
        "    indented",
        "<!--",
        "\"\u201c`'",
        "\ufeff",
        "\x00\ue000",
        "\U0001f600 \u0130\u00df is robust",
        "",
    ]
)


@given(st.lists(PIECES, max_size=25), st.sampled_from(["\n", "\r\n", "\r"]))
def test_whatever_stands_in_a_text_its_flaws_have_places_in_it_and_in_its_order(
    pieces: list[str], end: str
) -> None:
    text = end.join(pieces)
    flaws = advised(text)
    assert [flaw.begin for flaw in flaws] == sorted(flaw.begin for flaw in flaws)
    for flaw in flaws:
        assert 0 <= flaw.begin < flaw.end <= len(text), flaw
        for fix in flaw.fixes:
            parse_outline(applied(text, fix))


@given(st.lists(PIECES, max_size=12))
def test_what_was_remembered_of_a_criterion_is_what_would_be_found_anew(pieces: list[str]) -> None:
    text = "\n".join(pieces)
    moved = f"# Rubric\n\n{text}"
    by = len(moved) - len(text)
    assert [flaw.begin + by for flaw in advised(text)] == [flaw.begin for flaw in advised(moved)]


@over_table(
    "line",
    [
        "## Patterns\n" + "- a\n" * 1000 + "## Antipatterns\n" + "- b\n" * 1000,
        "## Patterns\n" + "### x\n" * 2000,
        "## Patterns\n- " + "a" * 8192,
        "## Patterns\n- " + "the " * 2048,
        "## Patterns\n- " + '"' * 8192,
        "## Patterns\n- " + "<!--" * 2048,
        "## Patterns\n- " + "is very really " * 546,
        "## Patterns\n- the " + "a and the " * 800,
        "## Patterns\n### x\n\n" + "Applies to " * 745,
        "## Patterns\n### x\n\nApplies to: " + ", ".join(f"`{'*a' * 40}{n}`" for n in range(20)),
        "## Patterns\n" + "".join(f"### {n}\n\nApplies to: `{'**/' * 25}x{n}`\n\n" for n in range(80)),
        "## Patterns\n### x\n\n" + "\n" * 8000,
        "## Patterns\n### x\n\n" + " \t" * 4000,
        "## Patterns\n" + "- [" * 2700,
        "## Patterns\n" + "## Antipattrns\n" * 1000,
    ],
    ids=range(15),
)
def test_a_hostile_text_is_advised_on_like_any_other(line: str) -> None:
    deep = tuple("/".join([f"d{n}", *["aaaaaaaaaaaaaaaaaaaa"] * 12]) for n in range(3000))
    assert len(advised(line, RubricContext(gates=("a" * 100,), paths=deep))) <= FLAWS_LIMIT


def test_a_text_that_no_file_may_have_is_not_looked_at() -> None:
    text = "## Patterns\n\n- **Joy**: it is said\n  Severity: high\n\n"
    assert codes(text) == [Code.UNKNOWN_SEVERITY]
    assert advised(text + "x" * TEXT_LIMIT) == ()
