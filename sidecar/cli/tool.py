"""`supervisor tool`: call a tool of agents yourself, by the same registry and the same checks."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from sidecar.adapters.client import Client
from sidecar.adapters.paths import of_user
from sidecar.cli.goal import agents_marker
from sidecar.cli.link import ask
from sidecar.model.journal import Author
from sidecar.servers.tools.door import Done, Listing, ToolCall
from sidecar.servers.wire import LINE_LIMIT

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST_S: Final = 900.0
"""Longest call, in seconds: as long as a stop may take."""
STDIN: Final = "-"
ALONE: Final = ""
"""What `--json` is without a value: no arguments, and an answer in JSON."""


class Everything(msgspec.Struct, frozen=True):
    """The method `tools` takes nothing."""


@click.command()
@click.argument("name", required=False)
@click.option("--session", default="", help="The host's session id; else the one seen last in this folder.")
@click.option("--project", default="", help="The folder whose session is meant, instead of this one.")
@click.option(
    "--json",
    "json",
    is_flag=False,
    flag_value=ALONE,
    metavar="[ARGS]",
    help="Arguments as a JSON object, `-` to read it from standard input. The answer is JSON then.",
)
@click.option(
    "--list", "listing", is_flag=True, help="List all tools instead; with --json their schemas too."
)
def tool(name: str | None, session: str, project: str, json: str | None, *, listing: bool) -> None:
    """Call the tool NAME, as an agent does over MCP.

    What it says is printed in words, or with --json as data. Exit codes: 0 done, 1 refused, 2 wrong usage.
    """
    if listing:
        if name or session or project or json:
            raise click.UsageError("--list goes with nothing else but --json, which has no value then")
        _show(ask("tools", Everything(), list[Listing]), as_json=json is not None)
        return
    if not name:
        raise click.UsageError("which tool? `supervisor tool --list` names them")
    call = _call(name, _arguments(json), session, project)
    done = Client(of_user()).call("tool", call, Done, seconds=LONGEST_S)
    if done.refused:
        click.echo(done.text, err=True)
        sys.exit(1)
    click.echo(done.text if json is None else msgspec.json.format(bytes(done.data)).decode())


def _call(name: str, arguments: dict[str, Any], session: str, project: str) -> ToolCall:
    """A person may call for any session by its id; an agent names its own, in the folder it works in."""
    agent = bool(agents_marker())
    session = session or (os.environ.get("CLAUDE_CODE_SESSION_ID", "") if agent else "")
    if agent and not session:
        raise click.UsageError(
            "an agent says whose session it is: --session. Or call it as a tool of the host"
        )
    here = "" if session and not agent else os.getcwd()  # noqa: PTH109 - sent as text
    return ToolCall(
        name=name,
        arguments=arguments,
        session=session,
        project=os.path.abspath(project) if project else here,  # noqa: PTH100 - links stay as they are
        author=Author.AGENT if agent else Author.USER,
    )


def _arguments(json: str | None) -> dict[str, Any]:
    """Raises UsageError for what is no JSON object."""
    if not json:
        return {}
    text = sys.stdin.buffer.read(LINE_LIMIT + 1) if json == STDIN else os.fsencode(json)
    if len(text) > LINE_LIMIT:
        raise click.UsageError(f"the arguments are longer than {LINE_LIMIT} bytes")
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise click.UsageError(
            f'the arguments are no JSON object ({error}). Example: --json \'{{"content": "say hello"}}\''
        ) from error


def _show(found: Sequence[Listing], *, as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found)).decode())
        return
    for one in found:
        off = "" if one.on else ", off"
        click.echo(f"{one.offer.name} ({one.offer.toolset}{off}): {one.offer.description}")
        for name, schema in one.offer.input_schema["properties"].items():
            needed = "" if name in one.offer.input_schema.get("required", ()) else " (may be left out)"
            about = schema.get("description") or ", ".join(map(str, schema.get("enum", ())))
            click.echo(f"    {name}: {schema.get('type', 'any')}{needed}{' - ' if about else ''}{about}")
