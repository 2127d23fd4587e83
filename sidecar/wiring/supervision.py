"""Builds supervision: its services, its handlers of host events, and its methods of the socket."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Raw

from sidecar.hosts import unrecorded
from sidecar.hosts.ports import HookCall
from sidecar.hosts.shared import OPENCODE
from sidecar.judging.backends.chain import build_judge
from sidecar.kernel.effects import CommandReply
from sidecar.kernel.log import EventFilter
from sidecar.kernel.session import MemoryGap
from sidecar.platform.installation import plugin_root
from sidecar.platform.paths import TEAM_FILE, user_paths
from sidecar.platform.ports import built_on_use
from sidecar.platform.rpc import read_params
from sidecar.platform.secrets import SecretForms
from sidecar.platform.steering import FilesInForce
from sidecar.platform.watching import FoldersWatch
from sidecar.servers.connection import struct_handler
from sidecar.servers.control import Methods, Peer, SidecarControl
from sidecar.servers.methods import EventsHandler, EventsRequest
from sidecar.systems.supervision.clients import ToolClients
from sidecar.systems.supervision.forgetting import ForgetRequest, SessionRemover
from sidecar.systems.supervision.hook_events import HookHandler
from sidecar.systems.supervision.messages import MessageFiles
from sidecar.systems.supervision.people import (
    CommandLineService,
    HeldEditsRequest,
    OrderPermission,
    OrderRequest,
    SessionSelector,
    SwitchRequest,
)
from sidecar.systems.supervision.ports import OtherSystems, Services
from sidecar.systems.supervision.saved_files import SavedFileWatch
from sidecar.systems.supervision.supervisor import Supervisor
from sidecar.wiring.hosts import (
    altered_plugin,
    build_codecs,
    build_toasts,
    build_transcripts,
    remember_opencode,
)
from sidecar.wiring.platform import build_evidence, build_platform, build_rubrics

if TYPE_CHECKING:
    from sidecar.hosts.opencode.link import Toasts
    from sidecar.platform.limits import CallSlots


@dataclass(frozen=True, kw_only=True)
class Supervision:
    """The parts of supervision that other packages use."""

    services: Services
    supervisor: Supervisor
    hooks: HookHandler
    people: CommandLineService
    clients: ToolClients
    toasts: Toasts


def build_services(state: Path | None = None, files: FilesInForce | None = None) -> Services:
    """Build every port with its real adapter. `state`: another state folder than the user's.

    `files` tells a process beside the sidecar what is in force.
    """
    texts, state = plugin_root() / "rubric", state or user_paths().state
    shared = build_evidence(state, build_platform(state, files), files)
    return Services(
        **vars(shared),
        judge=build_judge(texts, os.environ, SecretForms().masker, built_on_use(partial(_team_slots, state))),
        messages=MessageFiles(texts),
        rubrics=build_rubrics(shared.steering),
        transcripts=build_transcripts(shared),
    )


def _team_slots(state: Path) -> CallSlots:
    from sidecar.platform.team.money import TeamSlots  # noqa: PLC0415 - a sidecar that waits does without

    return TeamSlots(state)


def build_supervision(
    services: Services, others: OtherSystems, *, gap: MemoryGap = MemoryGap.NONE
) -> Supervision:
    """Build supervision."""
    supervisor = Supervisor(services, others, gap=gap)
    people = CommandLineService(services, supervisor)
    return Supervision(
        services=services,
        supervisor=supervisor,
        hooks=HookHandler(services, build_codecs(), supervisor.tell, supervisor.judging, altered_plugin),
        people=people,
        clients=ToolClients(services, supervisor, people),
        toasts=build_toasts(),
    )


def supervision_methods(built: Supervision) -> Methods:
    """Build its methods of the socket, by name."""
    people = built.people

    async def hook(params: Raw, peer: Peer) -> bytes:
        call = read_params(params, HookCall)
        if call.host == OPENCODE:
            remember_opencode(peer, bytes(call.event), built.toasts)
        event, about = bytes(call.event), call.environment
        return await built.hooks.handle(call.host, event, about, call.host_pid, peer.pid)

    async def order(asked: OrderRequest, peer: Peer) -> CommandReply:
        reply = await people.order(asked, peer.pid)
        at = people.find(asked.who) if reply.work else None  # an order makes it the one seen last
        if at is not None and at.key.host == unrecorded.HOST:
            # A session of markers has no prompts, so setting the goal sets its agent to work.
            await begin_marker_work(built.hooks, at.key.id, at.project)
        return reply

    return {
        "accept": struct_handler(HeldEditsRequest, lambda asked, peer: people.accept(asked, peer.pid)),
        "held": struct_handler(HeldEditsRequest, lambda asked, _: people.held(asked.project)),
        "hook": hook,
        "report": struct_handler(SessionSelector, lambda who, _: people.report(who)),
        "order": struct_handler(OrderRequest, order),
        "permission": struct_handler(OrderPermission, lambda asked, peer: people.permission(asked, peer.pid)),
        "toggle": struct_handler(SwitchRequest, lambda asked, peer: people.toggle(asked, peer.pid)),
    }


def log_methods(built: Supervision, control: SidecarControl) -> Methods:
    """Build the methods about the log, by name."""
    remover = SessionRemover(built.services, built.supervisor, built.people, _let_team_forget)
    events = EventsHandler(built.services.log, built.people.session, control)
    return {
        "events": struct_handler(EventsRequest, events.open),
        "forget": struct_handler(ForgetRequest, lambda asked, peer: remover.forget(asked, peer.pid)),
    }


def _let_team_forget(wanted: Sequence[EventFilter]) -> bool:
    if not (user_paths().state / TEAM_FILE).exists():
        return False
    from sidecar.platform.team.exchange import queue_forgetting  # noqa: PLC0415 - without a team it is not needed

    queue_forgetting(user_paths().state, wanted)
    return True


async def begin_marker_work(hooks: HookHandler, session: str, project: str) -> None:
    """Report that a person set an agent to work whose stops will be markers."""
    await hooks.handle(unrecorded.HOST, msgspec.json.encode(unrecorded.WorkBegins(session, project)), {}, 0)


async def report_saved_files(saved: SavedFileWatch, toasts: Toasts) -> None:
    """Watch the files that steer. OpenCode users are notified at once; Claude Code asks by itself."""
    await saved.run(FoldersWatch, lambda key, text: toasts.show(key.id, text), OPENCODE)
