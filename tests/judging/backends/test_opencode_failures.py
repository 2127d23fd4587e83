"""The model of the session's own OpenCode as a judge: what becomes of a question that ends badly or early."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import pytest

from sidecar.judging.backends.opencode import OpenCodeJudge
from sidecar.kernel.events import JudgeAnswered, JudgeFailed
from sidecar.kernel.evidence import Abstain
from sidecar.kernel.settings import Settings
from support.fake_claude import CASE
from support.fake_opencode import JUDGED, FakeOpenCode, ask, failure, wording
from support.judge_worlds import TEXTS

if TYPE_CHECKING:
    from pathlib import Path

LIMIT_S: Final = 60.0
"""Bound of every wait here, in seconds."""
FIT: Final = wording(Abstain("too little", 0.5))
PROMPT: Final = "session.prompt"


@pytest.fixture
def host() -> FakeOpenCode:
    return FakeOpenCode()


def asking(host: FakeOpenCode) -> asyncio.Task[JudgeAnswered | JudgeFailed]:
    return asyncio.create_task(ask(host))


async def happens(event: asyncio.Event) -> None:
    async with asyncio.timeout(LIMIT_S):
        await event.wait()


async def settled() -> None:
    """Let everything that was left running come to its end."""
    async with asyncio.timeout(LIMIT_S):
        while left := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(left)


class TestFailures:
    @pytest.mark.parametrize(
        ("error", "said"),
        [
            (
                {"name": "APIError", "data": {"message": "over\nloaded", "statusCode": 529}},
                "APIError: over loaded",
            ),
            ({"name": "MessageAbortedError", "data": {"message": "Aborted"}}, "MessageAbortedError: Aborted"),
            ({"name": "ContentFilterError"}, "ContentFilterError"),
            ({"name": "x" * 9000}, "x" * 100),
            ("boom", "UnknownError"),
        ],
    )
    async def test_an_error_of_the_host_is_told_and_nobody_is_asked_again(
        self, error: object, said: str, host: FakeOpenCode
    ) -> None:
        host.says(FIT, error=error, cost=0, tokens={"input": 7, "output": 0})
        failed = await failure(host)
        assert failed.reason.startswith(f"OpenCode's model did not answer: {said}")
        assert (failed.tokens, failed.calls, failed.cents) == (7, 1, 0.0)
        assert host.calls == JUDGED
        assert host.children == []

    async def test_a_prompt_that_the_host_refuses_may_have_cost(self, host: FakeOpenCode) -> None:
        host.refuses(PROMPT, 'agent not found: "supervisor-judge"')
        failed = await failure(host)
        assert failed.reason == 'OpenCode\'s model did not answer: agent not found: "supervisor-judge"'
        assert (failed.calls, failed.cents) == (1, None)
        assert host.children == []

    async def test_where_no_session_can_be_made_nobody_is_asked(self, host: FakeOpenCode) -> None:
        host.refuses("session.create", "no such folder")
        failed = await failure(host)
        assert failed.reason == "OpenCode made no session for the judge: no such folder"
        assert (failed.calls, failed.cents, host.calls) == (0, None, ["session.create"])

    async def test_without_an_opencode_there_is_nobody_to_ask(self) -> None:
        said = await OpenCodeJudge(TEXTS).ask(CASE, {}, Settings())
        assert isinstance(said, JudgeFailed)
        assert said.reason == "the session is not OpenCode's"

    @pytest.mark.parametrize("call", ["session.abort", "session.delete"])
    async def test_a_verdict_stands_though_the_session_cannot_be_put_away(
        self, call: str, host: FakeOpenCode
    ) -> None:
        host.says(FIT)
        host.refuses(call)
        assert isinstance(await ask(host), JudgeAnswered)
        assert host.calls == JUDGED

    async def test_a_host_that_is_gone_in_the_middle_is_told(self, host: FakeOpenCode) -> None:
        for call in JUDGED[1:]:
            host.refuses(call, "the peer left")
        assert (await failure(host)).reason == "OpenCode's model did not answer: the peer left"

    async def test_instructions_that_are_not_there_are_told_and_nobody_is_asked(
        self, host: FakeOpenCode, tmp_path: Path
    ) -> None:
        said = await host.told(OpenCodeJudge(tmp_path).ask(CASE, {}, Settings()))
        assert isinstance(said, JudgeFailed)
        assert said.reason.startswith("the judge could not be asked: ")
        assert host.calls == []


class TestTheEnd:
    async def test_a_deadline_ends_the_thinking_and_leaves_no_trace(self, host: FakeOpenCode) -> None:
        host.holds(PROMPT)
        said = await ask(host, seconds=0.5)  # nearer than settings may have it
        assert isinstance(said, JudgeFailed)
        assert "did not answer" in said.reason
        assert (said.calls, said.cents) == (1, None)
        await settled()
        assert host.calls == JUDGED
        assert host.children == []

    async def test_a_question_that_is_taken_back_while_the_model_thinks_leaves_no_trace(
        self, host: FakeOpenCode
    ) -> None:
        host.holds(PROMPT)
        question = asking(host)
        await happens(host.came(PROMPT))
        question.cancel()
        with pytest.raises(asyncio.CancelledError):
            await question
        await settled()
        assert host.calls == JUDGED
        assert host.children == []

    async def test_a_question_that_is_taken_back_twice_while_the_model_thinks_leaves_no_trace(
        self, host: FakeOpenCode
    ) -> None:
        host.holds(PROMPT)
        aborting = host.holds("session.abort")
        question = asking(host)
        await happens(host.came(PROMPT))
        question.cancel()
        await happens(host.came("session.abort"))
        question.cancel()
        aborting.set()
        with pytest.raises(asyncio.CancelledError):
            await question
        await settled()
        assert host.calls == JUDGED
        assert host.children == []
