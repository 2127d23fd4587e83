"""`supervisor events`: prints the log, one line for each event."""

from __future__ import annotations

import click
import msgspec
from msgspec import Raw

from sidecar.cli.link import SESSION_OPTION
from sidecar.cli.printing import echo, echo_json_text, local_time
from sidecar.kernel.log import LoggedEvent
from sidecar.kernel.text import clean_line
from sidecar.platform.client import SidecarClient
from sidecar.platform.paths import user_paths
from sidecar.servers.events import EventsPage, EventsRequest

SHOWN_LENGTH = 300
"""Maximum characters of an event's data on a line."""


@click.command()
@SESSION_OPTION
@click.option("--kind", "kinds", multiple=True, help="Only this kind, such as stop-judged; may be repeated.")
@click.option("--after", type=click.IntRange(0), help="Those after this position; else the newest 100.")
@click.option("--follow", is_flag=True, help="Go on with every new event until you press Ctrl-C.")
@click.option("--json", "as_json", is_flag=True, help="Print each event as one line of JSON.")
def events(session: str, kinds: tuple[str, ...], after: int | None, *, follow: bool, as_json: bool) -> None:
    """Print what was decided and done, oldest first.

    Each line has position, time, system, kind and session, and what the event says.
    """

    def show(event: LoggedEvent) -> None:
        if as_json:
            echo_json_text(msgspec.json.encode(event).decode())
        else:
            echo(event_line(event))

    def heard(method: str, params: Raw) -> None:
        if method == "event":
            show(msgspec.json.decode(params, type=LoggedEvent))

    client = SidecarClient(user_paths())
    more = True
    while more:  # a sidecar that makes room for a newer one ends the following
        asked = EventsRequest(after=after, session=session, kinds=kinds, follow=follow)
        page = client.call("events", asked, EventsPage, seconds=float("inf") if follow else 60.0, heard=heard)
        for event in page.events:
            show(event)
        after, more = page.position, page.more or follow


def event_line(event: LoggedEvent) -> str:
    """Describe an event in one line."""
    when = local_time(event.at)
    session = f"{event.session.host}:{event.session.id}" if event.session else "-"
    fields = msgspec.to_builtins(event.data)
    said = ", ".join(f"{name} {_shown(value)}" for name, value in fields.items() if name != "type")
    origin = f" by {event.origin}" if event.origin else ""
    line = f"{event.position} {when} {event.system} {event.kind} {session}{origin}: {said}"
    return clean_line(line, SHOWN_LENGTH)


def _shown(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
