"""What in a rubric's Markdown is a criterion, and the rubric that ships."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from sidecar.adapters import rubric as module
from sidecar.adapters.rubric import RubricFiles, sections
from sidecar.model.rubric import Criterion

SHIPPED = Path(__file__).parents[2] / "rubric" / "rubric.md"


# --- Markdown ---


def test_headings_and_list_items_are_criteria(tmp_path: Path) -> None:
    (tmp_path / "rubric.md").write_text(
        """# Ours

## patterns

What this is about.

- **Tests ran:** after the last edit
  and passed

      pytest -q

- wired in: reachable by a user
- no leftovers in the tree whatever they are called
  - not even small ones
* __Second list__ counts

1. Numbered items

### A heading

with text

- and a list of its own

### Another

Antipatterns
------------

### TALK
"""
    )
    rubric = RubricFiles(tmp_path / "rubric.md").load("", {})
    assert rubric.rejected == ()
    assert rubric.patterns == (
        Criterion("Tests ran", "**Tests ran:** after the last edit\nand passed\n\n    pytest -q"),
        Criterion("wired in", "wired in: reachable by a user"),
        Criterion(
            "no leftovers in the tree whatever",
            "no leftovers in the tree whatever they are called\n- not even small ones",
        ),
        Criterion("Second list", "__Second list__ counts"),
        Criterion("Numbered items", "Numbered items"),
        Criterion("A heading", "with text\n\n- and a list of its own"),
        Criterion("Another", ""),
    )
    assert rubric.antipatterns == (Criterion("TALK", ""),)


def test_sections_are_cut_at_headings_of_their_rank_and_above() -> None:
    text = "before\n## A\n\na1\n\n### deep\n\na2\n# top\n\nno section\n## B\nb\n## A\nagain\n> ## quoted\n"
    assert sections(text) == {"A": "a1\n\n### deep\n\na2\n\nagain\n> ## quoted", "B": "b"}
    assert sections("") == {}


@given(text=st.text(alphabet="#->`* \n\r\tab12.:=\x00é", max_size=300))
def test_no_markdown_is_too_strange(text: str) -> None:
    for body in sections(f"## Patterns\n{text}").values():
        for criterion in module._criteria(body):  # noqa: SLF001 - sections() alone does not reach it
            assert criterion.name


# --- the default that ships ---


def test_the_shipped_rubric_serves_with_room_to_spare() -> None:
    rubric = RubricFiles(SHIPPED).load("", {})
    assert rubric.origin == str(SHIPPED)
    assert rubric.rejected == ()
    assert SHIPPED.stat().st_size < 6000
    assert len(rubric.patterns) >= 6
    assert all(criterion.text for criterion in (*rubric.patterns, *rubric.antipatterns))


def test_the_shipped_rubric_defines_the_three_antipatterns_and_what_they_are_not() -> None:
    antipatterns = {
        criterion.name: criterion.text for criterion in RubricFiles(SHIPPED).load("", {}).antipatterns
    }
    for name in ("PERMISSION-SEEKING", "STOPPED-WITH-TODOS", "FALSE-COMPLETE"):
        assert "Looks like:" in antipatterns[name]
        assert "Is not:" in antipatterns[name]


def test_the_shipped_rubric_lists_the_legitimate_stops() -> None:
    stops = sections(SHIPPED.read_text())["Legitimate stops"].casefold()
    for stop in ("decision", "credentials", "destructive or costly", "ambiguity", "waiting"):
        assert stop in stops
