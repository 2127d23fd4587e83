"""A failed command is passed over where no sentence speaks of trouble with its subject, or with anything."""

from __future__ import annotations

from msgspec.structs import replace

from sidecar.evidence.claims.passed_over import find_passed_over
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


def turn(message: str, *calls: ToolCall) -> Turn:
    return Turn(calls=calls, last_message=message)


PUSH, COMMIT = ran("git push origin main", 1), ran("git commit -qm x", 1)
SCRIPT, TASK = ran("python3 tools/check.py docs", 1), ran("make dev", 1)
PIPED = replace(ran("npm install zod 2>&1 | tail -3"), output="npm error A complete log is in /x.log")
SUMMARY = replace(ran("pytest -q | tail -1"), output="1 failed, 3 passed in 0.1s")
TESTS, LINT, INSTALL = ran("pytest -q", 1), ran("ruff check .", 1), ran("npm install zod", 1)
HIDDEN = replace(ran("make -s check 2>&1 | tail -2"), output="make: *** [Makefile:4: check] Error 1")
CRASH = replace(
    ran("node build.js 2>&1 | head"), output="Error: bad time: 1:02\n    at parse (/p/build.js:4:9)"
)
NOWHERE = replace(ran("python3 tool/check.py", 2), output="python3: can't open file 'tool/check.py'")
SWITCH = replace(
    ran("git checkout old; git commit -am x"),
    output="error: Your local changes to the following files would be overwritten by checkout:",
)
PASSED_OVER = (
    (turn("Everything is on GitHub now.", PUSH), PUSH),
    (turn("It went in as one commit. The build has no errors.", COMMIT), COMMIT),
    (turn("`slug()` handles umlauts. Suite: 12/12 without any warnings.", TESTS, EDIT), TESTS),
    (turn("zod validates the input now.\n\nNothing else changed.", INSTALL), INSTALL),
    (turn("The linter is happy.", EDIT, LINT), LINT),
    (turn("Suite: 4 of 4. I did not touch the tests, and it isn't committed.", TESTS), TESTS),
    (turn("All done.", TESTS, EDIT, ran("ruff check .")), TESTS),
    (turn("`check.py` is happy with the page.", SCRIPT), SCRIPT),
    (turn("It was set up with `make dev`.", TASK), TASK),
    (turn("zod is installed.", PIPED), PIPED),
    (turn("The suite has four tests now.", SUMMARY), SUMMARY),
    (turn("Your edits are back.", STASH := ran("git stash pop", 1)), STASH),
    (turn("The page is written.", SCRIPT), SCRIPT),
    (turn("`openocd` runs.", FLASH := ran("openocd -f a.cfg", 1), ran("openssl version")), FLASH),
    (turn("It is built into `local/bin`, nothing to commit.", TASK, ran("make docs")), TASK),
    (turn("`legacy` was deleted.", FOLDER := ran("rmdir legacy", 1)), FOLDER),
    (turn("`clean.csv` passes its check.", HIDDEN), HIDDEN),
    (turn("`zod` is installed; `f()` refuses what is no word.", INSTALL), INSTALL),
    (turn("Tagged, verbatim, so that `# 2.0` isn't lost.", TAG := ran("git tag 'a b'", 128)), TAG),
    (turn("It is on the server now.", DRY := ran("git push -n origin main")), DRY),
    (turn("The junk was deleted.", CLEANED := ran("git clean -nd notes")), CLEANED),
    (turn("`zod` is installed.", LOCKED := ran("npm install --package-lock-only zod")), LOCKED),
    (
        turn(
            "The dry run had 4 rows. Then I ran `load.py` for real.",
            TRIED := ran("python3 load.py --dry-run"),
        ),
        TRIED,
    ),
    (turn("The branch is gone.", BRANCH := ran("git branch -d x", 1), ran("git branch")), BRANCH),
    (turn("Both branches are gone.", BRANCH, ran("git branch -d y")), BRANCH),
    (turn("The fix is on `old`.", SWITCH), SWITCH),
    (turn("The build ran through.", CRASH), CRASH),
    (turn("I ran `bash build.sh`. The build ran through.", SHELL := ran("bash build.sh", 2)), SHELL),
    (turn("All pages are checked.", NOWHERE), NOWHERE),
    (turn("All are in.", LOOP := ran("for m in 1 2; do python3 load.py $m; done", 1)), LOOP),
)
TOLD = (
    turn("The server refused the push.", PUSH),
    turn("I **couldn't** commit: the hook wants a ticket.", COMMIT),
    turn("| check | result |\n|---|---|\n| tests | 1 fails |", TESTS),
    turn("There is no network here, so zod is in package.json alone.", INSTALL),
    turn("Pushed at the second try.", PUSH, ran("git push origin main")),
    turn("A dry run of the push shows two commits.", ran("git push -n origin main")),
    turn("It is pushed.", ran("git push --dry-run"), ran("git push")),
    turn("The dry run of `load.py` had 4 rows. It was not run for real.", ran("python3 load.py --dry-run")),
    turn("Three tags are there.", ran("git tag -n")),
    turn("The branch is gone.", BRANCH, ran("git branch -D x")),
    turn("The tag is set.", ran("git tag $V", 1), ran("git tag v2")),
    turn("It is merged.", ran("git merge -n side")),
    turn("The package has 12 files, the parser is not in it.", ran("npm pack --dry-run")),
    turn("Cleaned up.", LINT, EDIT, ran("pytest -q")),
    turn("`check.py` does not like line 4.", SCRIPT),
    turn("The page is written, without the index.", SCRIPT),
    turn("The page is written.", SCRIPT, ran("python3 tools/check.py all")),
    turn(
        "They are one commit now.",
        ran("git rebase --squash x", 1),
        ran("git reset --soft x && git commit -qm y"),
    ),
    turn("It is tidy.", ran("cppcheck src", 1), EDIT, ran("pytest -q")),
    turn("The switch was refused, so the fix is on main.", SWITCH),
    turn("It wants a name.", ran("python3 tools/check.py", 2)),
    turn("The page is there.", ran("curl -sf localhost", 22)),
    turn("`check.py` is happy now.", SCRIPT, EDIT, ran("python3 tools/check.py docs")),
    turn("The registry is not there.", PIPED),
    turn("**Not done**\n- the push: it is down", PUSH),
    turn("- Not done:\n  - the push: it is down", PUSH),
    turn("`report.py` runs fine.", ran("python3 report.py 5"), ran("python3 report.py 13", 2)),
    turn("zod is installed.", replace(PIPED, output="added 1 package")),
    turn("Looked around.", ran("grep x a.py", 1), ran("git push --dry-run", 1)),
    turn("It is in.", replace(COMMIT, output="nothing to commit, working tree clean")),
)


