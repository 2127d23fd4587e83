"""What a new rubric begins with, and what is answered in a host."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.adapters.plugin import plugin_root
from sidecar.adapters.rubric import RUBRIC_LIMIT, parsed
from sidecar.model.flaw import Flaw, Weight
from sidecar.policy.arguments import Refusal
from sidecar.policy.rubric_words import Word, asked, counted, point, started, to_edit

DEFAULT = (plugin_root() / "rubric" / "rubric.md").read_text(encoding="utf-8")


@given(name=st.text(max_size=300))
def test_whatever_a_project_is_called_its_new_rubric_has_the_defaults_criteria_and_fits(name: str) -> None:
    text = started(DEFAULT, name)
    assert parsed(text) == parsed(DEFAULT)
    assert len(text.encode()) <= RUBRIC_LIMIT
    assert "To change it, copy it" not in text


def test_a_projects_name_is_one_line_that_steers_no_terminal() -> None:
    title, _, _ = started(DEFAULT, "a\x1b[31m\u202eb\n# c").partition("\n\n")
    assert title == "# What done looks like in a[31mb# c"


def test_a_default_without_a_header_gets_one_and_loses_nothing() -> None:
    bare = "## Patterns\n- a: b\n## Antipatterns\n- c: d\n"
    assert started(bare, "shop").endswith(f"\n\n{bare}")


@pytest.mark.parametrize(
    ("typed", "word"),
    [
        ("", Word.SHOW),
        (" Status", Word.SHOW),
        ("accept", Word.ACCEPT),
        ("INIT ", Word.EDIT),
        ("edit", Word.EDIT),
    ],
)
def test_what_is_typed_behind_the_command_is_one_word(typed: str, word: Word) -> None:
    assert asked(typed) is word


@pytest.mark.parametrize("typed", ["everything", "check", "accept all", "word", "x" * 9999])
def test_any_other_word_is_refused_with_those_it_takes(typed: str) -> None:
    with pytest.raises(Refusal, match="takes nothing, `accept` or `edit`") as refused:
        asked(typed)
    assert len(str(refused.value)) < 200


def test_who_wants_to_edit_is_told_where_and_whether_it_was_made() -> None:
    assert "/p/rubric.md is there now" in to_edit("/p/rubric.md", made=True)
    assert "the rubric is /p/rubric.md." in to_edit("/p/rubric.md", made=False)


def test_flaws_are_counted_by_weight_and_none_is_nothing_to_mend() -> None:
    weights = [Weight.HINT, Weight.ERROR, Weight.HINT]
    assert counted([Flaw("a", "b", 0, 0, weight) for weight in weights]) == "1 error, 2 hints"
    assert counted([]) == "nothing to mend"


def test_a_place_behind_the_end_is_the_end_and_one_before_the_start_the_start() -> None:
    assert (point("a\r\nb", 99).line, point("a\r\nb", 99).column) == (2, 2)
    assert (point("a", -5).line, point("a", -5).column) == (1, 1)
