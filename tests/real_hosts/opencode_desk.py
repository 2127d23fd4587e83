"""What scenarios at a shared `opencode serve` have in common: typing, and waiting for what happens.

The server, its home and its model are shared; each scenario has a project of its own, by which
the rules of the script tell whose request it is.
"""

from __future__ import annotations

import re
import threading
from contextlib import suppress
from typing import Any

import httpx2

from real_hosts.opencode_server import Desk, Message
from real_hosts.opencode_supervised import Supervised
from real_hosts.waiting import until


def typed(desk: Desk, session: str, name: str, arguments: str) -> None:
    """Type a command and do not wait for its turn to end."""

    def typing() -> None:
        with suppress(httpx2.HTTPError):  # the server may end first
            desk.command(session, name, arguments)

    threading.Thread(target=typing, daemon=True).start()


def noted(desk: Desk, session: str, pattern: str) -> Message:
    """Wait for a line of ours in the session, and return its message."""

    def ours(event: Any) -> bool:
        part = event.properties.get("part", {}) if isinstance(event.properties, dict) else {}
        return event.session == session and bool(re.search(pattern, str(part.get("text", ""))))

    desk.server.wait_for(ours)
    return until(
        lambda: [one for one in desk.messages(session) if re.search(pattern, one.text)], "it is not listed"
    )[-1]


def toasted(desk: Desk, pattern: str) -> None:
    """Wait until a line of ours was shown to the person in this project."""

    def ours(event: Any) -> bool:
        shown = event.type == "tui.toast.show" and event.directory == str(desk.project)
        return shown and bool(re.search(pattern, event.properties["message"]))

    desk.server.wait_for(ours)


UNJUDGED = "interrupted|unfinished|superseded"
"""How a turn that was aborted or failed may end: the host tells of its rest twice, and a slow machine may
still judge the first when the second one ends that."""


def running(event: Any) -> bool:
    """Whether the event tells that a tool call is under way."""
    part = event.properties.get("part", {})
    return bool(part.get("type") == "tool" and part.get("state", {}).get("status") == "running")


HELD = 'the file is there --check "touch started; until [ -e release ]; do sleep 0.1; done; false"'
"""A goal whose check runs until the test lets it go, and then fails."""


def judging(under: Supervised, desk: Desk, session: str) -> None:
    """Set the held goal, again where the sidecar was silent for too long, and wait until its check runs."""
    until(lambda: desk.command(session, "supervisor:goal", HELD).is_success, "the goal is refused")
    until((under.host.project / "started").exists, "the check does not run")


def forgotten(under: Supervised, session: str) -> None:
    """Wait until nothing is stored of a session that was deleted: the host tells of it afterwards."""
    kept = under.state / "sessions"
    until(lambda: not list(kept.glob(f"*{session}*.json")), f"{session} is still stored")
