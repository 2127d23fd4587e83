"""Where things stand in a rubric, by the reader that the judge's rubric comes from."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sidecar.kernel.rubric import CriterionKey, RubricOutline, SectionRole, TextSpan
from sidecar.platform.installation import plugin_root
from sidecar.rubric import markdown
from sidecar.rubric.outline import parse_outline

TEXT = """\
# Done

## Patterns

- **Bold name**: with a text {#chosen}
  - Severity: note
1. Lead name: and more
   Applies to: `src/**`, `*.py`

### Héading 🎉 {#head}

Evidence: gate:lint:packages/web, rule:false-complete and diff

    Severity: must

Text.

## Antipatterns ##

* an item of more than six words here

Legitimate stops
----------------

- **Ask**
"""


def words(found: RubricOutline, place: TextSpan) -> str:
    return found.text[place.begin : place.end]


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_every_name_and_every_part_stands_where_it_is_said_to(ends: str, mark: str) -> None:
    found = parse_outline(mark + TEXT.replace("\n", ends))
    assert [words(found, one.title) for one in found.sections] == [
        "Patterns",
        "Antipatterns",
        "Legitimate stops",
    ]
    assert [one.role for one in found.sections] == list(SectionRole)
    assert [(one.criterion.id, words(found, one.name)) for one in found.criteria] == [
        ("chosen", "Bold name"),
        ("lead-name", "Lead name"),
        ("head", "Héading 🎉"),
        ("an-item-of-more-than-six", "an item of more than six"),
        ("ask", "Ask"),
    ]
    lines = [
        (line.key, [words(found, part) for part in line.parts])
        for one in found.criteria
        for line in one.lines
    ]
    assert lines == [
        (CriterionKey.SEVERITY, []),
        (CriterionKey.APPLIES_TO, ["src/**", "*.py"]),
        (CriterionKey.EVIDENCE, ["gate:lint:packages/web", "rule:false-complete", "diff"]),
    ]
    assert [words(found, block).strip() for block in found.code] == ["Severity: must"]


def test_what_is_said_of_a_criterion_is_read_from_where_it_stands() -> None:
    head = parse_outline(TEXT).criteria[2]
    assert head.criterion.evidence == ("gate:lint:packages/web", "rule:false-complete", "diff")
    assert head.criterion.text == "Severity: must\n\nText."
    assert words(parse_outline(TEXT), head.whole).startswith("### Héading")
    assert words(parse_outline(TEXT), head.whole).endswith("Text.")


@pytest.mark.parametrize(
    "line",
    [
        "Evidence: the log shows it",
        "Evidence: gate:",
        "Evidence: `tests`",
        "Evidence: gate:a b",
        "Evidence: logs",
    ],
)
def test_evidence_in_other_words_is_prose(line: str) -> None:
    (one,) = parse_outline(f"## Patterns\n\n### A\n\n{line}\n").criteria
    assert (one.criterion.evidence, one.criterion.text, one.lines) == ((), line, ())


def test_a_glob_keeps_the_dot_that_it_begins_with() -> None:
    (one,) = parse_outline("## Patterns\n- A\n  Applies to: .github/**, ./x/*.\n").criteria
    assert one.criterion.applies_to == (".github/**", "./x/*")


def test_what_is_said_of_an_item_is_no_part_of_its_name() -> None:
    (one,) = parse_outline("## Patterns\n- a\n  * Evidence : gate:tests and diff\n").criteria
    assert (one.criterion.name, one.criterion.id, one.criterion.evidence) == (
        "a",
        "a",
        ("gate:tests", "diff"),
    )


def test_two_sections_of_one_name_are_read_both() -> None:
    found = parse_outline("## Patterns\n- A\n### B\n## Other\n## patterns\n- C\n")
    assert [one.criterion.name for one in found.criteria] == ["A", "B", "C"]


# --- parts --------------------------------------------------------------------------------------------------

PIECES = (
    *(" ", "    ", "    ```", "````", "   ```  ", "~~~"),
    *(
        "# a",
        "## Patterns",
        "### b",
        "#### c",
        "####### d",
        "#",
        "##x",
        "- i",
        "  - j",
        "1. k",
        "* * *",
        "> q",
    ),
    *(
        "```",
        "~~~~",
        "    code",
        "\ttab",
        "<!--",
        "-->",
        "<div>",
        "</div>",
        "<pre>",
        "</pre>",
        "text",
        "",
        "",
    ),
    *("`a` b", "(c) d", "# e #", "## #", "## f {#g}", "### h ", "\u00a0i", "é", '"j"'),
    *("- **k**: l", "- (m)", "* `n`", "- `` o", "**p"),
    *("---", "===", "  ## in", "[a]: b", "- ```", "> ```", "- <!--", "Severity: note", "\x00", "| a | b |"),
)


def trimmed(blocks: list[tuple[int, int]], lines: list[str]) -> list[tuple[int, int]]:
    """The lines of blocks without the empty ones at their ends, which belong to nobody."""
    return [
        (begin, max((number + 1 for number in range(begin, end) if lines[number].strip()), default=begin))
        for begin, end in blocks
    ]


@given(st.lists(st.sampled_from(PIECES), max_size=14))
@example(["```", "", "# a"])
@example(["<!--", "", "# a"])
@example(["```", " ", "## Patterns"])
@example(["```", "x", "    ```", "# a"])
@example(["````", "x", "```", "# a"])
@example(["```", "x", "```", "", "# a"])
@example(["- a", "", ""])
@example(["### a", "b", "", "`c`"])
def test_prose_is_read_as_the_parser_reads_it(lines: list[str]) -> None:
    whole = markdown.parse_markdown("\n".join(lines or [""]))
    apart = markdown.parse_blocks(lines or [""])
    assert apart.headings == whole.headings
    assert trimmed(apart.items, lines) == trimmed(whole.items, lines)
    assert trimmed(apart.code, lines) == trimmed(whole.code, lines)


@given(st.lists(st.sampled_from(PIECES), max_size=14), st.sampled_from(["\n", "\r\n", "\r"]))
def test_places_are_in_the_text_and_in_its_order(lines: list[str], ends: str) -> None:
    found = parse_outline(ends.join(lines))
    for section in found.sections:
        assert 0 <= section.whole.begin <= section.title.begin <= section.title.end <= section.whole.end
        for one in section.criteria:
            assert section.whole.begin <= one.whole.begin <= one.name.begin <= one.name.end <= one.whole.end
            assert one.whole.end <= section.whole.end <= len(found.text)
            for line in one.lines:
                assert (
                    one.whole.begin <= line.whole.begin <= line.value.begin < line.value.end <= line.whole.end
                )
    begins = [one.whole.begin for one in found.criteria]
    assert begins == sorted(begins)


def test_the_packaged_rubric_needs_no_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markdown, "parse_markdown", pytest.fail)
    text = (plugin_root() / "rubric" / "rubric.md").read_text(encoding="utf-8")
    assert markdown.MarkdownPage(text).headings


def test_many_headings_are_parsed_at_once() -> None:
    assert len(parse_outline("## Patterns\n" + "### x\n" * 1000).criteria) == 1000
