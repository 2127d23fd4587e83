"""One call to the sidecar of this user."""

from __future__ import annotations

from typing import TypeVar

from msgspec import Struct

from sidecar.adapters.client import Client, Hello, SidecarError
from sidecar.adapters.paths import of_user

T = TypeVar("T")


def ask(method: str, params: Struct, kind: type[T]) -> T:
    """Call a method of the sidecar, started where needed; raises SidecarError."""
    return Client(of_user()).call(method, params, kind)


def greet() -> Hello:
    """Who answers at the socket, started where nobody did; raises SidecarError."""
    client = Client(of_user())
    hello = client.greet()
    if hello is None:
        client.start()
        hello = client.greet()
    if hello is None:
        raise SidecarError("it was started, but does not answer")
    return hello
