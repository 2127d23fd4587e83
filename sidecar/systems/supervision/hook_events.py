"""Entry point of hook calls: takes bytes from a host and returns bytes for it."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Final

from msgspec.structs import replace

from sidecar.hosts.ports import HostCodec
from sidecar.kernel.effects import Continue, HostAnswer, Rest
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.events import AgentStopped, AnyHostEvent, HostEvent, SessionStarted
from sidecar.kernel.session import Environment, SessionKey
from sidecar.kernel.text import clean_text
from sidecar.platform.process_table import write_to_terminal
from sidecar.systems.supervision.policy.sessions import JudgingStep, describe_step
from sidecar.systems.supervision.ports import Services

GONE_PROCESS: Final = -1
"""Stands for a process that ended before it could be looked at."""
TELL_S: Final = 2.0
TELL_AGAIN_S: Final = 60.0
"""Seconds after which what is done is shown, and shown again, on the terminal of a host without a screen."""
EventHandler = Callable[[AnyHostEvent], Awaitable[HostAnswer]]
"""Handles one host event and returns the answer to the host."""


class HookHandler:
    """Handles the hook calls of all hosts through their codecs."""

    def __init__(
        self,
        services: Services,
        codecs: Mapping[str, HostCodec],
        answer: EventHandler,
        judging: Callable[[SessionKey], JudgingStep | None] = lambda _: None,
        altered_plugin: Callable[[str, HostEvent], str] = lambda _host, _event: "",
    ) -> None:
        """`codecs`: one per host, by the host's name. `answer`: what answers an event.

        `judging`: what the judging of a session's stop does. `altered_plugin`: a line about what is wrong
        with our plugin in a host.
        """
        self._services = services
        self._codecs = codecs
        self._answer = answer
        self._judging = judging
        self._altered_plugin = altered_plugin

    async def handle(
        self, host: str, raw: bytes, environment: Environment, host_pid: int, peer: int = 0
    ) -> bytes:
        """Answer one hook call of the process `peer` (0: nobody knows which); raises BadInputError."""
        codec = self._codecs.get(host)
        if codec is None:
            raise BadInputError(f"unknown host {host[:40]!r}; known: {', '.join(sorted(self._codecs))}")
        speaker = self._speaker(peer, relayed=codec.relayed)
        event = replace(codec.decode(raw, environment, host_pid), speaker=speaker)
        begins = isinstance(event, SessionStarted) and not event.ours
        if begins and (altered := self._altered_plugin(host, event)):
            self._services.incidents.report(altered, event.key)
        async with self._shown_on_terminal(event):
            answer = await self._answer(event)
        if isinstance(answer, Continue | Rest) and answer.note and (pid := _screenless_host(event)):
            write_to_terminal(pid, clean_text(f"{answer.note}\n"))
        worded = self._services.messages.continuation(answer.feedback) if isinstance(answer, Continue) else ""
        return codec.encode(raw, answer, worded)

    @contextlib.asynccontextmanager
    async def _shown_on_terminal(self, event: AnyHostEvent) -> AsyncIterator[None]:
        """Say what is done meanwhile where the host shows nothing itself."""
        host = _screenless_host(event)
        telling = asyncio.create_task(self._tell(event.key, host)) if host else None
        try:
            yield
        finally:
            if telling is not None:
                telling.cancel()

    async def _tell(self, key: SessionKey, host: int) -> None:
        """Say what is done now each time that this changes, and once a minute."""
        clock, said, again = self._services.clock, "", 0.0
        while True:
            await clock.pause(TELL_S)
            step = self._judging(key)
            if step is not None and (step.doing != said or clock.now() >= again):
                said, again = step.doing, clock.now() + TELL_AGAIN_S
                write_to_terminal(host, clean_text(f"Supervisor: {describe_step(step, clock.now())}\n"))

    def _speaker(self, peer: int, *, relayed: bool) -> int:
        """Return the process that speaks as the host: the peer, or the one that started it as its relay."""
        if not peer or not relayed:
            return peer
        processes = self._services.processes
        relay = processes.find(peer)
        if relay is not None:
            return relay.parent
        return GONE_PROCESS if processes.find(os.getpid()) is not None else 0


def _screenless_host(event: AnyHostEvent) -> int:
    """Return the process of a host whose stop is judged and that has no screen; 0 for all others."""
    screenless = isinstance(event, AgentStopped) and event.headless and event.host_pid and event.speaker > 0
    return event.speaker if screenless else 0
