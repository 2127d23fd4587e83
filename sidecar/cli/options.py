"""Options and arguments that several commands have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from sidecar.hosts.shared import HOST_ALIASES

if TYPE_CHECKING:
    WordChoice = click.Choice[str]
else:
    WordChoice = click.Choice  # click 8.1 knows no type of choices

PROJECT: Final = click.option(
    "--project",
    default=".",
    type=click.Path(exists=True, file_okay=False, resolve_path=True),
    help="Another folder than this one.",
)
FOLDER_ARGUMENT: Final = click.argument(
    "folder", default=".", type=click.Path(exists=True, file_okay=False, resolve_path=True)
)
CLAUDE_CODE: Final = "claude-code"
OPENCODE: Final = "opencode"


class HostChoice(WordChoice):
    """A choice among hosts, and other words, which also takes the aliases of hosts."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ANN401 - click's signature
        return str(super().convert(HOST_ALIASES.get(value, value), param, ctx))
