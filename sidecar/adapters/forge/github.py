"""GitHub through `gh`. See `forge` for the laws.

With --json, `gh pr checks` ends with 0 whatever the checks say, except where there are none; older versions
end with 8 while some are pending.
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
from sidecar.adapters.processes import Finished

VIEW: Final = ("pr", "view", "--json", "number,state,isDraft,url,headRefOid,mergeable")
CHECKS: Final = ("pr", "checks", "--json", "name,state,bucket,link")
RUNS: Final = ("run", "list", "--limit", "100", "--json", "workflowName,event,status,conclusion,url,headSha")
NO_REQUEST: Final = "no pull requests found"
NO_CHECKS: Final = "no checks reported"
PENDING_CODE: Final = 8
BUCKETS: Final = {
    "pass": State.PASSED,
    "fail": State.FAILED,
    "pending": State.PENDING,
    "skipping": State.SKIPPED,
    "cancel": State.CANCELLED,
}
CONCLUSIONS: Final = {
    "success": State.PASSED,
    "neutral": State.SKIPPED,
    "skipped": State.SKIPPED,
    "failure": State.FAILED,
    "timed_out": State.FAILED,
    "startup_failure": State.FAILED,
    "action_required": State.PENDING,
    "cancelled": State.CANCELLED,
    "stale": State.CANCELLED,
}


class _Pull(Struct, frozen=True, rename="camel"):
    number: int
    state: str
    is_draft: bool = False
    url: str = ""
    head_ref_oid: str = ""
    mergeable: str = ""


class _Check(Struct, frozen=True):
    name: str
    bucket: str
    link: str = ""


class _Run(Struct, frozen=True, rename="camel"):
    status: str
    head_sha: str
    conclusion: str | None = ""
    workflow_name: str = ""
    event: str = ""
    url: str = ""


async def pull_request(asking: Asking, here: Checkout) -> Finding:
    """Whether the branch has one that is open or merged and ends at the commit checked out."""
    try:
        pull = await _pull(asking)
    except UnansweredError as error:
        return unknown(str(error))
    if pull is None:
        return no_request(here)
    notes = ("draft",) * pull.is_draft + ("in conflict with its base",) * (pull.mergeable == "CONFLICTING")
    request = Request(
        sign=f"#{pull.number}",
        open=pull.state == "OPEN",
        merged=pull.state == "MERGED",
        head=pull.head_ref_oid,
        url=pull.url,
        notes=notes,
    )
    return request_found(request, here)


async def checks(asking: Asking, here: Checkout) -> Finding:
    """What CI says of the commit checked out: the checks of its pull request, else its workflow runs."""
    try:
        pull = await _pull(asking)
        if pull is None or pull.head_ref_oid != here.head:
            return weighed(await _runs(asking, here), here)
        return weighed(await _checks(asking), here)
    except UnansweredError as error:
        return unknown(str(error))


async def _pull(asking: Asking) -> _Pull | None:
    done = await asking.ask(*VIEW)
    if done.exit_code != 0 and NO_REQUEST in said(done).lower():
        return None
    return asking.read(done, _Pull)


async def _checks(asking: Asking) -> list[Check]:
    done = await asking.ask(*CHECKS)
    if done.exit_code != 0 and said(done).lower().startswith(NO_CHECKS):
        return []
    found = asking.read(_ended_well(done), list[_Check])
    return [
        Check(name=check.name, state=BUCKETS.get(check.bucket, State.UNKNOWN), link=check.link)
        for check in found
    ]


def _ended_well(done: Finished) -> Finished:
    """Take the pending code with an answer for what it is."""
    return (
        done
        if done.exit_code != PENDING_CODE
        else Finished(ending=done.ending, exit_code=0, output=done.output)
    )


async def _runs(asking: Asking, here: Checkout) -> list[Check]:
    """The newest run of each workflow and event on this commit. gh names the newest first."""
    found = asking.read(await asking.ask(*RUNS, "--commit", here.head), list[_Run])
    newest: dict[tuple[str, str], _Run] = {}
    for run in found:
        if run.head_sha == here.head:
            newest.setdefault((run.workflow_name, run.event), run)
    return [Check(name=run.workflow_name, state=_state(run), link=run.url) for run in newest.values()]


def _state(run: _Run) -> State:
    if run.status != "completed":
        return State.PENDING
    return CONCLUSIONS.get(run.conclusion or "", State.UNKNOWN)
