"""`supervisor acp`: stands between an editor and an agent (docs/hosts.md)."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from contextlib import suppress
from typing import Any, Final

import click
import msgspec
from msgspec import Struct

from sidecar.hosts.acp.proxy import AcpProxy
from sidecar.hosts.acp.sidecar_link import SidecarLink
from sidecar.hosts.shared import PROXIED_MARKER
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.orders import COMMAND_NAMES
from sidecar.platform.client import SidecarClient
from sidecar.platform.dialogue import NotLaunchedError, open_dialogue, own_dialogue
from sidecar.platform.installation import plugin_root
from sidecar.platform.paths import Paths, user_paths

LINE_LIMIT: Final = 64 * 1024 * 1024
"""Bytes of a line: an editor may send pictures."""


class _Front(Struct, frozen=True, rename={"hint": "argument-hint"}):
    description: str
    hint: str = ""


@click.command()
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def acp(command: tuple[str, ...]) -> int:
    """Supervise an agent in an editor that speaks the Agent Client Protocol.

    supervisor acp -- opencode acp

    Editors start it in place of the agent COMMAND, which it starts and whose every line it passes on. At the
    end of a turn the editor waits until the stop was judged. `/supervisor:goal` and the other commands are
    typed in the editor's own prompt.
    """
    modes = [os.fstat(number).st_mode for number in (0, 1)]
    if not all(
        stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(number) for number, mode in enumerate(modes)
    ):
        raise click.UsageError("an editor starts this, with pipes as its standard input and output")
    folders, folder = user_paths(), os.getcwd()  # noqa: PTH109 - sent as text
    return asyncio.run(_live(command, folders, folder))


async def _live(command: tuple[str, ...], folders: Paths, folder: str) -> int:
    environment = {**os.environ, PROXIED_MARKER: "1"}
    sidecar = SidecarLink(os.environ, SidecarClient(folders).start)
    try:
        async with (
            own_dialogue(LINE_LIMIT) as editor,
            open_dialogue(
                command, cwd=folder, environment=environment, longest=LINE_LIMIT, hear_errors=sys.stderr.write
            ) as agent,
        ):
            with suppress(OSError):  # then no sidecar is reached, and every stop says so
                folders.prepare()
                os.chdir(folders.run)  # the path of a socket has at most 108 bytes, so use it by its name
            await AcpProxy(editor, agent, sidecar.tell, _commands(), folder).run()
            agent.end()
            return await agent.exit_code() or 0
    except NotLaunchedError as error:
        raise BadInputError(f"the agent could not be started: {error}") from error


def _commands() -> list[dict[str, Any]]:
    """Return the commands that a person may type, as the protocol lists them."""
    found = []
    for name in COMMAND_NAMES:
        text = (plugin_root() / "commands" / f"{name}.md").read_text("utf-8")
        front = msgspec.yaml.decode(text.split("---")[1], type=_Front)
        taken = {"input": {"hint": front.hint}} if front.hint else {}
        found.append({"name": f"supervisor:{name}", "description": front.description, **taken})
    return found
