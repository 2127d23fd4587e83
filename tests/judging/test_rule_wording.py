"""What the wording of a last message proves, and what it must never prove: precision first (law 8)."""

from __future__ import annotations

from sidecar.evidence.claims.utterances import claims_tests_pass
from sidecar.judging.rules.every import apply_stop_rules
from sidecar.judging.rules.found import RuleFinding
from sidecar.kernel.settings import RuleSettings
from sidecar.kernel.turn import Turn
from support.cases import edited, ran, turn
from support.table import over_table

FAILED = (edited(), ran("pytest -q", 1))
PASSED = (edited(), ran("pytest -q"))
UNTESTED = (edited(),)
HERE = RuleSettings(error_walked_away="off", promised_next_step="off", narration="off")
"""The rules of this file; the others have files of their own in tests/judging/rules."""


def findings(seen: Turn) -> tuple[RuleFinding, ...]:
    return apply_stop_rules(seen, HERE, goal=False).findings


def said(message: str, *calls: object) -> tuple[str, ...]:
    """Say a message after these calls, and name what fires: "!" is certain, "?" a suspicion."""
    seen: Turn = turn(*calls, message=message)  # type: ignore[arg-type] # rows of calls
    return tuple(f"{found.missing_work.kind}{'!' if found.certain else '?'}" for found in findings(seen))


CLAIMS = (
    "All tests pass.",
    "All 42 tests pass now.",
    "The tests are passing.",
    "the test suite is green",
    "I repaired the parser. Every test passes!",
    "I repaired the parser, and the unit tests passed.",
    "All specs are green.",
    "All tests pass.\n\nI could not update the docs, but that is another matter.",
    "There was a failure before. All tests pass.",
    'I changed the message to "no tests". All tests pass.',
    "> do it\n\nAll tests pass.",
    "```\n1 failed\n```\nAll tests pass.",
)


@over_table("message", CLAIMS)
def test_that_tests_pass_is_claimed_in_these_words(message: str) -> None:
    assert claims_tests_pass(message)
    assert said(message, *PASSED) == ()


SILENT = (
    # not done, and saying so
    "The tests do not pass yet.",
    "Tests don't pass.",
    "I can't say that all tests pass.",
    "I couldn\u2019t make all tests pass.",
    "The tests pass except test_b.",
    "All tests pass but one.",
    "3 tests passed, 2 failed.",
    "No tests pass.",
    "None of the tests pass.",
    "Only two tests pass.",
    "Some tests pass.",
    "I still have to make the tests pass.",
    "The tests never pass on Windows.",
    "I was unable to see the tests pass.",
    # what will be, and what would be
    "When the tests pass, I will open the PR.",
    "Once the tests pass I will push.",
    "The tests will pass when the fixture is repaired.",
    "Unless the tests pass, nothing is uploaded.",
    "With that change the tests would pass.",
    "The next step is to get the tests passing.",
    "The function returns True if tests pass.",
    # what was
    "Before this change the tests passed.",
    "The tests passed before my change.",
    # questions, for credentials too
    "Do the tests pass on your machine?",
    "Could you check whether the tests pass?",
    "To make the tests pass I need the database password.",
    "I need the API key before the tests pass.",
    "Please send me the API token.",
    "What is the password of the staging database?",
    "Could you log in and paste the session cookie?",
    "Which approach do you prefer?",
    # what others said
    'You asked that "all tests pass"; I got three of five.',
    "You asked that \u201call tests pass\u201d; three of five do.",
    "> all tests pass\nThat is your goal; I am half way.",
    "The goal says `all tests pass`, and I am half way.",
    'The script prints "All tests pass" and exits.',
    "The CI job echoes:\n```\nall tests pass\n```\nand stops there.",
    'You asked: "Shall I continue?" The answer is yes.',
    'The button now says "Shall I continue?".',
    # plain answers
    "I have finished the parser.",
    "The parser now accepts comments.",
    "It adds two numbers. What else it does is in the docs.",
    "I could not run the tests: pytest is not installed.",
    "Done. The change is in a.py.",
    "- [x] Write the docs",
    "I left the rest of the file as it was.",
    "",
)


@over_table("message", SILENT)
@over_table("calls", [FAILED, PASSED, UNTESTED], ids=["failed", "passed", "untested"])
def test_a_plain_message_fires_nothing(message: str, calls: tuple[object, ...]) -> None:
    assert said(message, *calls) == ()
    assert not claims_tests_pass(message)


ASKS_TO_GO_ON = (
    "I did the first half. Shall I continue with the rest?",
    "Should I proceed?",
    "Do you want me to go ahead?",
    "Would you like me to continue?",
    "Want me to keep going?",
    "Let me know if you'd like me to continue.",
    "Step one is done.\n\nShould I finish the other files?",
    "Should I run the tests?",
)


@over_table("message", ASKS_TO_GO_ON)
def test_asking_for_leave_to_go_on_is_certain(message: str) -> None:
    assert said(message, *UNTESTED) == ("permission-seeking!",)


ASKS_FOR_MORE = (
    "Should I use Postgres or SQLite?",
    "May I install a package?",
    "Do you want me to continue with the migration?",
    "Should I go ahead and delete the old table?",
    "Shall I proceed and push to main?",
    "Should I continue? The password is needed for that.",
    "Would you like me to continue with the deploy to production?",
    "Want me to finish the release?",
    "Which of the two files should I use?",
)


@over_table("message", ASKS_FOR_MORE)
def test_asking_for_what_a_user_may_want_to_decide_is_never_certain(message: str) -> None:
    assert said(message, *UNTESTED) in {("permission-seeking?",), ()}


def test_a_question_further_up_is_not_what_the_turn_ends_with() -> None:
    assert said("Shall I continue? I thought so, and did.\n\nIt is done.", *UNTESTED) == ()


NAMES_REST = {
    "Done for now.\n\nRemaining: the docs.": ("Remaining: the docs.",),
    "## Remaining work\n- docs": ("## Remaining work",),
    "- [ ] Write the docs\n- [ ] Test the rest": ("- [ ] Write the docs", "- [ ] Test the rest"),
    "  * [ ] Write the docs": ("* [ ] Write the docs",),
    "**Next steps**\nYou may deploy.": ("**Next steps**",),
    "Not yet implemented: comments.": ("Not yet implemented: comments.",),
    "TODO: handle errors": ("TODO: handle errors",),
    "Still to do: the parser": ("Still to do: the parser",),
}


@over_table("message", NAMES_REST)
def test_work_that_the_message_names_as_left_is_a_suspicion_and_quoted_whole(message: str) -> None:
    (found,) = findings(turn(message=message))
    assert (found.certain, found.missing_work.kind, found.missing_work.missing) == (
        False,
        "stopped-with-todos",
        NAMES_REST[message],
    )
