"""The door for hooks: bytes of a host in, bytes for the host out."""

from __future__ import annotations

from collections.abc import Mapping

from sidecar.app.house import House
from sidecar.app.supervisor import Supervisor
from sidecar.model.effects import Continue
from sidecar.ports import BadInputError, Environment, HostCodec


class HookDoor:
    """Speaks every host's language through its codec."""

    def __init__(self, house: House, supervisor: Supervisor, codecs: Mapping[str, HostCodec]) -> None:
        """`codecs`: one per host, by the host's name."""
        self._house = house
        self._supervisor = supervisor
        self._codecs = codecs

    async def handle(self, host: str, raw: bytes, environment: Environment, host_pid: int) -> bytes:
        """Answer one hook call; raises BadInputError."""
        codec = self._codecs.get(host)
        if codec is None:
            raise BadInputError(f"unknown host {host[:40]!r}; known: {', '.join(sorted(self._codecs))}")
        answer = await self._supervisor.tell(codec.decode(raw, environment, host_pid))
        worded = self._house.phrasebook.continuation(answer.feedback) if isinstance(answer, Continue) else ""
        return codec.encode(raw, answer, worded)
