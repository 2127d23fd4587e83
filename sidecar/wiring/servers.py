"""Builds the entry points beside the socket: the agent's tools, MCP, and the inbox of markers."""

# ruff: noqa: PLC0415 - tools are imported when somebody uses one

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from msgspec import Raw

from sidecar.hosts import unrecorded
from sidecar.hosts.marker_inbox import MarkerFolder, MarkerInbox
from sidecar.hosts.ports import AccessRequest, HookCall, McpAccess
from sidecar.hosts.shared import CLIENT
from sidecar.platform.configuration import user_config_folder
from sidecar.platform.paths import user_paths
from sidecar.platform.ports import built_on_use
from sidecar.platform.watching import FoldersWatch
from sidecar.servers.connection import struct_handler
from sidecar.servers.control import Methods, Peer, SidecarControl
from sidecar.servers.mcp.access import McpFiles, McpTokens, parse_mcp_port
from sidecar.servers.mcp.door import McpHandler, McpHttpEndpoint
from sidecar.servers.methods import InboxCall, InboxHandler
from sidecar.servers.page.door import PageAccess, PageEndpoint, PageRequest
from sidecar.systems.iteration.journals import SessionJournals
from sidecar.systems.supervision.clients import ClientSession
from sidecar.systems.supervision.policy.sessions import needs_no_approval
from sidecar.wiring.supervision import Supervision, begin_marker_work

if TYPE_CHECKING:
    from sidecar.servers.page.http import LocalPage
    from sidecar.servers.tools.door import ToolsHandler
    from sidecar.servers.tools.toolbox import Toolbox
    from sidecar.wiring.headless import HeadlessWork


def build_toolbox(
    built: Supervision, journals: SessionJournals, headless: HeadlessWork, modules: tuple[str, ...]
) -> Toolbox:
    """Build the agent's tools of these modules; takes some milliseconds, and its imports take more."""
    from sidecar.rubric.texts import read_texts
    from sidecar.servers.tools.tool import ToolContext
    from sidecar.servers.tools.toolbox import Toolbox, load_resources, load_tools
    from sidecar.systems.supervision.decisions import StopExplainer

    services = built.services
    texts = read_texts("loop.md", "tools.md")
    context = ToolContext(
        checks=built.supervisor.checks,
        clock=services.clock,
        explainer=StopExplainer(services),
        governance=headless.governance,
        journals=journals,
        loops=headless.loops,
        people=built.people,
        rubrics=services.rubrics,
        skills=headless.skills,
        words=texts,
    )
    return Toolbox(
        load_tools(context, modules),
        texts,
        built.clients,
        lambda: services.configuration.load()[0].toolsets,
        load_resources(context, modules),
    )


def may_call_unasked(toolbox: Toolbox, name: str) -> bool | None:
    """Whether this tool may be called without asking the user; None where no tool has that name."""
    for offer in toolbox.all_offers():
        if offer.name == name:
            return needs_no_approval(offer.toolset, reads=offer.reads, asks=offer.asks)
    return None


def tool_methods(control: SidecarControl, toolbox: Callable[[], Toolbox], built: Supervision) -> Methods:
    """Build the methods of tools for people, scripts and agents: socket, MCP over a pipe and over HTTP."""
    typed, configuration = built_on_use(partial(_tools_handler, toolbox, built)), built.services.configuration

    def port() -> int:
        return parse_mcp_port(os.environ.get("SUPERVISOR_PORT", ""), configuration.load()[0].mcp_port)

    files = McpFiles(user_paths().state)
    mcp = McpHandler(control, toolbox, McpTokens(files.token).caller)
    http = McpHttpEndpoint(control, mcp.ready, files, port, built.clients.token_giver)

    async def client_session(asked: ClientSession, peer: Peer) -> McpAccess:
        access = await http.access(AccessRequest(CLIENT, asked.name), peer)  # an agent gets none
        built.clients.open_session(asked)
        return access

    folder = user_config_folder(os.environ)
    # Editing the settings file can switch toolsets too, so MCP watches its folder.
    control.beside += [partial(mcp.watch, FoldersWatch, [folder] if folder else []), http.run]
    return {
        "client_session": struct_handler(ClientSession, client_session),
        "mcp": mcp.open,
        "mcp_access": struct_handler(AccessRequest, http.access),
        "toolsets": mcp.toolsets,
        "tool": lambda params, peer: typed.call(params, peer),  # noqa: PLW0108 - it is built by the first call
        "tools": lambda params, peer: typed.list(params, peer),  # noqa: PLW0108 - as above
    }


def _tools_handler(toolbox: Callable[[], Toolbox], built: Supervision) -> ToolsHandler:
    from sidecar.servers.tools.door import ToolsHandler

    return ToolsHandler(toolbox, built.clients)


def page_methods(control: SidecarControl, built: Supervision) -> Methods:
    """Build the method that opens the local page."""

    async def serve(access: PageAccess, listener: socket.socket) -> None:
        await (await asyncio.to_thread(build_page, access)).serve(listener)

    def build_page(access: PageAccess) -> LocalPage:
        from sidecar.platform.team.membership import JoinedTeam
        from sidecar.servers.page.http import LocalPage
        from sidecar.servers.page.readings import PageReadings

        services = built.services
        readings = PageReadings(services, built.people, JoinedTeam(user_paths().state))
        return LocalPage(access, readings, services.log, services.clock, control)

    endpoint = PageEndpoint(PageAccess(built.services.clock), serve, built.people.check_page)
    control.beside.append(endpoint.run)
    return {"dashboard": struct_handler(PageRequest, endpoint.address)}


def inbox_methods(control: SidecarControl, built: Supervision) -> Methods:
    """Build the inbox, which runs in the background. Its stops use the socket, like those of other hosts."""

    async def judged(stop: unrecorded.StopFound) -> bytes:
        from sidecar.platform import client

        event = Raw(msgspec.json.encode(stop))
        call = HookCall(host=unrecorded.HOST, event=event, environment={})
        return await client.request_sidecar("hook", call)

    inbox = MarkerInbox(
        MarkerFolder(user_paths().inbox),
        judged,
        built.services.clock,
        lambda decision: handler.tell(decision),  # noqa: PLW0108 - it is made below
    )
    handler = InboxHandler(control, inbox.open, partial(begin_marker_work, built.hooks))
    control.beside.append(inbox.run)
    return {"inbox": struct_handler(InboxCall, handler.open)}
