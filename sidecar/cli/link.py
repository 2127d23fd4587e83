"""Calls to the sidecar of the current user, and which session they are about."""

from __future__ import annotations

import os
from typing import Final, TypeVar

import click
from msgspec import Struct

from sidecar import __version__
from sidecar.platform.client import SidecarClient
from sidecar.platform.paths import user_paths
from sidecar.platform.rpc import HelloAnswer, HelloRequest
from sidecar.systems.supervision.people import SessionSelector

SESSION_OPTION: Final = click.option(
    "--session",
    default="",
    help="The host's session id, or HOST:ID; else one whose goal is held here, or the one seen last.",
)

T = TypeVar("T")


def session_reference(session: str) -> SessionSelector:
    """The session with this id; for "" the one that matters in the current folder."""
    return SessionSelector(session=session, project="" if session else os.getcwd())  # noqa: PTH109 - sent as text


def call_sidecar(method: str, params: Struct | None, kind: type[T]) -> T:
    """Call a method of the sidecar, which is started if none runs. Raises SidecarError."""
    return SidecarClient(user_paths()).call(method, params, kind)


def greet_sidecar() -> HelloAnswer:
    """Ask the sidecar who it is; it is started if none answers. Raises SidecarError."""
    return call_sidecar("hello", HelloRequest(__version__), HelloAnswer)
