"""Every way in which a backend fails ends as a verdict or as one line for a person, and never raises."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Final

import pytest
from msgspec.structs import replace

from sidecar.kernel.events import JudgeAnswered, JudgeFailed
from support.fake_claude import CASE, COMPLETE, result
from support.judge_worlds import KEY, SESSION, SPENT, HostWorld, ServiceWorld, service_judge
from support.model_script import DroppedReply, EndlessReply, HttpErrorReply, RawReply
from support.model_server import ScriptedModel
from support.model_wire import ModelMessage, ReplyText
from support.table import often

if TYPE_CHECKING:
    from pathlib import Path

    from support.model_script import ScriptedReply

RIGHT: Final = json.dumps({"answer": COMPLETE})

ACCEPTED: Final = {
    "plain": RIGHT,
    "in prose": f"Let me see. {{braces}} are no JSON.\n{RIGHT}\nThat is all.",
    "in a fence": f"```json\n{json.dumps({'answer': COMPLETE}, indent=2)}\n```",
    "the same twice": f"{RIGHT}\nAgain: {RIGHT}",
    "after another object": f'The evidence is {{"E1": "passed"}}. {RIGHT}',
}
SERVICES: Final = ("anthropic", "openai")
LIMIT_S: Final = 60.0
"""Bound of a wait for a request, in seconds."""


class Talk:
    """Any backend with a model that says these texts."""

    def __init__(self, backend: str, folder: Path, model: ScriptedModel) -> None:
        self._host = HostWorld(folder) if backend == "claude-cli" else None
        self._service = ServiceWorld(backend, model) if backend in SERVICES else None

    async def ask(self, *texts: str) -> JudgeAnswered | JudgeFailed:
        for text in texts:
            if self._host:
                self._host.claude.says(result(result=text))
            if self._service:
                self._service.says(text)
        asked = self._host or self._service
        assert asked
        return await asked.ask()

    @property
    def calls(self) -> int:
        return self._host.claude.calls if self._host else len(self._model.requests)

    @property
    def _model(self) -> ScriptedModel:
        assert self._service
        return self._service.model


@pytest.fixture(params=("claude-cli", *SERVICES))
def talk(request: pytest.FixtureRequest, tmp_path: Path, model: ScriptedModel) -> Talk:
    return Talk(request.param, tmp_path, model)


@pytest.fixture(params=SERVICES)
def service(request: pytest.FixtureRequest, model: ScriptedModel) -> ServiceWorld:
    return ServiceWorld(request.param, model)


def reason(said: JudgeAnswered | JudgeFailed) -> str:
    """The reason of a failure that fits its form."""
    assert isinstance(said, JudgeFailed)
    assert said.backend
    assert said.reason.isprintable()
    assert 0 < len(said.reason) <= 400
    assert KEY not in said.reason
    return said.reason


class TestWords:
    @pytest.mark.process
    @pytest.mark.parametrize("text", often(ACCEPTED.values(), 5), ids=ACCEPTED)
    async def test_a_verdict_is_found_in_what_is_around_it(self, text: str, talk: Talk) -> None:
        said = await talk.ask(text)
        assert isinstance(said, JudgeAnswered)
        assert said.judgement.calls == talk.calls == 1


STATUSES: Final = (
    (400, 1, "the model service does not take the request (400): no good"),
    (401, 1, "the key was refused (401): no good"),
    (402, 1, "the model service failed (402): no good"),
    (403, 1, "the model service forbids the request (403): no good"),
    (404, 1, "the model service does not know the model or the address (404): see both"),
    (408, 3, "the model service waited too long for the request (408): no good"),
    (409, 3, "the model service failed (409): no good"),
    (413, 1, "the request is too big for the model service (413): no good"),
    (429, 3, "the limit of the model service is reached (429): no good"),
    (500, 3, "the model service failed (500): no good"),
    (502, 3, "the model service failed (502): no good"),
    (503, 3, "the model service is not available (503): no good"),
    (504, 3, "the model service failed (504): no good"),
    (529, 3, "the model service is overloaded (529): no good"),
)


class TestStatuses:
    @pytest.mark.parametrize(("status", "calls", "line"), STATUSES, ids=[f"{one[0]}" for one in STATUSES])
    async def test_a_status_is_told_and_tried_again_where_that_may_help(
        self, status: int, calls: int, line: str, service: ServiceWorld
    ) -> None:
        service.replies(HttpErrorReply(status, message="no\ngood"))
        said = await service.ask()
        assert reason(said).startswith(line)
        assert isinstance(said, JudgeFailed)
        assert (len(service.model.requests), said.calls, said.tokens) == (calls, calls, 0)

    @pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
    async def test_what_passes_is_survived(self, status: int, service: ServiceWorld) -> None:
        service.replies(HttpErrorReply(status), times=2)
        service.says(RIGHT)
        said = await service.ask()
        assert isinstance(said, JudgeAnswered)
        assert (said.judgement.calls, said.judgement.tokens) == (3, 123)

    @pytest.mark.parametrize("wait", ["0", "2", "59", "1.5"])
    async def test_a_wait_within_the_deadline_is_granted(self, wait: str, service: ServiceWorld) -> None:
        service.replies(HttpErrorReply(429, headers={"retry-after": wait}), times=1)
        service.says(RIGHT)
        assert isinstance(await service.ask(), JudgeAnswered)

    @pytest.mark.parametrize(
        "headers",
        [
            {"retry-after": "61"},
            {"retry-after": "9" * 50},
            {
                "date": "Mon, 02 Nov 2026 10:00:00 GMT",
                "retry-after": "Mon, 02 Nov 2026 10:05:00 GMT",
            },
        ],
    )
    async def test_a_wait_beyond_the_deadline_gives_up_at_once(
        self, headers: dict[str, str], service: ServiceWorld
    ) -> None:
        service.replies(HttpErrorReply(429, headers=headers))
        said = reason(await service.ask())
        assert "the limit of the model service is reached (429): scripted error; it asks to wait " in said
        assert said.endswith(" s, longer than it may take")
        assert len(service.model.requests) == 1

    async def test_what_the_service_says_is_masked_and_cut(self, service: ServiceWorld) -> None:
        service.replies(HttpErrorReply(401, message=f"bad key {KEY} \x1b[31m" + "x" * 1000))
        said = reason(await service.ask())
        assert "bad key [masked] " in said
        assert len(said) < 240

    @pytest.mark.parametrize(
        "body",
        [
            b"<html>Bad gateway</html>",
            b"",
            b"\xff\xfe",
            b'{"error": "\xff"}',
            b"[]",
            b'{"error": [' * 9000,
            b'{"error": 7}',
            b"null",
        ],
        ids=range(8),
    )
    async def test_an_error_in_any_form_is_told(self, body: bytes, service: ServiceWorld) -> None:
        service.replies(RawReply(body, status=403))
        assert reason(await service.ask()).startswith("the model service forbids the request (403)")

    @pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
    async def test_a_redirect_is_not_followed(self, status: int, service: ServiceWorld) -> None:
        with ScriptedModel() as elsewhere:
            there = f"{elsewhere.url}/v1/messages?key={KEY}"
            service.replies(RawReply(b"", status=status, headers={"location": there}))
            said = reason(await service.ask())
            assert elsewhere.requests == ()
        assert said.startswith(f"the model service redirects ({status}) to {elsewhere_host(there)}")
        assert len(service.model.requests) == 1


def elsewhere_host(url: str) -> str:
    return url.partition("/v1")[0]


NO_ANSWERS: Final = {
    "nothing": b"",
    "a page": b"<html>",
    "a list": b"[]",
    "null": b"null",
    "no content": b'{"id": "x"}',
    "wrong content": b'{"content": 7, "choices": 7}',
    "no utf-8": b'{"content": [{"type": "text", "text": "\xff"}], "choices": [{"finish_reason": "\xff"}]}',
    "deep": b'{"content": ' + b"[" * 200_000,
    "deep in a field that nobody asked for": b'{"more": ' + b"[" * 200_000,
}


class TestBodies:
    @pytest.mark.parametrize("body", NO_ANSWERS.values(), ids=NO_ANSWERS)
    async def test_what_is_no_answer_is_told(self, body: bytes, service: ServiceWorld) -> None:
        service.replies(RawReply(body))
        assert "answer" in reason(await service.ask())
        assert len(service.model.requests) == 1

    async def test_more_than_a_megabyte_is_not_read(self, service: ServiceWorld) -> None:
        service.replies(RawReply(b'{"content": "' + b"x" * (1 << 20)))
        assert reason(await service.ask()) == "the model service answered more than 1024 KiB"

    @pytest.mark.parametrize(
        ("ending", "line"),
        [
            ("refusal", "the model refused"),
            ("max_tokens", "the model's answer was cut at its limit of tokens"),
        ],
    )
    async def test_an_answer_that_ended_badly_is_none_and_is_paid(
        self, ending: str, line: str, service: ServiceWorld
    ) -> None:
        service.replies(ModelMessage((ReplyText(RIGHT),), ending, SPENT))
        said = await service.ask()
        assert reason(said).startswith(line)
        assert isinstance(said, JudgeFailed)
        assert (said.tokens, said.calls) == (123, 1)


async def asked_until_the_deadline(
    service: ServiceWorld, requests: int, monkeypatch: pytest.MonkeyPatch
) -> JudgeAnswered | JudgeFailed:
    """Ask, and let a minute pass by the loop's clock when so many requests have arrived."""
    asking = asyncio.create_task(service.ask())
    await asyncio.to_thread(service.model.wait_for, lambda request: request.n == requests, timeout=LIMIT_S)
    loop = asyncio.get_running_loop()
    passed = loop.time
    monkeypatch.setattr(loop, "time", lambda: passed() + 60)
    return await asking


