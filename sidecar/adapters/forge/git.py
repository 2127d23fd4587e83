"""What git says of a checkout and its remote, without asking the remote. See `forge` for the laws.

No program that the repository names runs: no file system monitor and no filter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from sidecar.adapters import processes
from sidecar.adapters.forge.findings import Checkout

KEEP: Final = 1 << 18
"""Bytes of an answer that are read."""
SAFE: Final = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=true")
QUIET: Final = {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}
SCP: Final = re.compile(r"(?:[^@/\s]+@)?(?P<host>[A-Za-z0-9.-]+):(?!//)\S*")
"""A remote as scp writes it: `git@github.com:owner/name.git`."""
PREFERRED: Final = ("origin", "upstream")
FILTERS: Final = r"^filter\..*\.(clean|process|required)$"


class _Git(Struct, frozen=True):
    """Git in a project: its program, the environment, and seconds for each call."""

    program: str
    project: str
    environment: Mapping[str, str]
    seconds: float

    async def lines(self, *arguments: str) -> list[str] | None:
        """What it says; None where it fails."""
        done = await processes.run(
            (self.program, *SAFE, *arguments),
            cwd=self.project,
            environment={**self.environment, **QUIET},
            seconds=self.seconds,
            keep=KEEP,
            separate=True,
        )
        return done.output.decode("utf-8", "replace").splitlines() if done.exit_code == 0 else None


def _git(project: str, environment: Mapping[str, str], seconds: float) -> _Git | None:
    program = processes.find("git", environment, project)
    return _Git(program, project, environment, seconds) if program else None


async def remote_host(project: str, environment: Mapping[str, str], seconds: float) -> str:
    """The host of the remote, in lower case; "" where there is none. Never its user or password."""
    git = _git(project, environment, seconds)
    names = await git.lines("remote") if git else None
    if not git or not names:
        return ""
    name = next((name for name in PREFERRED if name in names), names[0])
    url = await git.lines("remote", "get-url", "--", name)
    return host_of(url[0]) if url else ""


def host_of(url: str) -> str:
    """The host of a remote's address, "" for a path and for what is no address."""
    if "://" in url:
        try:
            return urlsplit(url).hostname or ""
        except ValueError:
            return ""
    found = SCP.fullmatch(url)
    return found["host"].lower() if found else ""


async def checkout(project: str, environment: Mapping[str, str], seconds: float) -> Checkout | str:
    """What is checked out; a text where that cannot be told, which says why."""
    git = _git(project, environment, seconds)
    if git is None:
        return "git is not on PATH"
    head = await git.lines("rev-parse", "--verify", "HEAD^{commit}")
    if not head:
        return "there is no commit yet"
    branch = await git.lines("symbolic-ref", "--quiet", "--short", "HEAD")
    filters = await git.lines("config", "--name-only", "--get-regexp", FILTERS) or []
    off = [part for name in filters for part in ("-c", _off(name))]
    changed = await git.lines(*off, "status", "--porcelain", "--untracked-files=no")
    if changed is None:
        return "git cannot tell what is changed"
    return Checkout(
        head=head[0], branch=branch[0] if branch else "", changed=tuple(line[3:] for line in changed)
    )


def _off(filter_setting: str) -> str:
    return f"{filter_setting}={'false' if filter_setting.endswith('.required') else ''}"
