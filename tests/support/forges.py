"""Scripted `gh` and `glab` on a PATH of their own, and repositories with a remote that is never asked."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from pathlib import Path
from typing import Any

from sidecar.evidence.code_host import CodeHost
from sidecar.evidence.ports import GateContext
from sidecar.kernel.gate import Gate, GateRun, Kind

HUB = "git@github.com:owner/shop.git"
LAB = "https://me:glpat-secret@gitlab.example.com/group/shop.git"
SECONDS = 60.0

READING = {
    "gh": ("pr view", "pr checks", "run list"),
    "glab": ("mr view", "ci get"),
}
"""The only subcommands that may be called."""
SCRIPT = """\
#!/bin/sh
printf '%s\\n' "$*" >> "{calls}"
env > "{calls}.env"
case "$1 $2" in
{cases}
*) echo "not scripted: $*" >&2; exit 99;;
esac
"""


class Program:
    """One scripted command line tool. What is not scripted fails."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self._cases: dict[str, str] = {}
        self._calls = folder / f"{name}.calls"
        self._write()

    def answers(self, subcommand: str, answer: object, *, code: int = 0) -> None:
        """Say this as JSON, or as it is where it is bytes."""
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        file = self.folder / f"{self.name}-{subcommand.replace(' ', '-')}.answer"
        file.write_bytes(data)
        self.does(subcommand, f'cat "{file}"; exit {code}')

    def fails(self, subcommand: str, errors: str, *, code: int = 1) -> None:
        file = self.folder / f"{self.name}-{subcommand.replace(' ', '-')}.errors"
        file.write_text(errors)
        self.does(subcommand, f'cat "{file}" >&2; exit {code}')

    def does(self, subcommand: str, script: str) -> None:
        self._cases[subcommand] = script
        self._write()

    @property
    def calls(self) -> list[str]:
        return self._calls.read_text().splitlines() if self._calls.exists() else []

    @property
    def environment(self) -> dict[str, str]:
        lines = Path(f"{self._calls}.env").read_text().splitlines()
        return dict(line.partition("=")[::2] for line in lines)

    def only_read(self) -> bool:
        return all(call.startswith(READING[self.name]) for call in self.calls)

    def _write(self) -> None:
        cases = "\n".join(f'"{name}") {script};;' for name, script in self._cases.items())
        path = self.folder / self.name
        path.write_text(SCRIPT.format(calls=self._calls, cases=cases))
        path.chmod(0o755)


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def repository(folder: Path, remote: str = "") -> str:
    """A repository with one commit on the branch `work`; the commit."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet", "--initial-branch=work")
    (folder / "shop.py").write_text("price = 1\n")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "Begin")
    if remote:
        git(folder, "remote", "add", "origin", remote)
    return git(folder, "rev-parse", "HEAD")


def path_with(*folders: Path) -> str:
    """These folders, then the system's: git is there."""
    return os.pathsep.join([*map(str, folders), "/usr/local/bin", "/usr/bin", "/bin"])


def remote_gate(kind: Kind) -> Gate:
    """A gate that a code host is asked for; its command is only shown."""
    return Gate(id=kind.value, command="", why="", kind=kind)


class Bench:
    """A project with a remote, and both programs."""

    def __init__(self, tmp_path: Path, remote: str) -> None:
        self.project = tmp_path / "project"
        self.head = repository(self.project, remote)
        (tmp_path / "bin").mkdir()
        self.gh, self.glab = Program(tmp_path / "bin", "gh"), Program(tmp_path / "bin", "glab")
        self.environment = {"PATH": path_with(tmp_path / "bin"), "HOME": str(tmp_path)}

    def run(self, kind: Kind, seconds: float = SECONDS) -> GateRun:
        site = GateContext(project=str(self.project), tree="T", environment=self.environment)
        return asyncio.run(CodeHost().run(remote_gate(kind), site, seconds))

    def offers(self, environment: dict[str, str] | None = None, *, wanted: bool = False) -> list[Gate]:
        """Which gates are offered, where a setting asks for them or not."""
        kinds = {Kind.PR: wanted, Kind.CI: wanted}
        return [*asyncio.run(CodeHost().offer(str(self.project), environment or self.environment, kinds))]

    def pull(self, **changed: object) -> dict[str, Any]:
        """What `gh pr view` says of an open pull request of what is checked out."""
        plain = {
            "headRefOid": self.head,
            "isDraft": False,
            "mergeable": "MERGEABLE",
            "number": 12,
            "state": "OPEN",
            "url": "https://github.com/owner/shop/pull/12",
        }
        return {**plain, **changed}

    def merge(self, **changed: object) -> dict[str, Any]:
        """What `glab mr view` says, cut down from the API's page on merge requests."""
        plain = {
            "id": 84,
            "iid": 7,
            "state": "opened",
            "draft": False,
            "sha": self.head,
            "web_url": "https://gitlab.example.com/group/shop/-/merge_requests/7",
            "detailed_merge_status": "mergeable",
            "has_conflicts": False,
            "source_branch": "work",
        }
        return {**plain, **changed}

    def pipeline(self, *jobs: dict[str, Any], **changed: object) -> dict[str, Any]:
        plain = {"id": 46, "status": "success", "ref": "work", "sha": self.head, "web_url": "https://x/46"}
        return {**plain, "jobs": list(jobs), **changed}
