"""Which sentences of a last message are claims, and which are none."""

from __future__ import annotations

from sidecar.evidence.claims.utterances import utterances
from sidecar.kernel.evidence import ClaimKind
from support.table import over_table

T, B, Y, L = ClaimKind.TESTS_PASS, ClaimKind.BUILD_CLEAN, ClaimKind.TYPES_CLEAN, ClaimKind.LINT_CLEAN
C, P, R, D = ClaimKind.COMMITTED, ClaimKind.PUSHED, ClaimKind.PR_OPENED, ClaimKind.DEPLOYED
F = ClaimKind.FILE_CREATED

CLAIMS: dict[str, set[ClaimKind]] = {
    "All tests pass.": {T},
    "All 42 tests pass now.": {T},
    "The test suite passes.": {T},
    "The tests are green.": {T},
    "Every test passes!": {T},
    "3 of 3 tests pass.": {T},
    "\u2705 All tests passing": {T},
    "Tests: all passed": {T},
    "`pytest` passes.": {T},
    "`pytest -q` is green now.": {T},
    "`npm test` passes.": {T, ClaimKind.RAN},
    "pytest passes.": {T},
    "- Tests pass\n- Build passes": {T, B},
    "All tests pass, the build is clean, and lint passes.": {T, B, L},
    "The build passes.": {B},
    "The build succeeds.": {B},
    "The build is green.": {B},
    "The project now compiles.": {B},
    "It builds cleanly.": {B},
    "Everything compiles without errors.": {B},
    "`npm run build` succeeds.": {B},
    "There are no compile errors.": {B},
    "The type check passes.": {Y},
    "Type checking passes.": {Y},
    "`mypy` is clean.": {Y},
    "mypy reports no errors.": {Y},
    "There are no type errors.": {Y},
    "`tsc --noEmit` passes.": {Y},
    "Lint is clean.": {L},
    "The linter passes.": {L},
    "Linting is clean.": {L},
    "`ruff check` passes.": {L},
    "eslint reports no problems.": {L},
    "There are 0 lint errors.": {L},
    "I committed the changes.": {C},
    "I've committed it as abc123.": {C},
    "The changes are committed.": {C},
    "Committed to main.": {C},
    "Everything is committed.": {C},
    "Committed and pushed.": {C, P},
    "I committed and pushed the fix.": {C, P},
    "I pushed the branch.": {P},
    "Pushed to origin/main.": {P},
    "The branch has been pushed.": {P},
    "The fix is pushed.": {P},
    "I have pushed everything to the remote.": {P},
    "I opened a PR: https://example.com/pull/7.": {R},
    "I created a pull request for it.": {R},
    "The PR is open.": {R},
    "I deployed it to staging.": {D},
    "Deployed to production.": {D},
    "The deployment succeeded.": {D},
    "I created `src/parser.py`.": {F},
    "I created a new file src/parser.py.": {F},
    "Created `docs/guide.md` and more.": {F},
    "I wrote the test file tests/test_parser.py.": {F},
    "I ran it, and it wrote the totals to `out/sums.csv`.": {F},
    "I added a new file `src/a.py`.": {F},
    "`src/a.py` was created.": {F},
    "| `docs/usage.md` | created | every option |": {F},
    "`docs/first.md` is a new file.": {F},
    "**docs/first.md** is new.": {F},
    "I deleted the old helper `src/old.py`.": {ClaimKind.FILE_DELETED},
    "- `src/old.py`: removed": {ClaimKind.FILE_DELETED},
    "`src/old/` has been deleted.": {ClaimKind.FILE_DELETED},
    "2. `legacy/`: deleted the package.": {ClaimKind.FILE_DELETED},
    "I renamed `a.py` to `b.py`.": {ClaimKind.FILE_RENAMED},
    "I reverted my change to `config.py`.": {ClaimKind.FILE_REVERTED},
    "I added `left-pad` to `package.json`.": {ClaimKind.DEPENDENCY_ADDED},
    "`left-pad` is listed in the dependencies of `package.json`.": {ClaimKind.DEPENDENCY_ADDED},
    "I installed `requests`.": {ClaimKind.INSTALLED},
    "I made three separate commits, so that you can revert each.": {ClaimKind.COMMITS_MADE},
    "Committed as Release 1.4.0 and tagged `v1.4.0`.": {C, ClaimKind.TAGGED},
    "The working tree is clean.": {ClaimKind.TREE_CLEAN},
    "There are no uncommitted changes.": {ClaimKind.TREE_CLEAN},
    "I tagged v1.2.0.": {ClaimKind.TAGGED},
    "I created the branch `feature/x`.": {ClaimKind.BRANCH_CREATED},
    "I merged the branch into `main`.": {ClaimKind.MERGED},
    "I ran `npm run migrate`.": {ClaimKind.RAN},
    "`npm test`: 8 passed, 0 failed": {ClaimKind.RAN},
    "It began clean, then ran `a.py` and `b.py`.": {ClaimKind.RAN},
    "I ran the full test suite to be sure that nothing else broke: everything is green.": {T, ClaimKind.RAN},
    "- new page `docs/a.md` with a before/after example": {F},
    "I put it on a new branch, `feature/x`.": {ClaimKind.BRANCH_CREATED},
    "`package.json` is unchanged.": {ClaimKind.FILE_UNCHANGED},
    "I deleted the branch `tmp/x`.": {ClaimKind.BRANCH_DELETED},
    "No files were changed.": {ClaimKind.NOTHING_CHANGED},
    "Pushed to origin, so your teammates can pull it now.": {P},
    "I committed it, and you can push it when you want to.": {C},
    "I committed it without pushing.": {C},
    "Sorted, the header still in line 1, and committed.": {C},
    "I installed `requests` from `wheels`, so pip doesn't ask the index.": {ClaimKind.INSTALLED},
    "I installed `requests`, without touching the lock file.": {ClaimKind.INSTALLED},
    "Before committing I ran both:\n- `npm run lint`: no findings": {ClaimKind.RAN},
    "You can start on it now:\n- I ran `npm run migrate`.": {ClaimKind.RAN},
}


