"""Pull request and CI gates, checked with the code host's own command line tool, `gh` or `glab`.

Rules for this module and for `code_host_tools`:

- Only reading subcommands are called, with fixed arguments; no text of the project becomes an argument.
- The tools, and programs that they call, are never taken from inside the project.
- The tools must not prompt, page, colour or update; the session's environment decides whose login is used.
- There are three outcomes. Without login, network or a readable answer, or if CI has not finished, the gate
  could not run. What the code host reports for another commit than the one checked out is no evidence.
- CI results do not cover uncommitted changes: if there are any, a CI gate that passed could not run instead.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from msgspec.structs import replace

from sidecar.evidence.code_host_tools import (
    CODE_HOSTS,
    LINE_LENGTH,
    SHORT_COMMIT_LENGTH,
    Checkout,
    CiCheck,
    CodeHostKind,
    GitHub,
    PullRequest,
    UnansweredError,
)
from sidecar.evidence.ports import GateContext
from sidecar.evidence.tree.work_tree import WorkTree, find_work_tree, read_head_commit
from sidecar.kernel.gate import Gate, GateOrigin, GateRun, Kind, Outcome
from sidecar.kernel.session import Environment
from sidecar.kernel.text import clean_line
from sidecar.platform import processes
from sidecar.platform.git import UnseenError, decode_git_text

OFFER_SECONDS: Final = 10.0
"""Seconds for determining which code host a project has. No network access is made."""
NAMED_CHECKS_LIMIT: Final = 10
"""Checks that a reason lists."""
LINKED_FAILURES_LIMIT: Final = 5
"""Failing checks that are reported with their address."""
NAMED_FAILURES_LIMIT: Final = 500
"""Failing checks that are listed by name."""
OUTPUT_TAIL_LENGTH: Final = 4_000
"""Characters stored of a run's output."""
CHANGED_FILES_NAMED: Final = 3
REDIRECTING_VARIABLES: Final = (
    *("GIT_", "GH_REPO", "GH_FORCE_TTY", "GH_DEBUG", "GITLAB_REPO", "CLICOLOR_FORCE", "DEBUG"),
)
"""Prefixes of variables that would redirect the request or change the format of the answer."""
QUIET_VARIABLES: Final = {
    **dict.fromkeys(("GH_NO_UPDATE_NOTIFIER", "GH_PROMPT_DISABLED", "NO_COLOR", "NO_PROMPT"), "1"),
    **dict.fromkeys(("GH_PAGER", "PAGER"), "cat"),
    "GIT_TERMINAL_PROMPT": "0",
    "GLAB_CHECK_UPDATE": "false",
    "GLAMOUR_STYLE": "notty",
}
SCP_REMOTE: Final = re.compile(r"(?:[^@/\s]+@)?(?P<host>[A-Za-z0-9.-]+):(?!//)\S*")
"""A remote in scp notation: `git@github.com:owner/name.git`."""
PREFERRED_REMOTES: Final = ("origin", "upstream")
UNDECIDED_STATES: Final = {
    "pending": "CI has not finished",
    "cancelled": "CI was cancelled",
    "unknown": "it is not known how these ended",
}
"""States that leave the outcome open, with the message for each; the first one found decides."""


class CodeHost:
    """Implements `RemoteGates`. The commands of its gates are only shown."""

    async def offer(
        self, project: str, environment: Environment, wanted: Mapping[Kind, bool]
    ) -> tuple[Gate, ...]:
        """Offer both gates if the remote is on a known host and its tool is installed, else the wanted."""
        tool, why = await _find_code_host(project, environment)
        commands = {Kind.PR: (tool or GitHub).pr_command, Kind.CI: (tool or GitHub).ci_command}
        return tuple(
            Gate(
                id=kind.value,
                command=command,
                why=why,
                kind=kind,
                origin=GateOrigin.DETECTED,
                alone=False,
                approved=True,
                required=wanted.get(kind, False),
            )
            for kind, command in commands.items()
            if tool or wanted.get(kind)
        )

    async def run(self, gate: Gate, site: GateContext, seconds: float) -> GateRun:
        """Query the code host, within `seconds` in total. Never raises."""
        clock = asyncio.get_running_loop().time
        started = clock()
        blank = GateRun(gate=gate, outcome=Outcome.COULD_NOT_RUN, tree=site.tree)
        try:
            async with asyncio.timeout(seconds):
                run = await _ask_code_host(blank, site, seconds)
        except TimeoutError:
            run = replace(blank, reason=f"no answer within {seconds:g} s")
        except (UnansweredError, UnseenError, OSError, ValueError) as error:
            run = replace(blank, reason=_one_line(str(error)))
        return replace(run, seconds=clock() - started, output=run.output[-OUTPUT_TAIL_LENGTH:])


