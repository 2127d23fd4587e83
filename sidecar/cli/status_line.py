"""`supervisor status-line`: where the goal of a session stands, for the line below a host's prompt.

The host runs it every few seconds, so it reads the session's state, and asks a sidecar only while a goal
is held.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time

import click
import msgspec
from msgspec import Struct

from sidecar.cli.printing import echo
from sidecar.hosts.claude_code.codec import HOST
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.goal import GoalStatus
from sidecar.kernel.session import Session, SessionKey, active_goal
from sidecar.kernel.text import clean_line
from sidecar.platform.paths import user_paths
from sidecar.platform.processes import run_process
from sidecar.platform.session_store import SessionFiles

ASK_S = 2.0
"""Seconds for the answer of a sidecar."""
BESIDE_S = 5.0
"""Seconds for the status line that was there before."""


class _HostStatus(Struct, frozen=True):
    session_id: str = ""
    host: str = HOST


@click.command()
@click.option("--beside", default="", metavar="COMMAND", help="The status line to put it behind.")
def status_line(beside: str) -> None:
    """Print where a session's goal stands; the host says on standard input which session."""
    said = sys.stdin.buffer.read()
    lines = asyncio.run(_shown_by(beside, said)) if beside else ""
    first, newline, rest = lines.partition("\n")
    echo(" | ".join(filter(None, (first, _goal(said)))) + newline + rest)


async def _shown_by(command: str, said: bytes) -> str:
    done = await run_process(
        command,
        cwd=".",
        environment=os.environ,
        seconds=BESIDE_S,
        stdin=said,
        separate=True,
    )
    return done.output.decode("utf-8", "replace").strip("\n")


def _goal(said: bytes) -> str:
    """Return where the goal stands, "" where that is not known: the host shows all that is printed."""
    try:
        asked = msgspec.json.decode(said, type=_HostStatus)
        session = SessionFiles(user_paths().state).load(SessionKey(asked.host, asked.session_id))
    except (msgspec.DecodeError, UnicodeDecodeError, BadInputError, OSError):
        return ""
    if session is None or active_goal(session) is None:
        return describe(session) if session else ""
    return _judging(session.key) or describe(session)


def _judging(key: SessionKey) -> str:
    """Return what is done for the session's stop, "" where none is judged or nobody can say."""
    from sidecar.platform.client import SidecarClient, SidecarError  # noqa: PLC0415 - most lines need neither
    from sidecar.systems.supervision.people import SessionReport, SessionSelector  # noqa: PLC0415
    from sidecar.systems.supervision.policy.sessions import describe_age  # noqa: PLC0415

    asked = SessionSelector(session=key.id, host=key.host)
    try:
        client = SidecarClient(user_paths(), silence_s=ASK_S, starts=False)
        report = client.call("report", asked, SessionReport, seconds=ASK_S)
    except (SidecarError, OSError):
        return ""
    does = report.activity
    if does is None or does.state != "judging":
        return ""
    return clean_line(f"supervisor: {does.detail}, {describe_age(time.time() - does.since)}")


def describe(session: Session) -> str:
    """Return where a session's goal stands, "" without one."""
    goal = session.goal
    if goal is None or goal.status is GoalStatus.CLEARED:
        return ""
    sent = f", sent back {goal.spent.continuations}x" if goal.spent.continuations else ""
    return clean_line(f"supervisor: goal {goal.status}{sent}")