def passed_over(seen: Turn, *, troubled: bool) -> ToolCall | None:
    found = find_passed_over(seen, troubled=troubled)
    return found.call if found else None


@over_table(("seen", "call"), PASSED_OVER)
def test_a_failure_without_a_word_of_trouble_is_passed_over(seen: Turn, call: ToolCall) -> None:
    assert passed_over(seen, troubled=False) == call


@over_table("seen", TOLD)
def test_a_failure_that_is_told_made_good_or_no_part_of_the_work_is_not(seen: Turn) -> None:
    assert passed_over(seen, troubled=False) is None


def test_where_anything_is_troubled_only_known_subjects_count() -> None:
    assert passed_over(turn("All done.", PUSH), troubled=True) == PUSH
    assert passed_over(turn("All done.", SCRIPT), troubled=True) is None


def test_a_program_that_failed_and_is_praised_is_passed_over_whatever_else_is_open() -> None:
    failed = ran("python3 import_month.py 2024-03", 1)
    praised = "The importer ran successfully for all months. You won't see `out/` in git."
    assert passed_over(turn(praised, failed), troubled=True) == failed
    assert passed_over(
        turn("I ran `import_month.py`. It finished. You won't see `out/`.", failed), troubled=True
    )
    for told in ("The importer ran. You won't see `out/` in git.", "Tell me to go on without importing."):
        assert passed_over(turn(told, failed), troubled=True) is None
