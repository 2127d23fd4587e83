"""Builds what a run of agents needs, from the options of `supervisor run`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from sidecar.cli.config import CommandLineFiles
from sidecar.cli.link import accepted_code, call_sidecar, greet_sidecar
from sidecar.cli.progress import ProgressView, open_budget
from sidecar.cli.report import (
    keep_told,
    read_told,
)
from sidecar.cli.signals import INTERRUPTED_CODE, work_until_signal
from sidecar.evidence.gates.approvals import TrustFile, approved_run_hooks
from sidecar.hosts.command import CommandAgent, command_model, subagent_tool, tells_cost
from sidecar.hosts.limits import PatientAgent
from sidecar.hosts.shared import WORKER_MARKER
from sidecar.kernel import runs
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.log import EventFilter, RunTold, event_kind
from sidecar.kernel.session import SessionKey
from sidecar.kernel.settings import ModelPrice, Settings, model_prices
from sidecar.platform.client import SidecarError
from sidecar.platform.log_readings import MOST_PAYMENTS
from sidecar.platform.paths import Paths
from sidecar.platform.team.ports import LEASE_S
from sidecar.platform.worktrees import Worktrees
from sidecar.servers.tools.door import ToolListing
from sidecar.systems.iteration import run_files
from sidecar.systems.iteration.overseer import SidecarOverseer
from sidecar.systems.iteration.policy.prompt import build_run_prompt
from sidecar.systems.iteration.ports import AssignedTask, RunParticipants
from sidecar.wiring.platform import build_platform
from sidecar.work.merging import Workplace, find_merge_lane
from sidecar.work.progress import AgentEnded, Progress, RunWarning
from sidecar.workers.budget import Budget

if TYPE_CHECKING:
    from sidecar.hosts.ports import AgentRunner


class RunOptions(Struct, frozen=True, kw_only=True):
    """The command line options. `leave` is "" for an agent that does not speak the Agent Client Protocol.

    `remote` and `lease` are for `team`: see `find_lane` and TeamParticipants.
    """

    asked: runs.RunRequest
    command: tuple[str, ...]
    spec: str
    template: str
    leave: str
    extra: str
    commit: bool
    reset: bool
    max_tokens: int | None
    max_cents: float | None
    remote: str = ""
    lease: float = LEASE_S
    worktrees: Worktrees | None = None


def require_price(wish: RunOptions, settings: Settings) -> None:
    """Raise BadInputError where cents are limited and nobody can tell what the agent costs."""
    name = command_model(wish.command)
    if wish.max_cents and not (wish.leave or tells_cost(wish.command, model_prices(settings))):
        raise BadInputError(
            f'a limit in cents is set, and no price of {name}. Set [price."{name}"]: supervisor config edit'
        )


async def build_crew(
    wish: RunOptions,
    folders: Paths,
    show: ProgressView,
    budget: Budget | None = None,
    assigned: AssignedTask | None = None,
) -> RunParticipants:
    """Build what a run needs. `budget`: one that several runs share; `assigned`: see RunParticipants."""
    place = assigned.place if assigned else Workplace(wish.asked.project, dict(os.environ))
    environment, asked = place.environment, wish.asked
    files = CommandLineFiles()
    platform = build_platform(folders.state, files)
    settings, _ = platform.configuration.load()
    require_price(wish, settings)
    prices = model_prices(settings)
    mask = platform.secrets.masker(environment)
    key = SessionKey(runs.RUN_HOST, asked.session)
    tell = keep_told(platform, key, asked.project, show.tell)
    if budget is None:
        budget = open_budget(platform, tell, max_tokens=wish.max_tokens, max_cents=wish.max_cents)
        before = EventFilter(session=key, kinds=(event_kind(RunTold),))
        for _, what in read_told(platform.log.newest(before, MOST_PAYMENTS)):
            if isinstance(what, AgentEnded):
                budget.count(what.tokens, what.cents)
    trust = TrustFile(folders.state, files)
    project_hooks, wrong = approved_run_hooks(asked.project, trust.approved)
    if wrong:
        show.tell(RunWarning(text=wrong))
    commits = run_files.IterationCommits(asked.project, environment) if wish.commit else None
    if commits and (own := await commits.begin()):
        show.tell(RunWarning(text=f"never committed, because you changed it before: {', '.join(own)}"))
    tools = await asyncio.to_thread(_unprompted_tools)
    return RunParticipants(
        overseer=SidecarOverseer(
            asked.session,
            asked.project,
            {**environment, runs.RUN_AGENT_VARIABLE: PurePath(wish.command[0]).name},
            greet_sidecar,
            assigned.place.folder if assigned else "",
        ),
        agent=PatientAgent(_build_agent(wish, folders, tools, prices), wish.command[0], budget.limits),
        hooks=run_files.UserHooks(
            (settings.run.hooks, project_hooks), environment, mask, settings.run.hook_seconds
        ),
        clock=platform.clock,
        word=partial(build_run_prompt, wish.template),
        tell=tell,
        hear=show.hear,
        mask=mask,
        environment={**environment, WORKER_MARKER: "1"},
        longest=settings.run.agent_seconds,
        settings=settings,
        budget=budget,
        spec=wish.spec,
        extra="\n\n".join(filter(None, (settings.run.extra, wish.extra))),
        subagents=subagent_tool(wish.command),
        commit=commits.commit if commits else None,
        worktrees=wish.worktrees,
        assigned=assigned,
    )


def _build_agent(
    wish: RunOptions, folders: Paths, tools: Sequence[str], prices: dict[str, ModelPrice]
) -> AgentRunner:
    if wish.leave:
        from sidecar.hosts.acp import agent, link  # noqa: PLC0415 - plain commands need none of it

        return agent.AcpAgent(wish.command, link.PermissionLevel(wish.leave), tools, prices)
    return CommandAgent(wish.command, folders.run / f"mcp-{wish.asked.session}.json", tools, prices)


def _unprompted_tools() -> tuple[str, ...]:
    """Our tools that need no permission prompt; none where the sidecar cannot be started."""
    with suppress(SidecarError):
        listed = call_sidecar("tools", None, tuple[ToolListing, ...])
        return tuple(one.offer.name for one in listed if one.on and not one.offer.asks)
    return ()


# --- a list of a team ---------------------------------------------------------------------------------------


class _TaskView(ProgressView):
    """Shows what the run of one task tells."""

    def __init__(self, tell: Callable[[Progress], None]) -> None:
        self._tell = tell

    def tell(self, what: Progress) -> None:
        self._tell(what)


async def play_list(wish: RunOptions, folders: Paths, show: ProgressView, *, accept_judged: bool) -> int:
    """Work on a team's list and return the exit code. Raises BadInputError, OSError."""
    from sidecar.platform.team.membership import load_membership, open_team  # noqa: PLC0415 - without a team
    from sidecar.systems.iteration.team import TeamParticipants, TeamPlayer  # noqa: PLC0415 - nothing needs it

    asked = wish.asked
    if (membership := load_membership(folders.state)) is None:
        raise BadInputError("this machine has joined no team. Type: supervisor team join URL")
    platform = build_platform(folders.state, CommandLineFiles())
    settings, _ = platform.configuration.load()
    require_price(wish, settings)  # before a task is claimed: none is to blame for it
    tell = keep_told(platform, SessionKey(runs.RUN_HOST, asked.session), asked.project, show.tell)
    budget = open_budget(platform, tell, max_tokens=wish.max_tokens, max_cents=wish.max_cents)

    async def build(
        request: runs.RunRequest, assigned: AssignedTask, tell_of: Callable[[Progress], None]
    ) -> RunParticipants:
        return await build_crew(replace(wish, asked=request), folders, _TaskView(tell_of), budget, assigned)

    team = await asyncio.to_thread(open_team, membership)
    crew = TeamParticipants(
        team=team,
        lane=await find_merge_lane(asked.project, asked.team, wish.remote),
        build=build,
        clock=platform.clock,
        tell=tell,
        mask=platform.secrets.masker(os.environ),
        environment={**os.environ, WORKER_MARKER: "1"},
        settings=settings,
        budget=budget,
        accepted=lambda code: accepted_code(code, accept_judged=accept_judged),
        lease=wish.lease,
    )
    player = TeamPlayer(crew, asked)
    try:
        end = await work_until_signal(player.run())
    finally:
        team.close()
    if end is None:
        end = replace(player.interrupted(), exit_code=INTERRUPTED_CODE)
        tell(end)
    return end.exit_code
