"""Lines beside a criterion's text, and the ids of criteria."""

from __future__ import annotations

from collections.abc import Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.kernel.rubric import Severity
from sidecar.rubric import conventions
from sidecar.rubric.conventions import (
    CRITERION_ID_LIMIT,
    Conventions,
    criterion_slug,
    split_chosen_id,
    unique_ids,
)
from support.table import over_table


def read(text: str, code: Collection[int] = frozenset()) -> Conventions:
    """What is said, without where."""
    return conventions.parse_conventions(text, frozenset(code))._replace(found=())


PIECES = ("Applies to:", "Severity:", "When:", "**", "`", ", ", "*.py", " ", "-", "\n", "x", "and")
"""What conventions are made of."""


@pytest.mark.parametrize(
    "line",
    [
        "Severity: note",
        "severity: NOTE.",
        "**Severity:** note",
        "__severity__: `note`",
        "- Severity: note",
        "  * **Severity** : *note*",
        "Severity:`note`",
    ],
)
def test_a_severity_is_understood_however_it_is_set_off(line: str) -> None:
    assert read(f"before\n{line}\nafter") == Conventions("before\nafter", Severity.NOTE)


@pytest.mark.parametrize(
    ("line", "globs"),
    [
        ("Applies to: `src/**`, `*.py`", ("src/**", "*.py")),
        ("applies-to: src/**, *.py and docs/", ("src/**", "*.py", "docs/")),
        ("**Applies To:** `a b/*.md` or `x`.", ("a b/*.md", "x")),
        ("- Applies to: **/*.sql", ("**/*.sql",)),
        ("Applies to: *.{ts,tsx}, !*.d.ts", ("*.{ts,tsx}", "!*.d.ts")),
    ],
)
def test_globs_are_understood_with_or_without_marks(line: str, globs: tuple[str, ...]) -> None:
    assert read(line) == Conventions("", applies_to=globs)


@over_table(
    "prose",
    [
        "Severity: grave",
        "Severity:",
        "Severity note",
        "Its severity: note",
        "**Severity: note",
        "Applies to: everything",
        "Applies to: all files in `src/`",
        "Applies to: " + ", ".join(f"`{number}.py`" for number in range(21)),
        "Applies to: `" + "x" * 201 + "`",
        "Applies to: " + "*" * 2000,
        "When:",
        "When: " + "x" * 301,
        "When you print: do not",
        "Owner: me",
    ],
)
def test_what_is_not_understood_is_prose(prose: str) -> None:
    assert read(f"a\n\n\n\n{prose}") == Conventions(f"a\n\n\n\n{prose}")


def test_the_first_line_of_a_kind_counts_and_code_is_text() -> None:
    text = "Severity: note\nWhen: it rains\nWhen: it snows\nSeverity: must"
    assert read(text) == Conventions("When: it snows\nSeverity: must", Severity.NOTE, when="it rains")
    assert read(text, {0, 1}) == Conventions("Severity: note\nWhen: it rains", Severity.MUST, when="it snows")


@given(st.lists(st.sampled_from(PIECES), max_size=60))
def test_no_text_is_lost_but_for_lines_that_are_understood(parts: list[str]) -> None:
    text = "".join(parts)
    said = read(text)
    assert set(said.text.split("\n")) <= set(text.split("\n")) | {""} | {text.strip()} | {
        line.strip() for line in text.split("\n")
    }
    assert said.applies_to or said.when or said.text == text


# --- ids ---


@over_table(
    ("name", "made"),
    [
        ("NO-PRINT", "no-print"),
        ("  Tests ran, really! ", "tests-ran-really"),
        ("Größe und Café", "grosse-und-cafe"),
        ("Печать запрещена", "печать-запрещена"),
        ("印刷しない", "印刷しない"),
        ("हिन्दी शब्द", "हिन्दी-शब्द"),
        ("x" * 60, "x" * CRITERION_ID_LIMIT),
        ("a" * 39 + " b", "a" * 39),
    ],
)
def test_an_id_is_the_name_in_small_letters_of_its_own_script(name: str, made: str) -> None:
    assert criterion_slug(name) == made


def test_a_name_without_letters_gets_an_id_that_stays() -> None:
    assert criterion_slug("🚫") == criterion_slug("🚫") != criterion_slug("🚫🚫")
    assert criterion_slug("🚫").startswith("c-")


@pytest.mark.parametrize(
    ("heading", "split"),
    [
        ("No print {#np}", ("No print", "np")),
        ("No print {#np}  ", ("No print", "np")),
        ("No print {#}", ("No print {#}", "")),
        ("No print {#a b}", ("No print {#a b}", "")),
        ("{#np}", ("{#np}", "")),
        ("{#np} print", ("{#np} print", "")),
        ("x {#" + "a" * 41 + "}", ("x {#" + "a" * 41 + "}", "")),
    ],
)
def test_the_author_may_choose_an_id_at_the_end_of_a_heading(heading: str, split: tuple[str, str]) -> None:
    assert split_chosen_id(heading) == split


def test_ids_are_unique_and_chosen_ones_go_before() -> None:
    wanted = [("Goal", ""), ("a", ""), ("A", ""), ("b", "a"), ("c", "A"), ("y" * 50, ""), ("y" * 60, "")]
    assert unique_ids(wanted) == ("goal-2", "a-3", "a-4", "a", "A-2", "y" * 40, "y" * 38 + "-2")


@given(st.lists(st.tuples(st.text(max_size=50), st.sampled_from(["", "", "x", "X"])), max_size=30))
def test_every_list_of_names_gets_as_many_different_ids(wanted: list[tuple[str, str]]) -> None:
    found = unique_ids(wanted)
    assert len({one.casefold() for one in found}) == len(wanted)
    assert all(0 < len(one) <= CRITERION_ID_LIMIT and not any(map(str.isspace, one)) for one in found)
