"""Builds what runs in the process of the command line: `supervisor check` and `supervisor loop`."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from sidecar.evidence.gates.approvals import TypedCatalog
from sidecar.evidence.tree.workspace import GitWorkspace
from sidecar.hosts.ports import RecordedSession
from sidecar.kernel.evidence import FileBaseline
from sidecar.kernel.session import Session
from sidecar.kernel.settings import Settings
from sidecar.platform.paths import user_paths
from sidecar.platform.steering import FilesInForce
from sidecar.rubric.texts import read_texts
from sidecar.systems.iteration.journals import SessionJournals
from sidecar.systems.supervision.evaluation import AbsentJudge
from sidecar.systems.supervision.gate_requests import SessionChecks
from sidecar.systems.supervision.ports import Services
from sidecar.systems.supervision.work_judging import ToldTurn
from sidecar.systems.taskloop.jobs import JobsPlayer
from sidecar.systems.taskloop.player import LoopPlayer, PlayRequest
from sidecar.systems.taskloop.policy.loop import priced_cents
from sidecar.systems.taskloop.service import TaskLoops
from sidecar.wiring.headless import build_loop_services, build_workers
from sidecar.wiring.supervision import build_services
from sidecar.work.merging import find_session_worktrees
from sidecar.work.progress import Step, Tell
from sidecar.workers.budget import Budget

NOT_ASKED: Final = "no model is asked without --ask"
LOOP_TEXTS: Final = ("tools.md", "loop.md", "loop-shell.md")
"""What workers and people are told by `supervisor loop`."""


class FixedSettings:
    """Implements `Configuration` with the settings of one moment: agents at work do not change them."""

    def __init__(self, settings: Settings, problems: tuple[str, ...]) -> None:
        self._loaded = settings, problems

    def load(self) -> tuple[Settings, tuple[str, ...]]:
        return self._loaded


# --- check: the user's settings and approvals, and a state that goes with it --------------------------------


def build_check(found: RecordedSession, state: Path, files: FilesInForce, *, ask: bool) -> Services:
    """Build the services. `state`: a folder that is removed after the check.

    Where no model is asked, nothing else is written but copies of what is in force.
    """
    own = build_services(state)
    users = build_services(files=files) if ask or user_paths().state.is_dir() else own
    settings, problems = users.configuration.load()
    settings = replace(settings, keep_stops=True, mode="on")
    return dataclasses.replace(
        own,
        catalog=users.catalog,
        configuration=FixedSettings(settings, problems),
        rubrics=users.rubrics,
        judge=own.judge if ask else AbsentJudge(NOT_ASKED),
        spending=users.spending,
        transcripts=ToldTurn(found.turn) if found.turn else own.transcripts,
    )


async def remember_start(
    found: RecordedSession, state: Path, environment: dict[str, str]
) -> tuple[FileBaseline, bool]:
    """Store what was checked out when the session began, and whether that is a guess."""
    return await GitWorkspace(state / "trees").remember_commit(found.project, environment, found.began)


# --- loop ---------------------------------------------------------------------------------------------------


async def build_loop_player(
    asked: PlayRequest, tell: Tell, files: FilesInForce, jobs: int, budget: Budget
) -> LoopPlayer:
    """Build it with the real services; with `jobs` it plays so many tasks at once, each in a worktree.

    Raises OSError, BadInputError.
    """
    built, session = build_services(files=files), asked.session
    settings, problems = built.configuration.load()
    parallel = max(jobs, settings.workers.parallel)
    limit = budget.max_cents = budget.max_cents or settings.loop.max_cents
    loop = replace(settings.loop, max_cents=limit)
    settings = replace(settings, workers=replace(settings.workers, parallel=parallel), loop=loop)
    if begun := built.loops.load(session.key):
        budget.tokens, budget.cents = begun.input_tokens + begun.output_tokens, priced_cents(begun)
    typed = await built.catalog.list(session.project, asked.environment)
    services = dataclasses.replace(
        built,
        catalog=TypedCatalog(built.catalog, typed.gates),
        configuration=FixedSettings(settings, problems),
    )
    if services.store.load(session.key) is None:  # without a folder: it is never "the session seen last here"
        services.store.save(Session(key=session.key))
    checks = SessionChecks(services, lambda _: asked.environment)
    journals = SessionJournals(services.journals, services.log, services.clock)
    workers = build_workers(user_paths().state, services.spending, services.secrets, budget)
    parts = build_loop_services(user_paths().state, services, checks, journals, workers)
    parts = dataclasses.replace(parts, texts=read_texts(*LOOP_TEXTS), typed=True)
    if not jobs:
        return LoopPlayer(TaskLoops(parts), parts, asked, tell)
    trees = await find_session_worktrees(session.project, session.key.id, clean=False, onto=asked.branch)
    if asked.plan and Path(asked.plan).is_relative_to(trees.top.resolve()):
        trees.kept = (str(Path(asked.plan).relative_to(trees.top.resolve())),)
    if unseen := await trees.uncommitted():
        said = f"workers begin with what is committed; these changes of yours are not: {unseen}"
        tell(Step(kind="session", text=said))
    return JobsPlayer(parts, asked, tell, trees, jobs)
