"""`supervisor run --team`: builds what works on a list of the team that this machine joined (docs/run.md)."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from msgspec.structs import replace

from sidecar.cli.config import CommandLineFiles
from sidecar.cli.link import accepted_code
from sidecar.cli.progress import ProgressView, open_budget
from sidecar.cli.report import keep_told
from sidecar.cli.run_crew import RunOptions, build_crew
from sidecar.cli.signals import INTERRUPTED_CODE, work_until_signal
from sidecar.hosts.shared import WORKER_MARKER
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.runs import RUN_HOST, RunRequest
from sidecar.kernel.session import SessionKey
from sidecar.platform.team.membership import load_membership, open_team
from sidecar.systems.iteration.team import TeamParticipants, TeamPlayer, TellAll
from sidecar.wiring.platform import build_platform
from sidecar.work.merging import find_merge_lane
from sidecar.work.progress import Progress

if TYPE_CHECKING:
    from sidecar.platform.paths import Paths
    from sidecar.systems.iteration.ports import AssignedTask, RunParticipants

NOT_JOINED = "this machine has joined no team. Type: supervisor team join URL"


class _TaskView(ProgressView):
    """Shows what the run of one task tells."""

    def __init__(self, tell: TellAll) -> None:
        self._tell = tell

    def tell(self, what: Progress) -> None:
        self._tell(what)


async def play_list(wish: RunOptions, folders: Paths, show: ProgressView, *, accept_judged: bool) -> int:
    """Work on the list and return the exit code. Raises BadInputError, OSError."""
    asked = wish.asked
    if (membership := load_membership(folders.state)) is None:
        raise BadInputError(NOT_JOINED)
    platform = build_platform(folders.state, CommandLineFiles())
    settings, _ = platform.configuration.load()
    tell = keep_told(platform, SessionKey(RUN_HOST, asked.session), asked.project, show.tell)
    budget = open_budget(platform, tell, max_tokens=wish.max_tokens, max_cents=wish.max_cents)

    async def build(request: RunRequest, assigned: AssignedTask, tell_of: TellAll) -> RunParticipants:
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
