"""What scenarios at a shared `opencode serve` have in common: typing, and waiting for what happens.

The server, its home and its model are shared; each scenario has a project of its own, by which
the rules of the script tell whose request it is.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import httpx2

from real_hosts.opencode_server import Desk, Message
from real_hosts.opencode_supervised import Supervised

LIMIT_S: Final = 180.0
"""Longest time, in seconds, of a wait."""
LOOK_EVERY_S: Final = 0.05


def typed(desk: Desk, session: str, name: str, arguments: str) -> None:
    """Type a command and do not wait for its turn to end."""

    def typing() -> None:
        with suppress(httpx2.HTTPError):  # the server may end first
            desk.command(session, name, arguments)

    threading.Thread(target=typing, daemon=True).start()


def noted(desk: Desk, session: str, pattern: str, *, limit_s: float = LIMIT_S) -> Message:
    """Wait for a line of ours in the session, and return its message."""

    def ours(event: Any) -> bool:
        part = event.properties.get("part", {}) if isinstance(event.properties, dict) else {}
        return event.session == session and bool(re.search(pattern, str(part.get("text", ""))))

    desk.server.wait_for(ours, timeout=limit_s)
    return [one for one in desk.messages(session) if re.search(pattern, one.text)][-1]


def toasted(desk: Desk, pattern: str) -> None:
    """Wait until a line of ours was shown to the person in this project."""

    def ours(event: Any) -> bool:
        shown = event.type == "tui.toast.show" and event.directory == str(desk.project)
        return shown and bool(re.search(pattern, event.properties["message"]))

    desk.server.wait_for(ours, timeout=LIMIT_S)


UNJUDGED = "interrupted|unfinished|superseded"
"""How a turn that was aborted or failed may end: the host tells of its rest twice, and a slow machine may
still judge the first when the second one ends that."""


def decided(under: Supervised, word: str) -> None:
    """Wait until a stop of this project was decided so."""
    _until(lambda: any(re.fullmatch(word, one) for one in under.stops()), f"no stop was decided {word}")


def running(event: Any) -> bool:
    """Whether the event tells that a tool call is under way."""
    part = event.properties.get("part", {})
    return bool(part.get("type") == "tool" and part.get("state", {}).get("status") == "running")


def judging(under: Supervised) -> None:
    """Wait until the held check runs."""
    _until((under.host.project / "started").exists, "the check does not run")


def forgotten(under: Supervised, session: str) -> None:
    """Wait until nothing is stored of a session that was deleted: the host tells of it afterwards."""
    kept = under.state / "sessions"
    _until(lambda: not list(kept.glob(f"*{session}*.json")), f"{session} is still stored")


def _until(holds: Callable[[], bool], lack: str) -> None:
    """Look until it holds; raises `TimeoutError`."""
    pause, end = threading.Event(), time.monotonic() + LIMIT_S
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(f"{lack} within {LIMIT_S:g} s")
        pause.wait(LOOK_EVERY_S)