async def _find_code_host(project: str, environment: Environment) -> tuple[CodeHostKind | None, str]:
    """Return the tool of the project's code host, and the sign of it; None where it cannot be asked."""
    unknown = None, "a setting asks for it"
    if not any(processes.find_program(tool.name, environment, project) for tool in CODE_HOSTS):
        return unknown
    try:
        async with asyncio.timeout(OFFER_SECONDS):
            _, host, tool, _ = await _find_tool(project, environment)
    except (UnansweredError, UnseenError, OSError, TimeoutError, ValueError):
        return unknown
    return tool, f"the remote lies on {host}, of which {tool.name} tells"


async def _find_tool(project: str, environment: Environment) -> tuple[WorkTree, str, CodeHostKind, str]:
    """Return the work tree, the remote's host, its tool and that one's program. Raises as below."""
    found = await find_work_tree(project, environment)
    if found is None:
        raise UnansweredError("git is not on PATH")
    host = await _remote_host(found)
    if not host:
        raise UnansweredError("there is no remote")
    tool = _tool_of_host(host, environment)
    if tool is None:
        raise UnansweredError(f"{host} is no code host that is known: neither GitHub nor GitLab")
    program = processes.find_program(tool.name, environment, project)
    if not program:
        raise UnansweredError(f"{tool.name} is not on PATH (programs inside the project do not count)")
    return found, host, tool, program


async def _ask_code_host(blank: GateRun, site: GateContext, seconds: float) -> GateRun:
    """Ask for the pull request or the checks. Raises UnansweredError, UnseenError, OSError, ValueError."""
    found, _, tool, program = await _find_tool(site.project, site.environment)
    here = await _read_checkout(found)
    asking = tool(program, site.project, _quiet_environment(site.environment, site.project), seconds)
    if blank.gate.kind is Kind.PR:
        return _pull_request_run(blank, await asking.pull_request(), here)
    return _checks_run(blank, await asking.checks(here), here)


# --- What an answer means -----------------------------------------------------------------------------------


def _pull_request_run(blank: GateRun, request: PullRequest | None, here: Checkout) -> GateRun:
    """Pass where the request is open or merged and its head is the commit checked out."""
    failure = ""
    if request is None:
        failure = f"there is no pull request of the branch {here.branch or '(none)'}"
    elif not (request.open or request.merged):
        failure = f"{request.sign} was closed without being merged: {request.url}"
    elif not request.head:
        raise UnansweredError(f"{request.sign} names no commit")
    elif request.head != here.head:
        theirs, ours = request.head[:SHORT_COMMIT_LENGTH], here.head[:SHORT_COMMIT_LENGTH]
        failure = f"{request.sign} ends at {theirs}, checked out is {ours}: not pushed, or not pulled"
    remains = f"\n{_changed_files_phrase(here.changed)} not committed" if here.changed else ""
    if request is None or failure:
        said = (_one_line(failure),)
        return replace(
            blank, outcome=Outcome.FAILED, failures=said, failing=said, output=f"{said[0]}{remains}"
        )
    state = "open" if request.open else "merged"
    text = _one_line(f"{request.sign} is {state}, {request.url}")
    return replace(blank, outcome=Outcome.PASSED, output=f"{text}{remains}")


