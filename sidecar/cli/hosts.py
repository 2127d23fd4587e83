"""The names of hosts, as a person types them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from sidecar.hosts.names import HOST_ALIASES

CLAUDE_CODE: Final = "claude-code"
OPENCODE: Final = "opencode"


if TYPE_CHECKING:
    WordChoice = click.Choice[str]
else:
    WordChoice = click.Choice  # click 8.1 knows no type of choices


class HostChoice(WordChoice):
    """A choice among hosts, and other words, which also takes the aliases of hosts."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ANN401 - click's signature
        return str(super().convert(HOST_ALIASES.get(value, value), param, ctx))
