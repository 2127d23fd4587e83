"""GitLab through `glab`. See gates.py for the rules.

Without an argument, `glab mr view` finds only open merge requests, so that of a merged branch is not found.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from sidecar.evidence.code_host.client import (
    Checkout,
    CiCheck,
    CiCheckState,
    CodeHostClient,
    CodeHostFinding,
    PullRequest,
    UnansweredError,
    assess_ci_checks,
    first_failure_line,
    no_pull_request_finding,
    pull_request_finding,
    unknown_finding,
)

MR_VIEW_ARGUMENTS: Final = ("mr", "view", "--output", "json")
CI_GET_ARGUMENTS: Final = ("ci", "get", "--output", "json")
NO_MERGE_REQUEST_MESSAGE: Final = "no open merge request"
NO_PIPELINE_MESSAGE: Final = "no pipelines running or available"
PIPELINE_STATES: Final = {
    "success": CiCheckState.PASSED,
    "failed": CiCheckState.FAILED,
    "canceled": CiCheckState.CANCELLED,
    "canceling": CiCheckState.CANCELLED,
    "skipped": CiCheckState.SKIPPED,
    **dict.fromkeys(
        ("created", "manual", "pending", "preparing", "running", "scheduled", "waiting_for_callback"),
        CiCheckState.PENDING,
    ),
    "waiting_for_resource": CiCheckState.PENDING,
}


class _MergeRequest(Struct, frozen=True):
    iid: int
    state: str
    sha: str | None = ""
    web_url: str = ""
    draft: bool = False
    has_conflicts: bool = False


class _Job(Struct, frozen=True):
    name: str
    status: str
    web_url: str = ""
    allow_failure: bool = False


class _Pipeline(Struct, frozen=True):
    """A pipeline. `status` covers all its jobs, by GitLab's own rules."""

    sha: str
    status: str
    web_url: str = ""
    jobs: list[_Job] | None = None


async def pull_request(asking: CodeHostClient, here: Checkout) -> CodeHostFinding:
    """Whether the branch has an open merge request whose head is the commit checked out."""
    try:
        done = await asking.ask(*MR_VIEW_ARGUMENTS)
        if done.exit_code != 0 and NO_MERGE_REQUEST_MESSAGE in first_failure_line(done).lower():
            return no_pull_request_finding(here)
        merge = asking.read(done, _MergeRequest)
    except UnansweredError as error:
        return unknown_finding(str(error))
    notes = ("draft",) * merge.draft + ("in conflict with its base",) * merge.has_conflicts
    request = PullRequest(
        sign=f"!{merge.iid}",
        open=merge.state in ("opened", "locked"),
        merged=merge.state == "merged",
        head=merge.sha or "",
        url=merge.web_url,
        notes=notes,
    )
    return pull_request_finding(request, here)


async def checks(asking: CodeHostClient, here: Checkout) -> CodeHostFinding:
    """Assess the branch's last pipeline, if it ran on the commit checked out."""
    try:
        done = await asking.ask(*CI_GET_ARGUMENTS)
        if done.exit_code != 0 and NO_PIPELINE_MESSAGE in first_failure_line(done).lower():
            return assess_ci_checks((), here)
        pipeline = asking.read(done, _Pipeline)
    except UnansweredError as error:
        return unknown_finding(str(error))
    if pipeline.sha != here.head:
        return unknown_finding(f"the last pipeline ran on {pipeline.sha[:9]}, checked out is {here.short}")
    return assess_ci_checks(_deciding_checks(pipeline), here)


def _deciding_checks(pipeline: _Pipeline) -> list[CiCheck]:
    """Return the deciding jobs if one failed, else the pipeline, which also covers jobs not started yet."""
    decisive = [job for job in pipeline.jobs or () if not job.allow_failure]
    jobs = [
        CiCheck(name=job.name, state=PIPELINE_STATES.get(job.status, CiCheckState.UNKNOWN), link=job.web_url)
        for job in decisive
        if job.status != "manual"
    ]
    whole = CiCheck(
        name="the pipeline",
        state=PIPELINE_STATES.get(pipeline.status, CiCheckState.UNKNOWN),
        link=pipeline.web_url,
    )
    failing = any(check.state is CiCheckState.FAILED for check in jobs)
    return jobs if failing else [whole]
