"""Pull request and CI as gates: asked of the forge through its own command line, `gh` or `glab`.

The laws of this file and of the two for the forges:

- Only reading subcommands are called, with arguments of ours alone: nothing a project says becomes one.
- The programs are never taken from inside the project, nor is what they call themselves.
- They may not ask, page, colour or update; the session's environment says whose login is used.
- Three outcomes. No login, no network, no answer, an answer that cannot be read, or CI that has not finished:
  could not run. What the forge says of another commit than the one checked out is no evidence.
- CI that saw the commit did not see what is changed since and not committed: could not run.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from msgspec.structs import replace

from sidecar.adapters import processes
from sidecar.adapters.forge import github as forge_github
from sidecar.adapters.forge import gitlab as forge_gitlab
from sidecar.adapters.forge.asking import Asking
from sidecar.adapters.forge.findings import Checkout, Finding, unknown
from sidecar.adapters.forge.git import checkout, remote_host
from sidecar.model.gate import Gate, GateRun, Kind, Origin, Outcome

if TYPE_CHECKING:
    from sidecar.ports import Environment, Site

OFFER_S: Final = 10.0
"""Seconds for finding out which forge a project has. No network is asked."""
FAILURES: Final = 5
"""Failing checks that are told with their address."""
FAILING: Final = 500
"""Failing checks that are named."""
TAIL: Final = 4_000
"""Characters of a run's output."""
FORGES: Final = {"gh": forge_github, "glab": forge_gitlab}
FOREIGN: Final = ("GIT_", "GH_REPO", "GH_FORCE_TTY", "GH_DEBUG", "GITLAB_REPO", "CLICOLOR_FORCE", "DEBUG")
"""Beginnings of variables that would send the question elsewhere or change the form of the answer."""
QUIET: Final = {
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
COMMANDS: Final = {
    (Kind.PR, "gh"): "gh pr view",
    (Kind.PR, "glab"): "glab mr view",
    (Kind.CI, "gh"): "gh pr checks",
    (Kind.CI, "glab"): "glab ci get",
}
WHAT: Final = {Kind.PR: "its pull request", Kind.CI: "its CI"}


def asked(kind: Kind, tool: str = "gh", why: str = "a setting asks for it") -> Gate:
    """The gate of this kind. Its command is for people: what it asks and how is fixed here."""
    return Gate(
        id=kind.value,
        command=COMMANDS[kind, tool],
        why=why,
        kind=kind,
        origin=Origin.DETECTED,
        alone=False,
        approved=True,
    )


class Forge:
    """Offers and runs the gates of kind PR and CI."""

    async def offer(self, project: str, environment: Environment) -> tuple[Gate, ...]:
        """Both, where a remote lies on a known forge and its program is there; else none. Never raises."""
        if not any(processes.find(name, environment, project) for name in FORGES):
            return ()
        host = await remote_host(project, _quiet(environment, project), OFFER_S)
        tool = _tool(host, environment)
        if not tool or not processes.find(tool, environment, project):
            return ()
        return tuple(
            asked(kind, tool, f"the remote lies on {host}: {tool} tells of {what}")
            for kind, what in WHAT.items()
        )

    async def run(self, gate: Gate, site: Site, seconds: float) -> GateRun:
        """Ask the forge, within `seconds` all together. Never raises."""
        clock = asyncio.get_running_loop().time
        started = clock()
        try:
            async with asyncio.timeout(seconds):
                found = await _found(gate, site, seconds)
        except TimeoutError:
            found = unknown(f"no answer within {seconds:g} s")
        return GateRun(
            gate=gate,
            outcome=found.outcome,
            tree=site.tree,
            seconds=clock() - started,
            output=found.text[-TAIL:],
            failures=found.failures[:FAILURES],
            failing=found.failing[:FAILING],
            reason=found.reason,
        )


async def _found(gate: Gate, site: Site, seconds: float) -> Finding:
    environment = _quiet(site.environment, site.project)
    host = await remote_host(site.project, environment, seconds)
    if not host:
        return unknown("there is no remote")
    tool = _tool(host, site.environment)
    if not tool:
        return unknown(f"{host} is no forge that is known: neither GitHub nor GitLab")
    program = processes.find(tool, site.environment, site.project)
    if not program:
        return unknown(f"{tool} is not on PATH (programs inside the project do not count)")
    here = await checkout(site.project, environment, seconds)
    if isinstance(here, str):
        return unknown(here)
    asking = Asking(
        program=program, name=tool, project=site.project, environment=environment, seconds=seconds
    )
    forge = FORGES[tool]
    if gate.kind is Kind.PR:
        return _with_remains(await forge.pull_request(asking, here), here)
    return _of_this_tree(await forge.checks(asking, here), here)


def _of_this_tree(found: Finding, here: Checkout) -> Finding:
    """What CI says of the commit holds for the tree only where nothing tracked differs from it."""
    if found.outcome is not Outcome.PASSED or not here.changed:
        return found
    return unknown(f"CI passed on {here.short}, but since then {_count(here.changed)} not committed")


def _with_remains(found: Finding, here: Checkout) -> Finding:
    remains = f"\n{_count(here.changed)} not committed" if here.changed else ""
    return replace(found, text=found.text + remains)


def _count(paths: tuple[str, ...]) -> str:
    named = ", ".join(paths[:3]) + (", ..." if len(paths) > 3 else "")  # noqa: PLR2004 - as many as fit a line
    return f"{len(paths)} changed {'file is' if len(paths) == 1 else 'files are'} ({named})"


def _tool(host: str, environment: Environment) -> str:
    """Whose program speaks with this host, "" where it is unknown."""
    for name, variables, word in (
        ("gh", ("GH_HOST",), "github"),
        ("glab", ("GITLAB_HOST", "GL_HOST"), "gitlab"),
    ):
        own = {_plain(environment.get(variable, "")) for variable in variables} - {""}
        if host in own or word in host:
            return name
    return ""


def _plain(host: str) -> str:
    """GITLAB_HOST may be an address."""
    return (urlsplit(host).hostname or "" if "://" in host else host).lower()


def _quiet(environment: Environment, project: str) -> dict[str, str]:
    kept = {name: value for name, value in environment.items() if not name.startswith(FOREIGN)}
    return {**kept, **QUIET, "PATH": _path_outside(environment.get("PATH", ""), project)}


def _path_outside(path: str, project: str) -> str:
    """PATH without relative folders and those inside the project: gh looks its git up there."""
    root = Path(os.path.realpath(project))
    kept = [
        folder
        for folder in path.split(os.pathsep)
        if Path(folder).is_absolute() and not Path(os.path.realpath(folder)).is_relative_to(root)
    ]
    return os.pathsep.join(kept)
