"""Pull request and CI gates, checked with the code host's own command line tool, `gh` or `glab`.

Rules for this module and for `github` and `gitlab`:

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
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from msgspec.structs import replace

from sidecar.evidence.code_host import github as forge_github
from sidecar.evidence.code_host import gitlab as forge_gitlab
from sidecar.evidence.code_host.client import (
    Checkout,
    CodeHostClient,
    CodeHostFinding,
    read_checkout,
    remote_host,
    unknown_finding,
)
from sidecar.kernel.gate import Gate, GateOrigin, GateRun, Kind, Outcome
from sidecar.platform import processes

if TYPE_CHECKING:
    from sidecar.evidence.ports import GateContext
    from sidecar.kernel.session import Environment


OFFER_SECONDS: Final = 10.0
"""Seconds for determining which code host a project has. No network access is made."""
LINKED_FAILURES_LIMIT: Final = 5
"""Failing checks that are reported with their address."""
NAMED_FAILURES_LIMIT: Final = 500
"""Failing checks that are listed by name."""
OUTPUT_TAIL_LENGTH: Final = 4_000
"""Characters stored of a run's output."""
CODE_HOSTS: Final = {"gh": forge_github, "glab": forge_gitlab}
REDIRECTING_VARIABLES: Final = (
    "GIT_",
    "GH_REPO",
    "GH_FORCE_TTY",
    "GH_DEBUG",
    "GITLAB_REPO",
    "CLICOLOR_FORCE",
    "DEBUG",
)
"""Prefixes of variables that would redirect the request or change the format of the answer."""
QUIET_CLI_VARIABLES: Final = {
    "GH_NO_UPDATE_NOTIFIER": "1",
    "GH_PAGER": "cat",
    "GH_PROMPT_DISABLED": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GLAB_CHECK_UPDATE": "false",
    "GLAMOUR_STYLE": "notty",
    "NO_COLOR": "1",
    "NO_PROMPT": "1",
    "PAGER": "cat",
}
GATE_COMMANDS: Final = {
    (Kind.PR, "gh"): "gh pr view",
    (Kind.PR, "glab"): "glab mr view",
    (Kind.CI, "gh"): "gh pr checks",
    (Kind.CI, "glab"): "glab ci get",
}
GATE_SUBJECTS: Final = {Kind.PR: "its pull request", Kind.CI: "its CI"}


def make_code_host_gate(kind: Kind, tool: str = "gh", why: str = "a setting asks for it") -> Gate:
    """Build the gate of this kind. Its command is only shown to people; the real calls are fixed in code."""
    return Gate(
        id=kind.value,
        command=GATE_COMMANDS[kind, tool],
        why=why,
        kind=kind,
        origin=GateOrigin.DETECTED,
        alone=False,
        approved=True,
    )


class CodeHost:
    """Offers and runs the gates of kind PR and CI."""

    async def offer(self, project: str, environment: Environment) -> tuple[Gate, ...]:
        """Offer both gates if the remote is on a known code host and its tool is installed. Never raises."""
        if not any(processes.find_program(name, environment, project) for name in CODE_HOSTS):
            return ()
        host = await remote_host(project, _quiet_environment(environment, project), OFFER_SECONDS)
        tool = _host_program_name(host, environment)
        if not tool or not processes.find_program(tool, environment, project):
            return ()
        return tuple(
            make_code_host_gate(kind, tool, f"the remote lies on {host}: {tool} tells of {what}")
            for kind, what in GATE_SUBJECTS.items()
        )

    async def run(self, gate: Gate, site: GateContext, seconds: float) -> GateRun:
        """Query the code host, within `seconds` in total. Never raises."""
        clock = asyncio.get_running_loop().time
        started = clock()
        try:
            async with asyncio.timeout(seconds):
                found = await _ask_code_host(gate, site, seconds)
        except TimeoutError:
            found = unknown_finding(f"no answer within {seconds:g} s")
        return GateRun(
            gate=gate,
            outcome=found.outcome,
            tree=site.tree,
            seconds=clock() - started,
            output=found.text[-OUTPUT_TAIL_LENGTH:],
            failures=found.failures[:LINKED_FAILURES_LIMIT],
            failing=found.failing[:NAMED_FAILURES_LIMIT],
            reason=found.reason,
        )


async def _ask_code_host(gate: Gate, site: GateContext, seconds: float) -> CodeHostFinding:
    environment = _quiet_environment(site.environment, site.project)
    host = await remote_host(site.project, environment, seconds)
    if not host:
        return unknown_finding("there is no remote")
    tool = _host_program_name(host, site.environment)
    if not tool:
        return unknown_finding(f"{host} is no code host that is known: neither GitHub nor GitLab")
    program = processes.find_program(tool, site.environment, site.project)
    if not program:
        return unknown_finding(f"{tool} is not on PATH (programs inside the project do not count)")
    here = await read_checkout(site.project, environment, seconds)
    if isinstance(here, str):
        return unknown_finding(here)
    asking = CodeHostClient(
        program=program, name=tool, project=site.project, environment=environment, seconds=seconds
    )
    code_host = CODE_HOSTS[tool]
    if gate.kind is Kind.PR:
        return _note_uncommitted_files(await code_host.pull_request(asking, here), here)
    return _require_clean_tree(await code_host.checks(asking, here), here)


def _require_clean_tree(found: CodeHostFinding, here: Checkout) -> CodeHostFinding:
    """Accept that CI passed only if no tracked file differs from the commit."""
    if found.outcome is not Outcome.PASSED or not here.changed:
        return found
    return unknown_finding(
        f"CI passed on {here.short}, but since then {_changed_files_phrase(here.changed)} not committed"
    )


def _note_uncommitted_files(found: CodeHostFinding, here: Checkout) -> CodeHostFinding:
    remains = f"\n{_changed_files_phrase(here.changed)} not committed" if here.changed else ""
    return replace(found, text=found.text + remains)


def _changed_files_phrase(paths: tuple[str, ...]) -> str:
    named = ", ".join(paths[:3]) + (", ..." if len(paths) > 3 else "")  # noqa: PLR2004 - as many as fit a line
    return f"{len(paths)} changed {'file is' if len(paths) == 1 else 'files are'} ({named})"


def _host_program_name(host: str, environment: Environment) -> str:
    """Return the tool for this host; "" where the host is unknown."""
    for name, variables, word in (
        ("gh", ("GH_HOST",), "github"),
        ("glab", ("GITLAB_HOST", "GL_HOST"), "gitlab"),
    ):
        own = {_plain_host_name(environment.get(variable, "")) for variable in variables} - {""}
        if host in own or word in host:
            return name
    return ""


def _plain_host_name(host: str) -> str:
    """Extract the host from a setting such as GITLAB_HOST, which may be an address."""
    return (urlsplit(host).hostname or "" if "://" in host else host).lower()


def _quiet_environment(environment: Environment, project: str) -> dict[str, str]:
    kept = {name: value for name, value in environment.items() if not name.startswith(REDIRECTING_VARIABLES)}
    return {
        **kept,
        **QUIET_CLI_VARIABLES,
        "PATH": _path_outside_project(environment.get("PATH", ""), project),
    }


def _path_outside_project(path: str, project: str) -> str:
    """Return PATH without relative folders and those inside the project, because gh looks up git there."""
    root = Path(os.path.realpath(project))
    kept = [
        folder
        for folder in path.split(os.pathsep)
        if Path(folder).is_absolute() and not Path(os.path.realpath(folder)).is_relative_to(root)
    ]
    return os.pathsep.join(kept)
