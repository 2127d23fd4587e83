"""A judge of every kind, each with what makes it answer: a program, a server, or a script."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from sidecar.judging import ports
from sidecar.judging.backends.claude_cli import ClaudeCliJudge
from sidecar.judging.backends.service import ServiceJudge
from sidecar.judging.backends.services import ANTHROPIC, OPENAI
from sidecar.kernel.events import JudgeAnswered, JudgeFailed
from sidecar.kernel.masking import build_secret_mask
from sidecar.kernel.settings import JudgeSettings, ServiceSettings, Settings
from support.fake_claude import CASE, FakeClaude, result, structured
from support.model_script import HttpErrorReply, ReplyRule, RequestMatch, reply_with_text
from support.model_server import ScriptedModel
from support.model_wire import ReplyUsage
from support.scripted_ports import ScriptedJudge

if TYPE_CHECKING:
    from sidecar.kernel.evidence import Verdict
    from support.model_script import ScriptedReply


TEXTS: Final = Path(__file__).parents[2] / "rubric"
KEY: Final = "sk-made-up-0123456789"
SESSION: Final = {"JUDGE_KEY": KEY}
SPENT: Final = ReplyUsage(100, 20, 3, 5000)
"""What every answer of a served model costs: 123 tokens that count."""


class World(Protocol):
    """A judge in its world."""

    @property
    def judge(self) -> ports.Judge: ...

    def answers(self, verdict: Verdict) -> None:
        """Let it give this verdict next."""

    def breaks(self) -> None:
        """Let it be overloaded next, however often it is asked."""

    def thinks(self) -> None:
        """Let it think, and give no answer."""

    async def ask(self) -> JudgeAnswered | JudgeFailed:
        """Ask about a case."""


class ScriptWorld:
    def __init__(self) -> None:
        self.judge = ScriptedJudge()

    def answers(self, verdict: Verdict) -> None:
        self.judge.script(verdict)

    def breaks(self) -> None:
        self.judge.script(JudgeFailed("the model service is overloaded (529)"))

    def thinks(self) -> None:
        self.judge.released.clear()

    async def ask(self) -> JudgeAnswered | JudgeFailed:
        return await self.judge.ask(CASE, {}, Settings())


class HostWorld:
    def __init__(self, folder: Path) -> None:
        self.claude = FakeClaude(folder / "claude")
        self.judge = ClaudeCliJudge(TEXTS)
        self._folder = folder

    def answers(self, verdict: Verdict) -> None:
        self.claude.says(structured(msgspec.to_builtins(verdict)))

    def breaks(self) -> None:
        self.claude.says(result(is_error=True, api_error_status=529, result="Overloaded"), code=1)

    def thinks(self) -> None:
        self.claude.says("")
        self.claude.holds(self._folder / "nobody-listens")

    async def ask(self) -> JudgeAnswered | JudgeFailed:
        return await self.judge.ask(CASE, self.claude.session, Settings())


class ServiceWorld:
    """A judge that asks a scripted model over HTTP."""

    def __init__(self, backend: str, model: ScriptedModel) -> None:
        self.backend: Any = backend
        self.model = model
        self.judge = service_judge(backend)
        self.settings = settings(backend, model.url)

    def answers(self, verdict: Verdict) -> None:
        self.says(msgspec.json.encode({"answer": verdict}).decode())

    def says(self, text: str) -> None:
        """Let the model say this once."""
        self.replies(msgspec.structs.replace(reply_with_text(text), usage=SPENT), times=1)

    def replies(self, reply: ScriptedReply, times: int | None = None) -> None:
        self.model.add(ReplyRule(reply, times=times))

    def breaks(self) -> None:
        self.replies(HttpErrorReply(529, "overloaded_error", "Overloaded"), times=3)

    def thinks(self) -> None:
        self.model.add(ReplyRule(reply_with_text("late"), RequestMatch(), gate=threading.Event()))

    async def ask(self, **session: str) -> JudgeAnswered | JudgeFailed:
        return await self.judge.ask(CASE, SESSION | session, self.settings)


def service_judge(backend: str) -> ServiceJudge:
    dialect = ANTHROPIC if backend == "anthropic" else OPENAI
    return ServiceJudge(dialect, TEXTS, {}, build_secret_mask)


def settings(backend: Any, url: str, seconds: int = 60, **more: Any) -> Settings:
    """Settings that name one service, with a key in the session."""
    end = "/v1" if backend == "openai" else ""
    service = ServiceSettings(endpoint=f"{url}{end}", model="a-model", key_env="JUDGE_KEY")
    judge = JudgeSettings(backend=backend, seconds=seconds)
    return Settings(judge=msgspec.structs.replace(judge, **{backend: service}), **more)
