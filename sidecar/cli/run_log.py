"""`supervisor run log`: every iteration of a run's session, and one of them in full."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

import click

from sidecar.cli.printing import echo, local_time
from sidecar.cli.run_show import format_duration
from sidecar.hosts.shared import checked_session_id
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.log import EventFilter, LoggedEvent, RunIterationBegan, RunIterationEnded, event_kind
from sidecar.kernel.runs import RUN_HOST
from sidecar.kernel.session import SessionKey
from sidecar.kernel.text import clean_line
from sidecar.platform.paths import user_paths
from sidecar.platform.ports import EventLog
from sidecar.wiring.platform import build_platform

KINDS: Final = (event_kind(RunIterationBegan), event_kind(RunIterationEnded))
EVENTS_READ: Final = 2_000
"""Newest events that are read: a thousand iterations."""
LINE_LENGTH: Final = 300


def show_run_log(words: tuple[str, ...]) -> None:
    """Print the iterations of the session, or the prompt and the output of one.

    `words` are what was typed: a session, else the one that ran last in this folder, and a number.
    """
    session, typed, *more = (*words, "", "")
    if any(more) or not (typed.isdecimal() or not typed):
        raise click.UsageError("type: supervisor run log [SESSION] [NUMBER]")
    number = int(typed or 0)
    log = build_platform(user_paths().state).log
    name = checked_session_id(session.removeprefix(f"{RUN_HOST}:")) if session else _last_session(log)
    found = log.newest(EventFilter(session=SessionKey(RUN_HOST, name), kinds=KINDS), EVENTS_READ)
    wanted = [event for event in found if number in (0, _number(event))]
    if not wanted:
        raise BadInputError(f"no iteration {typed} of the session {name} is kept")
    if not number:
        echo(f"session {name}")
    for event in wanted:
        for line in _in_full(event) if number else _in_short(event, wanted[-1]):
            echo(line)


def _last_session(log: EventLog) -> str:
    for event in log.newest(EventFilter(project=os.getcwd(), kinds=KINDS), 1):  # noqa: PTH109 - as it was sent
        if event.session is not None:
            return event.session.id
    raise BadInputError("nothing was run in this folder. Example: supervisor run --help")


def _number(event: LoggedEvent) -> int:
    return event.data.number if isinstance(event.data, RunIterationBegan | RunIterationEnded) else 0


def _in_short(event: LoggedEvent, newest: LoggedEvent) -> Iterator[str]:
    """Give the line of an iteration that ended, and of the newest one that did not."""
    when = local_time(event.at)
    match event.data:
        case RunIterationEnded():
            yield clean_line(f"{event.data.number:>3} {when} {_ending(event.data)}", LINE_LENGTH)
        case RunIterationBegan() if event is newest:
            yield f"{event.data.number:>3} {when} at work, or its run was killed"
        case _:
            pass


def _in_full(event: LoggedEvent) -> Iterator[str]:
    when = local_time(event.at)
    match event.data:
        case RunIterationBegan() as begun:
            yield f"iteration {begun.number} ({begun.iteration} of {begun.most} of its goal), {when}"
            yield f"\n--- prompt ---\n{begun.prompt}"
        case RunIterationEnded() as ended:
            yield f"\n--- output ---\n{ended.output}\n\n--- end, {when} ---\n{_ending(ended)}"
        case _:
            pass


def _ending(ended: RunIterationEnded) -> str:
    parts = (
        format_duration(ended.seconds),
        f"{ended.tokens:,} tokens" * bool(ended.tokens),
        "" if ended.cents is None else f"{ended.cents:.2f} cents",
        ended.trouble or (f"exit code {ended.exit_code}" if ended.exit_code else ""),
        ", ".join(ended.moved),
        f"{ended.decided}: {ended.detail}".removesuffix(": "),
    )
    return "; ".join(filter(None, parts))
