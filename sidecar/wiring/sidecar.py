"""Combines the packages into the methods of the sidecar's socket."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from sidecar.kernel.session import SessionKey
from sidecar.platform.paths import LOCKS_FILE, TEAM_FILE, TEAM_FOLDER, UNFINISHED_FOLDER, user_paths
from sidecar.platform.telemetry import export_log
from sidecar.servers.control import Methods, SidecarControl
from sidecar.servers.methods import run_methods
from sidecar.systems.governance import OFFER as GOVERNANCE
from sidecar.systems.iteration import OFFER as ITERATION
from sidecar.systems.iteration.journals import SessionJournals
from sidecar.systems.supervision import OFFER as SUPERVISION
from sidecar.systems.supervision.ports import OtherSystems, Services
from sidecar.systems.taskloop import OFFER as TASKLOOP
from sidecar.systems.tdd import OFFER as TDD
from sidecar.wiring.servers import (
    build_toolbox,
    inbox_methods,
    may_call_unasked,
    page_methods,
    tool_methods,
)
from sidecar.wiring.supervision import (
    Supervision,
    build_services,
    build_supervision,
    log_methods,
    report_saved_files,
    supervision_methods,
)

if TYPE_CHECKING:
    from sidecar.servers.tools.toolbox import Toolbox
    from sidecar.systems.governance.service import Governance
    from sidecar.wiring.headless import HeadlessWork

TEAM_LOOK_S = 5.0
"""Seconds between two looks whether a team was joined."""
REOPENED_MESSAGE = "Supervisor: its socket was removed while an agent worked. It is made again."


def build_methods(control: SidecarControl, services: Services | None = None) -> Methods:
    """Build the methods of the socket. `services`: replacements for the real ones, for tests and studies."""
    watches, services = services is None, services or build_services()
    services.log.trim()
    control.idle_s = services.configuration.load()[0].idle_minutes * 60.0
    others = LazySystems(lambda: toolbox(), lambda: headless())  # noqa: PLW0108 - they are built further down
    supervision = build_supervision(services, others, gap=control.gap)
    control.is_agent = supervision.people.is_agent
    control.refuses_order = supervision.people.refusal
    control.is_watched = lambda: bool(supervision.supervisor.steering.working())
    control.working = supervision.supervisor.working_note
    control.reopened = lambda: services.incidents.report(REOPENED_MESSAGE)
    journals = SessionJournals(services.journals, services.log, services.clock)
    for line in _roll_back(user_paths().state):
        services.incidents.report(f"Supervisor: {line}.")
    headless = cache(partial(_build_headless_work, supervision, journals))

    modules = (*SUPERVISION.tools, *ITERATION.tools, *TDD.tools, *TASKLOOP.tools, *GOVERNANCE.tools)
    toolbox = cache(lambda: build_toolbox(supervision, journals, headless(), modules))
    if watches:
        control.beside.append(partial(export_log, services.log, services.configuration, services.incidents))
        control.beside.append(partial(_keep_in_step, supervision, lambda: headless().governance))
        control.beside.append(partial(report_saved_files, supervision.supervisor.saved, supervision.toasts))
    return {
        **supervision_methods(supervision),
        **log_methods(supervision, control),
        **run_methods(services, journals, supervision.supervisor.checks),
        **tool_methods(control, toolbox, supervision),
        **page_methods(control, supervision),
        **inbox_methods(control, supervision),
    }


class LazySystems(OtherSystems):
    """Tools and headless work that are built on first use."""

    def __init__(self, toolbox: Callable[[], Toolbox], headless: Callable[[], HeadlessWork]) -> None:
        self._toolbox, self._headless = toolbox, headless
        self._locks = user_paths().state / LOCKS_FILE

    def may_call_unasked(self, tool: str) -> bool | None:
        return may_call_unasked(self._toolbox(), tool)

    def question(self, key: SessionKey) -> str:
        return self._headless().governance.waiting(key) if self._locks.exists() else ""

    def forget(self, key: SessionKey, project: str) -> None:
        self._headless().loops.states.forget(key, project)


def _roll_back(state: Path) -> tuple[str, ...]:
    if not any((state / UNFINISHED_FOLDER).glob("*.json")):
        return ()
    from sidecar.platform.apply import ChangeApplier  # noqa: PLC0415 - only after a kill there is something

    return ChangeApplier(state).roll_back()


async def _keep_in_step(built: Supervision, governance: Callable[[], Governance]) -> None:
    state = user_paths().state
    while not any((state / name).exists() for name in (TEAM_FILE, TEAM_FOLDER)):
        await built.services.clock.pause(TEAM_LOOK_S)
    from sidecar.wiring.team import keep_in_step  # noqa: PLC0415 - who joined no team does without

    await keep_in_step(built, governance)


def _build_headless_work(built: Supervision, journals: SessionJournals) -> HeadlessWork:
    from sidecar.wiring.headless import build_headless_work  # noqa: PLC0415 - a cold start does without

    return build_headless_work(user_paths().state, built.services, built.supervisor.checks, journals)
