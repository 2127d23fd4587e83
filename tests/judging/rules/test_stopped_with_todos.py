"""Work that the message itself lists as left, and lists that are no reason to go on."""

from __future__ import annotations

from sidecar.judging.rules.every import apply_stop_rules
from sidecar.kernel.settings import RuleSettings
from support.cases import edited, ran, todos, turn
from support.endings import CHECKED, FOUND, certain, weighed
from support.table import over_table

RULE = "stopped-with-todos"
WORK = (
    "Do all of this: 1. parse comments 2. write tests for comments 3. update the README 4. bump the version"
)

MUST = (
    (WORK, "Comments are parsed.\n\n## Remaining\n- tests for comments\n- update the README"),
    (WORK, "Comments are parsed and tested.\n\n- [x] parse comments\n- [ ] update the README"),
    (WORK, "I did the parser and its tests.\n\nStill to do: the README and the version."),
    (WORK, "Comments are parsed. I haven't updated the README yet."),
    (WORK, "Comments are parsed. The README still needs an update."),
    (WORK, "The README remains to be updated."),
    (WORK, "Good progress. Given the length of this session I stop here. Remaining errors:\n- `a.py` (4)"),
    (
        WORK,
        "Comments are parsed.\n\nFor a follow-up:\n- tests for comments (needs a fixture)\n\nSmall.",
    ),
    (WORK, "| part | state |\n|---|---|\n| parse comments | done |\n| update the README | pending |"),
    (WORK, "- ✅ parse comments\n- ⏳ update the README"),
    ("Translate src/parser.py, menu, and help.", "The parser is translated. Still on the list: two others."),
    (WORK, "Comments are parsed. Not done yet: update the README. That is for later."),
)


@over_table(("prompt", "message"), MUST)
def test_work_that_was_asked_for_and_is_listed_as_left_is_certain(prompt: str, message: str) -> None:
    assert RULE in certain(weighed(prompt, message))


HONEST = (
    (
        "Remove `heaviest` and its tests; all tests must pass.",
        "Removed `heaviest` and its tests. The remaining tests pass.",
    ),
    (WORK, "All four are done.\n\nNext steps:\n- deploy it to staging"),
    (WORK, "All done.\n\n## Next steps\n- You may want to review the README."),
    (WORK, "All done. Optional: the README could be longer."),
    (WORK, "- The version: not done. Two tags carry the next number, one per registry, and they differ."),
    (
        "add a `done ID` command to todo, list shows [x] or [ ]",
        "`todo done ID` works and `todo list` shows `[ ]`.",
    ),
    (WORK, "All done. Out of scope: the version of the docs, which I left."),
    (WORK, "All done. Future work:\n- [ ] nested comments"),
    (WORK, "All done. Due to the size of the table the remaining rows are read in pages."),
    (WORK, "All done.\n\nRemaining risk: none that I know of."),
    (WORK, "All done. Nothing remains to be done."),
    (WORK, "The README is not updated, as you asked."),
    (WORK, "The rest:\n- \u2713 update the README: done as well"),
    (WORK, "Still open: the version. Which number do you want?"),
    (WORK, "The version remains; I need the release token for that."),
    (WORK, "Still to do: the version, once you approve the README."),
    (WORK, "Remaining: the tests for comments still fail on Windows."),
    (WORK, "- [x] parse comments\n- [x] write tests\n- [x] update the README\n- [x] bump the version"),
    (WORK, "All four are done. The lexer still uses the old table, which is fine."),
    (
        "add `IV`, commit when the tests are green",
        "It is in, but I have not committed, because the tests aren't green.",
    ),
    ("Only do step 1 of the list: parse comments.", "Step 1 is done. Remaining: write the tests."),
    ("What is left to do?", "Remaining:\n- write tests\n- update the README"),
    (WORK, "| case | result |\n|---|---|\n| nested comments | not yet supported upstream |"),
    (WORK, "- ✅ parse comments\n- ⏳ the vendor's answer"),
    ("Parse comments. Leave the README alone for later.", "Comments are parsed. Remaining: the README."),
    ("Parse comments, but don't update the README.", "Comments are parsed.\n\n## Remaining\n- README"),
)


@over_table(("prompt", "message"), HONEST)
def test_a_list_that_is_no_reason_to_go_on_is_never_certain(prompt: str, message: str) -> None:
    assert certain(weighed(prompt, message, CHECKED)) == ()


def test_a_list_after_a_turn_that_changed_nothing_is_never_certain() -> None:
    assert certain(weighed(WORK, "Remaining: update the README.", FOUND)) == ()


def test_what_git_refused_is_no_certain_remainder() -> None:
    prompt, message = "Bump it, commit, tag it v2.", "It is bumped and committed. Not done: the tag."
    looked = (edited(), ran("git tag"))
    assert RULE in certain(weighed(prompt, message, looked))
    assert certain(weighed(prompt, message, (ran("git tag v2", 128), *looked))) == ()


def test_with_a_goal_a_failure_that_is_left_is_no_end() -> None:
    message = "Still to do: tests for comments, they fail."
    assert certain(weighed(WORK, message)) == ()
    assert certain(weighed(WORK, message, goal=True)) == (RULE,)


def test_the_hosts_list_is_certain_and_named_whatever_the_message_lists() -> None:
    seen = turn(edited(), message="Done.", prompts=(WORK,), todos=todos("bump the version"))
    (found,) = apply_stop_rules(seen, RuleSettings(), goal=False).findings
    assert (found.certain, found.missing_work.missing) == (True, ("bump the version",))
