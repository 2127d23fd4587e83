"""`supervisor mcp`: what a host starts to reach the tools of agents, or what it needs to use a URL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click
import msgspec
from msgspec import Struct

from sidecar import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

    from sidecar.ports import Access

PLACES: Final = {
    "claude": "a file for claude --mcp-config; a project's .mcp.json is shared with others",
    "opencode": "your own opencode.json; a project's is shared with others",
    "json": "whatever takes a URL and a header",
}
OF_ALL: Final = """\
The token is a secret: it opens the tools of all your sessions. Each call must name one, as the
Supervisor plugin of a host does; for a host without it, name a session here: --session ID."""
OF_ONE: Final = "The token is a secret: it opens the tools of this one session."


class Asked(Struct, frozen=True):
    """Asks for the address at which one session can be reached, or all where both are empty."""

    host: str = ""
    session: str = ""


@click.command()
@click.option(
    "--print-config", "form", type=click.Choice(tuple(PLACES)), help="Print how to reach it by URL."
)
@click.option("--session", default="", help="With --print-config: for this session alone, by the host's id.")
def mcp(form: str | None, session: str) -> None:
    """Speak MCP on standard input and output.

    It is for the configuration of a host, where `supervisor install` puts it. It starts the sidecar where
    none runs, and ends with its input.

    With --print-config it prints a configuration for a host that takes a URL instead, and speaks nothing. The
    URL holds for this machine, and as long as a sidecar runs, which hooks and every command here start.
    """
    if form:
        _print_config(form, session)
    elif session:
        raise click.UsageError("--session goes with --print-config")
    else:
        _pipe()


def _pipe() -> None:
    from sidecar.adapters.client import DOCTOR, SidecarError  # noqa: PLC0415 - --help needs none of this
    from sidecar.servers.mcp import pipe  # noqa: PLC0415 - as above

    try:
        pipe.live(__version__, _start)
    except (OSError, pipe.PipeError) as error:
        raise SidecarError(f"the sidecar does not answer ({error})", DOCTOR) from error


def _start(_run: str) -> None:
    from sidecar.adapters.client import Client  # noqa: PLC0415 - where a sidecar runs, nobody waits for this
    from sidecar.adapters.paths import of_user  # noqa: PLC0415 - as above

    Client(of_user()).start()


def _print_config(form: str, session: str) -> None:
    from sidecar.app.people import Report, Who  # noqa: PLC0415 - hosts start the other way
    from sidecar.cli.goal import refuse_agents  # noqa: PLC0415 - as above
    from sidecar.cli.link import ask  # noqa: PLC0415 - as above
    from sidecar.ports import Access  # noqa: PLC0415 - as above

    refuse_agents()  # it would reach the sessions of others
    asked = Asked()
    if session:
        known = ask("report", Who(session=session), Report)
        if not known.session:
            raise click.UsageError(
                f"no session is known as {session!r}. `supervisor status` names those of a folder"
            )
        asked = Asked(known.host, known.session)
    access = ask("mcp_access", asked, Access)
    forms: dict[str, Callable[[Access], dict[str, Any]]] = {
        "claude": _claude,
        "opencode": _opencode,
        "json": _plain,
    }
    click.echo(msgspec.json.format(msgspec.json.encode(forms[form](access))).decode())
    click.echo(f"Add this to {PLACES[form]}.\n{OF_ONE if session else OF_ALL}", err=True)


def _claude(access: Access) -> dict[str, Any]:
    return {"mcpServers": {"supervisor": {"type": "http", "url": access.url, "headers": _headers(access)}}}


def _opencode(access: Access) -> dict[str, Any]:
    server = {"type": "remote", "url": access.url, "oauth": False, "headers": _headers(access)}
    return {"$schema": "https://opencode.ai/config.json", "mcp": {"supervisor": server}}


def _plain(access: Access) -> dict[str, Any]:
    return {"url": access.url, "token": access.token, "headers": _headers(access)}


def _headers(access: Access) -> dict[str, str]:
    return {"Authorization": f"Bearer {access.token}"}
