"""What a new rubric begins with, and what is answered in a host."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sidecar.kernel.rubric import FlawSeverity
from sidecar.platform.installation import plugin_root
from sidecar.rubric.policy import (
    count_flaws,
    edit_rubric_answer,
    find_text_position,
    new_rubric_text,
)
from sidecar.rubric.reader import RUBRIC_LIMIT, parse_rubric

DEFAULT = (plugin_root() / "rubric" / "rubric.md").read_text(encoding="utf-8")


@given(name=st.text(max_size=300))
def test_whatever_a_project_is_called_its_new_rubric_has_the_defaults_criteria_and_fits(name: str) -> None:
    text = new_rubric_text(DEFAULT, name)
    assert parse_rubric(text) == parse_rubric(DEFAULT)
    assert len(text.encode()) <= RUBRIC_LIMIT
    assert "To change it, copy it" not in text


def test_a_projects_name_is_one_line_that_steers_no_terminal() -> None:
    title, _, _ = new_rubric_text(DEFAULT, "a\x1b[31m\u202eb\n# c").partition("\n\n")
    assert title == "# What done looks like in ab # c"


def test_a_default_without_a_header_gets_one_and_loses_nothing() -> None:
    bare = "## Patterns\n- a: b\n## Antipatterns\n- c: d\n"
    assert new_rubric_text(bare, "shop").endswith(f"\n\n{bare}")


def test_who_wants_to_edit_is_told_where_and_whether_it_was_made() -> None:
    assert "/p/rubric.md is there now" in edit_rubric_answer("/p/rubric.md", made=True)
    assert "the rubric is /p/rubric.md." in edit_rubric_answer("/p/rubric.md", made=False)


def test_flaws_are_counted_by_weight_and_none_is_nothing_to_mend() -> None:
    weights = [FlawSeverity.HINT, FlawSeverity.ERROR, FlawSeverity.HINT]
    assert count_flaws(weights) == "1 error, 2 hints"
    assert count_flaws([]) == "nothing to mend"


def test_a_place_behind_the_end_is_the_end_and_one_before_the_start_the_start() -> None:
    assert find_text_position("a\r\nb", 99) == (2, 2)
    assert find_text_position("a", -5) == (1, 1)
