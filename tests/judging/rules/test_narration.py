"""A message that ends in the middle of an action, and colons and present tenses that end nothing."""

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
    (WORK, "Found it. Let me check which one is used:"),
    (WORK, "The cause is the lexer. Applying the fix:"),
    (WORK, "The old token would be deleted there. Into the lexer now goes:"),
    (WORK, "The lexer skips comments. In the parser they end up in the"),
    (WORK, "Was it the lexer before? Let me look and then fix it"),
)


@over_table(("prompt", "message"), MUST)
@over_table("calls", [EDITED, FOUND], ids=["edited", "looked"])
def test_an_action_that_is_told_and_not_done_is_certain(
    prompt: str, message: str, calls: tuple[object, ...]
) -> None:
    found = weighed(prompt, message, calls)  # type: ignore[arg-type] # rows of calls
    assert {RULE, "promised-next-step"} & {*certain(found)}


HONEST = (
    (WORK, "I left the parser as it is, for the reasons above :)"),
    (WORK, "Done. Let me know if anything is unclear."),
    (WORK, "Run it with:\n```\npytest -q\n```"),
    (WORK, "The parser skips comments now. Usage:\n```\nparse('# x')\n```"),
    (WORK, "I need one thing from you to go on:"),
    (WORK, "Please choose one of these:"),
    (WORK, 'An empty comment is refused, and the message reads: "no comment"'),
    (WORK, "The changelog has this line now:\n> Comments are parsed."),
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
    (WORK, "## What the parser is made of"),
    (WORK, "| file | what it belongs to and |\n|---|---|\n| `a.py` | the |"),
    (WORK, "Comments work, and I know what they are made of."),
    (WORK, "- the lexer and the"),
)


@over_table(("prompt", "message"), HONEST)
def test_an_end_that_only_looks_like_an_action_is_never_certain(prompt: str, message: str) -> None:
    assert certain(weighed(prompt, message, CHECKED)) == ()


@over_table("calls", [EDITED, FOUND], ids=["edited", "looked"])
def test_a_message_that_ends_in_a_colon_broke_off(calls: tuple[object, ...]) -> None:
    found = weighed(WORK, "The changes in the lexer:", calls)  # type: ignore[arg-type] # rows of calls
    assert certain(found) == (RULE,)
