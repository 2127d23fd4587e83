"""What a person is shown of a text from outside."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.kernel.text import clean_line, clean_text, escape_unprintable
from support.hostile import HOSTILE, READABLE, faults


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_that_a_screen_obeys_hides_or_reorders_is_left(name: str) -> None:
    text = f"before {HOSTILE[name]} after"
    for shown in (clean_text(text), clean_line(text), escape_unprintable(text)):
        assert (faults(shown), shown[:6], shown[-5:]) == ([], "before", "after")
    assert "\n" not in clean_line(text) + escape_unprintable(text)
    assert len(clean_line(text, 20)) <= 20


@pytest.mark.parametrize("text", READABLE)
def test_emoji_and_all_scripts_stay_as_they_are(text: str) -> None:
    assert (clean_text(text), clean_line(text)) == (text, text)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a\r\nb\rc\u2028d\u2029e\n\tf", "a\nb\nc\nd\ne\n\tf"),
        ("\x1b]8;;http://x\x1b\\here\x1b]8;;\x1b\\", "here"),
        ("pay\u202egnp.exe", "paygnp.exe"),
        ("a\u200db", "ab"),
        ("odd\ud83d.txt", "odd.txt"),
    ],
)
def test_lines_stay_lines_and_what_is_hidden_goes(text: str, lines: str) -> None:
    assert clean_text(text) == lines


@given(st.text())
def test_what_was_cleaned_is_clean(text: str) -> None:
    once = clean_text(text)
    assert (clean_text(once), clean_line(clean_line(text, 20), 20)) == (once, clean_line(text, 20))


@given(st.text(), st.text())
def test_no_two_texts_without_backslashes_look_alike_in_an_approval(one: str, two: str) -> None:
    if one != two and "\\" not in one + two:
        assert escape_unprintable(one) != escape_unprintable(two)
