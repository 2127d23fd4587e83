"""Asks GitHub through `gh` and GitLab through `glab` for pull requests and CI checks; see code_host.py.

With --json, `gh pr checks` exits with 0 whatever the checks' results, except where there are none; older
versions exit with 8 while checks are pending. Without an argument, `glab mr view` finds only open merge
requests, so that of a merged branch is not found.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.decoding import read_json
from sidecar.kernel.text import clean_line
from sidecar.platform import processes

LINE_LENGTH: Final = 300
"""Characters shown of one line."""
SHORT_COMMIT_LENGTH: Final = 9
"""Characters shown of a commit hash."""
ANSWER_BYTES_LIMIT: Final = 1 << 20
"""Maximum bytes read of an answer: some thousand checks."""
SHOWN_ANSWER_LENGTH: Final = 80
"""Characters shown of an answer that cannot be parsed."""

T = TypeVar("T")


class Checkout(Struct, frozen=True, kw_only=True):
    """The commit checked out. `branch` is "" on a detached head. `changed`: modified tracked files."""

    head: str
    branch: str = ""
    changed: tuple[str, ...] = ()


class PullRequest(Struct, frozen=True, kw_only=True):
    """A pull request or merge request. `sign` is its usual notation: "#12", "!12"."""

    sign: str
    open: bool
    merged: bool
    head: str
    url: str


class CiCheck(Struct, frozen=True):
    """One check of a commit. `state` is one of STATE_WORDS, or "unknown"."""

    name: str
    state: str
    link: str = ""


STATE_WORDS: Final = {
    "passed": ("pass", "success"),
    "failed": ("fail", "failed", "failure", "startup_failure", "timed_out"),
    "cancelled": ("cancel", "canceled", "canceling", "cancelled", "stale"),
    "pending": (
        *("action_required", "created", "manual", "pending", "preparing", "running", "scheduled"),
        *("waiting_for_callback", "waiting_for_resource"),
    ),
    "skipped": ("neutral", "skipped", "skipping"),
}
"""Buckets and conclusions of GitHub, statuses of GitLab."""


def _check(name: str, word: str, link: str) -> CiCheck:
    """Return a check whose state a code host calls so."""
    state = next((state for state, words in STATE_WORDS.items() if word in words), "unknown")
    return CiCheck(name, state, link)


class UnansweredError(Exception):
    """The code host gave no usable answer. The message says why, in one line."""


class CodeHostTool:
    """How to call a tool: its program, the project, environment, and time limit of each call."""

    name: ClassVar[str]

    def __init__(self, program: str, project: str, environment: Mapping[str, str], seconds: float) -> None:
        self._program, self._project = program, project
        self._environment, self._seconds = environment, seconds

    async def ask(self, *arguments: str) -> processes.ProcessResult:
        """Run the tool; any exit code is accepted. Raises UnansweredError where it did not exit normally."""
        done = await processes.run_process(
            (self._program, *arguments),
            cwd=self._project,
            environment=self._environment,
            seconds=self._seconds,
            keep=ANSWER_BYTES_LIMIT,
            separate=True,
        )
        if done.exit_code is None:
            raise UnansweredError(f"{self.name}: {done.reason}")
        return done

    def read(self, done: processes.ProcessResult, kind: type[T]) -> T:
        """Parse the answer as `kind`. Raises UnansweredError for a failure or an unexpected format."""
        if done.exit_code != 0:
            raise UnansweredError(f"{self.name}: {_first_failure_line(done)}")
        try:
            return msgspec.json.decode(done.output, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            began = clean_line(done.output[:LINE_LENGTH].decode("utf-8", "replace"), SHOWN_ANSWER_LENGTH)
            raise UnansweredError(f"{self.name} gave an unreadable answer ({error}): {began}") from error


def _first_failure_line(done: processes.ProcessResult) -> str:
    """Return the first line of output with which a program explains its failure."""
    for text in (done.errors, done.output):
        for line in text[: 10 * LINE_LENGTH].decode("utf-8", "replace").splitlines():
            if (said := clean_line(line, LINE_LENGTH)) not in ("", "ERROR"):
                found = read_json(said, dict[str, dict[str, str]]) or {}  # newer versions of glab
                return clean_line(found.get("error", {}).get("message", ""), LINE_LENGTH) or said
    return f"exit code {done.exit_code}"


def _failed_with(done: processes.ProcessResult, message: str) -> bool:
    return done.exit_code != 0 and message in _first_failure_line(done).lower()


# --- GitHub -------------------------------------------------------------------------------------------------


PENDING_CODE: Final = 8


class _GithubPull(Struct, frozen=True, rename="camel"):
    number: int
    state: str
    url: str = ""
    head_ref_oid: str = ""


class _GithubCheck(Struct, frozen=True):
    name: str
    bucket: str
    link: str = ""


class _GithubRun(Struct, frozen=True, rename="camel"):
    status: str
    head_sha: str
    conclusion: str | None = ""
    workflow_name: str = ""
    event: str = ""
    url: str = ""


class GitHub(CodeHostTool):
    """GitHub through `gh`. The commands are only shown.

    `variables` name a host of the user's own; `word` is in the names of others.
    """

    name = "gh"
    pr_command, ci_command = "gh pr view", "gh pr checks"
    variables, word = ("GH_HOST",), "github"

    async def pull_request(self) -> PullRequest | None:
        """Return the pull request of the branch. Raises UnansweredError."""
        done = await self.ask("pr", "view", "--json", "number,state,url,headRefOid")
        if _failed_with(done, "no pull requests found"):
            return None
        pull = self.read(done, _GithubPull)
        return PullRequest(
            sign=f"#{pull.number}",
            open=pull.state == "OPEN",
            merged=pull.state == "MERGED",
            head=pull.head_ref_oid,
            url=pull.url,
        )

    async def checks(self, here: Checkout) -> list[CiCheck]:
        """Return the checks of the pull request of the commit checked out, else its newest workflow runs."""
        pull = await self.pull_request()
        if pull is None or pull.head != here.head:
            return await self._workflow_runs(here.head)
        done = await self.ask("pr", "checks", "--json", "name,state,bucket,link")
        if _failed_with(done, "no checks reported"):
            return []
        if done.exit_code == PENDING_CODE:
            done = replace(done, exit_code=0)
        return [_check(one.name, one.bucket, one.link) for one in self.read(done, list[_GithubCheck])]

    async def _workflow_runs(self, head: str) -> list[CiCheck]:
        """Return the newest run of each workflow and event on this commit. gh lists the newest first."""
        fields = "workflowName,event,status,conclusion,url,headSha"
        done = await self.ask("run", "list", "--limit", "100", "--json", fields, "--commit", head)
        newest: dict[tuple[str, str], CiCheck] = {}
        for run in self.read(done, list[_GithubRun]):
            word = run.conclusion or "" if run.status == "completed" else "pending"
            if run.head_sha == head:
                newest.setdefault((run.workflow_name, run.event), _check(run.workflow_name, word, run.url))
        return list(newest.values())


# --- GitLab -------------------------------------------------------------------------------------------------


class _MergeRequest(Struct, frozen=True):
    iid: int
    state: str
    sha: str | None = ""
    web_url: str = ""


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


class GitLab(CodeHostTool):
    """GitLab through `glab`; as above."""

    name = "glab"
    pr_command, ci_command = "glab mr view", "glab ci get"
    variables, word = ("GITLAB_HOST", "GL_HOST"), "gitlab"

    async def pull_request(self) -> PullRequest | None:
        """Return the merge request of the branch. Raises UnansweredError."""
        done = await self.ask("mr", "view", "--output", "json")
        if _failed_with(done, "no open merge request"):
            return None
        merge = self.read(done, _MergeRequest)
        return PullRequest(
            sign=f"!{merge.iid}",
            open=merge.state in ("opened", "locked"),
            merged=merge.state == "merged",
            head=merge.sha or "",
            url=merge.web_url,
        )

    async def checks(self, here: Checkout) -> list[CiCheck]:
        """Return failed jobs of the last pipeline, else the pipeline, which covers jobs not started yet."""
        done = await self.ask("ci", "get", "--output", "json")
        if _failed_with(done, "no pipelines running or available"):
            return []
        pipeline = self.read(done, _Pipeline)
        if pipeline.sha != here.head:
            ran, out = pipeline.sha[:SHORT_COMMIT_LENGTH], here.head[:SHORT_COMMIT_LENGTH]
            raise UnansweredError(f"the last pipeline ran on {ran}, checked out is {out}")
        decisive = (job for job in pipeline.jobs or () if not job.allow_failure and job.status != "manual")
        jobs = [_check(job.name, job.status, job.web_url) for job in decisive]
        if any(check.state == "failed" for check in jobs):
            return jobs
        return [_check("the pipeline", pipeline.status, pipeline.web_url)]


CodeHostKind = type[GitHub] | type[GitLab]
CODE_HOSTS: Final[tuple[CodeHostKind, ...]] = (GitHub, GitLab)
