"""Calls to the sidecar of the current user, and which session they are about."""

from __future__ import annotations

import os
from typing import Final, TypeVar

import click
from msgspec import Struct

from sidecar import __version__
from sidecar.kernel.goal import ExitCode
from sidecar.platform.client import SidecarClient
from sidecar.platform.paths import user_paths
from sidecar.platform.rpc import HelloAnswer, HelloRequest
from sidecar.systems.supervision.people import SessionSelector

SESSION_OPTION: Final = click.option(
    "--session",
    default="",
    help="The host's session id, or HOST:ID; else one whose goal is held here, or the one seen last.",
)

ACCEPT_JUDGED_OPTION: Final = click.option(
    "--accept-judged", is_flag=True, help="Let a goal that is done by a judge's word alone end in 0, too."
)

T = TypeVar("T")


def accepted_code(code: int, *, accept_judged: bool) -> int:
    """The exit code for a goal, 0 for one that was only judged where that is enough for the user."""
    return ExitCode.ACHIEVED if accept_judged and code == ExitCode.JUDGED else code


def session_reference(session: str) -> SessionSelector:
    """The session with this id; for "" the one that matters in the current folder."""
    return SessionSelector(session=session, project="" if session else os.getcwd())  # noqa: PTH109 - sent as text


def call_sidecar(method: str, params: Struct | None, kind: type[T]) -> T:
    """Call a method of the sidecar, which is started if none runs. Raises SidecarError."""
    return SidecarClient(user_paths()).call(method, params, kind)


def greet_sidecar() -> HelloAnswer:
    """Ask the sidecar who it is; it is started if none answers. Raises SidecarError."""
    return call_sidecar("hello", HelloRequest(__version__), HelloAnswer)
