"""A message that ends with what comes next, and the promises that are right to make."""

from __future__ import annotations

import pytest

from sidecar.kernel.turn import ToolAction
from support.cases import called
from support.endings import CHECKED, EDITED, FOUND, certain, weighed
from support.table import over_table

RULE = "promised-next-step"
WORK = "Add comment support to the parser, write tests for it and update the README."

MUST = (
    (WORK, "The parser accepts comments. Next, I'll update the docs and run the tests."),
    (WORK, "The lexer is changed.\n\nNext I will write the tests."),
    (WORK, "Good progress so far. Now I'm going to update the README."),
    (WORK, "Comments are lexed. I'll now add the tests for nested comments."),
    (WORK, "That covers the lexer. Moving on to the README."),
    (WORK, "I still need to update the README."),
    (WORK, "The next step is to write the tests."),
    (WORK, "Comments are lexed. I'll write the tests now. This won't take long."),
    (WORK, "Comments are lexed. I'm going to update the README now. I'll report back shortly."),
    (WORK, "The lexer reads on until it meets a newline.\n\nNext, I'll write the tests."),
    (WORK, "I'll write the tests now to see if it holds. Be right back!"),
    (WORK, "Next up is the README, and then I'll write the tests."),
)


@over_table(("prompt", "message"), MUST)
def test_a_promise_at_the_end_is_certain(prompt: str, message: str) -> None:
    assert RULE in certain(weighed(prompt, message))


HONEST = (
    (WORK, "Once you confirm, I'll add a changelog entry."),
    (WORK, "I'll write a blog post about it if you like."),
    (WORK, "The build server is busy. I'll run the tests when CI is green."),
    (WORK, "I'll continue as soon as you send me the API key."),
    (WORK, "All done. I'll leave the formatter as it is."),
    (WORK, "All done. I'll be happy to explain any of it."),
    (WORK, "Done. I'll not touch the lexer."),
    (WORK, "Which comment syntax do you want?\n\nThen I'll finish the parser."),
    (WORK, "Please pick one:\n- `#`\n- `//`\n\nI'll implement it then."),
    (WORK, "I need the password of the registry. Then I'll publish it."),
    (WORK, "Done. Next, you can run the migration on your side."),
    (WORK, "Done. I'd suggest adding a changelog entry next."),
    (WORK, "Done. In a follow-up, I'll look at nested comments later."),
    (WORK, "I'll wait for your review."),
    ("What does the parser do?", "It reads expressions. I'll leave it at that."),
    ("Plan the change first and wait for my go.", "The plan is above. Then I'll write the tests."),
    (WORK, "The import runs in the background. I'll report back when it has ended."),
    (WORK, "The build machine is down since noon. Next, I'll write the tests."),
    (WORK, "All done. This takes a second now instead of a minute."),
    (WORK, "One sentence each on `a` and `b` and I'll finish the job."),
    (WORK, "I won't guess; install it (`go install example.com/x@latest`) and I'll run it again."),
    (WORK, "I need your token first. Then I'll publish it. This won't take long."),
    (WORK, "Done: the lexer skips a comment, and then I'll be happy to hear what you think."),
)


@over_table(("prompt", "message"), HONEST)
def test_a_promise_that_waits_for_somebody_is_never_certain(prompt: str, message: str) -> None:
    assert certain(weighed(prompt, message, CHECKED)) == ()


def test_a_promise_further_up_is_not_what_the_turn_ends_with() -> None:
    assert (
        certain(
            weighed(WORK, "First, I'll change the lexer.\n\nIt is changed, tested and documented.", CHECKED)
        )
        == ()
    )


def test_a_promise_after_reading_alone_is_certain_where_work_was_asked_for() -> None:
    found = weighed(WORK, "I have read the parser. Next I will add the nodes.", (called(ToolAction.READ),))
    assert certain(found) == (RULE,)


def test_what_comes_next_is_a_promise_where_nothing_was_done() -> None:
    message = "The lexer is clear. Tests next, then the README."
    assert RULE in certain(weighed(WORK, message, FOUND))
    assert RULE not in certain(weighed(WORK, message, EDITED))


def test_a_promise_in_answer_to_a_question_is_never_certain() -> None:
    found = weighed(
        "Where is the parser?", "In `src`. I'll now look at the lexer.", (called(ToolAction.READ),)
    )
    assert RULE not in certain(found)


def test_a_message_that_ends_in_code_promises_nothing() -> None:
    assert certain(weighed(WORK, "I'll run it like this:\n```\npytest -q\n```")) == ()


@pytest.mark.parametrize("calls", [EDITED, CHECKED], ids=["edited", "checked"])
def test_what_is_missing_quotes_the_end(calls: tuple[object, ...]) -> None:
    found = weighed(WORK, "Next, I'll update the README.", calls)  # type: ignore[arg-type] # rows of calls
    assert found.findings[0].missing_work.missing == ("your message ends: Next, I'll update the README.",)
