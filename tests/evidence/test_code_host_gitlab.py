"""Merge request and pipeline of GitLab, asked of a scripted `glab` that answers as its manual says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sidecar.kernel.gate import Kind, Outcome
from support.forges import LAB, Bench

pytestmark = pytest.mark.process


@pytest.fixture
def lab(tmp_path: Path) -> Bench:
    return Bench(tmp_path, LAB)


def job(name: str, status: str, **more: object) -> dict[str, Any]:
    return {"id": 1, "name": name, "status": status, "web_url": f"https://lab/{name}", **more}


def test_an_open_merge_request_of_this_commit_passes(lab: Bench) -> None:
    lab.glab.answers("mr view", lab.merge())
    run = lab.run(Kind.PR)
    assert run.outcome is Outcome.PASSED
    assert run.output.startswith("!7 is open, https://gitlab.example.com")
    assert lab.glab.only_read()
    assert lab.gh.calls == []


@pytest.mark.parametrize(
    "said",
    [
        'no open merge request available for "work"\n',
        '\n   ERROR  \n\n  No open merge request available for "work".\n',
        '{"error":{"message":"no open merge request available for \\"work\\""}}\n',
    ],
)
def test_a_branch_without_a_merge_request_fails_in_every_wording_of_glab(lab: Bench, said: str) -> None:
    lab.glab.fails("mr view", said)
    assert lab.run(Kind.PR).outcome is Outcome.FAILED
    lab.glab.answers("mr view", said.encode(), code=1)
    assert lab.run(Kind.PR).outcome is Outcome.FAILED


@pytest.mark.parametrize(
    ("status", "jobs", "outcome"),
    [
        ("success", [job("test", "success")], Outcome.PASSED),
        ("success", [job("test", "success"), job("flaky", "failed", allow_failure=True)], Outcome.PASSED),
        ("failed", [job("test", "failed"), job("lint", "success")], Outcome.FAILED),
        ("running", [job("test", "success"), job("lint", "failed")], Outcome.FAILED),
        ("failed", [], Outcome.FAILED),
        ("running", [job("test", "success")], Outcome.COULD_NOT_RUN),
        ("manual", [job("deploy", "manual")], Outcome.COULD_NOT_RUN),
        ("canceled", [], Outcome.COULD_NOT_RUN),
        ("skipped", [], Outcome.COULD_NOT_RUN),
        ("unheard-of", [], Outcome.COULD_NOT_RUN),
    ],
)
def test_a_pipeline_counts_as_it_ended(
    lab: Bench, status: str, jobs: list[dict[str, Any]], outcome: Outcome
) -> None:
    lab.glab.answers("ci get", lab.pipeline(*jobs, status=status))
    run = lab.run(Kind.CI)
    assert run.outcome is outcome
    assert bool(run.failing) == (outcome is Outcome.FAILED)
    assert lab.glab.only_read()


def test_a_pipeline_of_another_commit_is_no_evidence(lab: Bench) -> None:
    lab.glab.answers("ci get", lab.pipeline(sha="0" * 40))
    run = lab.run(Kind.CI)
    assert run.outcome is Outcome.COULD_NOT_RUN
    assert run.reason.startswith("the last pipeline ran on 000000000, checked out is")
