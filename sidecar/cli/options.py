"""Options and arguments that several commands have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from sidecar.hosts.shared import HOST_ALIASES

if TYPE_CHECKING:
    from collections.abc import Collection

    WordChoice = click.Choice[str]
else:
    WordChoice = click.Choice  # click 8.1 knows no type of choices

PROJECT: Final = click.option(
    "--project",
    default=".",
    type=click.Path(exists=True, file_okay=False, resolve_path=True),
    help="Another folder than this one.",
)
JSON_LINES: Final = click.option("--json-lines", is_flag=True, help="Print each step as a line of JSON.")
LIMITS: Final = ("max_tokens", "max_cents")
MAX_TOKENS: Final = click.option("--max-tokens", type=click.IntRange(1), help="Tokens of all agents.")
MAX_CENTS: Final = click.option("--max-cents", type=click.FloatRange(0.1), help="Cents of all agents.")
FOLDER_ARGUMENT: Final = click.argument(
    "folder", default=".", type=click.Path(exists=True, file_okay=False, resolve_path=True)
)
CLAUDE_CODE: Final = "claude-code"
OPENCODE: Final = "opencode"


def typed_options(*, without: Collection[str] = (), only: Collection[str] = ()) -> list[tuple[str, ...]]:
    """Return the options of this command that were typed, each with its value. Names are those of Python."""
    typed, found = click.get_current_context(), list[tuple[str, ...]]()
    for option in typed.command.params:
        name, value = str(option.name), typed.params.get(str(option.name))
        given = typed.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if given and isinstance(option, click.Option) and name not in without and (not only or name in only):
            values = value if isinstance(value, tuple) else ("" if value is True else value,)
            found += [(option.opts[0], str(one)) if one else (option.opts[0],) for one in values]
    return found


class HostChoice(WordChoice):
    """A choice among hosts, and other words, which also takes the aliases of hosts."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ANN401 - click's signature
        return str(super().convert(HOST_ALIASES.get(value, value), param, ctx))
