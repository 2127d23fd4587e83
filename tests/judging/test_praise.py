"""Praise of one's own work is taken out of a message; what the judge must see stays word for word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.judging.praise.praise import MARK, without_praise
from support.table import over_table

# ruff: noqa: RUF001 - letters of other languages are meant

PRAISE = [
    "All tests pass.",
    "All 41 tests pass!",
    "12/12 tests passed.",
    "All of the tests are passing now.",
    "The test suite is green.",
    "Everything works perfectly.",
    "Everything is working as expected.",
    "Everything now works end-to-end.",
    "It's all done and working.",
    "The implementation is production-ready.",
    "The code is clean and robust.",
    "Successfully implemented the feature.",
    "I have successfully completed the task.",
    "The work is complete.",
    "All requirements have been met.",
    "No errors found.",
    "There are no remaining issues.",
    "The build succeeded without any errors.",
    "Linting is clean and all type checks pass.",
    "\U0001f389 Done!",
    "Perfect!",
    "I'm confident the solution is correct.",
    "You're all set!",
    "Mission accomplished \U0001f680",
    "- All tests pass",
    "## \u2705 Task complete",
    "**All tests pass.**",
    "Alle Tests laufen durch.",
    "Alle 41 Tests sind gr\u00fcn.",
    "Alles funktioniert einwandfrei.",
    "Die Aufgabe ist abgeschlossen.",
    "Tous les tests passent avec succ\u00e8s.",
    "Tout fonctionne parfaitement.",
    "La t\u00e2che est termin\u00e9e.",
    "Todas las pruebas pasan.",
    "Todo funciona correctamente.",
    "La tarea est\u00e1 completada.",
    "Todos os testes passam com sucesso.",
    "Tudo funciona perfeitamente.",
    "Все тесты проходят.",
    "Всё работает идеально.",
    "Задача полностью выполнена.",
    "所有测试都通过了。",
    "一切正常。",
    "任务已完成。",
    "すべてのテストが成功しました。",
    "問題なく動作しています。",
    "모든 테스트가 통과했습니다.",
    "모든 것이 완벽하게 작동합니다.",
]
KEPT = [
    "Changed the retry limit from 3 to 5 in `client.py`.",
    "- Renamed `works` to `ok` in 3 files.",
    "I added a test that fails without the fix.",
    "The cache works by hashing the key.",
    "The parser runs on every save and writes to disk.",
    "Which of the two options do you prefer?",
    "Shall I delete the old table?",
    "Please give me the API key.",
    "The build fails with exit code 2.",
    "38 of 41 tests pass.",
    "Not all tests pass.",
    "No tests pass.",
    "All tests pass except `test_cart`.",
    "All tests pass, but I did not run the linter.",
    "All unit tests pass; the integration tests could not run.",
    "All tests pass if the database is up.",
    "I could not make all tests pass.",
    "Once all tests pass I will open a pull request.",
    "Do all tests pass on your machine?",
    "Make sure all tests pass.",
    "All tests pass now that I removed the two slow ones.",
    "You asked that everything works without errors.",
    "All tests pass because I skipped two of them.",
    "Everything works, although I had to disable the check.",
    "The migration is done; the rollback is still missing.",
    "The task is only partially complete.",
    "This should work now.",
    "It works on my machine, I have not tried Windows.",
    "I was unable to verify that it works.",
    "Two TODOs are left.",
    "I need a decision from you before I can go on.",
    "The status is set to `successful` when `all tests pass` is printed.",
    'The log says "all tests pass".',
    "Alle Tests sind gr\u00fcn, aber der Build fehlt noch.",
    "Soll ich die Tabelle l\u00f6schen?",
    "Nicht alle Tests laufen durch.",
    "Tous les tests passent, sauf un.",
    "Tous les tests ne passent pas.",
    "Todas las pruebas pasan, pero falta la documentaci\u00f3n.",
    "Os testes falham com um erro.",
    "Не все тесты проходят.",
    "Два файла ещё не готовы.",
    "还有两个测试失败。",
    "测试没有全部通过。",
    "请问需要我继续吗？",
    "テストが二つ失敗しました。",
    "続けてもよいですか？",
    "테스트 두 개가 실패했습니다.",
    "계속할까요?",
]


@over_table("sentence", PRAISE)
def test_a_sentence_that_only_praises_becomes_a_mark(sentence: str) -> None:
    assert without_praise(sentence).strip("- #*.!\n") == MARK.strip("- #*.!")


@over_table("sentence", KEPT)
def test_what_the_judge_must_see_stays_word_for_word(sentence: str) -> None:
    assert without_praise(sentence) == sentence


@over_table("kept", KEPT)
def test_praise_beside_it_hides_nothing_of_what_must_be_seen(kept: str) -> None:
    said = without_praise(f"Everything works perfectly.\n{kept}\nAll tests pass.")
    assert said == f"{MARK}\n{kept}\n{MARK}"


@pytest.mark.parametrize(
    ("said", "left"),
    [
        (
            "I successfully implemented the login flow in `auth.py`.",
            f"I {MARK} implemented the login flow in `auth.py`.",
        ),
        ("Fixed the parser in `x.py` and all tests pass.", f"Fixed the parser in `x.py` and {MARK}."),
        ("Login works.", f"Login {MARK}."),
        ("\u2705 Added `parser.py` with a tokenizer", "Added `parser.py` with a tokenizer"),
        ("\u2705 `parser.py` is missing", "\u2705 `parser.py` is missing"),
        ("All tests pass now that the cache is cleared.", f"{MARK} now that the cache is cleared."),
        ("所有测试通过。我修改了解析器。", f"{MARK}我修改了解析器。"),
    ],
)
def test_where_a_sentence_says_more_only_the_praise_goes(said: str, left: str) -> None:
    assert without_praise(said) == left


def test_praise_in_a_row_is_one_mark() -> None:
    assert without_praise("Done! All tests pass. Everything works perfectly. I changed a.py.") == (
        f"{MARK} I changed a.py."
    )


@pytest.mark.parametrize(
    "block",
    [
        "```\nAll tests pass.\n```\n",
        "```python\nprint('Everything works perfectly.')\n",
        "> All tests pass.\n",
        "| step | All tests pass. |\n",
        "~~~\nDone!\n~~~\n",
    ],
)
def test_code_quotations_and_tables_stay(block: str) -> None:
    assert without_praise(f"Look:\n{block}") == f"Look:\n{block}"


def test_a_message_keeps_its_layout() -> None:
    message = "# What I did\n\n- Changed `a.py`.\n  - Moved `b` to `c`.\n\n1. First\n\n   indented\n"
    assert without_praise(message) == message


HOSTILE = [
    *("all " * 5_000, "tests " * 4_000, "no " * 6_000, "`" * 20_000, "a\n" * 10_000, "w. " * 6_000),
    *("everything is just " * 1_000, "1/1 of " * 3_000, "所有测试" * 5_000, "```" * 6_000, '"' * 20_000),
    *(
        "." * 20_000,
        " " * 20_000,
        "\n" * 20_000,
        "is now " * 3_000,
        "all the tests are now " * 900,
        "x" * 20_000,
    ),
]


@over_table("message", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_message_ends(message: str) -> None:
    without_praise(message)


SENTENCES = st.lists(st.sampled_from([*PRAISE, *KEPT]), max_size=8)


@given(SENTENCES)
def test_in_any_mixture_all_that_must_be_seen_is_there_in_its_order(sentences: list[str]) -> None:
    said = without_praise("\n\n".join(sentences))
    assert [line for line in said.split("\n\n") if line in KEPT] == [one for one in sentences if one in KEPT]
    assert (MARK in said) is any(one in PRAISE for one in sentences)


@given(st.text(max_size=200))
def test_no_text_is_a_fault_and_a_second_time_changes_nothing(text: str) -> None:
    once = without_praise(text)
    assert without_praise(once) == once
