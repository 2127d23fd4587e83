"""Entry point of hook calls: takes bytes from a host and returns bytes for it."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from msgspec import Raw, Struct
from msgspec.structs import replace

from sidecar.hosts.ports import HostCodec
from sidecar.kernel.effects import Continue, HostAnswer, NoReply
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.events import AnyHostEvent
from sidecar.kernel.session import Environment
from sidecar.systems.supervision.ports import Services

GONE_PROCESS: Final = -1
"""Stands for a process that ended before it could be looked at."""
EventHandler = Callable[[AnyHostEvent], Awaitable[HostAnswer]]
"""Handles one host event and returns the answer to the host."""


class HookCall(Struct, frozen=True, kw_only=True):
    """Parameters of the method `hook`: the host's unparsed event, and the session's environment."""

    host: str
    event: Raw
    environment: dict[str, str]
    host_pid: int = 0
    version: str = ""


class HookHandler:
    """Handles the hook calls of all hosts through their codecs."""

    def __init__(
        self, services: Services, codecs: Mapping[str, HostCodec], handlers: Mapping[str, EventHandler]
    ) -> None:
        """`codecs`: one per host, by the host's name. `handlers`: by the name of the event's class."""
        self._services = services
        self._codecs = codecs
        self._handlers = handlers

    async def handle(
        self, host: str, raw: bytes, environment: Environment, host_pid: int, peer: int = 0
    ) -> bytes:
        """Answer one hook call of the process `peer` (0: nobody knows which); raises BadInputError."""
        codec = self._codecs.get(host)
        if codec is None:
            raise BadInputError(f"unknown host {host[:40]!r}; known: {', '.join(sorted(self._codecs))}")
        event = replace(
            codec.decode(raw, environment, host_pid), speaker=self._speaker(peer, relayed=codec.relayed)
        )
        handler = self._handlers.get(type(event).__name__)
        answer = await handler(event) if handler else NoReply()
        worded = self._services.messages.continuation(answer.feedback) if isinstance(answer, Continue) else ""
        return codec.encode(raw, answer, worded)

    def _speaker(self, peer: int, *, relayed: bool) -> int:
        """Return the process that speaks as the host: the peer, or the one that started it as its relay."""
        if not peer or not relayed:
            return peer
        processes = self._services.processes
        relay = processes.find(peer)
        if relay is not None:
            return relay.parent
        return GONE_PROCESS if processes.find(os.getpid()) is not None else 0
