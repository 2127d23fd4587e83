"""`supervisor serve`, `stop` and `mcp`: the sidecar, and the pipe by which hosts reach its tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click

from sidecar.cli.options import CLAUDE_CODE, OPENCODE, HostChoice
from sidecar.cli.printing import echo, echo_json
from sidecar.platform import paths
from sidecar.platform.client import SidecarClient


@click.command()
@click.pass_obj
def serve(live: Callable[[], int]) -> int:
    """Be the sidecar.

    Hosts start it on demand, and it ends by itself when none has called for a while. Where one runs already,
    this ends at once; an older one is replaced when it has finished what it does.
    """
    return live()


@click.command()
def stop() -> None:
    """End the sidecar.

    What it judges at this moment is given up: those agents rest. The next event of a host starts it again; to
    switch Supervisor off, see `supervisor off`.
    """
    echo(f"The sidecar: {SidecarClient(paths.user_paths()).stop()}.")


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
    _print_config(form, session)


def _print_config(form: str, session: str) -> None:
    from sidecar.cli.goal import refuse_agents  # noqa: PLC0415 - as above
    from sidecar.cli.link import call_sidecar  # noqa: PLC0415 - as above
    from sidecar.hosts.ports import AccessRequest, McpAccess  # noqa: PLC0415 - as above
    from sidecar.systems.supervision.people import SessionReport, SessionSelector  # noqa: PLC0415 - hosts start the other way

    refuse_agents()  # the token would give an agent access to other sessions
    asked = AccessRequest()
    if session:
        known = call_sidecar("report", SessionSelector(session=session), SessionReport)
        if not known.session:
            raise click.UsageError(
                f"no session is known as {session!r}. `supervisor status` names those of a folder"
            )
        asked = AccessRequest(known.host, known.session)
    access = call_sidecar("mcp_access", asked, McpAccess)
    headers = {"Authorization": f"Bearer {access.token}"}
    claude = {"type": "http", "url": access.url, "headers": headers}
    opencode = {"type": "remote", "url": access.url, "oauth": False, "headers": headers}
    forms: dict[str, dict[str, Any]] = {
        CLAUDE_CODE: {"mcpServers": {"supervisor": claude}},
        OPENCODE: {"$schema": "https://opencode.ai/config.json", "mcp": {"supervisor": opencode}},
        "json": {"url": access.url, "token": access.token, "headers": headers},
    }
    echo_json(forms[form])
    echo(
        f"Add this to {CONFIG_PLACES[form]}.\n{ONE_SESSION_NOTE if session else ALL_SESSIONS_NOTE}", err=True
    )