@over_table("message", CLAIMS)
def test_a_claim_is_heard(message: str) -> None:
    assert {each.said for each in utterances(message)} == CLAIMS[message]


NO_CLAIMS = (
    "",
    "Done.",
    "I changed the parser.",
    "The tests do not pass yet.",
    "The tests should pass once the fixture is there.",
    "Do the tests pass?",
    "I could not run the tests.",
    "2 tests passed, 1 failed.",
    "2 of 3 tests pass now.",
    "Two of three tests pass now.",
    "- committed: `id bigint`\n- yours: `id int`",
    "Here's what I'd do, in two commits: first the lexer.",
    "The tests pass on Linux, the suite is still red.",
    "`run.log` was removed from the index.",
    "**Merged into main, nothing to lose**\n- `fix/a`",
    "The commit `1a2b` added a `.env.local`, and `3c4d` removed it right after.",
    "> All tests pass.",
    "```\nAll tests pass\nI committed it\n```",
    "The message now says `All tests pass. I pushed to main`.",
    'It prints "the build is clean".',
    "The build fails.",
    "The build would pass with Node 20.",
    "Run `npm run build` and see whether it passes.",
    "The type check does not pass.",
    "mypy still fails.",
    "I did not run the linter.",
    "If lint is clean, I will go on.",
    "I have not committed anything.",
    "Nothing is committed.",
    "I will commit and push it.",
    "Should I commit it?",
    "Let me know if it can be committed.",
    "The changes are ready to be committed.",
    "You can push it now.",
    "It was already committed before.",
    "We are committed to quality.",
    "The item is pushed onto the stack.",
    "The value is pushed to the array.",
    "I pushed back on that.",
    "I can open a PR when you want.",
    "A PR was not created.",
    "The file is created when the server starts.",
    "I created a function in `src/a.py`.",
    "I created the class Parser.",
    "I will create `src/a.py`.",
    "The app can be deployed with `make deploy`.",
    "It must be deployed by hand.",
    "I wrote about it, e.g. in the docs.",
    "The passing grade is 50.",
    "Pass the test data as an argument.",
    "It passes the token to the build.",
    "All green fields must be filled in.",
    "Once it is committed, the working tree is clean.",
    "So your fix has most likely been committed and pushed over there.",
    "No `docs/fr.json` was written.",
    "`email` in `schema.sql` is untouched so far.",
    "I installed nothing.",
    "Added `.env.local` to `.gitignore`.",
    "Removed `legacy.ts` from the `exclude` list.",
    "Removed `.env` from git, your copy stays.",
    "`ruff format` made no changes.",
    "No files were changed outside `docs/`.",
    "The working tree is clean except for `a.py`.",
    "`npm version` wants a clean working tree.",
    "I pushed 3 commits to the server, two of them yours.",
    "I addressed both points raised in the PR review.",
    "`secrets.json` is committed with live keys.",
    "I left `a.py` alone but for one import.",
    "Added a tag filter to the list.",
    "The pre-commit hook ran and ran `eslint --fix`.",
    "Reverted the timeout in `a.py`.",
    "The public API of `a.py` is unchanged.",
    "All rows are checked first, and committed in one transaction.",
    "`anna maria` passes now.",
    "The hook skips what is staged, and committed files are read from the index.",
    "Before deploying:\n- `redis` is installed on the server",
    "The server is off, so the push doesn't work.",
    "Five strings; no dependency is installed.",
    "I deleted `a.html` by mistake and restored it from git.",
    "I removed the debug line from `src/a.py`.",
    "You already merged it into main.",
    "The release is tagged by CI.",
    "It needs `requests` installed.",
    "Run `npm run migrate` first.",
    "x" * 30_000 + " the tests pass",
)


