"""GitHub through `gh`. See gates.py for the rules.

With --json, `gh pr checks` exits with 0 whatever the checks' results, except where there are none; older
versions exit with 8 while checks are pending.
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
from sidecar.platform.processes import ProcessResult

PR_VIEW_ARGUMENTS: Final = ("pr", "view", "--json", "number,state,isDraft,url,headRefOid,mergeable")
PR_CHECKS_ARGUMENTS: Final = ("pr", "checks", "--json", "name,state,bucket,link")
RUN_LIST_ARGUMENTS: Final = (
    "run",
    "list",
    "--limit",
    "100",
    "--json",
    "workflowName,event,status,conclusion,url,headSha",
)
NO_PULL_REQUEST_MESSAGE: Final = "no pull requests found"
NO_CHECKS_MESSAGE: Final = "no checks reported"
PENDING_CODE: Final = 8
BUCKET_STATES: Final = {
    "pass": CiCheckState.PASSED,
    "fail": CiCheckState.FAILED,
    "pending": CiCheckState.PENDING,
    "skipping": CiCheckState.SKIPPED,
    "cancel": CiCheckState.CANCELLED,
}
CONCLUSION_STATES: Final = {
    "success": CiCheckState.PASSED,
    "neutral": CiCheckState.SKIPPED,
    "skipped": CiCheckState.SKIPPED,
    "failure": CiCheckState.FAILED,
    "timed_out": CiCheckState.FAILED,
    "startup_failure": CiCheckState.FAILED,
    "action_required": CiCheckState.PENDING,
    "cancelled": CiCheckState.CANCELLED,
    "stale": CiCheckState.CANCELLED,
}


class _PullRequestAnswer(Struct, frozen=True, rename="camel"):
    number: int
    state: str
    is_draft: bool = False
    url: str = ""
    head_ref_oid: str = ""
    mergeable: str = ""


class _CheckAnswer(Struct, frozen=True):
    name: str
    bucket: str
    link: str = ""


class _WorkflowRun(Struct, frozen=True, rename="camel"):
    status: str
    head_sha: str
    conclusion: str | None = ""
    workflow_name: str = ""
    event: str = ""
    url: str = ""


async def pull_request(asking: CodeHostClient, here: Checkout) -> CodeHostFinding:
    """Whether the branch has a pull request, open or merged, whose head is the commit checked out."""
    try:
        pull = await _fetch_pull_request(asking)
    except UnansweredError as error:
        return unknown_finding(str(error))
    if pull is None:
        return no_pull_request_finding(here)
    notes = ("draft",) * pull.is_draft + ("in conflict with its base",) * (pull.mergeable == "CONFLICTING")
    request = PullRequest(
        sign=f"#{pull.number}",
        open=pull.state == "OPEN",
        merged=pull.state == "MERGED",
        head=pull.head_ref_oid,
        url=pull.url,
        notes=notes,
    )
    return pull_request_finding(request, here)


async def checks(asking: CodeHostClient, here: Checkout) -> CodeHostFinding:
    """Assess CI of the commit checked out: the checks of its pull request, else its workflow runs."""
    try:
        pull = await _fetch_pull_request(asking)
        if pull is None or pull.head_ref_oid != here.head:
            return assess_ci_checks(await _fetch_newest_runs(asking, here), here)
        return assess_ci_checks(await _fetch_checks(asking), here)
    except UnansweredError as error:
        return unknown_finding(str(error))


async def _fetch_pull_request(asking: CodeHostClient) -> _PullRequestAnswer | None:
    done = await asking.ask(*PR_VIEW_ARGUMENTS)
    if done.exit_code != 0 and NO_PULL_REQUEST_MESSAGE in first_failure_line(done).lower():
        return None
    return asking.read(done, _PullRequestAnswer)


async def _fetch_checks(asking: CodeHostClient) -> list[CiCheck]:
    done = await asking.ask(*PR_CHECKS_ARGUMENTS)
    if done.exit_code != 0 and first_failure_line(done).lower().startswith(NO_CHECKS_MESSAGE):
        return []
    found = asking.read(_accept_pending_code(done), list[_CheckAnswer])
    return [
        CiCheck(name=check.name, state=BUCKET_STATES.get(check.bucket, CiCheckState.UNKNOWN), link=check.link)
        for check in found
    ]


def _accept_pending_code(done: ProcessResult) -> ProcessResult:
    """Turn the exit code for pending checks into success, because the answer is still valid."""
    return (
        done
        if done.exit_code != PENDING_CODE
        else ProcessResult(ending=done.ending, exit_code=0, output=done.output)
    )


async def _fetch_newest_runs(asking: CodeHostClient, here: Checkout) -> list[CiCheck]:
    """Return the newest run of each workflow and event on this commit. gh lists the newest first."""
    found = asking.read(await asking.ask(*RUN_LIST_ARGUMENTS, "--commit", here.head), list[_WorkflowRun])
    newest: dict[tuple[str, str], _WorkflowRun] = {}
    for run in found:
        if run.head_sha == here.head:
            newest.setdefault((run.workflow_name, run.event), run)
    return [
        CiCheck(name=run.workflow_name, state=_workflow_run_state(run), link=run.url)
        for run in newest.values()
    ]


def _workflow_run_state(run: _WorkflowRun) -> CiCheckState:
    if run.status != "completed":
        return CiCheckState.PENDING
    return CONCLUSION_STATES.get(run.conclusion or "", CiCheckState.UNKNOWN)
