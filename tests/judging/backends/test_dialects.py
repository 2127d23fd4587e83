"""What services are asked, what they answer, and what is done where they do not know a form."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest

from sidecar.judging.backends.answer import answer_schema, schema_text
from sidecar.judging.backends.prompt import build_judge_prompt
from sidecar.kernel.events import JudgeAnswered, JudgeFailed
from sidecar.kernel.settings import ModelPrice
from support.fake_claude import CASE, COMPLETE
from support.judge_worlds import KEY, TEXTS, ServiceWorld, settings
from support.model_script import HttpErrorReply, RawReply
from support.model_wire import ModelMessage, ReplyText, ReplyUsage

if TYPE_CHECKING:
    from support.model_script import ScriptedReply
    from support.model_server import ScriptedModel


RIGHT: Final = json.dumps({"answer": COMPLETE})


KNOWN: Final = frozenset(
    ("type", "enum", "description", "anyOf", "properties", "required", "additionalProperties", "items")
)
"""Words of JSON schema that strict services take."""


def body(model: ScriptedModel, index: int = -1) -> Any:
    return json.loads(bytes(model.requests[index].body))


@pytest.fixture
def anthropic(model: ScriptedModel) -> ServiceWorld:
    return ServiceWorld("anthropic", model)


@pytest.fixture
def openai(model: ScriptedModel) -> ServiceWorld:
    return ServiceWorld("openai", model)


@pytest.fixture(params=("anthropic", "openai"))
def service(request: pytest.FixtureRequest, model: ScriptedModel) -> ServiceWorld:
    return ServiceWorld(request.param, model)


class TestRequests:
    async def test_the_messages_api_gets_a_cached_system_prompt_and_a_schema(
        self, anthropic: ServiceWorld
    ) -> None:
        anthropic.says(RIGHT)
        await anthropic.ask()
        system, case = build_judge_prompt(CASE, TEXTS)
        request = anthropic.model.requests[0]
        assert request.path == "/v1/messages"
        assert request.headers["x-api-key"] == KEY
        assert request.headers["anthropic-version"] == "2023-06-01"
        assert "authorization" not in request.headers
        assert body(anthropic.model) == {
            "model": "a-model",
            "max_tokens": 8192,
            "system": [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}],
            "messages": [{"role": "user", "content": case}],
            "output_config": {"format": {"type": "json_schema", "schema": answer_schema()}},
        }

    async def test_chat_completions_get_a_strict_schema(self, openai: ServiceWorld) -> None:
        openai.says(RIGHT)
        await openai.ask()
        system, case = build_judge_prompt(CASE, TEXTS)
        request = openai.model.requests[0]
        assert request.path == "/v1/chat/completions"
        assert request.headers["authorization"] == f"Bearer {KEY}"
        wanted = {"name": "verdict", "strict": True, "schema": answer_schema()}
        assert body(openai.model) == {
            "model": "a-model",
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": case}],
            "response_format": {"type": "json_schema", "json_schema": wanted},
        }

    async def test_a_repair_keeps_the_system_prompt(self, service: ServiceWorld) -> None:
        service.says('{"verdict": "complete"}')
        service.says(RIGHT)
        await service.ask()
        first, again = service.model.requests
        assert first.system == again.system
        assert "Object contains unknown field `verdict`" in again.last
        assert build_judge_prompt(CASE, TEXTS).case not in again.text

    def test_the_schema_has_what_strict_services_want(self) -> None:
        def check(schema: Any) -> None:
            assert "type" in schema or "anyOf" in schema
            assert set(schema) <= KNOWN
            assert "\n" not in schema.get("description", "")
            if schema.get("type") == "object":
                assert schema["additionalProperties"] is False
                assert set(schema["required"]) == set(schema["properties"])
            for inner in (*schema.get("properties", {}).values(), *schema.get("anyOf", ())):
                check(inner)
            if "items" in schema:
                check(schema["items"])

        check(answer_schema())
        assert json.loads(schema_text()) == answer_schema()


class TestForms:
    async def test_a_messages_service_without_structure_is_asked_in_words(
        self, anthropic: ServiceWorld
    ) -> None:
        anthropic.replies(
            HttpErrorReply(400, message="output_config.format: Extra inputs are not permitted"), 1
        )
        anthropic.says(RIGHT)
        assert isinstance(await anthropic.ask(), JudgeAnswered)
        assert "output_config" not in body(anthropic.model)
        assert schema_text() in anthropic.model.requests[1].system
        assert (TEXTS / "structure.md").read_text().strip() in anthropic.model.requests[1].system

    @pytest.mark.parametrize("status", [400, 404, 415, 422, 500, 501])
    async def test_an_endpoint_is_asked_in_ever_looser_forms(self, status: int, openai: ServiceWorld) -> None:
        openai.replies(HttpErrorReply(status, message="response_format json_schema is not supported"), 1)
        openai.replies(HttpErrorReply(status, message="'response_format.type' must be 'text'"), 1)
        openai.says(RIGHT)
        said = await openai.ask()
        assert isinstance(said, JudgeAnswered)
        assert said.judgement.calls == 3
        assert body(openai.model, 1)["response_format"] == {"type": "json_object"}
        assert "response_format" not in body(openai.model, 2)
        assert all(schema_text() in request.system for request in openai.model.requests[1:])
        assert schema_text() not in openai.model.requests[0].system

    @pytest.mark.parametrize("status", [400, 500])
    async def test_a_form_that_was_refused_is_not_tried_again(
        self, status: int, openai: ServiceWorld
    ) -> None:
        openai.replies(HttpErrorReply(status, message="response_format is not supported"), 2)
        for _ in range(3):
            openai.says(RIGHT)
        for _ in range(3):
            assert isinstance(await openai.ask(), JudgeAnswered)
        assert len(openai.model.requests) == 5
        assert ["response_format" in body(openai.model, index) for index in range(5)] == [
            *(True, True),
            *(False, False, False),
        ]

    async def test_a_failure_that_passes_loosens_no_form(self, openai: ServiceWorld) -> None:
        openai.replies(HttpErrorReply(500, message="out of memory while writing json"), 1)
        openai.says(RIGHT)
        assert isinstance(await openai.ask(), JudgeAnswered)
        assert body(openai.model, 1)["response_format"]["type"] == "json_schema"

    async def test_a_complaint_about_something_else_ends_it(self, service: ServiceWorld) -> None:
        service.replies(HttpErrorReply(400, message="your credit is too low"))
        said = await service.ask()
        assert isinstance(said, JudgeFailed)
        assert said.reason == "the model service does not take the request (400): your credit is too low"
        assert said.calls == 1


class TestBills:
    @pytest.mark.parametrize("price", [None, ModelPrice(input=300, output=1500, cached=30)])
    async def test_tokens_and_cents_are_counted_alike(
        self, price: ModelPrice | None, service: ServiceWorld
    ) -> None:
        spent = ReplyUsage(100_000, 20_000, 30_000, 500_000)
        service.settings = settings(service.backend, service.model.url, price={"a-": price} if price else {})
        service.replies(ModelMessage((ReplyText(RIGHT),), usage=spent))
        said = await service.ask()
        assert isinstance(said, JudgeAnswered)
        assert (said.judgement.backend, said.judgement.model) == (service.backend, "a-model")
        assert (said.judgement.tokens, said.judgement.calls) == (150_000, 1)
        assert said.judgement.cents == (pytest.approx(13 * 3 + 5 * 3 + 2 * 15, rel=0.9) if price else None)
        if price:
            assert said.judgement.cents == pytest.approx((130_000 * 300 + 500_000 * 30 + 20_000 * 1500) / 1e6)


COMPLETIONS: Final = {
    "without usage": {"choices": [{"message": {"content": RIGHT}}]},
    "with null for what is not known": {
        "choices": [{"message": {"content": RIGHT, "refusal": None}, "finish_reason": None}],
        "usage": {"prompt_tokens": None, "completion_tokens": 7, "prompt_tokens_details": None},
    },
    "in parts": {"choices": [{"message": {"content": [{"type": "text", "text": RIGHT}]}}]},
    "after thoughts": {
        "choices": [{"message": {"content": '<think>{"answer": {"verdict": "abstain"}}</think>\n' + RIGHT}}]
    },
}


class TestAnswers:
    @pytest.mark.parametrize("completion", COMPLETIONS.values(), ids=COMPLETIONS)
    async def test_local_servers_are_understood(self, completion: Any, openai: ServiceWorld) -> None:
        openai.replies(RawReply(json.dumps(completion).encode()))
        said = await openai.ask()
        assert isinstance(said, JudgeAnswered)
        assert said.judgement.tokens in (0, 7)

    async def test_thinking_is_not_part_of_an_answer(self, anthropic: ServiceWorld) -> None:
        blocks = [
            {"type": "thinking", "thinking": OTHER, "signature": "x", "text": OTHER},
            {"type": "text", "text": RIGHT},
        ]
        anthropic.replies(RawReply(json.dumps({"content": blocks}).encode()))
        assert isinstance(await anthropic.ask(), JudgeAnswered)

    @pytest.mark.parametrize(
        ("backend", "reply", "line"),
        [
            ("openai", ModelMessage((ReplyText(RIGHT),), "content_filter"), "filtered the model's answer"),
            ("openai", RawReply(b'{"choices": [], "error": {"message": "no\\nroom"}}'), "no answer: no room"),
            ("openai", RawReply(b'{"choices": null}'), "it sent no choice"),
            (
                "anthropic",
                ModelMessage((ReplyText(RIGHT),), "model_context_window_exceeded"),
                "too long for the model",
            ),
            ("anthropic", ModelMessage((ReplyText(RIGHT),), "pause_turn"), "paused"),
        ],
    )
    async def test_an_end_that_leaves_no_verdict_is_told(
        self, backend: str, reply: ScriptedReply, line: str, model: ScriptedModel
    ) -> None:
        world = ServiceWorld(backend, model)
        world.replies(reply)
        said = await world.ask()
        assert isinstance(said, JudgeFailed)
        assert line in said.reason

    async def test_the_words_of_a_refusal_are_told_without_the_key(self, openai: ServiceWorld) -> None:
        openai.replies(ModelMessage((ReplyText(f"I will not, {KEY}"),), "refusal"))
        said = await openai.ask()
        assert isinstance(said, JudgeFailed)
        assert said.reason == "the model refused: I will not, [masked]"


OTHER: Final = json.dumps({"answer": {"verdict": "abstain", "reason": "unsure", "confidence": 0.5}})
