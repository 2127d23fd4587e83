"""Plans on the command line: which one is meant, whose edits it has, and one that an agent proposes."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from pathlib import Path
from typing import Final

import click

from sidecar.cli.config import CommandLineFiles
from sidecar.cli.printing import echo
from sidecar.cli.signals import INTERRUPTED_CODE, work_until_signal
from sidecar.cli.trust import DECLINED, confirm_at_terminal
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.journal import Journal
from sidecar.kernel.session import SessionKey
from sidecar.platform.files import write_whole
from sidecar.platform.paths import user_paths
from sidecar.platform.services import PlatformServices
from sidecar.platform.steering import text_digest
from sidecar.systems.taskloop.plan_file import (
    PlanFile,
    diff_plans,
    propose_plan,
    read_plan_text,
    write_plan_text,
)
from sidecar.wiring.headless import build_workers
from sidecar.wiring.platform import build_evidence, build_platform
from sidecar.work.progress import Tell
from sidecar.workers.ports import WorkerPlace

PATH_LENGTH: Final = 200
DIGEST_LENGTH: Final = 8


def find_plan(typed: tuple[str, ...]) -> Path | None:
    """Return the plan that is meant, None for tasks. Raises UsageError where it is missing or not alone."""
    named = next(filter(_may_be_plan, typed), "")
    if named and len(typed) > 1:
        raise click.UsageError(f"{named} is a plan: give it alone, and write the other tasks into it")
    if named and not Path(named).is_file():
        raise click.UsageError(f"there is no plan {named}")
    return Path(named) if named else None


def _may_be_plan(typed: str) -> bool:
    """Return whether a file is meant; with spaces one that is there, as tasks end with file names, too."""
    words = len(typed.split()) > 1
    return typed.endswith(".md") and (not words or (len(typed) < PATH_LENGTH and Path(typed).is_file()))


def plan_session(plan: Path, project: str) -> str:
    """Return the name of the session in which a plan is played."""
    return f"plan-{text_digest(f'{plan.resolve()}{project}')[:DIGEST_LENGTH]}"


def open_plan(path: Path, platform: PlatformServices, key: SessionKey, tell: Tell, *, yes: bool) -> PlanFile:
    """Open a plan. What may be an agent's edit of it counts once its person says so. Raises BadInputError."""
    memory = user_paths().state / "plans" / f"{key.id}.md"
    plan = PlanFile(path, memory, lambda: platform.journals.load(key) or Journal(), tell)
    if lines := plan.difference():
        echo("\n  ".join((f"{path} was changed while agents were at work:", *lines)), err=True)
        if not yes and not confirm_at_terminal("Is this your edit? Else it is undone"):
            plan.put_back()
    return plan


def propose_to_person(typed: tuple[str, ...], output: str, project: str, model: str, *, yes: bool) -> int:
    """Let an agent write a plan for a file of wishes, or for typed ones; return the exit code."""
    spec = find_plan(typed)
    wishes = read_plan_text(spec) if spec else "\n".join(typed)
    target = Path(output) if output else (spec.parent if spec else Path(project)) / "plan.md"
    present = _present_text(target)
    state, files = user_paths().state, CommandLineFiles()
    shared = build_evidence(state, build_platform(state, files), files)
    workers, settings = build_workers(state, shared.spending, shared.secrets), shared.configuration.load()[0]
    at = WorkerPlace(model=model, project=project, environment=dict(os.environ))
    echo(f"An agent writes a plan. It has {settings.workers.seconds} seconds.", err=True)
    proposed = asyncio.run(work_until_signal(propose_plan(workers, settings, at, wishes, present)))
    if proposed is None:
        return INTERRUPTED_CODE
    echo("\n".join(diff_plans(present, proposed, target)))
    shown, begin = shlex.quote(str(target)), f"supervisor loop {shlex.quote(str(target))}"
    if not yes and not sys.stdin.isatty():
        write_whole(target.with_name(f"{target.name}.proposed"), proposed.encode())
        raise click.UsageError(f"no terminal to ask on; to accept it: mv {shown}.proposed {shown} && {begin}")
    if not yes and not confirm_at_terminal(f"Write this to {target}?"):
        return DECLINED
    if _present_text(target) != present:
        raise BadInputError(f"{target} was changed meanwhile, and is left as it is")
    write_plan_text(target, proposed)
    echo(f"Written. Change what you like, then: {begin}")
    return 0


def _present_text(target: Path) -> str:
    return read_plan_text(target) if target.exists() else ""