def _checks_run(blank: GateRun, checks: Sequence[CiCheck], here: Checkout) -> GateRun:
    """Combine all checks of a commit. A failure decides, even if other checks have not finished.

    Otherwise all checks must have ended well or been skipped, at least one must have run, and no tracked file
    may differ from the commit.
    """
    text = "\n".join(_one_line(f"{check.state}: {check.name} {check.link}") for check in checks)
    if bad := [check for check in checks if check.state == "failed"]:
        return replace(
            blank,
            outcome=Outcome.FAILED,
            failures=tuple(_one_line(f"{one.name} {one.link}") for one in bad[:LINKED_FAILURES_LIMIT]),
            failing=tuple(_one_line(one.name) for one in bad[:NAMED_FAILURES_LIMIT]),
            output=text,
        )
    for state, said in UNDECIDED_STATES.items():
        if names := [check.name for check in checks if check.state == state]:
            more = ", ..." if len(names) > NAMED_CHECKS_LIMIT else ""
            raise UnansweredError(f"{said}: {', '.join(names[:NAMED_CHECKS_LIMIT])}{more}")
    commit = here.head[:SHORT_COMMIT_LENGTH]
    if not any(check.state == "passed" for check in checks):
        raise UnansweredError(f"no check has run on {commit}" + (": all were skipped" if checks else ""))
    if here.changed:
        remains = f"{_changed_files_phrase(here.changed)} not committed"
        raise UnansweredError(f"CI passed on {commit}, but since then {remains}")
    return replace(blank, outcome=Outcome.PASSED, output=text)


def _changed_files_phrase(paths: tuple[str, ...]) -> str:
    named = ", ".join(paths[:CHANGED_FILES_NAMED]) + (", ..." if len(paths) > CHANGED_FILES_NAMED else "")
    return f"{len(paths)} changed {'file is' if len(paths) == 1 else 'files are'} ({named})"


def _one_line(text: str) -> str:
    return clean_line(text, LINE_LENGTH)


# --- The checkout and its remote, which is not contacted ----------------------------------------------------


async def _read_checkout(found: WorkTree) -> Checkout:
    """Read what is checked out. Raises UnansweredError, UnseenError."""
    head = await read_head_commit(found.git)
    if not head:
        raise UnansweredError("there is no commit yet")
    branch = await found.git.ask("symbolic-ref", "--quiet", "--short", "HEAD")
    changed = await found.git.names("status", "--porcelain", "-z", "--no-renames", "--untracked-files=no")
    return Checkout(
        head=head, branch=decode_git_text(branch.output).strip(), changed=tuple(line[3:] for line in changed)
    )


async def _remote_host(found: WorkTree) -> str:
    """Return the remote's host in lower case, without user or password; "" where there is none."""
    names = [*(name for name in PREFERRED_REMOTES if name in found.remotes), *found.remotes]
    if not names:
        return ""
    url = await found.git.ask("remote", "get-url", "--", names[0])
    return host_of_remote_url(decode_git_text(url.output).partition("\n")[0])


def host_of_remote_url(url: str) -> str:
    """Return the host in a remote's address; "" for a path or an invalid address."""
    if "://" in url:
        try:
            return urlsplit(url).hostname or ""
        except ValueError:
            return ""
    found = SCP_REMOTE.fullmatch(url)
    return found["host"].lower() if found else ""


def _tool_of_host(host: str, environment: Environment) -> CodeHostKind | None:
    """Return the tool for this host; None where the host is unknown."""
    for tool in CODE_HOSTS:
        own = {_plain_host_name(environment.get(variable, "")) for variable in tool.variables} - {""}
        if host in own or tool.word in host:
            return tool
    return None


def _plain_host_name(host: str) -> str:
    """Extract the host from a setting such as GITLAB_HOST, which may be an address."""
    return (urlsplit(host).hostname or "" if "://" in host else host).lower()


def _quiet_environment(environment: Environment, project: str) -> dict[str, str]:
    """Return the environment of the tools; PATH without the project's folders, where gh looks up git."""
    root = Path(os.path.realpath(project))
    outside = [
        folder
        for folder in environment.get("PATH", "").split(os.pathsep)
        if Path(folder).is_absolute() and not Path(os.path.realpath(folder)).is_relative_to(root)
    ]
    kept = {name: value for name, value in environment.items() if not name.startswith(REDIRECTING_VARIABLES)}
    return {**kept, **QUIET_VARIABLES, "PATH": os.pathsep.join(outside)}
