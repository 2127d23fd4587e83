"""The least MCP server with one tool, by the high-level API of the package that we use.

It speaks over standard input and output; with the argument `http` over Streamable HTTP at a free port of the
loopback, whose URL it prints.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from dataclasses import dataclass

import uvicorn
from mcp.server import MCPServer

server = MCPServer("peer", log_level="WARNING")


@dataclass
class Standing:
    """The same fields as ours."""

    session: str
    host: str
    status: str
    exit_code: int
    text: str


@server.tool()
async def status(session: str) -> Standing:
    """Say where this session stands: its goal, its budget and the last verdict."""
    return Standing(session, "claude-code", "none", 3, "no goal is set")


def main() -> None:
    """Serve until the client leaves, or until SIGTERM."""
    if sys.argv[1:] != ["http"]:
        server.run("stdio")
        return
    with socket.socket(
        proto=socket.IPPROTO_TCP
    ) as listener:  # asyncio spares others the wait for a full packet
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
        config = uvicorn.Config(server.streamable_http_app(), log_level="warning")
        asyncio.run(uvicorn.Server(config).serve(sockets=[listener]))


if __name__ == "__main__":
    main()
