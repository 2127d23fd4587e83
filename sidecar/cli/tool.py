"""`supervisor tool` and `toolset`: calls a tool of agents by hand, and chooses which they are offered."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, get_args

import click
import msgspec
from msgspec import Raw

from sidecar.cli.config import CommandLineFiles, write_setting
from sidecar.cli.goal import agent_shell_marker, refuse_agents
from sidecar.cli.link import call_sidecar
from sidecar.cli.printing import echo, echo_json, echo_json_text
from sidecar.kernel.journal import Author
from sidecar.kernel.settings import TOOLSET
from sidecar.platform.client import SidecarClient, SidecarError
from sidecar.platform.configuration import ConfigurationFile
from sidecar.platform.paths import user_paths
from sidecar.platform.rpc import LINE_LIMIT
from sidecar.servers.tools.door import ToolListing, ToolOutcome, ToolRequest

if TYPE_CHECKING:
    from collections.abc import Sequence


LONGEST_S: Final = 900.0
"""Longest call, in seconds: as long as a stop may take."""
STDIN_MARK: Final = "-"
NO_VALUE: Final = ""
"""The value of `--json` without an argument: the tool gets no arguments, and the answer is JSON."""


@click.command()
@click.argument("name", required=False)
@click.option("--session", default="", help="The host's session id; else the one seen last in this folder.")
@click.option("--project", default="", help="The folder whose session is meant, instead of this one.")
@click.option(
    "--json",
    "json",
    is_flag=False,
    flag_value=NO_VALUE,
    metavar="[ARGS]",
    help="Arguments as a JSON object, `-` to read it from standard input. The answer is JSON then.",
)
@click.option(
    "--list", "listing", is_flag=True, help="List all tools instead; with --json their schemas too."
)
def tool(name: str | None, session: str, project: str, json: str | None, *, listing: bool) -> None:
    """Call the tool NAME, as an agent does over MCP.

    What it says is printed in words, or with --json as data. Exit codes: 0 done, 1 refused or not done,
    2 wrong usage.
    """
    if listing:
        if name or session or project or json:
            raise click.UsageError("--list goes with nothing else but --json, which has no value then")
        _print_tools(call_sidecar("tools", None, list[ToolListing]), as_json=json is not None)
        return
    if not name:
        raise click.UsageError("which tool? `supervisor tool --list` names them")
    if session and project:
        raise click.UsageError("--session says whose it is; --project is for who does not know the id")
    call = _build_call(name, _parse_arguments(json), session, project)
    done = SidecarClient(user_paths()).call("tool", call, ToolOutcome, seconds=LONGEST_S)
    if done.refused:
        echo(done.text, err=True)
        sys.exit(1)
    echo(done.text) if json is None else echo_json_text(msgspec.json.format(bytes(done.data)).decode())
    sys.exit(int(done.failed))


def _build_call(name: str, arguments: dict[str, Any], session: str, project: str) -> ToolRequest:
    """Build the call. Raises UsageError for an agent that names no session.

    A person may name any session by its id; an agent must name its own, in the folder it works in.
    """
    agent = bool(agent_shell_marker())
    session = session or (os.environ.get("CLAUDE_CODE_SESSION_ID", "") if agent else "")
    if agent and not session:
        raise click.UsageError(
            "an agent says whose session it is: --session. Or call it as a tool of the host"
        )
    here = "" if session and not agent else os.getcwd()  # noqa: PTH109 - sent as text
    return ToolRequest(
        name=name,
        arguments=arguments,
        session=session,
        project=os.path.abspath(project) if project else here,  # noqa: PTH100 - links stay as they are
        author=Author.AGENT if agent else Author.USER,
    )


def _parse_arguments(json: str | None) -> dict[str, Any]:
    """Parse the arguments. Raises UsageError where they are no JSON object or exceed LINE_LIMIT bytes."""
    if not json:
        return {}
    text = sys.stdin.buffer.read(LINE_LIMIT + 1) if json == STDIN_MARK else os.fsencode(json)
    if len(text) > LINE_LIMIT:
        raise click.UsageError(f"the arguments are longer than {LINE_LIMIT} bytes")
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise click.UsageError(
            f'the arguments are no JSON object ({error}). Example: --json \'{{"content": "say hello"}}\''
        ) from error


def _print_tools(found: Sequence[ToolListing], *, as_json: bool) -> None:
    if as_json:
        echo_json(found)
        return
    for one in found:
        off = "" if one.on else ", off"
        echo(f"{one.offer.name} ({one.offer.toolset}{off}): {one.offer.description}")
        for name, schema in one.offer.input_schema["properties"].items():
            needed = "" if name in one.offer.input_schema.get("required", ()) else " (may be left out)"
            about = schema.get("description") or ", ".join(map(str, schema.get("enum", ())))
            echo(f"    {name}: {schema.get('type', 'any')}{needed}{' - ' if about else ''}{about}")


TOOLSET_NAMES: Final = get_args(TOOLSET)
NAME_ARGUMENT: Final = click.argument("name", type=click.Choice(TOOLSET_NAMES))
CONFIG_KEY: Final = "toolsets"


@click.group(invoke_without_command=True)
@click.pass_context
def toolset(context: click.Context) -> None:
    """Choose which tools agents are offered: every one costs their context in every request."""
    if context.invoked_subcommand is None:
        context.invoke(list_)


@toolset.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: whether each is on.")
def list_(*, as_json: bool = False) -> None:
    """Show the toolsets, and which are on."""
    settings, problems = ConfigurationFile(os.environ, CommandLineFiles()).load()
    if as_json:
        echo_json({name: name in settings.toolsets for name in TOOLSET_NAMES})
    for name in () if as_json else TOOLSET_NAMES:
        echo(f"{name}: {'on' if name in settings.toolsets else 'off'}")
    for problem in problems:
        echo(f"supervisor: {problem}", err=True)


@toolset.command()
@NAME_ARGUMENT
def enable(name: str) -> None:
    """Offer the tools of NAME."""
    _switch_toolset(name, on=True)


@toolset.command()
@NAME_ARGUMENT
def disable(name: str) -> None:
    """Offer the tools of NAME no more."""
    _switch_toolset(name, on=False)


def _switch_toolset(name: str, *, on: bool) -> None:
    """Write the choice into the user's config.toml, and notify connected agents."""
    refuse_agents()
    settings, _ = ConfigurationFile(os.environ).load()
    others: list[str] = [one for one in settings.toolsets if one != name]
    wanted: list[str] = (
        ([*settings.toolsets] if name in settings.toolsets else [*others, name]) if on else others
    )
    place = write_setting(CONFIG_KEY, wanted)
    with suppress(SidecarError):  # a running sidecar notifies its clients; none is started for that
        SidecarClient(user_paths(), starts=False).call("toolsets", None, Raw)
    echo(f"The toolset {name} is {'on' if on else 'off'} ({place}).")
