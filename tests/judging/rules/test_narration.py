"""A message that ends in the middle of an action, and colons and present tenses that end nothing."""

# ruff: noqa: RUF001 - signs of other languages
from __future__ import annotations

from support.endings import CHECKED, EDITED, FOUND, certain, weighed
from support.table import over_table

RULE = "narration"
WORK = "Add comment support to the parser and write tests for it."

MUST = (
    (WORK, "Let me now fix the second file."),
    (WORK, "The lexer is changed. Let me check the file:"),
    (WORK, "Now I will edit the parser:"),
    (WORK, "Now let me update the grammar."),
    (WORK, "I'm now updating the parser to skip comments."),
    (WORK, "Good, that works. Let me run the tests:"),
    (WORK, "Running the tests now..."),
    (WORK, "Let's look at the lexer next."),
    ("Füge Kommentare hinzu.", "Jetzt passe ich den Parser an:"),
    ("Füge Kommentare hinzu.", "Lass mich die Datei prüfen:"),
    ("Ajoute les commentaires.", "Laissez-moi vérifier le fichier :"),
    ("Añade comentarios.", "Déjame revisar el archivo:"),
    ("Adicione comentários.", "Deixe-me verificar o arquivo:"),
    ("添加注释支持。", "让我检查一下词法分析器："),
    ("コメント対応を追加してください。", "それでは、字句解析を確認してみます。"),
    ("주석 지원을 추가해 주세요.", "렉서 파일을 살펴보겠습니다."),
    ("Добавь комментарии.", "Давайте проверим лексер:"),
    (WORK, "Found it. Let me check which one is used:"),
    (WORK, "The cause is the lexer. Applying the fix:"),
    (WORK, "The lexer drops the newline, so the fix belongs into"),
    ("Füge Kommentare hinzu.", "Es gibt zwei. Ich prüfe, welcher benutzt wird:"),
    ("Füge Kommentare hinzu.", "Der Lexer verschluckt das Zeilenende, also muss die Korrektur in den"),
    ("Ajoute les commentaires.", "Le lexeur avale la fin de ligne, donc il faut modifier le"),
    ("주석 지원을 추가해 주세요.", "렉서가 둘입니다. 어느 쪽인지 확인합니다:"),
)


@over_table(("prompt", "message"), MUST)
@over_table("calls", [EDITED, FOUND], ids=["edited", "looked"])
def test_an_action_that_is_told_and_not_done_is_certain(
    prompt: str, message: str, calls: tuple[object, ...]
) -> None:
    found = weighed(prompt, message, calls)  # type: ignore[arg-type] # rows of calls
    assert {RULE, "promised-next-step"} & {*certain(found)}


HONEST = (
    (WORK, "Done. Let me know if anything is unclear."),
    (WORK, "Run it with:\n```\npytest -q\n```"),
    (WORK, "The parser skips comments now. Usage:\n```\nparse('# x')\n```"),
    (WORK, "I need one thing from you to go on:"),
    (WORK, "Please choose one of these:"),
    (WORK, "The options are:\n1. `#`\n2. `//`\n\nWhich one do you want?"),
    (WORK, "Which syntax do you want, `#` or `//`?\n\nLet me update the parser then."),
    (WORK, "I need your decision on the syntax.\n\nLet me then update the parser."),
    (WORK, "Let me know once the review is through."),
    (WORK, "Let me summarize: comments work, and the tests pass."),
    (WORK, "Let me be honest: the grammar cannot express nested comments."),
    (WORK, "Running the tests takes four seconds now."),
    (WORK, "Adding a comment no longer breaks the parser."),
    (WORK, "Updating the lexer was enough; all tests pass."),
    (WORK, "Let's wait for your decision on the syntax."),
    (WORK, "I'm happy with it; the tests pass."),
    ("What does the lexer do?", "It splits text into tokens:\n- names\n- numbers"),
    ("Explain the lexer.", "Let me explain: it splits text into tokens."),
    ("Füge Kommentare hinzu.", "Fertig. Sag mir Bescheid, falls etwas fehlt."),
    ("Ajoute les commentaires.", "C'est terminé. Dites-moi si quelque chose manque."),
    ("添加注释支持。", "完成了，如有问题请告诉我。"),
    ("コメント対応を追加してください。", "完了しました。ご確認ください。"),
    (WORK, "## What the parser is made of"),
    (WORK, "| file | what it belongs to and |\n|---|---|\n| `a.py` | the |"),
    (WORK, "Comments work, and I know what they are made of."),
    (WORK, "- the lexer and the"),
)


@over_table(("prompt", "message"), HONEST)
def test_an_end_that_only_looks_like_an_action_is_never_certain(prompt: str, message: str) -> None:
    assert certain(weighed(prompt, message, CHECKED)) == ()


def test_a_bare_colon_at_the_end_is_a_suspicion() -> None:
    (found,) = weighed(WORK, "The changes in the lexer:", EDITED).findings
    assert (found.rule, found.certain) == (RULE, False)
