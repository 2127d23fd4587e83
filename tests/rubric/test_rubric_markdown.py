"""What in a rubric's Markdown is a criterion, and the rubric that ships."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from sidecar.kernel.rubric import Criterion, Severity
from sidecar.rubric import reader as module
from sidecar.rubric.markdown import markdown_sections
from sidecar.rubric.reader import RubricFiles

SHIPPED = Path(__file__).parents[2] / "rubric" / "rubric.md"


PIECES = (
    *("#", "- ", ">", "`", "**", "__", " ", "\n", "\r", "\t", "a", "é", "1.", ":", "=", "\x00", "{#", "}"),
    *("Severity: note", "Applies to: ", "*.py", "When: ", "### ", "\n\n", "```\n"),
)
"""What makes Markdown strange."""

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
        Criterion(
            "Tests ran", "**Tests ran:** after the last edit\nand passed\n\n    pytest -q", "tests-ran"
        ),
        Criterion("wired in", "wired in: reachable by a user", "wired-in"),
        Criterion(
            "no leftovers in the tree whatever",
            "no leftovers in the tree whatever they are called\n- not even small ones",
            "no-leftovers-in-the-tree-whatever",
        ),
        Criterion("Second list", "__Second list__ counts", "second-list"),
        Criterion("Numbered items", "Numbered items", "numbered-items"),
        Criterion("A heading", "with text\n\n- and a list of its own", "a-heading"),
        Criterion("Another", "", "another"),
    )
    assert rubric.antipatterns == (Criterion("TALK", "", "talk"),)
    assert rubric.legitimate == ()


def test_what_the_author_says_beside_the_text_is_read_and_taken_out(tmp_path: Path) -> None:
    (tmp_path / "rubric.md").write_text(
        """## Patterns

### Handlers are tested {#handlers}

Severity: should
- **Applies to:** `src/**`, `*.py`

Every handler has a test.

```
Severity: note
```

- **DOCS** {#docs}: they are true
  __When__: the request is about documents
  Severity: grave

## Antipatterns

- NO-PRINT: no print statement is left
  - severity: `note`
- NO-PRINT: not even that one

## Legitimate Stops

1. **The user's decision**: it is theirs
"""
    )
    rubric = RubricFiles(tmp_path / "rubric.md").load("", {})
    handlers, *_ = rubric.patterns
    assert handlers == Criterion(
        "Handlers are tested",
        "Every handler has a test.\n\n```\nSeverity: note\n```\n\n- **DOCS** {#docs}: they are true\n"
        "  Severity: grave",
        "handlers",
        Severity.SHOULD,
        ("src/**", "*.py"),
        "the request is about documents",
    )
    first, second = rubric.antipatterns
    assert (first.id, first.severity, first.text) == (
        "no-print",
        Severity.NOTE,
        "NO-PRINT: no print statement is left",
    )
    assert (second.id, second.severity) == ("no-print-2", Severity.MUST)
    (stop,) = rubric.legitimate
    assert (stop.id, stop.name) == ("the-user-s-decision", "The user's decision")


def test_an_item_is_named_with_its_own_id_wherever_its_first_line_ends(tmp_path: Path) -> None:
    (tmp_path / "rubric.md").write_text(
        "## Patterns\n- **TESTED**: by a test {#t}\n- Severity: note\n## Antipatterns\n- x {#X.1}\n"
    )
    rubric = RubricFiles(tmp_path / "rubric.md").load("", {})
    assert [(one.id, one.text, one.severity) for one in rubric.patterns] == [
        ("t", "**TESTED**: by a test", Severity.MUST),
        ("severity", "Severity: note", Severity.MUST),
    ]
    assert [(one.id, one.name) for one in rubric.antipatterns] == [("X.1", "x")]


def test_an_empty_section_of_legitimate_stops_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / "rubric.md").write_text("## Patterns\n- a\n## Antipatterns\n- b\n## Legitimate stops\nnone\n")
    rubric = RubricFiles(tmp_path / "rubric.md").load("", {})
    assert (rubric.legitimate, rubric.rejected) == ((), ())


def test_sections_are_cut_at_headings_of_their_rank_and_above() -> None:
    text = "before\n## A\n\na1\n\n### deep\n\na2\n# top\n\nno section\n## B\nb\n## A\nagain\n> ## quoted\n"
    assert markdown_sections(text) == {"A": "a1\n\n### deep\n\na2\n\nagain\n> ## quoted", "B": "b"}
    assert markdown_sections("") == {}


@given(
    text=st.lists(
        st.sampled_from(PIECES),
        max_size=80,
    ).map("".join)
)
def test_no_markdown_is_too_strange(text: str) -> None:
    rubric = module.parse_rubric(f"## Antipatterns\n- sure\n\n## Patterns\n- sure\n{text}")
    ids = [one.id for one in (*rubric.criteria, *rubric.legitimate)]
    assert len(ids) == len(set(ids))
    assert all(0 < len(one) <= 40 for one in ids)
    assert all(one.name.strip() for one in (*rubric.criteria, *rubric.legitimate))


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
    stops = markdown_sections(SHIPPED.read_text())["Legitimate stops"].casefold()
    for stop in ("decision", "credentials", "destructive or costly", "ambiguity", "waiting"):
        assert stop in stops
