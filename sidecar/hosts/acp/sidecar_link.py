"""How the proxy reaches the sidecar: one connection for each event, which closes when the proxy lets go.

The working folder must be that of the socket (platform/client.py). Closing the connection ends a judging.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
from msgspec import Raw, Struct

from sidecar import __version__
from sidecar.hosts.acp.codec import AcpAnswer, AcpEvent
from sidecar.hosts.acp.proxy import Patience, Working
from sidecar.hosts.ports import HookCall
from sidecar.hosts.shared import ACP, try_decode
from sidecar.kernel.session import Environment
from sidecar.platform.client import SidecarError, request_sidecar


class _Working(Struct, frozen=True):
    judging: dict[str, str] = {}


class SidecarLink:
    """Reaches the sidecar; `tell` is a proxy.Tell."""

    def __init__(self, environment: Environment, start: Callable[[], None]) -> None:
        """`environment` is the session's. `start` starts a sidecar; it may block. Raises SidecarError."""
        self._environment, self._start = dict(environment), start

    async def tell(self, event: AcpEvent, patience: Patience, working: Working) -> AcpAnswer:
        """Return the answer to an event; see proxy.Tell."""
        raw = Raw(msgspec.json.encode(event))
        call = HookCall(host=ACP, event=raw, environment=self._environment, version=__version__)
        try:
            async with asyncio.timeout(patience[1]):
                try:
                    answer = await _ask(call, patience[0], working)
                except (ConnectionRefusedError, ConnectionResetError):
                    await asyncio.to_thread(self._start)
                    answer = await _ask(call, patience[0], working)
            return msgspec.json.decode(answer, type=AcpAnswer)
        except TimeoutError as error:
            raise ConnectionError("it took too long") from error
        except msgspec.DecodeError as error:
            raise ConnectionError("its answer makes no sense") from error
        except SidecarError as error:
            raise ConnectionError(str(error)) from error


async def _ask(call: HookCall, silence: float, working: Working) -> bytes:
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(silence) as waiting:

        def hear(method: str, params: Raw) -> None:
            waiting.reschedule(loop.time() + silence)
            if method == "working" and (now := try_decode(params, _Working)):
                working(now.judging)

        return await request_sidecar("hook", call, hear)
