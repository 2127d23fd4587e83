"""What a command prints. Texts come from agents and projects, so all of it is cleaned here.

Commands print with `echo` and `echo_json`, or on a `Screen` (screen.py), never with click or rich themselves.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import Final

import click

from sidecar.kernel.text import INVISIBLE_CHARACTER, clean_text, json_escape

PREFIX: Final = "Supervisor: "
"""What a message begins with on a host's screen, where others write too. In a shell it is left out."""
JSON_CONTROL: Final = re.compile(r"[\x7f-\x9f\u2028\u2029]")
"""Characters that JSON need not escape, but a screen obeys."""


def echo(text: object = "", *, err: bool = False) -> None:
    """Print a text."""
    click.echo(clean_text(str(text)), err=err)  # noqa: TID251 - the only place


def in_shell(text: str) -> str:
    """Return a text about a host's session for a shell, where each of the host's commands is one of ours."""
    return text.replace("/supervisor:", "supervisor ")


def local_time(at: float, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    """Return a time, in seconds since the epoch, as this computer's user reads it."""
    return dt.datetime.fromtimestamp(at, tz=dt.UTC).astimezone().strftime(form)


def echo_json(value: object) -> None:
    """Print a value as JSON for a script."""
    import msgspec  # noqa: PLC0415 - help and usage need none of it

    echo_json_text(msgspec.json.format(msgspec.json.encode(value)).decode())


def echo_json_text(text: str) -> None:
    """Print JSON, with the same values but without what a screen would obey or hide."""
    shown = INVISIBLE_CHARACTER.sub(json_escape, JSON_CONTROL.sub(json_escape, text))
    click.echo(shown)  # noqa: TID251 - as above