class TestConnections:
    @pytest.mark.parametrize(
        "reply",
        [
            DroppedReply(),
            RawReply(RIGHT.encode(), cut=True),
            RawReply(b"", headers={"transfer-encoding": "chunked"}),
        ],
        ids=["before", "in the middle", "in a chunk"],
    )
    async def test_a_connection_that_breaks_is_tried_again_and_then_told(
        self, reply: ScriptedReply, service: ServiceWorld
    ) -> None:
        service.replies(reply)
        where = service.model.url.removeprefix("http://")
        assert reason(await service.ask()).startswith(f"the service at {where} cannot be reached: ")
        assert len(service.model.requests) == 3

    async def test_a_service_that_is_not_there_is_told(self, service: ServiceWorld) -> None:
        service.model.close()
        said = await service.ask()
        assert "cannot be reached: " in reason(said)
        assert isinstance(said, JudgeFailed)
        assert said.calls == 3

    async def test_bytes_that_trickle_end_with_the_deadline(
        self, service: ServiceWorld, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        service.replies(EndlessReply())
        said = await asked_until_the_deadline(service, 1, monkeypatch)
        assert reason(said) == "the judge did not answer within 60 s"

    @pytest.mark.parametrize(
        "url", ["", "ftp://a", "http://[", "http://a:b@127.0.0.1", "http://127.0.0.1?k=1", "http://a\nb"]
    )
    async def test_an_endpoint_that_cannot_be_used_is_told(self, url: str, service: ServiceWorld) -> None:
        named = getattr(service.settings.judge, service.backend)
        wrong = replace(service.settings.judge, **{service.backend: replace(named, endpoint=f"{url} ")})
        said = await service_judge(service.backend).ask(CASE, SESSION, replace(service.settings, judge=wrong))
        assert "endpoint" in reason(said)
        assert service.model.requests == ()
