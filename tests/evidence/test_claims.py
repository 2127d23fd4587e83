"""Each claim beside what is known of it: confirmed, contradicted or unknown, and by what."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import asdict

from sidecar.evidence.claims.facts import FILE_ASSESSORS, GIT_ASSESSORS
from sidecar.evidence.claims.ledger import (
    CHECK_CLAIMS,
    build_claim_ledger,
    invents_test_run,
    undecided_check_kinds,
)
from sidecar.evidence.claims.utterances import claim_wording
from sidecar.kernel.events import ProjectState
from sidecar.kernel.evidence import Claim, ClaimKind, ClaimStatus, Evidence, RepositoryState, Source
from sidecar.kernel.gate import Gate, GateRun, Kind, Outcome
from sidecar.kernel.turn import CallOutcome, ToolAction, ToolCall
from support.cases import RUBRIC, TREE, called, edited, gate_run, ran, turn
from support.table import over_table

CONFIRMED, CONTRADICTED, UNKNOWN = ClaimStatus.CONFIRMED, ClaimStatus.CONTRADICTED, ClaimStatus.UNKNOWN
CLAIM = "All tests pass."
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
    assert said("All tests of test_parser.py pass.", *calls).status is CONFIRMED
    assert said("All tests of test_lexer.py pass.", *calls).status is UNKNOWN


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


def test_what_is_said_of_some_tests_stands_where_the_message_tells_of_trouble() -> None:
    failed_run = ran("pytest", 1, output=RED)
    assert said("The 2 new tests pass. `test_b` fails, as before.", failed_run).status is UNKNOWN
    assert said("The whole test suite passes. `test_b` was broken before.", failed_run).status is CONTRADICTED


UNDECIDED: dict[str, tuple[set[Kind], str, tuple[ToolCall, ...]]] = {
    "nothing ran": ({Kind.TESTS}, CLAIM, (edited(),)),
    "it ran before the last edit": ({Kind.TESTS}, CLAIM, (ran("pytest"), edited())),
    "it failed before the last edit": ({Kind.TESTS}, CLAIM, (ran("pytest", 1), edited())),
    "its end was hidden": ({Kind.LINT}, "Lint is clean.", (ran("ruff check || true"),)),
    "it passed": (set(), CLAIM, (ran("pytest"),)),
    "it failed": (set(), CLAIM, (ran("pytest", 1),)),
    "a part ran, and no more is claimed": (set(), "9 passed.", (ran("pytest tests/test_a.py"),)),
    "nothing is claimed": (set(), "I have not run the tests.", (edited(),)),
}


@over_table("case", UNDECIDED)
def test_a_check_whose_claim_no_run_of_the_agent_decides_is_one_to_run(case: str) -> None:
    kinds, message, calls = UNDECIDED[case]
    assert undecided_check_kinds(turn(*calls, message=message)) == kinds


def test_a_test_run_is_invented_where_code_changed_and_no_call_can_have_run_one() -> None:
    assert invents_test_run(turn(edited(), ran("git diff")))
    assert not invents_test_run(turn(edited("README.md"), ran("git diff")))
    for call in (ran("./ci.sh"), ran("pytest -q"), called(ToolAction.DELEGATE), called(ToolAction.OTHER)):
        assert not invents_test_run(turn(edited(), call))


CLEAN = RepositoryState(
    head="b", branch="main", upstream="origin/main", remote=True, commits=1, ahead=0, dirty=0
)


def at(**fields: Any) -> RepositoryState:
    return RepositoryState(**{name: getattr(CLEAN, name) for name in CLEAN.__struct_fields__} | fields)


def state(git: RepositoryState | None = CLEAN, **fields: Any) -> ProjectState:
    usual: dict[str, Any] = {"tree": TREE, "rubric": RUBRIC, "since_prompt": True, "changed": ("src/a.py",)}
    return ProjectState(**usual | {"repository": git} | fields)


LEFT = at(commits=0, dirty=1, uncommitted=("src/a.py",))
PUSHED, TAG, BRANCH = "I pushed the branch.", "Tagged `v1.2.0`.", "I created the branch `fix/x`."
COMMITTED, FILE, GONE = "I committed it.", "I created `src/new.py`.", "I deleted `old.py`."
FACTS: dict[str, tuple[ClaimStatus, str, ProjectState, tuple[ToolCall, ...]]] = {
    "git has a commit": (CONFIRMED, COMMITTED, state(), ()),
    "git has none, and work is left": (CONTRADICTED, COMMITTED, state(LEFT), ()),
    "whatever the line said": (CONTRADICTED, COMMITTED, state(LEFT), (ran("git commit -m x || true"),)),
    "the hook refused it": (CONTRADICTED, COMMITTED, state(at(commits=0)), (ran("git commit -m x", 1),)),
    "nothing was there to commit": (UNKNOWN, COMMITTED, state(at(commits=0)), ()),
    "only a file of others is left": (
        UNKNOWN,
        COMMITTED,
        state(at(commits=0, dirty=1, uncommitted=("b",))),
        (),
    ),
    "there is no repository": (UNKNOWN, COMMITTED, state(None), ()),
    "all is told as committed, and one is left": (
        CONTRADICTED,
        "All changes are committed.",
        state(at(dirty=1, uncommitted=("src/a.py",))),
        (),
    ),
    "a report that a run left is not meant": (
        CONFIRMED,
        "All changes are committed.",
        state(at(dirty=1, uncommitted=(".coverage",)), changed=("src/a.py", ".coverage")),
        (),
    ),
    "the commit is on another branch": (
        CONTRADICTED,
        "Its commit landed on `release/2`.",
        state(at(old_branches=("release/2",))),
        (),
    ),
    "the tree is clean": (CONFIRMED, "The working tree is clean.", state(), ()),
    "the tree is dirty": (CONTRADICTED, "There are no uncommitted changes.", state(at(dirty=1)), ()),
    "the upstream has all": (CONFIRMED, PUSHED, state(), ()),
    "the upstream lacks some": (CONTRADICTED, PUSHED, state(at(ahead=2)), (ran("git push"),)),
    "there is no remote": (CONTRADICTED, PUSHED, state(at(remote=False)), ()),
    "another branch was pushed": (
        CONTRADICTED,
        PUSHED,
        state(at(branch="x", ahead=None, unpushed=("x",), on_remote=False)),
        (ran("git push origin main"),),
    ),
    "a clone keeps no record of the branch": (
        UNKNOWN,
        PUSHED,
        state(at(branch="x", ahead=None, unpushed=("x",), on_remote=False)),
        (ran("git push -u origin x"),),
    ),
    "a named branch is not there": (
        CONTRADICTED,
        "I pushed everything to `origin`, `fix/x` too.",
        state(at(branches=("main", "fix/x"), unpushed=("fix/x",))),
        (),
    ),
    "the tag is there": (CONFIRMED, TAG, state(at(tags=("v1.2.0",))), ()),
    "the tag is not there": (CONTRADICTED, TAG, state(at(tags=("v1.1.0",))), ()),
    "the tags are not known": (UNKNOWN, TAG, state(), ()),
    "it is the tag of an image": (UNKNOWN, TAG, state(at(tags=())), (ran("docker tag a b:v1.2.0"),)),
    "the branch is there": (UNKNOWN, BRANCH, state(at(branches=("fix/x",))), ()),
    "the branch is not there": (CONTRADICTED, BRANCH, state(at(branches=("main",))), ()),
    "the branch was deleted since": (UNKNOWN, BRANCH, state(at(branches=())), (ran("git branch -d fix/x"),)),
    "the file is there": (CONFIRMED, FILE, state(changed=("src/new.py",)), ()),
    "the file is not there": (CONTRADICTED, FILE, state(absent=("src/new.py",)), ()),
    "the file was removed again": (UNKNOWN, FILE, state(absent=("src/new.py",)), (ran("rm src/new.py"),)),
    "the path may be of another folder": (
        UNKNOWN,
        FILE,
        state(absent=("src/new.py",)),
        (ran("cd web && make"),),
    ),
    "the file is gone": (CONFIRMED, GONE, state(absent=("old.py",)), ()),
    "the file is still there": (CONTRADICTED, GONE, state(present=("old.py",)), ()),
    "another of its name is gone": (UNKNOWN, GONE, state(present=("old.py",), changed=("x/old.py",)), ()),
    "the manifest is as it was": (
        CONTRADICTED,
        "I added `zod` to `package.json`.",
        state(unchanged=("package.json",)),
        (),
    ),
    "the manifest changed": (UNKNOWN, "I added `zod` to `package.json`.", state(), ()),
}


@over_table("case", FACTS)
def test_what_is_said_of_git_and_files_is_held_against_them(case: str) -> None:
    status, message, known, calls = FACTS[case]
    (claim,) = build_claim_ledger(turn(edited("src/a.py"), *calls, message=message), (), (), known)
    assert claim.status is status, claim.because


HONEST: dict[str, tuple[str, ProjectState, tuple[ToolCall, ...]]] = {
    "a run behind a file": ("Fixed in `till/money.py` (9 passed)", state(), (ran("pytest -q"),)),
    "a run behind a commit": ("Committed as `0e9688f` - 9 passed", state(), (ran("pytest -q"),)),
    "a run behind a function": ("Fixed `rounded()`: 9 passed", state(), (ran("pytest -q"),)),
    "work of a pipe": (
        "I replaced `foo` by `bar` everywhere.",
        state(),
        (ran("grep -rl foo . | xargs sed -i s/foo/bar/"),),
    ),
    "an edit that was taken back": (
        "I tried it with `sed` and restored `src/a.py` afterwards.",
        state(at(commits=0), changed=()),
        (ran("sed -i s/a/b/ src/a.py"), ran("git restore src/a.py")),
    ),
    "nothing is left": ("The logger is used everywhere; no print is left.", state(), ()),
    "a module is no file": ("tax_from_gross() is in billing.tax", state(absent=("billing.tax",)), ()),
    "what a script does": ("release.sh writes the changelog, commits and tags.", state(LEFT), ()),
    "a denial": ("I did not commit or push anything.", state(LEFT), ()),
    "a plan": ("Next: committed configuration goes to `conf/new.toml`.", state(LEFT), ()),
    "a question": ("Is everything committed and pushed?", state(LEFT), ()),
    "a condition": ("Once it is committed, CI runs.", state(LEFT), ()),
    "an open point": ("- [ ] Tagged `v1.2.0`", state(at(tags=())), ()),
    "below a heading of what is to come": ("Next steps:\n- Tagged `v1.2.0`", state(at(tags=())), ()),
    "a review of others' work": (
        "The author committed the fix and pushed it.",
        state(at(commits=0, ahead=1, dirty=1, uncommitted=("src/a.py",)), changed=()),
        (),
    ),
    "a push of another branch": (
        "The fix is cherry-picked to `release/1.x` and pushed.",
        state(at(ahead=2, branches=("main", "release/1.x"))),
        (ran("git push origin release/1.x"),),
    ),
    "code in backticks": ("I added `user.name` to the form.", state(absent=("user.name",)), ()),
}


@over_table("case", HONEST)
def test_an_honest_message_is_not_contradicted(case: str) -> None:
    message, known, calls = HONEST[case]
    claims = build_claim_ledger(turn(edited("src/a.py"), *calls, message=message), (), (), known)
    assert [claim.because for claim in claims if claim.status is CONTRADICTED] == []


def test_a_turn_that_changed_nothing_claims_what_is_now_and_not_what_was_done() -> None:
    idle = state(at(commits=0, dirty=1, uncommitted=("b",), tags=()), changed=())
    message = "It was committed and tagged `v1.2.0`. The working tree is clean."
    claims = build_claim_ledger(turn(ran("git log"), message=message), (), (), idle)
    assert [claim.said for claim in claims] == [ClaimKind.TREE_CLEAN]


def test_names_in_a_row_are_claims_of_their_own() -> None:
    known = state(absent=("a.md",), present=("b.md",))
    message = "I deleted `a.md` and `b.md`."
    claims = build_claim_ledger(turn(edited(), message=message), (), (), known)
    assert [claim.status for claim in claims] == [CONFIRMED, CONTRADICTED]


def test_what_git_knows_is_named_as_evidence() -> None:
    claim = said(PUSHED, ran("git push"), repository=at(ahead=2))
    assert (claim.evidence, claim.because) == (("E2",), "2 commits of main not on origin/main")


def test_several_claims_are_weighed_one_by_one() -> None:
    message = "All tests pass, and lint is clean. I committed it."
    seen = turn(ran("pytest"), ran("ruff check", 1), message=message)
    claims = build_claim_ledger(seen, (), (), state(None))
    assert {claim.said: claim.status for claim in claims} == {
        ClaimKind.TESTS_PASS: CONFIRMED,
        ClaimKind.LINT_CLEAN: CONTRADICTED,
        ClaimKind.COMMITTED: UNKNOWN,
    }


def test_every_kind_has_forms_and_one_fact_that_decides_it() -> None:
    decided = [*CHECK_CLAIMS, *FILE_ASSESSORS, *GIT_ASSESSORS]
    assert sorted(decided) == sorted(ClaimKind) == sorted(claim_wording().forms)


def test_the_wording_stays_small() -> None:
    """It may only shrink: docs/adr/0041."""
    texts = [text for value in asdict(claim_wording()).values() for text in _texts(value)]
    assert len(texts) <= 60
    assert max(map(len, texts)) < 120


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for one in value.values() for text in _texts(one)]
    return [text for one in value for text in _texts(one)] if isinstance(value, tuple) else []
