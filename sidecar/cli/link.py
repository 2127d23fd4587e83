"""Calls to the sidecar of the current user."""

from __future__ import annotations

from typing import TypeVar

from msgspec import Struct

from sidecar.platform.client import HelloAnswer, SidecarClient, SidecarError
from sidecar.platform.paths import user_paths

T = TypeVar("T")


def call_sidecar(method: str, params: Struct | None, kind: type[T]) -> T:
    """Call a method of the sidecar, which is started if none runs. Raises SidecarError."""
    return SidecarClient(user_paths()).call(method, params, kind)


def greet_sidecar() -> HelloAnswer:
    """Ask the sidecar who it is; it is started if none answers. Raises SidecarError."""
    client = SidecarClient(user_paths())
    hello = client.greet()
    if hello is None:
        client.start()
        hello = client.greet()
    if hello is None:
        raise SidecarError("it was started, but does not answer")
    return hello
