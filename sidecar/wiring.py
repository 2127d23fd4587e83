"""The only place that knows everybody's name: builds the house, and the methods that its doors offer."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from functools import cache, partial
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Raw, Struct

from sidecar.adapters.claude_code.codec import ClaudeCodeCodec
from sidecar.adapters.claude_code.transcript import ClaudeTranscripts
from sidecar.adapters.clock import SystemClock
from sidecar.adapters.detection import detect
from sidecar.adapters.forge.remote import Forge
from sidecar.adapters.gates.project import ProjectGates
from sidecar.adapters.guides import GuideFiles
from sidecar.adapters.journal_files import JournalFiles
from sidecar.adapters.judges.chain import build_judge
from sidecar.adapters.kept_stops import KeptStopFiles
from sidecar.adapters.markers import codec as markers
from sidecar.adapters.markers import peer as own_socket
from sidecar.adapters.markers.folder import MarkerFolder
from sidecar.adapters.markers.inbox import Inbox
from sidecar.adapters.markers.turns import MarkerTurns
from sidecar.adapters.mcp_files import McpFiles, port_of
from sidecar.adapters.opencode import codec as opencode
from sidecar.adapters.opencode import link
from sidecar.adapters.opencode.history import OpenCodeHistory
from sidecar.adapters.paths import of_user
from sidecar.adapters.phrasebook import PhrasebookFiles
from sidecar.adapters.plugin import plugin_root
from sidecar.adapters.purse_file import PurseFile
from sidecar.adapters.reading.inspector import FileInspector
from sidecar.adapters.record_files import RecordFiles
from sidecar.adapters.rubric import RubricFiles, sections
from sidecar.adapters.runs.codec import RunCodec
from sidecar.adapters.secrets import SecretForms
from sidecar.adapters.session_files import SessionFiles
from sidecar.adapters.settings.catalog import ProjectCatalog
from sidecar.adapters.settings.trust_file import TrustFile
from sidecar.adapters.settings.user_file import ConfigurationFile, user_folder
from sidecar.adapters.switch_file import SwitchFile
from sidecar.adapters.transcripts import HostTranscripts
from sidecar.adapters.watching import FoldersWatch
from sidecar.adapters.workspace import GitWorkspace
from sidecar.app.explaining import Explainer
from sidecar.app.hooks import HookDoor
from sidecar.app.house import House
from sidecar.app.journals import Journals
from sidecar.app.people import Order, People, Toggle, Who
from sidecar.app.saved import SavedFiles
from sidecar.app.standings import Look, Standings
from sidecar.app.supervisor import Supervisor
from sidecar.model.iterations import HOST as RUN
from sidecar.model.rubric import Rubric
from sidecar.model.session import SessionKey
from sidecar.policy.tool_calls import spared
from sidecar.ports import BadInputError, HostCodec
from sidecar.servers import wire
from sidecar.servers.control import Control, Handler, Methods, Peer, PeerError
from sidecar.servers.inbox import InboxDoor
from sidecar.servers.mcp.access import Tokens
from sidecar.servers.mcp.door import McpDoor
from sidecar.servers.mcp.http_door import HttpDoor
from sidecar.servers.tools.door import ToolsDoor
from sidecar.servers.tools.reach import Reach
from sidecar.servers.tools.registry import every
from sidecar.servers.tools.tool import TEXTS, Words
from sidecar.servers.tools.toolbox import Toolbox

P = TypeVar("P")


class _Reachable:
    """A peer, as an adapter that asks it something wants it. Implements link.Host."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def ask(self, method: str, params: Struct) -> Raw:
        try:
            return await self._peer.ask(method, params)
        except PeerError as error:
            raise link.HostError(str(error)) from error


class HookCall(Struct, frozen=True, kw_only=True):
    """What a host tells: its event unparsed, and the session's environment."""

    host: str
    event: Raw
    environment: dict[str, str]
    host_pid: int = 0
    version: str = ""


def build_house() -> House:
    """The house with the real adapters."""
    texts = plugin_root() / "rubric"
    state = of_user().state
    clock, workspace, store = SystemClock(), GitWorkspace(state / "trees"), SessionFiles(state)
    forge = Forge()
    return House(
        catalog=ProjectCatalog(os.environ, TrustFile(state), detect, forge),
        clock=clock,
        configuration=ConfigurationFile(os.environ),
        gates=ProjectGates(look=workspace.fingerprint, forge=forge),
        inspector=FileInspector(),
        journals=JournalFiles(state),
        judge=build_judge(texts, os.environ, SecretForms().masker),
        kept=KeptStopFiles(state),
        phrasebook=PhrasebookFiles(texts),
        purse=PurseFile(state, clock),
        record=RecordFiles(state),
        rubrics=RubricFiles(texts / "rubric.md", os.environ, state / "rubrics"),
        secrets=SecretForms(),
        store=store,
        switches=SwitchFile(state),
        transcripts=HostTranscripts(
            ClaudeTranscripts(clock.pause), OpenCodeHistory(clock.now), MarkerTurns(workspace, store)
        ),
        workspace=workspace,
    )


def rubric_of(path: Path) -> Rubric:
    """The rubric of this very file. Raises BadInputError where it cannot serve."""
    rubric = RubricFiles(path).load("", {})
    if rubric.rejected:
        raise BadInputError("; ".join(rubric.rejected))
    return rubric


def rubric_on_disk(project: str) -> Rubric:
    """The rubric that serves a project, as its file is now: an edit that is held counts here.

    Raises BadInputError where a file that wins by precedence cannot serve.
    """
    rubric = RubricFiles(plugin_root() / "rubric" / "rubric.md", os.environ).load(project, os.environ)
    if rubric.rejected:
        raise BadInputError("; ".join(rubric.rejected))
    return rubric


