"""Every answer that a test of this folder gets is held against the room of a host's screen."""

from __future__ import annotations

import pytest

from sidecar.kernel.effects import CommandReply, Continue, HostAnswer, Rest
from sidecar.kernel.events import AnyHostEvent
from sidecar.systems.supervision.supervisor import Supervisor
from support.fakes import Fakes

LINES = 3
HEAD = "Supervisor"
LISTS = tuple(f"Supervisor: {what}" for what in ("not approved yet:", "approve what", "changed since"))
"""Answers to who asked for a list: each of its lines is something to approve."""


@pytest.fixture
def fakes() -> Fakes:
    return Fakes()


@pytest.fixture(autouse=True)
def _three_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    tell = Supervisor.tell

    async def held_against(self: Supervisor, event: AnyHostEvent) -> HostAnswer:
        answer = await tell(self, event)
        for message in messages(answer):
            assert message.startswith(LISTS) or len(message.splitlines()) <= LINES, message
        return answer

    monkeypatch.setattr(Supervisor, "tell", held_against)


def messages(answer: HostAnswer) -> list[str]:
    """Split what a host shows into messages: each begins with our name."""
    text = answer.text if isinstance(answer, CommandReply) else ""
    text = answer.note if isinstance(answer, Continue | Rest) else text
    assert not text or text.startswith(HEAD), text
    return [f"{HEAD}{rest}" for rest in f"\n{text}".split(f"\n{HEAD}")[1:]]
