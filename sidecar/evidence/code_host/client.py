"""Calls a code host's command line tool, reads the local checkout, and turns both into gate outcomes.

Nothing here depends on a particular code host.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final, TypeVar
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from sidecar.kernel.gate import Outcome
from sidecar.kernel.structs import read_json
from sidecar.kernel.text import clean_line
from sidecar.platform import processes

# --- Results from a code host, and the outcome that follows -------------------------------------------------


REPEATED_LINE_LENGTH: Final = 300
"""Characters shown of one line."""
SHORT_COMMIT_LENGTH: Final = 9
"""Characters shown of a commit hash."""
NAMED_CHECKS_LIMIT: Final = 10
"""Checks that a reason lists."""


class Checkout(Struct, frozen=True, kw_only=True):
    """The commit checked out. `branch` is "" on a detached head. `changed`: modified tracked files."""

    head: str
    branch: str = ""
    changed: tuple[str, ...] = ()

    @property
    def short(self) -> str:
        """The abbreviated commit hash."""
        return self.head[:SHORT_COMMIT_LENGTH]


class CodeHostFinding(Struct, frozen=True, kw_only=True):
    """An outcome: `reason` if it could not run, `failures` if it failed, and `text` for people."""

    outcome: Outcome
    reason: str = ""
    failures: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()
    text: str = ""


class CiCheckState(StrEnum):
    """The state of one check."""

    PASSED = "passed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    PENDING = "pending"
    SKIPPED = "skipped"
    UNKNOWN = "unknown"


class CiCheck(Struct, frozen=True, kw_only=True):
    """One check of a commit."""

    name: str
    state: CiCheckState
    link: str = ""


class PullRequest(Struct, frozen=True, kw_only=True):
    """A pull request or merge request. `sign` is its usual notation: "#12", "!12"."""

    sign: str
    open: bool
    merged: bool
    head: str
    url: str
    notes: tuple[str, ...] = ()


def unknown_finding(reason: str) -> CodeHostFinding:
    """Build the outcome "could not run"."""
    return CodeHostFinding(outcome=Outcome.COULD_NOT_RUN, reason=one_line(reason))


def pull_request_finding(request: PullRequest, here: Checkout) -> CodeHostFinding:
    """Pass where the request is open or merged and its head is the commit checked out."""
    state = "open" if request.open else "merged" if request.merged else "closed"
    text = one_line(", ".join((f"{request.sign} is {state}", *request.notes, request.url)))
    if state == "closed":
        return _failed_finding(f"{request.sign} was closed without being merged: {request.url}")
    if not request.head:
        return unknown_finding(f"{request.sign} names no commit")
    if request.head != here.head:
        theirs = request.head[:SHORT_COMMIT_LENGTH]
        return _failed_finding(
            f"{request.sign} ends at {theirs}, checked out is {here.short}: not pushed, or not pulled"
        )
    return CodeHostFinding(outcome=Outcome.PASSED, text=text)


def no_pull_request_finding(here: Checkout) -> CodeHostFinding:
    """Fail because there is no pull request."""
    return _failed_finding(f"there is no pull request of the branch {here.branch or '(none)'}")


def _failed_finding(failure: str) -> CodeHostFinding:
    said = one_line(failure)
    return CodeHostFinding(outcome=Outcome.FAILED, failures=(said,), failing=(said,), text=said)


def assess_ci_checks(checks: Sequence[CiCheck], here: Checkout) -> CodeHostFinding:
    """Combine all checks of a commit. A failure decides, even if other checks have not finished.

    Otherwise all checks must have ended well or been skipped, and at least one must have run.
    """
    text = "\n".join(one_line(f"{check.state}: {check.name} {check.link}") for check in checks)
    if bad := [check for check in checks if check.state is CiCheckState.FAILED]:
        return CodeHostFinding(
            outcome=Outcome.FAILED,
            failures=tuple(one_line(f"{check.name} {check.link}") for check in bad),
            failing=tuple(one_line(check.name) for check in bad),
            text=text,
        )
    for state, said in UNDECIDED_STATES.items():
        if names := [check.name for check in checks if check.state is state]:
            more = ", ..." if len(names) > NAMED_CHECKS_LIMIT else ""
            return unknown_finding(f"{said}: {', '.join(names[:NAMED_CHECKS_LIMIT])}{more}")
    if not any(check.state is CiCheckState.PASSED for check in checks):
        return unknown_finding(f"no check has run on {here.short}" + (": all were skipped" if checks else ""))
    return CodeHostFinding(outcome=Outcome.PASSED, text=text)


UNDECIDED_STATES: Final = {
    CiCheckState.PENDING: "CI has not finished",
    CiCheckState.CANCELLED: "CI was cancelled",
    CiCheckState.UNKNOWN: "it is not known how these ended",
}
"""States that leave the outcome open, with the message for each; the first one found decides."""


def one_line(text: str) -> str:
    """Convert a text to one printable line that fits into a sentence."""
    return clean_line(text, REPEATED_LINE_LENGTH)


# --- Calling a code host's command line tool ----------------------------------------------------------------


ANSWER_BYTES_LIMIT: Final = 1 << 20
"""Maximum bytes read of an answer: some thousand checks."""
SHOWN_ANSWER_LENGTH: Final = 80
"""Characters shown of an answer that cannot be parsed."""

T = TypeVar("T")


class UnansweredError(Exception):
    """The code host gave no usable answer. The message says why, in one line."""


class CodeHostClient(Struct, frozen=True, kw_only=True):
    """How to call the tool: program and name, project, environment, and time limit of each call."""

    program: str
    name: str
    project: str
    environment: Mapping[str, str]
    seconds: float

    async def ask(self, *arguments: str) -> processes.ProcessResult:
        """Run the tool; any exit code is accepted. Raises UnansweredError where it did not exit normally."""
        done = await processes.run_process(
            (self.program, *arguments),
            cwd=self.project,
            environment=self.environment,
            seconds=self.seconds,
            keep=ANSWER_BYTES_LIMIT,
            separate=True,
        )
        if done.exit_code is None:
            raise UnansweredError(f"{self.name}: {done.reason}")
        return done

    def read(self, done: processes.ProcessResult, kind: type[T]) -> T:
        """Parse the answer as `kind`. Raises UnansweredError for a failure or an unexpected format."""
        if done.exit_code != 0:
            raise UnansweredError(f"{self.name}: {first_failure_line(done)}")
        try:
            return msgspec.json.decode(done.output, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            began = one_line(done.output[:REPEATED_LINE_LENGTH].decode("utf-8", "replace"))[
                :SHOWN_ANSWER_LENGTH
            ]
            raise UnansweredError(f"{self.name} gave an unreadable answer ({error}): {began}") from error


class _JsonError(Struct, frozen=True):
    message: str = ""


class _JsonErrorAnswer(Struct, frozen=True):
    """The format in which newer versions of glab report an error if JSON is requested."""

    error: _JsonError = _JsonError()


def first_failure_line(done: processes.ProcessResult) -> str:
    """Return the first line of output with which a program explains its failure."""
    for text in (done.errors, done.output):
        lines = map(one_line, text[: 10 * REPEATED_LINE_LENGTH].decode("utf-8", "replace").splitlines())
        if line := next((line for line in lines if line not in ("", "ERROR")), ""):
            return _unwrap_json_error(line)
    return f"exit code {done.exit_code}"


def _unwrap_json_error(line: str) -> str:
    found = read_json(line, _JsonErrorAnswer)
    return (one_line(found.error.message) if found else "") or line


# --- Reading the checkout and its remote with git, without contacting the remote ----------------------------
# No program that the repository configures runs: no file system monitor and no filter.


GIT_ANSWER_LIMIT: Final = 1 << 18
"""Maximum bytes read of an answer."""
SAFE_GIT_OPTIONS: Final = (
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.quotePath=true",
)
QUIET_GIT_VARIABLES: Final = {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}
SCP_REMOTE: Final = re.compile(r"(?:[^@/\s]+@)?(?P<host>[A-Za-z0-9.-]+):(?!//)\S*")
"""A remote in scp notation: `git@github.com:owner/name.git`."""
PREFERRED_REMOTES: Final = ("origin", "upstream")
FILTER_SETTINGS: Final = r"^filter\..*\.(clean|process|required)$"


class _ProjectGit(Struct, frozen=True):
    """Git in a project: its program, the environment, and the time limit of each call in seconds."""

    program: str
    project: str
    environment: Mapping[str, str]
    seconds: float

    async def lines(self, *arguments: str) -> list[str] | None:
        """Return git's output lines; None where it fails."""
        done = await processes.run_process(
            (self.program, *SAFE_GIT_OPTIONS, *arguments),
            cwd=self.project,
            environment={**self.environment, **QUIET_GIT_VARIABLES},
            seconds=self.seconds,
            keep=GIT_ANSWER_LIMIT,
            separate=True,
        )
        return done.output.decode("utf-8", "replace").splitlines() if done.exit_code == 0 else None


