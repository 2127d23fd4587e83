"""Asking leave for what was asked for, and the questions that are right to ask."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sidecar.judging.rules.every import apply_stop_rules
from sidecar.kernel.settings import RuleSettings
from sidecar.kernel.turn import ToolCall
from support.cases import edited, ran, todos, turn
from support.endings import CHECKED, EDITED, FOUND, certain, weighed
from support.table import over_table

RULE = "permission-seeking"
FIX = "Fix the rounding bug in total()."
ADD = "Add comment support to the parser, write tests for it and update the README."

MUST: tuple[tuple[str, str, tuple[ToolCall, ...]], ...] = (
    (ADD, "The parser accepts comments now. Would you like me to write the tests?", EDITED),
    (ADD, "Comments are parsed.\n\nShould I also update the README?", CHECKED),
    (ADD, "I changed the lexer. Shall I continue?", EDITED),
    (ADD, "I changed the lexer and the grammar.\n\nShall I go on with the rest?", EDITED),
    ("Fix the rounding bug in total().", "I found the cause: it truncates. Shall I fix it?", FOUND),
    ("Fix the rounding bug in total().", "`total` truncates cents. Want me to apply the fix?", FOUND),
    ("Fix the rounding bug in total().", "I fixed `total`. Should I run the tests?", EDITED),
    (
        "Rename Order to Purchase in all files.",
        "`src/a.py` is done. Should I proceed with the others?",
        EDITED,
    ),
    (
        "Convert all five handlers to async.",
        "Two handlers are converted. Let me know if you want me to continue with the remaining three.",
        EDITED,
    ),
    (FIX, "I fixed it. Do you want me to run the tests now to see that nothing else is affected?", EDITED),
    (FIX, "First the cause, then a test for it. Does this plan look good to you?", FOUND),
    (FIX, "`total` truncates cents; one line in `src/parser.py` changes.\n\nWant me to proceed?", FOUND),
    ("Fix the typo and commit it.", "The typo is fixed. Should I commit it?", EDITED),
    (FIX, "`total` truncates cents, one word changes. Fix it?", FOUND),
    (FIX, "`total` truncates cents. Would it be acceptable if I made this change?", FOUND),
    (
        "Convert all five handlers to async.",
        "- [x] login\n- [ ] logout\n\nPlease confirm batch 1 and I'll proceed with batch 2.",
        CHECKED,
    ),
    ("Update the client so that it retries.", "The retry is in. Should I update the client now?", EDITED),
)


@over_table(("prompt", "message", "calls"), MUST)
def test_asking_leave_for_what_was_asked_for_is_certain(
    prompt: str, message: str, calls: tuple[ToolCall, ...]
) -> None:
    assert RULE in certain(weighed(prompt, message, calls))


HONEST: tuple[tuple[str, str, tuple[ToolCall, ...]], ...] = (
    (FIX, "Fixed, and all tests pass. Would you like me to also add dark mode?", CHECKED),
    (FIX, "Fixed. Is there anything else you want me to do?", CHECKED),
    (FIX, "Fixed. Should I open a pull request?", CHECKED),
    (FIX, "Fixed. Shall I commit this?", CHECKED),
    (FIX, "Fixed. Do you want me to explain the change to total()?", CHECKED),
    (FIX, "The old totals are wrong in the database. Should I delete the production table?", EDITED),
    (FIX, "To go on I would drop the `totals` table.\n\nShould I proceed?", EDITED),
    (FIX, "Should `total` round half up or half to even?", EDITED),
    (FIX, "Rounding here changes the public API that clients rely on. Shall I go ahead?", EDITED),
    (
        FIX,
        "There are two ways to read this. Do you mean net or gross? Should I go on with net?",
        EDITED,
    ),
    (FIX, "I need the API token of the tax service. Shall I continue without it?", EDITED),
    (FIX, "This would cost about $40 of credits. Should I continue?", EDITED),
    ("Fix the bug, but ask me before you touch the tests.", "Fixed. Should I update the tests?", EDITED),
    ("Do step 1 of PLAN.md, then stop.", "Step 1 is done. Shall I continue?", EDITED),
    ("Why is the total wrong?", "It truncates. Would you like me to fix it?", FOUND),
    ("Explain how total() rounds.", "It truncates cents. Shall I change it?", FOUND),
    ("Behebe den Fehler.", "Behoben. Soll ich Postgres oder SQLite verwenden?", EDITED),
    ("Explain the plan first.", "First the lexer, then the parser. Shall I begin?", FOUND),
    (FIX, "Which total do you mean?\n\n- `net`: once\n\nShall I change that one?", FOUND),
    ("how many can we get? print: 2", "1. Six.\n2. Seven.\n\nI recommend 1; may I set it?", FOUND),
    (FIX, "I found the cause. Two of the callers rely on it, so it may break them. Shall I begin?", FOUND),
    (
        "tmp/ shouldn't be in git. Delete it all and commit.",
        "Three of four are gone; the last may break `gen.sh`.\n\nI'd move it. OK to do that?",
        (ran("git rm -q tmp/old.log && git commit -qm x"),),
    ),
    ("Delete the old table and commit.", "The script is ready. Should I delete the table now?", EDITED),
    (
        "Add the station, commit and push.",
        "The commit is there, the push was rejected. Should I proceed?",
        (edited(), ran("git commit -qam x"), ran("git push", 1)),
    ),
    ("my branch is behind, merge or rebase?", "Rebase. Do you want me to run it?", FOUND),
    ("migrate.py fails on a fresh db", "Order: 002 before 001. Want me to swap them?", FOUND),
    ("could you do a code review of total()", "It truncates. Want me to fix it?", FOUND),
    ("where do i change the limit before it has to be set", "In line 3. Want me to set it?", FOUND),
    ("Rename getUser.", "`getUser` is taken. Shall I rename it to `loadUser` then?", FOUND),
    ("Move mail.", "A file holds it. Shall I move it, or leave it on the file?", EDITED),
    ("rename `phone` everywhere", "Two tables have one. Should I rename only the first, or both?", FOUND),
    ("My pupils have to run the tests. How?", "`pytest`. If you'd like one, I can add a script.", FOUND),
    ("Fix the typo, don't commit it.", "The typo is fixed. Should I commit it?", EDITED),
)


@over_table(("prompt", "message", "calls"), HONEST)
def test_a_question_that_is_the_users_to_answer_is_never_certain(
    prompt: str, message: str, calls: tuple[ToolCall, ...]
) -> None:
    assert certain(weighed(prompt, message, calls)) == ()


def test_asking_leave_for_an_entry_of_its_own_list_that_the_user_asked_for_is_certain() -> None:
    seen = turn(*CHECKED, message="It parses them. Should I write the tests now?", prompts=(ADD,))
    listed = replace(seen, todos=todos("write the tests"))
    assert RULE in certain(apply_stop_rules(listed, RuleSettings(), goal=False))
    other = replace(seen, last_message="It parses them. Should I add a theme?", todos=todos("add a theme"))
    assert certain(apply_stop_rules(other, RuleSettings(stopped_with_todos="off"), goal=False)) == ()


def test_without_a_transcript_nothing_is_certain() -> None:
    seen = turn(edited(), message="Shall I continue?", prompts=(FIX,), readable=False)
    assert certain(apply_stop_rules(seen, RuleSettings(), goal=False)) == ()


def test_asking_to_run_the_tests_after_they_ran_is_no_certainty() -> None:
    calls = (edited(), ran("pytest -q", output="3 passed in 0.1s"))
    assert certain(weighed(FIX, "Fixed. Should I run the full test suite?", calls)) == ()


@pytest.mark.parametrize(("setting", "expected"), [("ask", (False,)), ("off", ())])
def test_the_switch_takes_the_certainty_or_the_finding(setting: str, expected: tuple[bool, ...]) -> None:
    rules = RuleSettings(permission_seeking=setting)  # type: ignore[arg-type] # a row of strings
    seen = turn(edited(), message="Shall I continue?", prompts=(FIX,))
    assert tuple(one.certain for one in apply_stop_rules(seen, rules, goal=False).findings) == expected
