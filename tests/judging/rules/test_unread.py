"""Turns in other languages: structure or wording may raise a suspicion, and nothing is certain."""

# ruff: noqa: RUF001 - signs of other languages
from __future__ import annotations

import pytest

from sidecar.evidence.wording import OtherWording, is_english, suspicious_fields
from sidecar.judging.rules.every import apply_stop_rules
from sidecar.kernel.settings import RuleSettings
from sidecar.kernel.turn import ToolCall
from sidecar.platform.data import list_data, load_data
from support.cases import edited, ran, todos, turn
from support.endings import CHECKED, EDITED, FAILED, weighed
from support.table import over_table

SUSPECTED: tuple[tuple[str, str, str, tuple[ToolCall, ...]], ...] = (
    ("permission-seeking", "Füge Kommentare hinzu.", "Eingebaut. Soll ich die Tests schreiben?", EDITED),
    ("promised-next-step", "Füge Kommentare hinzu.", "Der Lexer steht. Ich werde nun testen.", EDITED),
    ("narration", "Füge Kommentare hinzu.", "Das Ende fehlt. Ich passe jetzt den Parser an.", EDITED),
    ("narration", "添加注释支持。", "让我检查一下词法分析器：", EDITED),
    ("stopped-with-todos", "Füge Kommentare hinzu.", "Der Lexer ist fertig, das README noch nicht.", EDITED),
    ("error-walked-away", "Ajoute les commentaires.", "C'est terminé.", FAILED),
    ("error-walked-away", "Add comments.", "コメント対応を追加しました。", FAILED),
)


@over_table(("rule", "prompt", "message", "calls"), SUSPECTED)
def test_what_is_not_english_is_suspected_and_never_certain(
    rule: str, prompt: str, message: str, calls: tuple[ToolCall, ...]
) -> None:
    found = weighed(prompt, message, calls).findings
    assert rule in {finding.rule for finding in found}
    assert not any(finding.certain for finding in found)


def test_open_todos_of_a_turn_that_is_not_english_are_suspected() -> None:
    seen = turn(edited(), message="Fertig.", prompts=("Füge Kommentare hinzu.",), todos=todos("README"))
    (found,) = apply_stop_rules(seen, RuleSettings(), goal=False).findings
    assert (found.rule, found.certain, found.missing_work.missing) == (
        "stopped-with-todos",
        False,
        ("README",),
    )


@pytest.mark.parametrize("message", ["Die Kommentare sind eingebaut.", "所有测试都通过了。"])
def test_finished_work_in_another_language_is_left_alone(message: str) -> None:
    found = weighed("Füge Kommentare hinzu.", message, CHECKED)
    assert (found.findings, found.legitimate) == ((), None)


WAITS: tuple[tuple[bool, str, tuple[ToolCall, ...]], ...] = (
    (True, "Welche Variante soll es sein?", EDITED),
    (True, "需要数据库密码？", EDITED),
    (True, "Der Upload endet mit 403.", (edited(), ran("twine upload x", 1, output="403 Forbidden"))),
    (True, "Das geht so nicht.", (ran("pytest", 1),)),
    (False, "Fertig.", ()),
    (True, "Das wird so nichts.", (edited("a.py"), ran("pytest", 1), ran("git checkout a.py"))),
    (False, "Die Kommentare sind eingebaut.", FAILED),
)


@over_table(("waits", "message", "calls"), WAITS)
def test_a_stop_that_may_wait_for_the_user_is_told_by_its_structure(
    waits: bool,  # noqa: FBT001 - a row
    message: str,
    calls: tuple[ToolCall, ...],
) -> None:
    found = weighed("Füge Kommentare hinzu.", message, calls, goal=True)
    assert (found.unread, found.rests) == (waits, False)


LANGUAGES = (
    (True, "Add comment support to the parser.", ""),
    (True, "All tests pass.", ""),
    (True, "Done.", "Please fix the parser."),
    (True, "The naïve parser of `größe.py` works and is tested with all of its comments.", ""),
    (False, "Done.", "Füge Kommentare hinzu."),
    (False, "Done.", "Go on."),
    (False, "Erledigt. `relay/report.py` und `tests/test_report.py` sind angepasst.", ""),
    (False, "Pronto. O total por centro de custo fica no fim do documento.", ""),
    (False, "Готово.", "Fix the parser."),
    (False, "Alle tests slagen nu; de parser is klaar en de lexer van het project ook.", ""),
)


@over_table(("english", "text", "context"), LANGUAGES)
def test_english_is_told_by_its_letters_and_small_words(
    english: bool,  # noqa: FBT001 - a row
    text: str,
    context: str,
) -> None:
    assert is_english(text, context) is english


@pytest.mark.parametrize("code", [code for code in list_data("wording") if code != "en"])
def test_the_file_of_another_language_is_sound(code: str) -> None:
    language = load_data(f"wording/{code}", OtherWording)
    assert language.common.split()
    assert suspicious_fields(language.common, "") == ()
