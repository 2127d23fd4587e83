"""Each claim beside what is known of it: confirmed, contradicted or unknown, and by what."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from sidecar.evidence.claims.ledger import build_claim_ledger
from sidecar.evidence.commands.kinds import kinds_of
from sidecar.kernel.events import ProjectState
from sidecar.kernel.evidence import Claim, ClaimKind, ClaimStatus, Evidence, RepositoryState, Source
from sidecar.kernel.gate import Gate, GateRun, Kind, Outcome
from sidecar.kernel.turn import CallOutcome, ToolAction, ToolCall
from sidecar.platform.shell.line import parse_simple_commands as runs_of
from support.cases import RUBRIC, TREE, called, edited, gate_run, ran, turn
from support.table import over_table

CONFIRMED, CONTRADICTED, UNKNOWN = ClaimStatus.CONFIRMED, ClaimStatus.CONTRADICTED, ClaimStatus.UNKNOWN
CLAIM = "All tests pass."
SURVEY = ProjectState(tree=TREE, rubric=RUBRIC)
GREEN = "===== 12 passed in 0.30s ====="
RED = "FAILED tests/test_a.py::test_b - assert 1 == 2\n===== 1 failed, 11 passed in 0.30s ====="
TESTS = Gate(id="tests", command="pytest -q", why="detected", kind=Kind.TESTS, counts=True)
LINT = Gate(id="lint", command="ruff check", why="detected", kind=Kind.LINT)


def said(
    message: str,
    *calls: ToolCall,
    gates: tuple[GateRun, ...] = (),
    repository: RepositoryState | None = None,
    tree: str = TREE,
) -> Claim:
    """Weigh the one claim of a message."""
    numbered = tuple(
        ToolCall(**{name: getattr(call, name) for name in call.__struct_fields__} | {"id": f"c{number}"})
        for number, call in enumerate(calls, start=1)
    )
    facts = [
        *(Evidence(id="", source=Source.GATE, fact="g", call=run.gate.id) for run in gates),
        *(Evidence(id="", source=Source.TOOL, fact="t", call=call.id) for call in numbered),
        *((Evidence(id="", source=Source.REPOSITORY, fact="r"),) if repository else ()),
    ]
    evidence = tuple(
        Evidence(id=f"E{number}", source=fact.source, fact=fact.fact, call=fact.call)
        for number, fact in enumerate(facts, start=1)
    )
    (claim,) = build_claim_ledger(
        turn(*(numbered or (edited(),)), message=message),
        gates,
        evidence,
        ProjectState(tree=tree, rubric=RUBRIC, repository=repository),
    )
    return claim


def passed(gate: Gate = TESTS, **fields: Any) -> GateRun:
    return gate_run(gate, **fields)


def failed(gate: Gate = TESTS, **fields: Any) -> GateRun:
    return gate_run(gate, Outcome.FAILED, **fields)


OWN: dict[str, tuple[ClaimStatus, tuple[ToolCall, ...]]] = {
    # confirmed
    "it passed": (CONFIRMED, (edited(), ran("pytest -q", output=GREEN))),
    "it passed, behind a cd": (CONFIRMED, (ran("cd app && pytest"),)),
    "it passed, with pipefail": (CONFIRMED, (ran("set -o pipefail; pytest | tail"),)),
    "it passed with -x": (CONFIRMED, (ran("pytest -x"),)),
    "it passed, then a document": (CONFIRMED, (ran("pytest"), called(ToolAction.READ))),
    "it failed, was edited, passed": (CONFIRMED, (ran("pytest", 1), edited(), ran("pytest"))),
    "it passed after sed in the same line": (CONFIRMED, (ran("sed -i s/a/b/ a.py && pytest"),)),
    "it passed whole, then a part of it": (CONFIRMED, (ran("pytest"), ran("pytest tests/test_a.py"))),
    "it passed, then its tail was shown": (CONFIRMED, (ran("pytest"), ran("pytest | tail", output=GREEN))),
    "none may be there, but some ran": (
        CONFIRMED,
        (ran("npx jest --passWithNoTests", output="Tests:       3 passed, 3 total"),),
    ),
    "some packages have none": (
        CONFIRMED,
        (ran("go test ./...", output="?   \tx/cmd\t[no test files]\nok  \tx/lib\t0.1s"),),
    ),
    # contradicted
    "it failed": (CONTRADICTED, (ran("pytest", 1, output=RED),)),
    "it failed, nothing shown": (CONTRADICTED, (ran("pytest", 1),)),
    "it passed, then failed": (CONTRADICTED, (ran("pytest"), edited(), ran("pytest", 1))),
    "it failed, then was edited": (CONTRADICTED, (ran("pytest", 1), edited())),
    "a part failed": (CONTRADICTED, (ran("pytest tests/test_a.py", 1),)),
    "a part failed, another passed": (
        CONTRADICTED,
        (ran("pytest tests/test_a.py", 1), ran("pytest tests/test_b.py")),
    ),
    "it failed, swallowed but seen": (CONTRADICTED, (ran("pytest || true", output=RED),)),
    "it failed in a pipe": (CONTRADICTED, (ran("pytest | tail -3", output=RED),)),
    "its code was printed": (CONTRADICTED, (ran('pytest -q; echo "exit: $?"', output="exit: 1"),)),
    "lint or tests failed, and the tests say so": (
        CONTRADICTED,
        (ran("ruff check && pytest", 1, output=RED),),
    ),
    "go says so": (CONTRADICTED, (ran("go test ./... | cat", output="--- FAIL: TestA (0.00s)\nFAIL"),)),
    "jest says so": (
        CONTRADICTED,
        (ran("npx jest || true", output="Tests:       1 failed, 2 passed, 3 total"),),
    ),
    "cargo says so": (
        CONTRADICTED,
        (ran("cargo test; true", output="test result: FAILED. 1 passed; 1 failed;"),),
    ),
    "unittest says so": (CONTRADICTED, (ran("python -m unittest | cat", output="FAILED (failures=1)"),)),
    # unknown
    "nothing ran": (UNKNOWN, (edited(),)),
    "it was swallowed": (UNKNOWN, (ran("pytest || true", output=GREEN),)),
    "echo ok came after it": (UNKNOWN, (ran("pytest; echo ok", output="ok"),)),
    "exit 0 came after it": (UNKNOWN, (ran("pytest; exit 0"),)),
    "its code was printed as 0": (UNKNOWN, (ran('pytest; echo "exit: $?"', output="exit: 0"),)),
    "it went through tail": (UNKNOWN, (ran("pytest | tail", output=GREEN),)),
    "it said nothing": (UNKNOWN, (ran("pytest > /dev/null 2>&1"),)),
    "it only collected": (UNKNOWN, (ran("pytest --collect-only", output="12 tests collected"),)),
    "it took none": (UNKNOWN, (ran("pytest -k nothing", 5, output="12 deselected in 0.01s"),)),
    "it found none": (UNKNOWN, (ran("pytest", 5, output="collected 0 items\nno tests ran in 0.01s"),)),
    "none was there": (UNKNOWN, (ran("npm test --if-present"),)),
    "unittest ran none": (UNKNOWN, (ran("python -m unittest", output="Ran 0 tests in 0.000s\n\nOK"),)),
    "it could not fail": (UNKNOWN, (ran("make -i test"),)),
    "only a part passed": (UNKNOWN, (ran("pytest tests/test_a.py"),)),
    "it failed, was edited, a part passed": (
        UNKNOWN,
        (ran("pytest", 1), edited(), ran("pytest tests/test_a.py", output=GREEN)),
    ),
    "it went to the background": (UNKNOWN, (ran("pytest &"),)),
    "the host put it there": (UNKNOWN, (ran("pytest", None),)),
    "it is running": (UNKNOWN, (ran("pytest", None, outcome=CallOutcome.PENDING),)),
    "it was interrupted": (UNKNOWN, (ran("pytest", None, outcome=CallOutcome.INTERRUPTED),)),
    "it was not found": (UNKNOWN, (ran("pytest", 127, output="pytest: command not found"),)),
    "it was cut off": (UNKNOWN, (ran("timeout 5 pytest", 124),)),
    "it was refused": (
        UNKNOWN,
        (ran("pytest", None, outcome=CallOutcome.FAILED, output="<tool_use_error>no"),),
    ),
    "a push after it failed": (UNKNOWN, (ran("pytest && git push", 1, output=GREEN),)),
    "it may not have run": (UNKNOWN, (ran("[ -d x ] || pytest"),)),
    "a function took its name": (UNKNOWN, (ran("pytest() { :; }; pytest"),)),
    "a path took its name": (UNKNOWN, (ran("PATH=/tmp/fake:$PATH pytest", output=GREEN),)),
    "python called it and did not look": (UNKNOWN, (ran("python -c 'import pytest; pytest.main()'"),)),
    "it was only printed": (UNKNOWN, (ran("echo '12 passed in 0.1s'", output=GREEN),)),
    "what ran is not known": (UNKNOWN, (ran("pytest", runs=()),)),
}


@over_table("case", OWN)
def test_a_claim_of_tests_is_held_against_the_agents_own_runs(case: str) -> None:
    status, calls = OWN[case]
    assert said(CLAIM, *calls).status is status


STALE: dict[str, tuple[ToolCall, ...]] = {
    "an edit": (ran("pytest"), edited()),
    "sed": (ran("pytest"), ran("sed -i s/a/b/ a.py")),
    "a checkout": (ran("pytest"), ran("git checkout main")),
    "a fixer": (ran("pytest"), ran("ruff check --fix")),
    "a redirection": (ran("pytest"), ran("cat > a.py <<'EOF'\nx\nEOF")),
    "the same line": (ran("pytest && git stash pop"),),
    "a document": (ran("pytest"), edited("README.md")),
}


@pytest.mark.parametrize("case", STALE)
def test_a_run_before_the_last_edit_confirms_nothing_and_is_stale(case: str) -> None:
    claim = said(CLAIM, *STALE[case])
    assert (claim.status, claim.stale, claim.evidence) == (UNKNOWN, True, ("E1",))


def test_an_edit_that_failed_makes_nothing_stale() -> None:
    refused = ToolCall(
        id="e", tool="Edit", doing=ToolAction.EDIT, outcome=CallOutcome.FAILED, paths=("a.py",)
    )
    assert said(CLAIM, ran("pytest"), refused).status is CONFIRMED


GATES: dict[str, tuple[ClaimStatus, tuple[GateRun, ...], tuple[ToolCall, ...]]] = {
    "it passed on this tree": (CONFIRMED, (passed(),), (edited(),)),
    "an earlier pass on this tree": (CONFIRMED, (passed(cached=True),), (edited(),)),
    "it failed on this tree": (CONTRADICTED, (failed(),), (edited(),)),
    "it failed, and the agent's passed": (CONTRADICTED, (failed(),), (ran("pytest"),)),
    "it passed, and the agent's was swallowed": (
        CONFIRMED,
        (passed(),),
        (ran("pytest || true", output=RED),),
    ),
    "one of two failed": (CONTRADICTED, (passed(), failed()), (edited(),)),
    "it passed on another tree": (UNKNOWN, (passed(tree="old"),), (edited(),)),
    "it failed on another tree": (UNKNOWN, (failed(tree="old"),), (edited(),)),
    "it was flaky": (UNKNOWN, (passed(flaky=True),), (edited(),)),
    "it was flaky, and the agent's passed": (CONFIRMED, (passed(flaky=True),), (ran("pytest"),)),
    "files moved while it ran": (UNKNOWN, (passed(moved=True),), (edited(),)),
    "it could not run": (UNKNOWN, (gate_run(TESTS, Outcome.COULD_NOT_RUN),), (edited(),)),
    "it could not run, and the agent's passed": (
        CONFIRMED,
        (gate_run(TESTS, Outcome.COULD_NOT_RUN),),
        (ran("pytest"),),
    ),
    "one passed, one could not run": (
        UNKNOWN,
        (passed(), gate_run(TESTS, Outcome.COULD_NOT_RUN)),
        (edited(),),
    ),
    "another kind passed": (UNKNOWN, (passed(LINT),), (edited(),)),
}


@over_table("case", GATES)
def test_a_gate_on_this_very_tree_decides_first(case: str) -> None:
    status, gates, calls = GATES[case]
    assert said(CLAIM, *calls, gates=gates).status is status


def test_a_pass_on_an_older_tree_is_stale() -> None:
    claim = said(CLAIM, gates=(passed(tree="old"),))
    assert (claim.stale, claim.because) == (True, "files moved after Supervisor ran `pytest -q`")


def test_a_claim_names_the_evidence_that_decides_it() -> None:
    assert said(CLAIM, gates=(passed(LINT), passed())).evidence == ("E2",)
    assert said(CLAIM, edited(), ran("pytest"), ran("ls")).evidence == ("E2",)
    assert said(CLAIM, ran("pytest", 1), edited()).evidence == ("E1",)
    assert said(CLAIM).evidence == ()


def test_a_claim_says_in_one_line_what_decides_it() -> None:
    assert (
        said(CLAIM, ran("pytest\n-q || true")).because
        == "the test run `pytest -q || true` cannot show a failure"
    )
    assert said(CLAIM, ran("pytest --co")).because == "the test run `pytest --co` checks nothing"
    assert said(CLAIM).because == "this turn ran no test run"


def test_a_run_of_the_part_that_the_claim_names_confirms_it() -> None:
    calls = (ran("pytest tests/test_parser.py"),)
    assert said("The tests in `tests/test_parser.py` pass.", *calls).status is CONFIRMED
    assert said("The tests in `tests/test_lexer.py` pass.", *calls).status is UNKNOWN


OTHER_CHECKS: dict[str, tuple[str, str, str]] = {
    "build": ("The build passes.", "npm run build", "src/a.ts(1,2): error TS2322: Type"),
    "types": ("The type check passes.", "mypy .", "Found 3 errors in 2 files (checked 9 source files)"),
    "lint": ("Lint is clean.", "ruff check", "Found 2 errors."),
}


@pytest.mark.parametrize("case", OTHER_CHECKS)
def test_the_other_checks_are_weighed_alike(case: str) -> None:
    message, command, red = OTHER_CHECKS[case]
    assert said(message, ran(command)).status is CONFIRMED
    assert said(message, ran(command, 1)).status is CONTRADICTED
    assert said(message, ran(f"{command} || true", output=red)).status is CONTRADICTED
    assert said(message, ran(f"{command} || true")).status is UNKNOWN
    assert said(message, ran("pytest")).status is UNKNOWN
    assert said(message, ran(command), edited()).stale


def state(**fields: Any) -> ProjectState:
    usual: dict[str, Any] = {"tree": TREE, "rubric": RUBRIC, "since_prompt": True}
    return ProjectState(**usual | fields)


CLEAN = RepositoryState(
    head="b", branch="main", upstream="origin/main", remote=True, commits=1, ahead=0, dirty=0
)


def at(**fields: Any) -> RepositoryState:
    return RepositoryState(**{name: getattr(CLEAN, name) for name in CLEAN.__struct_fields__} | fields)


GIT: dict[str, tuple[ClaimStatus, str, tuple[ToolCall, ...], RepositoryState | None]] = {
    "a commit was made": (CONFIRMED, "I committed it.", (ran("git add -A && git commit -m x"),), None),
    "git has it": (CONFIRMED, "I committed it.", (edited(),), CLEAN),
    "the commit failed": (CONTRADICTED, "I committed it.", (ran("git commit -m x", 1),), None),
    "git has none": (CONTRADICTED, "I committed it.", (edited(),), at(commits=0, dirty=2)),
    "the failure was swallowed, and git has none": (
        CONTRADICTED,
        "I committed it.",
        (ran("git commit -m x || true"),),
        at(commits=0, dirty=2),
    ),
    "a later commit was made": (
        CONFIRMED,
        "I committed it.",
        (ran("git commit", 1), ran("git commit")),
        None,
    ),
    "nothing was there to commit": (UNKNOWN, "I committed it.", (edited(),), at(commits=0)),
    "a commit was only tried": (UNKNOWN, "I committed it.", (ran("git commit --dry-run"),), None),
    "a commit was only spoken of": (UNKNOWN, "I committed it.", (ran("git log --grep commit"),), None),
    "it was pushed": (CONFIRMED, "I pushed the branch.", (ran("git push -u origin x"),), CLEAN),
    "upstream has all": (CONFIRMED, "I pushed the branch.", (edited(),), CLEAN),
    "upstream lacks some": (CONTRADICTED, "I pushed the branch.", (ran("git push"),), at(ahead=2)),
    "there is no remote": (CONTRADICTED, "I pushed the branch.", (ran("git push"),), at(remote=False)),
    "the push failed": (CONTRADICTED, "I pushed the branch.", (ran("git push", 1),), None),
    "the push was swallowed": (UNKNOWN, "I pushed the branch.", (ran("git push || true"),), None),
    "a push was tried, and another agent worked too": (
        UNKNOWN,
        "I pushed the branch.",
        (ran("git push --dry-run"), called(ToolAction.DELEGATE)),
        None,
    ),
    "a push was tried, then done": (
        CONFIRMED,
        "I pushed the branch.",
        (ran("git push --dry-run"), ran("git push")),
        None,
    ),
    "a push was tried, and git lacks some": (
        CONTRADICTED,
        "I pushed the branch.",
        (ran("git push --dry-run"),),
        at(ahead=1),
    ),
    "a push was only tried": (CONTRADICTED, "I pushed the branch.", (ran("git push --dry-run"),), None),
    "nothing was pushed": (UNKNOWN, "I pushed the branch.", (edited(),), None),
    "a PR was opened": (CONFIRMED, "I opened a PR.", (ran("gh pr create --fill"),), CLEAN),
    "a tool opened it": (
        CONFIRMED,
        "I opened a PR.",
        (
            ToolCall(
                id="x",
                tool="mcp__github__create_pull_request",
                doing=ToolAction.OTHER,
                outcome=CallOutcome.OK,
            ),
        ),
        None,
    ),
    "opening failed": (CONTRADICTED, "I opened a PR.", (ran("gh pr create --fill", 1),), CLEAN),
    "a PR without a remote": (CONTRADICTED, "I opened a PR.", (edited(),), at(remote=False)),
    "a PR was only looked at": (UNKNOWN, "I opened a PR.", (ran("gh pr view"),), CLEAN),
    "nobody opened a PR": (
        CONTRADICTED,
        "I opened a PR.",
        (edited(), ran("pytest -q"), ran("git push -u origin x")),
        CLEAN,
    ),
    "a script may have opened a PR": (UNKNOWN, "I opened a PR.", (ran("./release.sh"),), CLEAN),
    "the web was called for a PR": (
        UNKNOWN,
        "I opened a PR.",
        (ran("curl -X POST https://forge.test/api/pulls"),),
        CLEAN,
    ),
    "a push may have opened a PR": (
        UNKNOWN,
        "I opened a PR.",
        (ran("git push -o merge_request.create origin x"),),
        CLEAN,
    ),
    "another agent may have opened a PR": (UNKNOWN, "I opened a PR.", (called(ToolAction.DELEGATE),), CLEAN),
    "another tool may have opened a PR": (UNKNOWN, "I opened a PR.", (called(ToolAction.OTHER),), CLEAN),
    "it was deployed": (CONFIRMED, "I deployed it.", (ran("fly deploy"),), None),
    "deploying failed": (CONTRADICTED, "I deployed it.", (ran("npm run deploy", 1),), None),
    "nothing deployed it": (UNKNOWN, "I deployed it.", (edited(),), None),
    "a tool wrote the file": (
        CONFIRMED,
        "I created `src/a.py`.",
        (edited("/home/user/project/src/a.py"),),
        None,
    ),
    "a line wrote the file": (CONFIRMED, "I created `src/a.py`.", (ran("cat > src/a.py <<'E'\nx\nE"),), None),
    "touch made the file": (CONFIRMED, "I created `src/a.py`.", (ran("touch src/a.py"),), None),
    "the tool failed": (
        CONTRADICTED,
        "I created `src/a.py`.",
        (
            ToolCall(
                id="x", tool="Write", doing=ToolAction.EDIT, outcome=CallOutcome.FAILED, paths=("src/a.py",)
            ),
        ),
        None,
    ),
    "another file was written": (UNKNOWN, "I created `src/a.py`.", (edited("/p/other_src/a.py.bak"),), None),
    "nothing wrote the file": (
        CONTRADICTED,
        "I created `src/new.py`.",
        (edited("src/a.py"), ran("python -m pytest -q"), ran("git diff | head")),
        None,
    ),
    "a line names the file": (UNKNOWN, "I created `src/new.py`.", (ran("ls src/new.py"),), None),
    "a script may have written it": (UNKNOWN, "I created `src/new.py`.", (ran("python make.py"),), None),
    "a pattern may stand for it": (UNKNOWN, "I created `src/new.py`.", (ran("sed -i s/a/b/ src/*"),), None),
    "another agent may have written it": (
        UNKNOWN,
        "I created `src/new.py`.",
        (edited(), called(ToolAction.DELEGATE)),
        None,
    ),
    "three commits were told of": (CONTRADICTED, "I made three commits.", (edited(),), at(commits=1)),
    "two commits were made": (UNKNOWN, "I made two commits.", (edited(),), at(commits=2)),
    "the tree is clean": (CONFIRMED, "The working tree is clean.", (edited(),), CLEAN),
    "the tree is dirty": (
        CONTRADICTED,
        "The working tree is clean.",
        (edited(),),
        at(dirty=1, uncommitted=("a",)),
    ),
    "the tag is there": (CONFIRMED, "I tagged v1.2.0.", (edited(),), at(tags=("v1.2.0",))),
    "the tag is not there": (CONTRADICTED, "I tagged v1.2.0.", (edited(),), at(tags=())),
    "the tags are not known": (UNKNOWN, "I tagged v1.2.0.", (edited(),), CLEAN),
    "the branch is there": (UNKNOWN, "I created the branch `fix/x`.", (edited(),), at(branches=("fix/x",))),
    "the branch is not there": (
        CONTRADICTED,
        "I created the branch `fix/x`.",
        (edited(),),
        at(branches=("main",)),
    ),
    "a merge is not committed": (
        CONTRADICTED,
        "I merged it into main.",
        (ran("git merge x"),),
        at(merging=True),
    ),
    "a merge failed": (CONTRADICTED, "I merged it into main.", (ran("git merge x", 1),), at(commits=0)),
    "nothing was merged": (CONTRADICTED, "I merged it into main.", (edited(), ran("git log")), CLEAN),
    "a merge failed, and its conflict was resolved": (
        UNKNOWN,
        "I merged it into main.",
        (ran("git merge x", 1), ran("git commit -am x")),
        at(commits=2),
    ),
    "a merge failed, and was taken back": (
        CONTRADICTED,
        "I merged it into main.",
        (ran("git merge x", 1), ran("git merge --abort")),
        at(commits=0),
    ),
    "the branch is still there": (
        CONTRADICTED,
        "- [x] `tmp/x` deleted",
        (edited(),),
        at(branches=("tmp/x",)),
    ),
    "the branch is gone": (UNKNOWN, "- [x] `tmp/x` deleted", (edited(),), at(branches=("main",))),
    "no tests ran": (CONTRADICTED, "I ran the full test suite.", (edited(), ran("git diff")), None),
    "tests may have run": (UNKNOWN, "I ran the full test suite.", (ran("./ci.sh"),), None),
    "a script may have merged": (UNKNOWN, "I merged it into main.", (ran("./land.sh"),), CLEAN),
    "it was installed": (CONFIRMED, "I installed `requests`.", (ran("pip install requests"),), None),
    "installing failed": (CONTRADICTED, "I installed `requests`.", (ran("pip install requests", 1),), None),
    "nothing was installed": (CONTRADICTED, "I installed `requests`.", (edited(), ran("ls")), None),
    "make may have installed it": (UNKNOWN, "I installed `requests`.", (ran("make deps"),), None),
    "it ran": (UNKNOWN, "I ran `npm run migrate`.", (ran("npm run -s migrate"),), None),
    "it did not run": (CONTRADICTED, "I ran `npm run migrate`.", (ran("npm test"),), None),
    "it ran and failed": (
        CONTRADICTED,
        "I ran `npm run migrate` successfully.",
        (ran("npm run migrate", 1),),
        None,
    ),
    "another agent may have run it": (
        UNKNOWN,
        "I ran `npm run migrate`.",
        (called(ToolAction.DELEGATE),),
        None,
    ),
    "writing was swallowed": (UNKNOWN, "I created `src/a.py`.", (ran("touch src/a.py || true"),), None),
}


@over_table("case", GIT)
def test_what_was_done_to_the_world_is_held_against_calls_and_git(case: str) -> None:
    status, message, calls, repository = GIT[case]
    assert said(message, *calls, repository=repository).status is status


@pytest.mark.parametrize("message", ["I opened a PR.", "I created `src/new.py`."])
def test_nothing_is_held_against_a_turn_that_is_not_known_whole(message: str) -> None:
    calls = (edited(), ran("pytest -q"))
    for known in (turn(*calls, message=message, readable=False), turn(*calls * 200, message=message)):
        assert [claim.status for claim in build_claim_ledger(known, (), (), SURVEY)] == [UNKNOWN]


def test_what_git_knows_is_named_as_evidence() -> None:
    claim = said("I pushed the branch.", ran("git push"), repository=at(ahead=2))
    assert (claim.said, claim.evidence, claim.because) == (
        ClaimKind.PUSHED,
        ("E2",),
        "2 commits of main not on origin/main",
    )


def test_a_pr_gate_that_passed_shows_that_a_pr_is_open() -> None:
    gate = Gate(id="pr", command="gh pr view", why="configured", kind=Kind.PR)
    assert said("I opened a PR.", gates=(passed(gate),)).status is CONFIRMED


def test_a_commit_that_was_tried_and_is_not_there_was_not_made_though_the_line_hides_it() -> None:
    git = RepositoryState(commits=0)
    hidden = ran("git add data/a.csv 2>/dev/null; git commit -qm x >/dev/null 2>&1; ls data")
    for call, now, status in (
        (hidden, git, CONTRADICTED),
        (replace(hidden, output="nothing to commit, working tree clean"), git, UNKNOWN),
        (hidden, replace(git, commits=1), CONFIRMED),
        (replace(hidden, command=f"cd ../lib && {hidden.command}"), git, UNKNOWN),
        (ran("ls data"), git, UNKNOWN),
    ):
        seen = turn(edited(), call, message="I committed the file.")
        (claim,) = build_claim_ledger(seen, (), (), ProjectState(tree=TREE, rubric=RUBRIC, repository=now))
        assert claim.status is status, claim.because


def test_several_claims_are_weighed_one_by_one() -> None:
    message = "All tests pass, and lint is clean. I committed it."
    claims = build_claim_ledger(turn(ran("pytest"), ran("ruff check", 1), message=message), (), (), SURVEY)
    assert {claim.said: claim.status for claim in claims} == {
        ClaimKind.TESTS_PASS: CONFIRMED,
        ClaimKind.LINT_CLEAN: CONTRADICTED,
        ClaimKind.COMMITTED: UNKNOWN,
    }


def test_a_message_without_claims_has_an_empty_ledger() -> None:
    assert build_claim_ledger(turn(message="I looked at it."), (), (), SURVEY) == ()


def test_kinds_are_told_by_the_same_name() -> None:
    assert kinds_of(runs_of("pytest")[0]) == {Kind.TESTS}


GONE = RepositoryState(uncommitted=("app/a.py",), dirty=1)
FILES: dict[str, tuple[ClaimStatus, str, ProjectState]] = {
    "it is gone": (CONFIRMED, "I deleted `a.py`.", state(absent=("a.py",))),
    "it is still there": (CONTRADICTED, "I deleted `a.py`.", state(present=("a.py",), changed=())),
    "another of its name is gone": (
        CONFIRMED,
        "I deleted `a.py`.",
        state(present=("a.py",), changed=("x/a.py",)),
    ),
    "the new name is not there": (CONTRADICTED, "I renamed `a.py` to `b.py`.", state(absent=("b.py",))),
    "the old name is still there": (
        CONTRADICTED,
        "I renamed `a.py` to `b.py`.",
        state(present=("a.py", "b.py"), changed=("b.py",)),
    ),
    "it was renamed": (UNKNOWN, "I renamed `a.py` to `b.py`.", state(absent=("a.py",), present=("b.py",))),
    "it changed since an older goal": (
        UNKNOWN,
        "`a.py` is unchanged.",
        state(changed=("a.py",), since_prompt=False),
    ),
    "something changed since an older goal": (
        UNKNOWN,
        "No files were changed.",
        state(changed=("a.py",), since_prompt=False),
    ),
    "it is as it was": (UNKNOWN, "`a.py` is unchanged.", state(changed=("b.py",))),
    "it is not as it was": (CONTRADICTED, "`a.py` is exactly as it was.", state(changed=("a.py",))),
    "it was not put back": (
        CONTRADICTED,
        "I reverted `a.py`.",
        state(changed=("app/a.py",), repository=GONE),
    ),
    "it was not put back to the commit": (
        CONTRADICTED,
        "I reverted `a.py` to the last commit.",
        state(changed=(), repository=GONE),
    ),
    "it was put back": (UNKNOWN, "I reverted `a.py`.", state(changed=(), repository=GONE)),
    "it was put back to the commit": (
        UNKNOWN,
        "I reverted `a.py`.",
        state(changed=("a.py",), repository=RepositoryState()),
    ),
    "the manifest is as it was": (
        CONTRADICTED,
        "I added `x` to `package.json`.",
        state(unchanged=("package.json",)),
    ),
    "the manifest changed": (
        UNKNOWN,
        "I added `x` to `package.json`.",
        state(present=("package.json",), changed=("web/package.json",)),
    ),
    "nothing changed": (CONFIRMED, "No files were changed.", state(changed=())),
    "something changed": (CONTRADICTED, "No files were changed.", state(changed=("a.py", "b.py"))),
    "nobody knows what changed": (UNKNOWN, "No files were changed.", state(changed=None)),
    "a file of an earlier turn": (
        UNKNOWN,
        "I created `src/new.py`.",
        state(present=("src/new.py",), changed=()),
    ),
}


@over_table("case", FILES)
def test_what_is_said_of_files_is_held_against_what_is_there(case: str) -> None:
    status, message, known = FILES[case]
    seen = turn(edited("src/a.py"), ran("git diff | head"), message=message)
    (claim,) = build_claim_ledger(seen, (), (), known)
    assert claim.status is status, claim.because


def test_a_file_that_is_not_there_was_not_made_whatever_a_tool_said() -> None:
    seen = turn(edited("/p/src/a.py"), message="I added src/a.py.")
    (claim,) = build_claim_ledger(seen, (), (), ProjectState(tree=TREE, rubric=RUBRIC, absent=("src/a.py",)))
    assert (claim.status, claim.because) == (CONTRADICTED, "there is no src/a.py")
