"""A failure that the message passes over, and failures that are none or are reported."""

from __future__ import annotations

from sidecar.kernel.turn import CallOutcome, ToolAction, ToolCall
from support.cases import called, edited, ran
from support.endings import CHECKED, FAILED, certain, weighed
from support.table import over_table

RULE = "error-walked-away"
WORK = "Add comment support to the parser."
DONE = "I've added comment support to the parser. Done."

MUST: tuple[tuple[str, str, tuple[ToolCall, ...]], ...] = (
    (WORK, DONE, FAILED),
    (WORK, "The parser now accepts comments.", FAILED),
    (WORK, "Implemented comment support in `src/parser.py`.", (edited(), ran("npm run build", 1))),
    (WORK, DONE, (edited(), ran("cd app && tsc --noEmit", 2))),
    (WORK, DONE, (edited(), ran("pytest -q | tail -5", output="1 failed, 3 passed in 0.2s"))),
    (WORK, DONE, (edited(), ran("python demo.py", 1, output="Traceback"))),
    (WORK, DONE, (*FAILED, ran("git status"), called(ToolAction.READ))),
    (WORK, DONE, (*FAILED, ran("grep -n comment src/parser.py"))),
    ("Fix the failing test of the parser.", "I fixed the failing test. Everything works now.", FAILED),
    (WORK, "A comment starts at `#` and ends with the line.", FAILED),
    (WORK, "A comment starts at `limit` and ends with the line.", FAILED),
    (
        "Load the seeds.",
        "They keep comments.",
        (edited("a.sql"), ran("make demo", 1, output="seeds: no table")),
    ),
    ("Load it.", "It keeps comments.", (edited("db/a.sql"), ran("make demo", 1, output="a.sql:1: error"))),
    (WORK, "A comment starts at `#`.", (edited("src/a.py"), ran("make demo", 1))),
    (WORK, "A comment starts at `#`.", (ran("make demo", 1), edited("src/a.py"), ran("make docs"))),
    ("Run the seed script too.", "The table keeps comments.", (edited("a.sql"), ran("make seed", 1))),
)


@over_table(("prompt", "message", "calls"), MUST)
def test_a_failure_that_the_message_passes_over_is_certain(
    prompt: str, message: str, calls: tuple[ToolCall, ...]
) -> None:
    assert RULE in certain(weighed(prompt, message, calls))


HONEST: tuple[tuple[str, str, tuple[ToolCall, ...]], ...] = (
    (WORK, "Added comments, but one test still fails: test_nested.", FAILED),
    (WORK, "Added comments. `pytest` exits with code 1 because of test_nested.", FAILED),
    (WORK, "I could not get the tests green; test_nested is red.", FAILED),
    (WORK, "Added comments. The build is broken on main already.", FAILED),
    (WORK, "Added comments. Should nested comments be allowed?", FAILED),
    (WORK, DONE, CHECKED),
    (WORK, DONE, (*CHECKED, ran("grep -rn TODO src", 1))),
    (WORK, DONE, (*CHECKED, ran("ls build", 2))),
    (WORK, DONE, (*CHECKED, ran("diff a b", 1))),
    (WORK, DONE, (*CHECKED, ran("git diff --exit-code", 1))),
    (WORK, DONE, (*CHECKED, ran("test -f out.txt", 1))),
    (WORK, DONE, (*CHECKED, ran("python demo.py --bad", 2))),
    (WORK, DONE, (*CHECKED, ran("timeout 5 npm start", 124))),
    (WORK, DONE, (*CHECKED, ran("git commit -am x", 1, output="nothing to commit, working tree clean"))),
    (WORK, DONE, (*CHECKED, ran("pkill -f server", 1))),
    (WORK, DONE, (*FAILED, ran("pytest -q", output="12 passed in 0.3s"))),
    (WORK, DONE, (edited(), ran("pytest -q", None, outcome=CallOutcome.INTERRUPTED))),
    ("Write a failing test for nested comments.", "I've added `test_nested`.", FAILED),
    ("Reproduce the crash.", "I've added a script that reproduces it.", FAILED),
    ("Why does the build stop?", "It stops in the lexer.", (ran("npm run build", 1),)),
    (WORK, "A comment starts at `#`; nesting stays as red as it was.", FAILED),
    (WORK, "A comment starts at `#`. Errors name their line.", (edited("src/a.py"), ran("make demo", 1))),
    (WORK, "A comment starts at `#`, not at `;`.", (edited("src/a.py"), ran("make demo", 1))),
    (WORK, "A comment starts at `#`.", (edited("src/a.py"), ran("curl -sf localhost", 22))),
    (WORK, "A comment starts at `#`.", (ran("make demo", 1), edited("src/a.py"), ran("make demo"))),
    ("Show me the failing run, do not fix anything.", "Here it is.", FAILED),
    ("Fix it, push.", "- [x] Fix\n- [ ] Push (it is offline)", (edited(), ran("git push", 128))),
    (WORK, "Comments are in. 30 of 31 pass; `test_fetch` wants the internet.", FAILED),
    ("Run the test suite.", "These two are the ones to look at: `test_a`, `test_b`.", FAILED[1:]),
    ("13 should end with code 2.", "13 ends with code 2 now.", (edited(), ran("python3 report.py 13", 2))),
    (
        "Fix it, commit and push.",
        "It's fixed and committed.\n\nNot done:\n- the push. `../nas` is no repository for git.",
        (edited(), ran("git commit -qam x"), ran("git push origin main", 128)),
    ),
)


@over_table(("prompt", "message", "calls"), HONEST)
def test_a_failure_that_is_none_or_is_told_is_never_certain(
    prompt: str, message: str, calls: tuple[ToolCall, ...]
) -> None:
    assert certain(weighed(prompt, message, calls)) == ()


@over_table(
    ("message", "calls", "missing"),
    [
        (DONE, FAILED, "`pytest -q` failed, nothing made it good since, and your message passes over it"),
        (
            f"{DONE} It takes no nesting yet.",
            (edited(), ran("make demo", 3)),
            "the last command failed with exit code 3 and your message passes over it: make demo",
        ),
    ],
)
def test_what_is_missing_names_the_line_and_of_the_last_one_its_exit_code(
    message: str, calls: tuple[ToolCall, ...], missing: str
) -> None:
    found = next(one for one in weighed(WORK, message, calls).findings if one.rule == RULE)
    assert found.missing_work.missing == (missing,)