def build_methods(control: Control, house: House | None = None) -> Methods:
    """What the socket offers, by name. `house`: another one than the real, for tests and studies."""
    guides = GuideFiles(plugin_root() / "rubric" / "rubric.md", os.environ) if house is None else None
    house = house or build_house()
    settings, _ = house.configuration.load()
    control.idle_s = settings.idle_minutes * 60.0
    supervisor, toasts = Supervisor(house, guides, lambda name: _spared(toolbox(), name)), link.Toasts()
    if supervisor.saved is not None:
        control.beside.append(partial(_tell_of_saved, supervisor.saved, toasts))
    codecs: dict[str, HostCodec] = {
        "claude-code": ClaudeCodeCodec(),
        opencode.HOST: opencode.OpenCodeCodec(),
        markers.HOST: markers.MarkerCodec(os.environ),
        RUN: RunCodec(),
    }
    door = HookDoor(house, supervisor, codecs)
    people = People(house, supervisor)
    standings = Standings(house, Journals(house.journals))

    async def hook(params: Raw, peer: Peer) -> bytes:
        call = wire.read(params, HookCall)
        if call.host == opencode.HOST:
            link.reached(_Reachable(peer), bytes(call.event))
            toasts.remember()
        return await door.handle(call.host, bytes(call.event), call.environment, call.host_pid)

    async def report(who: Who) -> bytes:
        return msgspec.json.encode(people.report(who))

    async def order(asked: Order) -> bytes:
        reply = await people.order(asked)
        if reply.work and (at := people.report(asked.who)).host == markers.HOST:
            await _begin(door, at.session, at.project)  # such a session has no prompts: this was one
        return msgspec.json.encode(reply)

    async def standing(look: Look) -> bytes:
        return msgspec.json.encode(standings.of(look))

    async def toggle(asked: Toggle) -> bytes:
        return msgspec.json.encode(people.toggle(asked))

    @cache
    def toolbox() -> Toolbox:
        words = Words(sections((plugin_root() / "rubric" / TEXTS).read_text(encoding="utf-8")))
        reach = Reach(
            checks=supervisor.checks,
            clock=house.clock,
            explainer=Explainer(house),
            journals=Journals(house.journals),
            people=people,
            rubrics=house.rubrics,
            words=words,
        )
        return Toolbox(every(reach), words, people.session, lambda: house.configuration.load()[0].toolsets)

    typed = ToolsDoor(toolbox, people)
    mcp, http = _mcp(control, toolbox, house)
    return {
        "hook": hook,
        "inbox": _inbox(control, house, door),
        "mcp": mcp.open,
        "mcp_access": http.access,
        "toolsets": mcp.toolsets,
        "report": _taking(Who, report),
        "order": _taking(Order, order),
        "standing": _taking(Look, standing),
        "toggle": _taking(Toggle, toggle),
        "tool": typed.call,
        "tools": typed.list,
    }


def _spared(toolbox: Toolbox, name: str) -> bool | None:
    """Whether this tool may be called without asking the user; None where there is none of that name."""
    for offer in toolbox.all_offers():
        if offer.name == name:
            return spared(offer.toolset, reads=offer.reads, asks=offer.asks)
    return None


def _mcp(control: Control, toolbox: Callable[[], Toolbox], house: House) -> tuple[McpDoor, HttpDoor]:
    """MCP for pipes and over HTTP; one who edits the settings' file switches toolsets too."""

    def port() -> int:
        return port_of(os.environ.get("SUPERVISOR_PORT", ""), house.configuration.load()[0].mcp_port)

    files = McpFiles(of_user().state)
    door = McpDoor(control, toolbox, Tokens(files.token).caller)
    http = HttpDoor(control, door.ready, files, port)
    folder = user_folder(os.environ)
    control.beside += [partial(door.watch, FoldersWatch, [folder] if folder else []), http.run]
    return door, http


async def _tell_of_saved(saved: SavedFiles, toasts: link.Toasts) -> None:
    """Watch rubrics and settings. Who is at an OpenCode is told at once; Claude Code asks by itself."""

    async def show(key: SessionKey, text: str) -> bool:
        return key.host == opencode.HOST and await toasts.show(key.id, text)

    await saved.run(FoldersWatch, show)


async def _begin(door: HookDoor, session: str, project: str) -> None:
    """A person sets an agent to work whose stops will be markers."""
    await door.handle(markers.HOST, msgspec.json.encode(markers.WorkBegins(session, project)), {}, 0)


def _inbox(control: Control, house: House, door: HookDoor) -> Handler:
    """The inbox, beside the serving. Its stops come over the socket as those of hosts with hooks do."""

    async def judged(stop: markers.StopFound) -> bytes:
        event = Raw(msgspec.json.encode(stop))
        return await own_socket.ask("hook", HookCall(host=markers.HOST, event=event, environment={}))

    def told(decided: Struct) -> None:
        people.tell(decided)

    inbox = Inbox(MarkerFolder(of_user().inbox), judged, house.clock, told)
    people = InboxDoor(control, inbox.open, partial(_begin, door))
    control.beside.append(inbox.run)
    return people.open


def _taking(kind: type[P], work: Callable[[P], Awaitable[bytes]]) -> Handler:
    """A method whose parameters are a Struct."""

    async def handler(params: Raw, _peer: Peer) -> bytes:
        return await work(wire.read(params, kind))

    return handler
