"""`supervisor dashboard`: the address of the local page."""

from __future__ import annotations

import webbrowser

import click

from sidecar.cli.link import call_sidecar
from sidecar.cli.printing import echo
from sidecar.platform.files import write_whole
from sidecar.platform.paths import user_paths
from sidecar.servers.page.door import PageAddress, PageRequest
from sidecar.servers.page.markup import fill

OPENING_FILE = "dashboard.html"


@click.command()
@click.option("--open", "opens", is_flag=True, help="Open it in your browser, too.")
@click.option("--port", type=click.IntRange(1, 65535), default=None, help="At this port; else any free one.")
def dashboard(*, opens: bool, port: int | None) -> None:
    """Print the address of a page with your sessions, what was decided and why, checks and budgets.

    The page is served on this machine alone, until the sidecar ends, and changes nothing. The address opens
    once, within ten minutes; type the command again for another browser.
    """
    found = call_sidecar("dashboard", PageRequest(port or 0), PageAddress)
    echo(found.url)
    if not opens:
        return
    # The browser is given a file that only the user can read: other users may see its command line.
    place = user_paths().run / OPENING_FILE
    write_whole(place, fill("opening", url=found.url).encode())
    if not webbrowser.open(place.as_uri()):
        raise click.ClickException("no browser could be opened. Copy the address into one")