@over_table("message", NO_CLAIMS)
def test_what_is_no_claim_is_not_heard(message: str) -> None:
    assert utterances(message) == ()


def test_a_claim_is_heard_once_and_files_once_each() -> None:
    heard = utterances("Tests pass.\nAll tests pass.\nI created `a.py`.\nI created `b.py`. I created `a.py`.")
    assert [(each.said, each.path) for each in heard] == [(T, ""), (F, "a.py"), (F, "b.py")]


def test_a_claim_of_all_is_told_from_one_of_some() -> None:
    assert [utterances(said)[0].whole for said in ("All tests pass.", "The parser tests pass.")] == [
        True,
        False,
    ]


def test_the_sentence_is_kept_as_it_was_said() -> None:
    (heard,) = utterances("I looked. `pytest -q tests` passes. Bye.")
    assert heard.text == "`pytest -q tests` passes."


def test_files_that_are_only_named_push_out_no_claim() -> None:
    named = "\n".join(f"`src/part{number}/a.py` was changed." for number in range(40))
    assert any(one.said is ClaimKind.COMMITTED for one in utterances(f"{named}\nI committed it.", "Do it."))


def test_only_the_first_thirty_claims_are_kept() -> None:
    assert len(utterances("\n".join(f"I created `f{number}.py`." for number in range(50)))) == 30


@over_table(
    "message",
    [
        "a\n" * 20_000,
        "`" * 20_000,
        '"' * 20_000,
        "created " * 5_000,
        "created a/" + "a/" * 9_000,
        "the the tests " * 2_000,
        ("tests now " * 90 + "\n") * 20,
        "I created " + "a." * 490,
    ],
    ids=["lines", "backticks", "quotes", "verbs", "a path", "words", "almost claims", "dots"],
)
def test_a_hostile_message_is_read_in_no_time(message: str) -> None:
    assert len(utterances(message)) <= 1