def _find_git(project: str, environment: Mapping[str, str], seconds: float) -> _ProjectGit | None:
    program = processes.find_program("git", environment, project)
    return _ProjectGit(program, project, environment, seconds) if program else None


async def remote_host(project: str, environment: Mapping[str, str], seconds: float) -> str:
    """Return the remote's host in lower case, without user or password; "" where there is none."""
    git = _find_git(project, environment, seconds)
    names = await git.lines("remote") if git else None
    if not git or not names:
        return ""
    name = next((name for name in PREFERRED_REMOTES if name in names), names[0])
    url = await git.lines("remote", "get-url", "--", name)
    return host_of_remote_url(url[0]) if url else ""


def host_of_remote_url(url: str) -> str:
    """Return the host in a remote's address; "" for a path or an invalid address."""
    if "://" in url:
        try:
            return urlsplit(url).hostname or ""
        except ValueError:
            return ""
    found = SCP_REMOTE.fullmatch(url)
    return found["host"].lower() if found else ""


async def read_checkout(project: str, environment: Mapping[str, str], seconds: float) -> Checkout | str:
    """Read what is checked out; return an explanation where that cannot be determined."""
    git = _find_git(project, environment, seconds)
    if git is None:
        return "git is not on PATH"
    head = await git.lines("rev-parse", "--verify", "HEAD^{commit}")
    if not head:
        return "there is no commit yet"
    branch = await git.lines("symbolic-ref", "--quiet", "--short", "HEAD")
    filters = await git.lines("config", "--name-only", "--get-regexp", FILTER_SETTINGS) or []
    off = [part for name in filters for part in ("-c", _filter_off_setting(name))]
    changed = await git.lines(*off, "status", "--porcelain", "--untracked-files=no")
    if changed is None:
        return "git cannot tell what is changed"
    return Checkout(
        head=head[0], branch=branch[0] if branch else "", changed=tuple(line[3:] for line in changed)
    )


def _filter_off_setting(filter_setting: str) -> str:
    return f"{filter_setting}={'false' if filter_setting.endswith('.required') else ''}"
