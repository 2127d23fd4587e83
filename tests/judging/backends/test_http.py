"""The door to HTTP: whom it trusts, which way it goes, what it loads and when, and how it tries again."""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
import subprocess
import sys
from typing import TYPE_CHECKING, Final, Self

import pytest
import stamina
from msgspec.structs import replace

from sidecar.judging.backends.answer import OngoingJudgement
from sidecar.kernel.errors import ServiceError
from sidecar.kernel.events import JudgeAnswered, JudgeFailed
from sidecar.platform import http
from sidecar.platform.http import FaultError, parse_retry_after
from support.fake_claude import CASE, COMPLETE
from support.judge_worlds import KEY, SESSION, ServiceWorld, service_judge, settings
from support.model_script import HttpErrorReply
from support.model_server import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RIGHT: Final = json.dumps({"answer": COMPLETE})
SERVICES: Final = ("anthropic", "openai")


@pytest.fixture(params=SERVICES)
def service(request: pytest.FixtureRequest, model: ScriptedModel) -> ServiceWorld:
    return ServiceWorld(request.param, model)


class TestLoading:
    @pytest.mark.process
    def test_nothing_of_http_is_loaded_at_start(self) -> None:
        ours = "sidecar.platform.http"
        code = f"""import sys, sidecar.wiring.sidecar
print(sorted({{"httpx2", "stamina", "keyring", "{ours}"}} & sys.modules.keys()))"""
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert run.stdout == "[]\n"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One of 127.0.0.1 that nobody signed but itself."""
    folder = tmp_path_factory.mktemp("certificate")
    made = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test")
    files = ("-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem"))
    named = ("-addext", "subjectAltName=IP:127.0.0.1")
    subprocess.run((*made, *files, *named), check=True, capture_output=True)
    return folder / "cert.pem"


@pytest.fixture
def secure(certificate: Path) -> Iterator[ServiceWorld]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_name("key.pem"))
    with ScriptedModel(tls=context) as model:
        yield ServiceWorld("openai", model)


class TestTrust:
    @pytest.mark.process
    async def test_a_certificate_that_nobody_vouches_for_is_refused(self, secure: ServiceWorld) -> None:
        secure.says(RIGHT)
        said = await secure.ask()
        assert isinstance(said, JudgeFailed)
        assert said.reason.startswith("no secure connection to 127.0.0.1:")
        assert "CERTIFICATE_VERIFY_FAILED" in said.reason
        assert (said.calls, secure.model.requests) == (1, ())

    async def test_certificates_that_the_session_names_are_trusted(
        self, secure: ServiceWorld, certificate: Path
    ) -> None:
        secure.says(RIGHT)
        assert isinstance(await secure.ask(SSL_CERT_FILE=str(certificate)), JudgeAnswered)

    async def test_certificates_of_the_project_are_not(self, secure: ServiceWorld, certificate: Path) -> None:
        named = {"SSL_CERT_FILE": str(certificate), "CLAUDE_PROJECT_DIR": str(certificate.parent)}
        assert isinstance(await secure.ask(**named), JudgeFailed)
        assert secure.model.requests == ()

    @pytest.mark.parametrize("path", ["/no/such/file", "/dev/null", "/a\0b"])
    async def test_certificates_that_cannot_be_read_are_told(self, path: str, secure: ServiceWorld) -> None:
        said = await secure.ask(SSL_CERT_FILE=path)
        assert isinstance(said, JudgeFailed)
        assert secure.model.requests == ()


class Proxy:
    """Takes a request for a tunnel, notes it, and refuses."""

    def __init__(self) -> None:
        self.asked = b""
        self.url = ""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._refuse, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _refuse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked += await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")
        await writer.drain()
        writer.close()


async def ask_elsewhere(**session: str) -> str:
    """Ask a service that is not there; what is said."""
    said = await service_judge("openai").ask(
        CASE, SESSION | session, settings("openai", "https://model.invalid", seconds=20)
    )
    assert isinstance(said, JudgeFailed)
    assert KEY not in said.reason
    return said.reason


class TestProxies:
    @pytest.mark.parametrize("name", ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"])
    async def test_the_sessions_proxy_gets_no_more_than_the_name(self, name: str) -> None:
        async with Proxy() as proxy:
            said = await ask_elsewhere(**{name: proxy.url})
        assert said.startswith("the service at model.invalid cannot be reached: 403")
        assert proxy.asked.startswith(b"CONNECT model.invalid:443 HTTP/1.1\r\n")
        assert KEY.encode() not in proxy.asked

    async def test_our_own_environment_names_no_proxy(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async with Proxy() as proxy:
            monkeypatch.setenv("https_proxy", proxy.url)
            await ask_elsewhere()
        assert proxy.asked == b""

    async def test_a_service_on_this_machine_is_asked_directly(self, service: ServiceWorld) -> None:
        service.says(RIGHT)
        async with Proxy() as proxy:
            assert isinstance(await service.ask(http_proxy=proxy.url, all_proxy=proxy.url), JudgeAnswered)
        assert proxy.asked == b""

    async def test_a_proxy_of_another_kind_is_told(self) -> None:
        assert await ask_elsewhere(https_proxy="socks5://127.0.0.1:1") == (
            "the session's proxy is of the kind socks5: only http and https work"
        )

    @pytest.mark.parametrize("proxy", ["http://[", "http://a b", "http://", "http://u:p@a\nb"])
    async def test_a_proxy_that_cannot_be_used_is_told(self, proxy: str) -> None:
        assert "model.invalid" in await ask_elsewhere(https_proxy=proxy)


class TestTryingAgain:
    def line(self, seconds: float = 60) -> http.ServiceConnection:
        hearing = OngoingJudgement("a-backend", "a-model", seconds)
        return http.ServiceConnection(None, http.parse_service_address("https://a"), hearing, str)  # type: ignore[arg-type]

    async def test_what_a_service_asks_to_wait_is_waited(self) -> None:
        passing = FaultError("busy", status=429, passing=True, after=7.5)
        assert self.line()._again(passing) == 7.5  # noqa: SLF001 - what stamina is told

    async def test_the_tries_of_a_question_are_three_without_the_test_mode(
        self, service: ServiceWorld
    ) -> None:
        service.replies(HttpErrorReply(503, headers={"retry-after": "0"}))
        with stamina.set_testing(testing=False):
            said = await service.ask()
        assert isinstance(said, JudgeFailed)
        assert said.calls == len(service.model.requests) == 3

    @pytest.mark.parametrize(
        ("headers", "seconds"),
        [
            ({}, None),
            ({"retry-after": "0"}, 0),
            ({"retry-after": " 12 "}, 12),
            ({"retry-after": "0.5"}, 0.5),
            ({"retry-after": "1" * 90}, 1e6),
            ({"retry-after": "-1"}, None),
            ({"retry-after": "."}, None),
            ({"retry-after": "Mon, 02 Nov 2026 10:05:00 GMT"}, None),
            ({"retry-after": "x" * 10_000}, None),
        ],
    )
    def test_a_wish_is_read_where_there_is_one(self, headers: dict[str, str], seconds: float | None) -> None:
        assert parse_retry_after(headers) == seconds

    @pytest.mark.parametrize(("minute", "seconds"), [("05", 300), ("00", 0)])
    def test_a_date_is_counted_from_the_services_own(self, minute: str, seconds: float) -> None:
        date = "Mon, 02 Nov 2026 10:{}:00 GMT"
        assert parse_retry_after({"date": date.format("00"), "retry-after": date.format(minute)}) == seconds


async def test_no_log_holds_a_key_or_a_case(service: ServiceWorld, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    service.replies(HttpErrorReply(529, message=f"busy {KEY}"), times=2)
    service.says(RIGHT)
    await service.ask()
    for record in caplog.records:
        told = f"{record.getMessage()} {record.__dict__}"
        assert KEY not in told
        assert CASE.condition not in told


@pytest.mark.parametrize(
    ("url", "loopback"),
    [
        ("http://localhost:1/v1", True),
        ("http://127.0.0.1", True),
        ("http://127.9.9.9:80", True),
        ("http://[::1]:8080", True),
        ("http://localhost.example.com", False),
        ("http://10.0.0.1", False),
        ("https://api.example.com", False),
    ],
)
def test_what_is_on_this_machine_is_known(url: str, *, loopback: bool) -> None:
    assert http.parse_service_address(url).loopback is loopback


def test_an_endpoint_with_a_password_is_refused_unquoted() -> None:
    with pytest.raises(ServiceError) as refused:
        http.parse_service_address(f"https://user:{KEY}@example.com")
    assert KEY not in str(refused.value)


async def test_a_key_is_never_sent_in_the_clear(service: ServiceWorld) -> None:
    named = replace(getattr(service.settings.judge, service.backend), endpoint="http://10.1.2.3/v1")
    judge = replace(service.settings.judge, **{service.backend: named})
    said = await service.judge.ask(CASE, SESSION, replace(service.settings, judge=judge))
    assert said == JudgeFailed(
        f"judge.{service.backend}.endpoint must be https: 10.1.2.3 is another machine",
        backend=service.backend,
    )
