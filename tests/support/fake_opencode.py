"""An OpenCode that tells of a session, answers what it is asked about it, and writes down what that was."""

from __future__ import annotations

import asyncio
import contextvars
import json
from collections import defaultdict, deque
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import msgspec

from sidecar.hosts.opencode import link
from sidecar.judging.backends.opencode import OpenCodeJudge
from sidecar.kernel.events import JudgeFailed
from sidecar.kernel.settings import JudgeSettings, Settings
from sidecar.platform.rpc import PeerError
from support.fake_claude import CASE
from support.judge_worlds import TEXTS

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from sidecar.kernel.events import JudgeAnswered
    from sidecar.kernel.evidence import Verdict


T = TypeVar("T")
Fields = dict[str, Any]
SESSION: Final = "ses_user"
FOLDER: Final = "/home/user/project"
MODEL: Final = {"providerID": "fake", "modelID": "fake-1"}
SPENT: Final = {"input": 100, "output": 20, "reasoning": 0, "cache": {"read": 5000, "write": 3}}
"""Tokens of one answer: 123 that count."""
COST: Final = 0.0125
"""Dollars of one answer."""
JUDGED: Final = ["session.create", "session.prompt", "session.abort", "session.delete"]
"""What the host is asked for one answer."""


class Asked(NamedTuple):
    """One call of the host's API."""

    call: str
    folder: str
    given: Fields


class FakeOpenCode:
    """Implements link.Host.

    `listed` are the session's messages, of which it gives the newest. `children` are the sessions that were
    made and not deleted. What is scripted for a call comes first: bytes are the answer, an exception is
    raised, an event is waited for.
    """

    def __init__(self, session: str = SESSION, folder: str = FOLDER) -> None:
        self.session = session
        self.folder = folder
        self.listed: list[Fields] = []
        self.children: list[str] = []
        self.asked: list[Asked] = []
        self._script: defaultdict[str, deque[bytes | Exception | asyncio.Event]] = defaultdict(deque)
        self._came: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

    @property
    def calls(self) -> list[str]:
        """The names of what was asked, in order."""
        return [one.call for one in self.asked]

    def given(self, call: str) -> list[Fields]:
        """What came with every such call."""
        return [one.given for one in self.asked if one.call == call]

    def script(self, call: str, *said: bytes | Exception | asyncio.Event) -> None:
        """Let the next such calls end so."""
        self._script[call] += said

    def refuses(self, call: str, why: str = "no") -> None:
        """Let the next such call fail."""
        self.script(call, PeerError(why))

    def holds(self, call: str) -> asyncio.Event:
        """Let the next such call wait for the event that is returned."""
        held = asyncio.Event()
        self.script(call, held)
        return held

    def says(self, text: str, **info: Any) -> None:
        """Let the judge's model answer this."""
        self.script("session.prompt", reply(text, **info))

    def came(self, call: str) -> asyncio.Event:
        """Set when such a call has come."""
        return self._came[call]

    async def ask(self, method: str, params: msgspec.Struct) -> msgspec.Raw:
        """Answer as the plugin does."""
        assert method == link.PLUGIN_METHOD
        told = msgspec.to_builtins(params)
        asked = Asked(told["call"], told["directory"], told["given"])
        self.asked.append(asked)
        self._came[asked.call].set()
        script = self._script[asked.call]
        said = script.popleft() if script else None
        if isinstance(said, Exception):
            raise said
        if isinstance(said, asyncio.Event):
            await said.wait()
            said = None
        return msgspec.Raw(self._usual(asked) if said is None else said)

    def event(self, **fields: Any) -> bytes:
        """Build what the plugin tells when the session rests."""
        told = {"type": "session.idle", "session": {"id": self.session, "directory": self.folder}}
        return json.dumps({**told, "last": {"id": "msg_1", "role": "assistant", **MODEL}, **fields}).encode()

    def told(self, work: Coroutine[Any, Any, T], **fields: Any) -> asyncio.Task[T]:
        """Work for what this host told, in a task of its own."""
        context = contextvars.copy_context()
        context.run(link.set_session_context, self, self.event(**fields))
        return asyncio.create_task(work, context=context)

    def _usual(self, asked: Asked) -> bytes:
        session = asked.given.get("path", {}).get("id", "")
        match asked.call:
            case "session.messages":
                return json.dumps(self.listed[-asked.given["query"]["limit"] :]).encode()
            case "session.create":
                self.children.append(f"ses_judge{len(self.calls)}")
                return json.dumps({"id": self.children[-1], **asked.given["body"]}).encode()
            case "session.delete":
                self.children.remove(session)
                return b"true"
            case _:
                return b"true"


def reply(text: str, **info: Any) -> bytes:
    """Build the message in which the judge's model answers."""
    head = {"id": "msg_j", "role": "assistant", "finish": "stop", "cost": COST, "tokens": SPENT, **info}
    spoken = {"id": "prt_j", "type": "text", "text": text, "time": {"start": 1, "end": 2}}
    return json.dumps({"info": head, "parts": [{"type": "step-start", "snapshot": "1"}, spoken]}).encode()


def wording(verdict: Verdict) -> str:
    """The text of a model that gave this verdict."""
    return msgspec.json.encode({"answer": verdict}).decode()


async def ask(host: FakeOpenCode, **judge: Any) -> JudgeAnswered | JudgeFailed:
    """Let the judge ask the model of this host."""
    settings = Settings(judge=JudgeSettings(**judge))
    return await host.told(OpenCodeJudge(TEXTS).ask(CASE, {}, settings))


async def failure(host: FakeOpenCode, **judge: Any) -> JudgeFailed:
    """Let it ask in vain; the reason is one short line."""
    said = await ask(host, **judge)
    assert isinstance(said, JudgeFailed)
    assert said.reason.isprintable()
    assert len(said.reason) < 450
    assert said.backend == "opencode"
    return said


class OpenCodeWorld:
    """A judge that asks the model of the session's own OpenCode. Implements judge_worlds.World."""

    def __init__(self) -> None:
        self.host = FakeOpenCode()
        self.judge = OpenCodeJudge(TEXTS)
        self.settings = Settings()

    def answers(self, verdict: Verdict) -> None:
        self.host.says(wording(verdict))

    def breaks(self) -> None:
        error = {"name": "APIError", "data": {"message": "Overloaded (529)", "statusCode": 529}}
        self.host.says("", error=error, cost=0, tokens={"input": 0, "output": 0})

    def thinks(self) -> None:
        self.host.script("session.prompt", asyncio.Event())

    async def ask(self) -> JudgeAnswered | JudgeFailed:
        return await self.host.told(self.judge.ask(CASE, {}, self.settings))
