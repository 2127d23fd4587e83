"""Our sidecar with the tools that the MCP conformance suite made up:  conformance_server.py STATE.

The process, its socket, the door, the tokens and the server are those of the product; the tools are not.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar import __version__
from sidecar.hosts.ports import AccessRequest
from sidecar.kernel.orders import Giver
from sidecar.kernel.session import Session, SessionKey
from sidecar.platform.client import SidecarClient
from sidecar.platform.paths import Paths
from sidecar.rubric.texts import Texts
from sidecar.servers.connection import struct_handler
from sidecar.servers.control import Methods, SidecarControl
from sidecar.servers.mcp.access import McpFiles
from sidecar.servers.mcp.door import McpHandler, McpHttpEndpoint
from sidecar.servers.serve import SidecarSetup, serve_sidecar
from sidecar.servers.tools.tool import AgentTool, NoArguments, RefusalError, ToolAnswer, ToolInvocation
from sidecar.servers.tools.toolbox import Toolbox, ToolOffer
from support.clients import AnyClient

SCHEMA_TOOL: Final = "json_schema_2020_12_tool"
SCHEMA: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "additionalProperties": False,
}
"""What the suite wants to find whole. Our own schemas are shorter: see sidecar/servers/tools/tool.py."""


class Said(Struct, frozen=True):
    text: str


async def say(_call: ToolInvocation, _given: NoArguments) -> ToolAnswer:
    return ToolAnswer(Said("said"), "This is a simple text response for testing.")


async def refuse(_call: ToolInvocation, _given: NoArguments) -> ToolAnswer:
    raise RefusalError("This tool intentionally returns an error for testing")


async def tell(call: ToolInvocation, given: NoArguments) -> ToolAnswer:
    for done in (0, 50, 100):
        await call.report(done, 100, "")
    return await say(call, given)


WORK: Final = {
    "test_simple_text": say,
    "test_error_handling": refuse,
    "test_tool_with_progress": tell,
    SCHEMA_TOOL: say,
}


class Everything(Toolbox):
    """The suite's tools, all of them switched on."""

    def __init__(self) -> None:
        tools = [
            AgentTool(name=name, toolset="core", takes=NoArguments, gives=Said, work=work)
            for name, work in WORK.items()
        ]
        words = Texts({tool.name: "One of the suite's." for tool in tools})
        super().__init__(tools, words, AnyClient(found), lambda: ("core",))

    def offers(self) -> tuple[ToolOffer, ...]:
        return tuple(
            replace(offer, input_schema=SCHEMA) if offer.name == SCHEMA_TOOL else offer
            for offer in super().offers()
        )


def found(_id: str, bound: SessionKey | None) -> Session | None:
    return Session(key=bound, project="") if bound else None


def main() -> int:
    state = Path(sys.argv[1])
    paths = Paths(state, state)
    paths.prepare()

    def build(control: SidecarControl) -> Methods:
        door = McpHandler(control, Everything, lambda _: None)
        http = McpHttpEndpoint(control, door.ready, McpFiles(state), lambda: 0, lambda *_: Giver.USER)
        control.beside.append(http.run)
        return {"mcp": door.open, "mcp_access": struct_handler(AccessRequest, http.access)}

    return serve_sidecar(SidecarSetup(paths.run, paths.log, __version__, build), SidecarClient(paths).greet)


if __name__ == "__main__":
    sys.exit(main())
