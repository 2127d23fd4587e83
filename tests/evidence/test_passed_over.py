"""A command that failed is passed over where nothing made it good and it was part of the work."""

from __future__ import annotations

from msgspec.structs import replace

from sidecar.evidence.claims.passed_over import find_passed_over, refused_by_git
from sidecar.kernel.turn import CallOutcome, ToolAction, ToolCall, Turn
from sidecar.platform.shell.line import parse_simple_commands
from support.table import over_table

EDIT = ToolCall(id="e", tool="Edit", doing=ToolAction.EDIT, outcome=CallOutcome.OK, paths=("/p/a.py",))


def ran(line: str, code: int = 0) -> ToolCall:
    outcome = CallOutcome.FAILED if code else CallOutcome.OK
    return ToolCall(
        id=line,
        tool="Bash",
        doing=ToolAction.RUN,
        outcome=outcome,
        command=line,
        runs=parse_simple_commands(line),
        exit_code=code,
    )


def turn(*calls: ToolCall) -> Turn:
    return Turn(calls=calls, last_message="Done.")


PUSH, COMMIT = ran("git push origin main", 1), ran("git commit -qm x", 1)
SCRIPT, TASK = ran("python3 tools/check.py docs", 1), ran("make dev", 2)
TESTS, LINT, INSTALL = ran("pytest -q", 1), ran("ruff check .", 1), ran("npm install zod", 1)
PIPED = replace(ran("npm install zod 2>&1 | tail -3"), output="npm error A complete log is in /x.log")
SUMMARY = replace(ran("pytest -q | tail -1"), output="1 failed, 3 passed in 0.1s")
HIDDEN = replace(ran("make -s all 2>&1 | tail -2"), output="make: *** [Makefile:4: all] Error 1")
CRASH = replace(
    ran("node build.js 2>&1 | head"), output="Error: bad time: 1:02\n    at parse (/p/build.js:4:9)"
)
PASSED_OVER: dict[str, tuple[ToolCall, tuple[ToolCall, ...]]] = {
    "a push": (PUSH, (PUSH,)),
    "a commit": (COMMIT, (COMMIT,)),
    "tests, whatever was edited since": (TESTS, (TESTS, EDIT)),
    "tests, and a check of another kind passed": (TESTS, (TESTS, EDIT, ran("ruff check ."))),
    "lint after the last edit": (LINT, (EDIT, LINT)),
    "an install": (INSTALL, (INSTALL,)),
    "an install behind a pipe": (PIPED, (PIPED,)),
    "tests behind a pipe, by their summary": (SUMMARY, (SUMMARY,)),
    "make behind a pipe": (HIDDEN, (HIDDEN,)),
    "a crash behind a pipe": (CRASH, (CRASH,)),
    "a program of the project": (SCRIPT, (SCRIPT,)),
    "a task, whose code 2 tells of a failure": (TASK, (TASK, ran("make docs"))),
    "the last of several": (PUSH, (SCRIPT, PUSH)),
}
NOT_PASSED_OVER: dict[str, tuple[ToolCall, ...]] = {
    "it was done again": (PUSH, ran("git push origin main")),
    "a commit was made another way": (ran("git rebase x", 1), ran("git reset --soft x && git commit -qm y")),
    "a check passed after an edit": (LINT, EDIT, ran("pytest -q")),
    "the program passed after an edit": (SCRIPT, EDIT, ran("python3 tools/check.py docs")),
    "a program was probed": (ran("python3 tools/check.py", 2),),
    "it only looked": (ran("grep x a.py", 1), ran("git branch -d x", 1)),
    "it was a dry run": (ran("git push --dry-run", 1),),
    "it was no part of the work": (ran("curl -sf localhost", 22),),
    "nothing was there to commit": (replace(COMMIT, output="nothing to commit, working tree clean"),),
    "its output tells of none": (replace(PIPED, output="added 1 package"),),
}


@over_table("case", PASSED_OVER)
def test_a_failure_that_nothing_made_good_is_passed_over(case: str) -> None:
    call, calls = PASSED_OVER[case]
    found = find_passed_over(turn(*calls))
    assert found is not None
    assert found.call == call


@over_table("case", NOT_PASSED_OVER)
def test_a_failure_that_was_made_good_or_is_no_part_of_the_work_is_not(case: str) -> None:
    assert find_passed_over(turn(*NOT_PASSED_OVER[case])) is None


def test_checks_installs_and_git_are_known_whatever_they_were_started_for() -> None:
    found = [find_passed_over(turn(call)) for call in (TESTS, INSTALL, PUSH, SCRIPT)]
    assert [one.known for one in found if one] == [True, True, True, False]


def test_git_refuses_what_meets_the_work_of_others() -> None:
    assert refused_by_git(turn(PUSH))
    assert not refused_by_git(turn(COMMIT))
    assert not refused_by_git(turn(PUSH, ran("git push origin main")))
