"""Pull request and CI of GitHub, asked of a scripted `gh` that answers as its manual says."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.kernel.gate import Kind, Outcome
from support.forges import HUB, Bench

pytestmark = pytest.mark.process


@pytest.fixture
def hub(tmp_path: Path) -> Bench:
    return Bench(tmp_path, HUB)


def check(name: str, bucket: str) -> dict[str, str]:
    return {"name": name, "bucket": bucket, "state": bucket.upper(), "link": f"https://ci.example/{name}"}


@pytest.mark.parametrize("state", ["OPEN", "MERGED"])
def test_a_pull_request_that_ends_at_the_commit_checked_out_passes(hub: Bench, state: str) -> None:
    hub.gh.answers("pr view", hub.pull(state=state))
    run = hub.run(Kind.PR)
    assert (run.outcome, run.tree, run.reason) == (Outcome.PASSED, "T", "")
    assert "https://github.com/owner/shop/pull/12" in run.output
    assert hub.gh.only_read()


def test_a_pull_request_without_the_last_commit_fails(hub: Bench) -> None:
    hub.gh.answers("pr view", hub.pull(headRefOid="0" * 40))
    run = hub.run(Kind.PR)
    assert run.outcome is Outcome.FAILED
    assert run.failures == (
        f"#12 ends at 000000000, checked out is {hub.head[:9]}: not pushed, or not pulled",
    )
    assert run.failing == run.failures


def test_a_branch_without_a_pull_request_fails(hub: Bench) -> None:
    hub.gh.fails("pr view", 'no pull requests found for branch "work"\n')
    run = hub.run(Kind.PR)
    assert (run.outcome, run.failures) == (
        Outcome.FAILED,
        ("there is no pull request of the branch work",),
    )


def test_ci_passes_when_every_check_passed_or_was_skipped(hub: Bench) -> None:
    hub.gh.answers("pr view", hub.pull())
    hub.gh.answers("pr checks", [check("build", "pass"), check("docs", "skipping")])
    run = hub.run(Kind.CI)
    assert run.outcome is Outcome.PASSED
    assert "passed: build" in run.output
    assert hub.gh.only_read()


def test_a_failed_check_decides_whatever_has_not_finished(hub: Bench) -> None:
    hub.gh.answers("pr view", hub.pull())
    hub.gh.answers("pr checks", [check("a", "pending"), check("build", "fail"), check("b", "cancel")])
    run = hub.run(Kind.CI)
    assert run.outcome is Outcome.FAILED
    assert run.failures == ("build https://ci.example/build",)
    assert run.failing == ("build",)


@pytest.mark.parametrize("code", [0, 8])
def test_ci_that_has_not_finished_could_not_run(hub: Bench, code: int) -> None:
    hub.gh.answers("pr view", hub.pull())
    hub.gh.answers("pr checks", [check("build", "pass"), check("slow", "pending")], code=code)
    run = hub.run(Kind.CI)
    assert (run.outcome, run.reason) == (Outcome.COULD_NOT_RUN, "CI has not finished: slow")


@pytest.mark.parametrize(
    ("checks", "reason"),
    [
        ([check("a", "pass"), check("b", "cancel")], "CI was cancelled: b"),
        ([check("a", "skipping")], "all were skipped"),
        ([], "no check has run on"),
        ([check("a", "pass"), check("b", "mystery")], "it is not known how these ended: b"),
    ],
)
def test_nothing_but_passes_is_a_pass(hub: Bench, checks: list[object], reason: str) -> None:
    hub.gh.answers("pr view", hub.pull())
    hub.gh.answers("pr checks", checks)
    run = hub.run(Kind.CI)
    assert run.outcome is Outcome.COULD_NOT_RUN
    assert reason in run.reason


def test_ci_that_passed_does_not_count_for_what_is_not_committed(hub: Bench) -> None:
    hub.gh.answers("pr view", hub.pull())
    hub.gh.answers("pr checks", [check("build", "pass")])
    (hub.project / "shop.py").write_text("price = 2\n")
    run = hub.run(Kind.CI)
    assert run.outcome is Outcome.COULD_NOT_RUN
    assert run.reason.endswith("1 changed file is (shop.py) not committed")


@pytest.mark.parametrize(
    ("status", "conclusion", "outcome"),
    [
        ("completed", "failure", Outcome.FAILED),
        ("completed", "never heard of", Outcome.COULD_NOT_RUN),
        ("in_progress", "", Outcome.COULD_NOT_RUN),
    ],
)
def test_a_workflow_run_counts_as_it_ended(
    hub: Bench, status: str, conclusion: str, outcome: Outcome
) -> None:
    hub.gh.fails("pr view", 'no pull requests found for branch "work"\n')
    run = {"workflowName": "CI", "event": "push", "headSha": hub.head, "status": status, "url": "u"}
    hub.gh.answers("run list", [{**run, "conclusion": conclusion}])
    assert hub.run(Kind.CI).outcome is outcome


@pytest.mark.parametrize("pull", ["none", "of another commit"])
def test_without_a_pull_request_of_this_commit_its_workflow_runs_count(hub: Bench, pull: str) -> None:
    hub.gh.fails("pr view", 'no pull requests found for branch "work"\n')
    if pull != "none":
        hub.gh.answers("pr view", hub.pull(headRefOid="0" * 40))
    run = {"event": "push", "headSha": hub.head, "status": "completed", "url": "https://x"}
    hub.gh.answers(
        "run list",
        [
            {**run, "workflowName": "CI", "conclusion": "success"},
            {**run, "workflowName": "CI", "conclusion": "failure"},  # an older one
            {**run, "workflowName": "Nightly", "conclusion": "failure", "headSha": "0" * 40},
        ],
    )
    assert hub.run(Kind.CI).outcome is Outcome.PASSED
    assert hub.gh.calls[-1].endswith(f"--commit {hub.head}")
    assert hub.gh.only_read()
