"""`supervisor watch`: the sessions of this folder as they go on; keys give the usual orders."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import Final

import click

from sidecar.cli.events import events
from sidecar.cli.goal import refuse_agents

NO_SCREEN: Final = ("", "dumb")
"""Values of TERM without a screen to draw on."""


@click.command()
@click.option("--all", "everywhere", is_flag=True, help="The sessions of every folder, not only of this one.")
@click.pass_context
def watch(context: click.Context, *, everywhere: bool) -> None:
    """Watch the sessions of this folder, and those above and below it.

    What each does, its goal, budget, tasks and last decisions; the keys stand at the bottom. Without a
    terminal the log is printed as it grows, as by supervisor events --follow.
    """
    if not sys.stdout.isatty() or os.environ.get("TERM", "") in NO_SCREEN:
        context.invoke(events, session="", kinds=(), after=None, follow=True, as_json=False)
        return
    refuse_agents()
    if importlib.util.find_spec("textual") is None:
        raise click.ClickException(f"watch needs Textual. Type: {sys.executable} -m pip install 'textual>=8'")
    from sidecar.cli.watch_screen import run_watch  # noqa: PLC0415 - heavy, and an extra

    run_watch("/" if everywhere else str(Path.cwd()))
