"""The usual form of a rubric: what changes, and that the judge reads the same in it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sidecar.platform.installation import plugin_root
from sidecar.rubric.outline import parse_outline
from sidecar.servers.rubric_language.editing.formatting import (
    edit_between_texts,
    format_rubric,
    is_same_for_judge,
)
from support.table import over_table

DEFAULT = (plugin_root() / "rubric" / "rubric.md").read_text()


def form(text: str) -> str:
    return format_rubric(parse_outline(text))


@over_table(
    ("before", "after"),
    [
        ("", ""),
        ("\n\n \n", ""),
        ("x", "x\n"),
        ("a  \nb\t\n", "a\nb\n"),
        ("## P\nx\n## Q\n\n\n\ny", "## P\n\nx\n\n## Q\n\ny\n"),
        ("\ufeff## Patterns\r\n* a\r\n", "\ufeff## Patterns\r\n\r\n- a\r\n"),
        ("## Patterns\n* a\n+ b\n1. c\n", "## Patterns\n\n- a\n- b\n1. c\n"),
        ("## Patterns\n- a\n  * inner\n", "## Patterns\n\n- a\n  * inner\n"),
        ("## Patterns\n* - -\n", "## Patterns\n\n* - -\n"),
        ("\n\ufeff# a  \n", "\n\ufeff# a  \n"),
        ("## Other\n* a\n", "## Other\n\n* a\n"),
        ("text\n* a\n", "text\n* a\n"),
        ("<!-- a  \n\n\n# b -->\n", "<!-- a  \n\n\n# b -->\n"),
        ("```\n# a  \n\n\n```\n", "```\n# a  \n\n\n```\n"),
        ("Patterns\n---\nx\n", "Patterns\n---\nx\n"),
        ("- a\n  # b\n", "- a\n  # b\n"),
        ("#tag\nx\n", "#tag\nx\n"),
        (
            "## Patterns\n### A\n__APPLIES-TO__:*.py; `src/**`\n",
            "## Patterns\n\n### A\n\n__APPLIES-TO__:*.py; `src/**`\n",
        ),
        (
            "## Patterns\n### A\n**applies-to**: *.py and src/**\n",
            "## Patterns\n\n### A\n\nApplies to: `*.py`, `src/**`\n",
        ),
        (
            "## Patterns\n- **a**\n   * Evidence : gate:tests and diff.\n",
            "## Patterns\n\n- **a**\n   * Evidence: gate:tests, diff\n",
        ),
        (
            "## Patterns\n### A\nWHEN:  it rains,  or `x` \n",
            "## Patterns\n\n### A\n\nWhen: it rains,  or `x`\n",
        ),
        (
            "## Patterns\n### A\nSeverity: note\nSEVERITY: must\n",
            "## Patterns\n\n### A\n\nSeverity: note\nSEVERITY: must\n",
        ),
    ],
)
def test_a_text_gets_its_usual_form(before: str, after: str) -> None:
    assert form(before) == after
    assert is_same_for_judge(parse_outline(before), parse_outline(after))


def test_the_default_rubric_is_in_its_usual_form() -> None:
    assert form(DEFAULT) == DEFAULT


SIX = "one two three four five six"
"""An item that has no other name is named by so many words, also of lines below it."""
LINES = st.sampled_from(
    [
        "## Patterns", "## Antipatterns", "## legitimate stops", "## Other", "# T", "###  N  ##",
        "### M {#m}", "#### deep", "Patterns", "---", "===", "", "", " ", "\t", "text  ", f"* {SIX}",
        "+ **b**: c  ", f"- {SIX} {{#d}}  ", f"1. {SIX}", f"2) {SIX}", f"  * {SIX}", "    code", "\tcode",
        "```", "~~~", "<!-- x", "-->", "<div>", "> q", "> ## no", "Severity: NOTE", "**severity:** should",
        "  - When : x ", "applies-to: *.py, `a b/**`", "__Evidence__: diff", "Evidence: gate:t and rule:x.",
        "    Severity: must", "\\", f"* - {SIX}", "- ", "*", "* * *", "\ufeff", "\x0c",
    ]
)  # fmt: skip
TEXTS = st.lists(LINES, max_size=14).flatmap(
    lambda lines: st.sampled_from(["\n", "\r\n", "\r"]).map(lambda end: end.join(lines))
)


@given(TEXTS)
def test_formatted_again_a_text_stays_as_it_is(text: str) -> None:
    once = form(text)
    assert form(once) == once


@given(TEXTS)
def test_the_words_stay_in_their_order(text: str) -> None:
    """All that is neither blank, nor a marker, nor a line that says something of a criterion."""
    spoken = ("everity", "when", "When", "pplies", "vidence", "EVER")

    def words(of: str) -> list[str]:
        rows = of.removeprefix("\ufeff").replace("\r", "\n").split("\n")
        return [
            row.strip(" \t*+-") for row in rows if row.strip(" \t*+-") and not any(s in row for s in spoken)
        ]

    assert words(form(text)) == words(text)


@given(TEXTS)
def test_the_edit_makes_the_one_text_of_the_other(text: str) -> None:
    after = form(text)
    edit = edit_between_texts(text, after)
    if edit is None:
        assert text == after
    else:
        assert text[: edit.place.begin] + edit.text + text[edit.place.end :] == after
        assert "\r\n" not in (text[edit.place.begin - 1 : edit.place.begin + 1] if edit.place.begin else "")


@given(TEXTS)
def test_the_judge_reads_the_same_in_it(text: str) -> None:
    assert is_same_for_judge(parse_outline(text), parse_outline(form(text)))


def test_another_word_or_weight_is_not_the_same() -> None:
    text = "## Patterns\n- **A**: b\n  Severity: note\n"
    for other in ("A**: c", "B**: b"):
        assert not is_same_for_judge(parse_outline(text), parse_outline(text.replace("A**: b", other)))
    assert not is_same_for_judge(parse_outline(text), parse_outline(text.replace("note", "must")))
    assert not is_same_for_judge(parse_outline(text), parse_outline(text.replace("Patterns", "Antipatterns")))
