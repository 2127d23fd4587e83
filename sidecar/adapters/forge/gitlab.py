"""GitLab through `glab`. See `forge` for the laws.

Without an argument, `glab mr view` finds open merge requests only, so that of a merged branch is not found.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from sidecar.adapters.forge.asking import Asking, UnansweredError, said
from sidecar.adapters.forge.findings import (
    Check,
    Checkout,
    Finding,
    Request,
    State,
    no_request,
    request_found,
    unknown,
    weighed,
)

VIEW: Final = ("mr", "view", "--output", "json")
PIPELINE: Final = ("ci", "get", "--output", "json")
NO_REQUEST: Final = "no open merge request"
NO_PIPELINE: Final = "no pipelines running or available"
STATES: Final = {
    "success": State.PASSED,
    "failed": State.FAILED,
    "canceled": State.CANCELLED,
    "canceling": State.CANCELLED,
    "skipped": State.SKIPPED,
    **dict.fromkeys(
        ("created", "manual", "pending", "preparing", "running", "scheduled", "waiting_for_callback"),
        State.PENDING,
    ),
    "waiting_for_resource": State.PENDING,
}


class _Merge(Struct, frozen=True):
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
    """`status` is that of all jobs together, by GitLab's own rules."""

    sha: str
    status: str
    web_url: str = ""
    jobs: list[_Job] | None = None


async def pull_request(asking: Asking, here: Checkout) -> Finding:
    """Whether the branch has an open merge request that ends at the commit checked out."""
    try:
        done = await asking.ask(*VIEW)
        if done.exit_code != 0 and NO_REQUEST in said(done).lower():
            return no_request(here)
        merge = asking.read(done, _Merge)
    except UnansweredError as error:
        return unknown(str(error))
    notes = ("draft",) * merge.draft + ("in conflict with its base",) * merge.has_conflicts
    request = Request(
        sign=f"!{merge.iid}",
        open=merge.state in ("opened", "locked"),
        merged=merge.state == "merged",
        head=merge.sha or "",
        url=merge.web_url,
        notes=notes,
    )
    return request_found(request, here)


async def checks(asking: Asking, here: Checkout) -> Finding:
    """What the branch's last pipeline says, if it ran on the commit checked out."""
    try:
        done = await asking.ask(*PIPELINE)
        if done.exit_code != 0 and NO_PIPELINE in said(done).lower():
            return weighed((), here)
        pipeline = asking.read(done, _Pipeline)
    except UnansweredError as error:
        return unknown(str(error))
    if pipeline.sha != here.head:
        return unknown(f"the last pipeline ran on {pipeline.sha[:9]}, checked out is {here.short}")
    return weighed(_jobs(pipeline), here)


def _jobs(pipeline: _Pipeline) -> list[Check]:
    """The jobs that decide, and the pipeline itself: jobs alone do not tell what has not been started."""
    decisive = [job for job in pipeline.jobs or () if not job.allow_failure]
    jobs = [
        Check(name=job.name, state=STATES.get(job.status, State.UNKNOWN), link=job.web_url)
        for job in decisive
        if job.status != "manual"
    ]
    whole = Check(
        name="the pipeline", state=STATES.get(pipeline.status, State.UNKNOWN), link=pipeline.web_url
    )
    failing = any(check.state is State.FAILED for check in jobs)
    return jobs if failing else [whole]
