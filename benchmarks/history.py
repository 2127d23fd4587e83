"""Old checks on new code, over the history of real projects: how often an honest change is cleared.

    python benchmarks/history.py FOLDER COMMAND [--changes N] [--json FILE]

FOLDER is a clone, with its environment (node_modules, .venv) installed and ignored. The last N changes that
touch code and tests are played: the parent is the baseline, the change is what the agent did. Nothing is
written into FOLDER: each change gets a clone of its own, with links to the environment.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from sidecar.evidence.gates.runner import run_gate_once
from sidecar.evidence.ports import GateContext
from sidecar.evidence.proof.check_files import bears_on_checks, changes_dependencies
from sidecar.evidence.proof.old_checks import ScratchChecks
from sidecar.evidence.proof.policy import describe_finding, rate_comparison
from sidecar.evidence.tree.workspace import GitWorkspace
from sidecar.kernel.effects import Wanted
from sidecar.kernel.evidence import CheckChange, FindingSeverity
from sidecar.kernel.gate import CheckComparison, Gate, Kind, Outcome

EXPECTATION: Final = CheckChange.EXPECTATION_CHANGED
LIMIT_S: Final = 300.0
CODE: Final = (".py", ".js", ".ts", ".mjs", ".go", ".rs", ".c")
ENVIRONMENT: Final = ("node_modules", ".venv")


class Played(Struct, frozen=True):
    """One change. `seconds`: of the gate, and of all other runs. `new`: new checks fail on the old code."""

    commit: str
    ended: str
    findings: tuple[str, ...] = ()
    new: bool = False
    seconds: tuple[float, float] = (0.0, 0.0)


def main() -> None:
    """Play the changes, and tell what became of them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("command")
    parser.add_argument("--changes", type=int, default=25)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    folder = asked.folder.resolve()
    played = [asyncio.run(_play(folder, commit, asked.command)) for commit in _changes(folder, asked.changes)]
    for one in played:
        print(one.commit[:10], one.ended, *one.findings, sep="\n    ")
    compared = [one for one in played if one.ended not in ("not green", "old code not green here")]
    print(f"{folder.name}: {dict(Counter(one.ended for one in played))}")
    print(f"new checks fail on the old code: {sum(one.new for one in compared)} of {len(compared)}")
    gates, rest = (sum(one.seconds[at] for one in compared) for at in (0, 1))
    print(f"seconds: gates {gates:.1f}, all runs in copies {rest:.1f}")
    if asked.json:
        asked.json.write_bytes(msgspec.json.format(msgspec.json.encode(played), indent=1))


def _git(folder: Path, *arguments: str) -> str:
    line = ("git", *arguments)
    done = subprocess.run(line, cwd=folder, check=True, capture_output=True, text=True)  # noqa: S603 - our own
    return done.stdout


def _changes(folder: Path, number: int) -> list[str]:
    """Return the newest commits with one parent that touch code and tests."""
    found = []
    for commit in _git(
        folder, "rev-list", "--min-parents=1", "--max-parents=1", "--max-count=2000", "HEAD"
    ).split():
        names = _git(folder, "show", "--name-only", "--format=", commit).split("\n")
        tests = any(bears_on_checks(name) and name.endswith(CODE) for name in names)
        if tests and any(name.endswith(CODE) and not bears_on_checks(name) for name in names):
            found.append(commit)
        if len(found) == number:
            break
    return found


async def _play(folder: Path, commit: str, command: str) -> Played:
    with tempfile.TemporaryDirectory(prefix="history-", ignore_cleanup_errors=True) as name:
        project, kept = Path(name, "project"), Path(name, "kept")
        kept.mkdir()  # noqa: ASYNC240 - nothing else runs here
        _git(folder, "clone", "--quiet", "--shared", "--no-checkout", str(folder), str(project))
        _git(project, "checkout", "--quiet", f"{commit}^")
        _link_environment(folder, project)
        environment = {**os.environ, "PYTHONPATH": f"{project}/src{os.pathsep}{project}"}
        environment.pop("PYTHONSAFEPATH", None)
        workspace = GitWorkspace(kept)
        base = await workspace.remember(str(project), environment)
        _git(project, "checkout", "--quiet", commit)
        tree = await workspace.fingerprint(str(project), environment)
        at = GateContext(project=str(project), tree=tree, environment=environment, base=base)
        gate = Gate(id="tests", command=command, why="", kind=Kind.TESTS, required=True)
        now = await run_gate_once(gate, at, LIMIT_S)
        if now.outcome is not Outcome.PASSED:
            return Played(commit, "not green", (now.reason, *now.failures))
        begun = time.perf_counter()
        found = await ScratchChecks(workspace).compare(at, [now], LIMIT_S, Wanted.PROOF)
        seconds = (now.seconds, time.perf_counter() - begun)
        changes = await workspace.since(base, str(project), environment)
        return _told(commit, found, seconds, upgraded=changes_dependencies(changes.files))


def _link_environment(folder: Path, project: Path) -> None:
    for linked in ENVIRONMENT:
        if (folder / linked).exists():
            (project / linked).symlink_to(folder / linked)
    exclude = project / ".git" / "info" / "exclude"
    exclude.write_text("\n".join(ENVIRONMENT) + "\n", encoding="utf-8")


def _told(
    commit: str, found: tuple[CheckComparison, ...], seconds: tuple[float, float], *, upgraded: bool
) -> Played:
    findings = [one for seen in found for one in rate_comparison(seen, upgraded=upgraded)]
    kinds = {one.change for one in findings}
    if not any(one.weight is FindingSeverity.GRAVE for one in findings):
        kinds = {EXPECTATION if kind is CheckChange.OLD_FAILURE_REMAINS else kind for kind in kinds}
    order = (
        (CheckChange.NOT_COMPARED, "not compared"),
        (CheckChange.OLD_FAILURE_REMAINS, "sent back"),
        (EXPECTATION, "expectation changed"),
        (CheckChange.CHECKS_DROPPED, "checks dropped"),
    )
    red = any(seen.base is not None and seen.base.outcome is Outcome.FAILED for seen in found)
    ended = next((name for kind, name in order if kind in kinds), "cleared")
    if red and findings and CheckChange.OLD_FAILURE_REMAINS not in kinds:
        ended = "old code not green here"  # it was once, but not with today's versions of its dependencies
    new = any(seen.fresh is not None and seen.fresh.outcome is Outcome.FAILED for seen in found)
    return Played(commit, ended, tuple(map(describe_finding, findings)), new or red, seconds)


if __name__ == "__main__":
    main()
