"""The model of the session's own OpenCode as a judge: how it is asked, and that it leaves no trace.

The host is a script here; tests/real_hosts asks the real one.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any, Final

import pytest

from sidecar.judging.backends import opencode
from sidecar.judging.backends.answer import schema_text
from sidecar.judging.backends.opencode import OpenCodeJudge
from sidecar.judging.backends.prompt import build_judge_prompt
from sidecar.judging.ports import ChosenBackend
from sidecar.kernel.events import JudgeAnswered
from sidecar.kernel.evidence import Complete, Met
from sidecar.kernel.settings import JudgeSettings, ModelTiers, Settings
from support.fake_claude import CASE
from support.fake_opencode import (
    COST,
    FOLDER,
    JUDGED,
    MODEL,
    SESSION,
    FakeOpenCode,
    ask,
    failure,
    reply,
    wording,
)
from support.judge_worlds import TEXTS

VERDICT: Final = Complete((Met("the tests pass", ("E1",)),), 0.9)
FIT: Final = wording(VERDICT)
UNFIT: Final = FIT.replace("0.9", "9")
PROMPT: Final = "session.prompt"


@pytest.fixture
def host() -> FakeOpenCode:
    return FakeOpenCode()


async def judged(host: FakeOpenCode, **judge: Any) -> JudgeAnswered:
    said = await ask(host, **judge)
    assert isinstance(said, JudgeAnswered), said
    return said


class TestAsking:
    async def test_it_asks_in_a_session_of_its_own_below_the_users_and_leaves_no_trace(
        self, host: FakeOpenCode
    ) -> None:
        host.says(FIT)
        await judged(host)
        assert host.calls == JUDGED
        assert host.children == []
        assert host.given("session.create") == [{"body": {"parentID": SESSION, "title": opencode.TITLE}}]
        assert {asked.folder for asked in host.asked} == {FOLDER}
        child = {"id": "ses_judge1"}
        assert [asked.given["path"] for asked in host.asked[1:]] == [child, child, child]

    async def test_the_hidden_agent_gets_the_instructions_the_structure_and_the_case_and_no_tools(
        self, host: FakeOpenCode
    ) -> None:
        host.says(FIT)
        await judged(host)
        prompt = build_judge_prompt(CASE, TEXTS)
        structure = (TEXTS / "structure.md").read_text().strip()
        (given,) = host.given(PROMPT)
        assert given["body"] == {
            "agent": "supervisor-judge",
            "system": f"{prompt.system}\n\n{structure}\n\n{schema_text()}",
            "tools": {"*": False},
            "model": MODEL,
            "parts": [{"type": "text", "text": prompt.case}],
        }

    @pytest.mark.parametrize(
        ("named", "asked"),
        [
            ("medium", MODEL),
            ("sonnet", MODEL),
            ("small", MODEL),
            ("other/model-2", {"providerID": "other", "modelID": "model-2"}),
            ("router/vendor/model:free", {"providerID": "router", "modelID": "vendor/model:free"}),
        ],
    )
    async def test_the_settings_name_a_model_in_the_hosts_way_or_it_is_the_sessions_own(
        self, named: str, asked: dict[str, str], host: FakeOpenCode
    ) -> None:
        host.says(FIT)
        said = await judged(host, model=named)
        assert host.given(PROMPT)[0]["body"]["model"] == asked
        assert said.judgement.model == f"{asked['providerID']}/{asked['modelID']}"

    async def test_a_tier_may_stand_for_a_model_of_the_host(self, host: FakeOpenCode) -> None:
        host.says(FIT)
        settings = Settings(judge=JudgeSettings(model="large"), tiers=ModelTiers(large="other/big-7"))
        await host.told(OpenCodeJudge(TEXTS).ask(CASE, {}, settings))
        assert host.given(PROMPT)[0]["body"]["model"] == {"providerID": "other", "modelID": "big-7"}

    async def test_where_no_model_is_known_the_host_takes_its_own(self, host: FakeOpenCode) -> None:
        host.says(FIT)
        said = await host.told(
            OpenCodeJudge(TEXTS).ask(CASE, {}, Settings()), last={"id": "m", "role": "user"}
        )
        assert "model" not in host.given(PROMPT)[0]["body"]
        assert isinstance(said, JudgeAnswered)
        assert said.judgement.model == ""

    async def test_it_is_there_where_an_opencode_asks_and_nowhere_else(self, host: FakeOpenCode) -> None:
        async def chosen() -> ChosenBackend:
            return OpenCodeJudge(TEXTS).chosen({}, Settings())

        assert await host.told(chosen()) == ChosenBackend("opencode", "the session's own model")
        assert await asyncio.create_task(chosen()) == ChosenBackend("", "the session is not OpenCode's")

    async def test_two_sessions_at_once_ask_their_own_hosts(self) -> None:
        hosts = [FakeOpenCode("ses_1", "/one"), FakeOpenCode("ses_2", "/two")]
        for host in hosts:
            host.says(FIT)
        said = await asyncio.gather(*(ask(host) for host in hosts))
        assert [type(one) for one in said] == [JudgeAnswered, JudgeAnswered]
        assert [host.given("session.create")[0]["body"]["parentID"] for host in hosts] == ["ses_1", "ses_2"]
        assert [{asked.folder for asked in host.asked} for host in hosts] == [{"/one"}, {"/two"}]


class TestAnswers:
    @pytest.mark.parametrize(
        "text",
        [
            FIT,
            f"```json\n{FIT}\n```",
            f"I have looked at everything.\n\n{FIT}\n\nThat is all.",
            json.dumps(json.loads(FIT), indent=2),
        ],
        ids=["bare", "fenced", "in words", "indented"],
    )
    async def test_a_verdict_comes_with_its_price(self, text: str, host: FakeOpenCode) -> None:
        host.says(text)
        judgement = (await judged(host)).judgement
        assert judgement.verdict == VERDICT
        assert (judgement.backend, judgement.model) == ("opencode", "fake/fake-1")
        assert (judgement.tokens, judgement.calls) == (123, 1)
        assert judgement.cents == pytest.approx(100 * COST)

    async def test_an_unfit_answer_is_sent_back_once_in_a_session_of_its_own(
        self, host: FakeOpenCode
    ) -> None:
        host.says(UNFIT)
        host.says(FIT)
        judgement = (await judged(host)).judgement
        assert judgement.verdict == VERDICT
        assert (judgement.tokens, judgement.calls) == (246, 2)
        assert judgement.cents == pytest.approx(200 * COST)
        assert host.calls == JUDGED * 2
        assert host.children == []
        again = host.given(PROMPT)[1]["body"]["parts"][0]["text"]
        assert UNFIT in again
        assert "confidence" in again

    async def test_only_what_the_model_says_is_its_answer(self, host: FakeOpenCode) -> None:
        said = json.loads(reply(FIT))
        other = FIT.replace("complete", "incomplete")
        said["parts"] += [
            {"type": "reasoning", "text": other},
            {"type": "text", "text": other, "synthetic": True},
            {"type": "tool", "tool": "invalid", "state": {"status": "completed", "output": other}},
        ]
        host.script(PROMPT, json.dumps(said).encode())
        assert (await judged(host)).judgement.verdict == VERDICT

    async def test_parts_and_fields_of_later_versions_do_not_spoil_a_verdict(
        self, host: FakeOpenCode
    ) -> None:
        said = json.loads(reply(FIT))
        said["info"] |= {"later": [1], "structured": None}
        said["parts"] += [{"type": "text", "text": None}, {"kind": "new"}, 7, {"type": "tool", "prompt": {}}]
        host.script(PROMPT, json.dumps(said).encode())
        assert (await judged(host)).judgement.verdict == VERDICT

    @pytest.mark.parametrize(
        "raw", [b"null", b"{}", b"[", b"7", b"\xff", b"[" * 100_000, b'{"info":7}', b'{"info":{},"parts":7}']
    )
    async def test_what_cannot_be_read_is_no_verdict_and_may_have_cost(
        self, raw: bytes, host: FakeOpenCode
    ) -> None:
        host.script(PROMPT, raw, raw)
        said = await failure(host)
        assert said.cents is None
        assert host.children == []
