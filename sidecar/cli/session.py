"""`supervisor mcp` and `session`: how hosts, other clients and scripts reach the agent's tools."""

from __future__ import annotations

import json
import os
import secrets
import shlex
from typing import Any, Final

import click

from sidecar.cli.goal import refuse_agents
from sidecar.cli.link import call_sidecar
from sidecar.cli.options import CLAUDE_CODE, OPENCODE, PROJECT, HostChoice
from sidecar.cli.printing import echo, echo_json
from sidecar.hosts.ports import AccessRequest, McpAccess
from sidecar.hosts.shared import CLIENT
from sidecar.systems.supervision.clients import ClientSession
from sidecar.systems.supervision.people import SessionReport, SessionSelector

CONFIG_PLACES: Final = {
    CLAUDE_CODE: "a file for claude --mcp-config; a project's .mcp.json is shared with others",
    OPENCODE: "your own opencode.json; a project's is shared with others",
    "json": "whatever takes a URL and a header",
}
ALL_SESSIONS_NOTE: Final = """\
The token is a secret: it opens the tools of all your sessions. Each call must name one, as the
Supervisor plugin of a host does; for a host without it, name a session here: --session ID."""
ONE_SESSION_NOTE: Final = "The token is a secret: it opens the tools of this one session."


@click.command()
@click.option(
    "--print-config",
    "form",
    type=HostChoice(tuple(CONFIG_PLACES)),
    help="Print how to reach it by URL.",
)
@click.option("--session", default="", help="With --print-config: for this session alone, by the host's id.")
def mcp(form: str | None, session: str) -> None:
    """Speak MCP on standard input and output.

    It is for the configuration of a host, where `supervisor install` puts it. It starts the sidecar where
    none runs, and ends with its input.

    With --print-config it prints a configuration for a host that takes a URL instead, and speaks nothing. The
    URL holds for this machine, and as long as a sidecar runs, which hooks and every command here start.
    """
    if not form:  # __main__.py handles `supervisor mcp` without options
        raise click.UsageError("options go with --print-config; the pipe is `supervisor mcp` alone")
    refuse_agents()  # the token would give an agent access to other sessions
    asked = AccessRequest()
    if session:
        known = call_sidecar("report", SessionSelector(session=session), SessionReport)
        if not known.session:
            raise click.UsageError(
                f"no session is known as {session!r}. `supervisor status` names those of a folder"
            )
        asked = AccessRequest(known.host, known.session)
    echo_json(_forms(call_sidecar("mcp_access", asked, McpAccess))[form])
    echo(
        f"Add this to {CONFIG_PLACES[form]}.\n{ONE_SESSION_NOTE if session else ALL_SESSIONS_NOTE}", err=True
    )


def _forms(access: McpAccess) -> dict[str, dict[str, Any]]:
    """Return configurations by the name of what takes them."""
    headers = {"Authorization": f"Bearer {access.token}"}
    server = {"type": "http", "url": access.url, "headers": headers}
    remote = {"type": "remote", "url": access.url, "oauth": False, "headers": headers}
    pipe = {"command": "supervisor", "args": ["mcp"], "env": {"SUPERVISOR_MCP_TOKEN": access.token}}
    return {
        CLAUDE_CODE: {"mcpServers": {"supervisor": server}},
        OPENCODE: {"$schema": "https://opencode.ai/config.json", "mcp": {"supervisor": remote}},
        "vscode": {"servers": {"supervisor": server}},
        "stdio": {"mcpServers": {"supervisor": pipe}},
        "json": {"url": access.url, "token": access.token, "headers": headers},
    }


# --- clients that are no host -------------------------------------------------------------------------------


LIST_TOOLS: Final = '{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'
CLIENT_PLACES: Final = {
    "Cursor, in .cursor/mcp.json:": CLAUDE_CODE,
    "VS Code, in .vscode/mcp.json:": "vscode",
    "A client that starts a program:": "stdio",
}


@click.group()
def session() -> None:
    """Open a session of the agent's tools for any MCP client or script, such as Cursor, CI or curl."""


@session.command()
@PROJECT
@click.option("--name", default="", help="Its name. The same name once more prints the same token.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: session, project, url, token.")
def new(project: str, name: str, *, as_json: bool) -> None:
    """Open a session in this folder, and print how a client calls the tools in it.

    The address holds for this machine, and as long as a sidecar runs, which every command here starts. Checks
    run in the environment of this shell, and in the sidecar's own once it was started anew.
    """
    refuse_agents()
    name = name or secrets.token_hex(4)
    asked = ClientSession(name=name, project=project, environment=dict(os.environ))
    access = call_sidecar("client_session", asked, McpAccess)
    if as_json:
        told = {"session": f"{CLIENT}:{name}", "project": project, "url": access.url, "token": access.token}
        echo_json(told)
        return
    sent = (f"Authorization: Bearer {access.token}", "-H", "Content-Type: application/json")
    curl = shlex.join(("curl", "-sS", access.url, "-H", *sent, "-d", LIST_TOOLS))
    echo(f"The session {CLIENT}:{name} works in {project}.\n\ncurl:\n{curl}")
    for place, form in CLIENT_PLACES.items():
        echo(f"\n{place}\n{json.dumps(_forms(access)[form])}")
    echo(f"\n{ONE_SESSION_NOTE}", err=True)
