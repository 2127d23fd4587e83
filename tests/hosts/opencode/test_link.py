"""Whoever told something is asked about it: by that task and those that it starts, and by no other one."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import pytest

from sidecar.hosts.opencode import link
from sidecar.platform.rpc import PeerError
from support.fake_opencode import FOLDER, MODEL, SESSION, FakeOpenCode

LIMIT_S: Final = 60.0
"""Bound of every wait here, in seconds."""


@pytest.fixture
def host() -> FakeOpenCode:
    return FakeOpenCode()


async def about() -> link.SessionContext | None:
    return link.get_session_context()


async def known(host: FakeOpenCode, **fields: Any) -> link.SessionContext:
    now = await host.told(about(), **fields)
    assert now is not None
    return now


class TestAbout:
    async def test_the_session_its_folder_and_the_model_that_answered_last_are_known(
        self, host: FakeOpenCode
    ) -> None:
        assert await known(host) == link.SessionContext(
            host, SESSION, FOLDER, link.OpenCodeModel("fake", "fake-1")
        )

    @pytest.mark.parametrize(
        "last",
        [
            None,
            {},
            "none",
            {"id": "m", "role": "user", "model": MODEL},
            {"providerID": None, "modelID": "x"},
            {"providerID": ["fake"]},
        ],
    )
    async def test_a_newest_message_that_names_no_model_leaves_it_unknown(
        self, last: object, host: FakeOpenCode
    ) -> None:
        assert (await known(host, last=last)) == link.SessionContext(
            host, SESSION, FOLDER, link.OpenCodeModel()
        )

    async def test_an_event_without_a_newest_message_is_reached_too(self, host: FakeOpenCode) -> None:
        session = {"id": "ses_x", "directory": "/x"}
        now = await known(host, type="session.start", session=session, last={})
        assert (now.session, now.directory) == ("ses_x", "/x")

    @pytest.mark.parametrize(
        "event",
        [b"", b"{", b"null", b"[]", b"[" * 200_000, b'{"session":7}', b'{"session":{"id":7}}', b"\xff"],
    )
    async def test_an_event_that_cannot_be_read_reaches_nobody(
        self, event: bytes, host: FakeOpenCode
    ) -> None:
        async def reach() -> link.SessionContext | None:
            link.set_session_context(host, event)
            return link.get_session_context()

        assert await asyncio.create_task(reach()) is None

    async def test_a_task_that_no_host_started_asks_nobody(self) -> None:
        assert await asyncio.create_task(about()) is None
        with pytest.raises(PeerError, match="no OpenCode is connected"):
            await link.call_host_api("session.messages", {}, LIMIT_S)


class TestAsking:
    async def test_what_is_asked_goes_to_the_sessions_folder_under_the_clients_own_names(
        self, host: FakeOpenCode
    ) -> None:
        given = {"path": {"id": "ses_1"}, "query": {"limit": 3}}
        host.listed = [{"info": {"id": "m"}, "parts": []}]
        said = await host.told(link.call_host_api("session.messages", given, LIMIT_S))
        assert bytes(said) == b'[{"info": {"id": "m"}, "parts": []}]'
        (asked,) = host.asked
        assert (asked.call, asked.folder, asked.given) == ("session.messages", FOLDER, given)

    async def test_a_host_that_refuses_says_why(self, host: FakeOpenCode) -> None:
        host.refuses("session.create", "no such folder")
        with pytest.raises(PeerError, match=r"^no such folder$"):
            await host.told(link.call_host_api("session.create", {}, LIMIT_S))

    async def test_a_host_that_does_not_answer_is_given_up(self, host: FakeOpenCode) -> None:
        host.holds("session.create")
        with pytest.raises(PeerError, match=r"^OpenCode did not answer session.create within 0.01 s$"):
            await host.told(link.call_host_api("session.create", {}, 0.01))

    async def test_whoever_lets_go_is_let_go(self, host: FakeOpenCode) -> None:
        host.holds("session.create")
        asking = host.told(link.call_host_api("session.create", {}, LIMIT_S))
        await asyncio.wait_for(host.came("session.create").wait(), LIMIT_S)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking


class TestTwoSessions:
    async def test_two_at_once_ask_their_own_hosts(self) -> None:
        hosts = [FakeOpenCode("ses_1", "/one"), FakeOpenCode("ses_2", "/two")]
        held = [host.holds("session.messages") for host in hosts]

        async def work() -> str:
            await link.call_host_api(
                "session.messages", {"path": {"id": "x"}, "query": {"limit": 1}}, LIMIT_S
            )
            await link.call_host_api("session.create", {"body": {}}, LIMIT_S)
            now = link.get_session_context()
            return now.session if now else ""

        tasks = [host.told(work()) for host in hosts]
        for host in hosts:
            await asyncio.wait_for(host.came("session.messages").wait(), LIMIT_S)
        for event in reversed(held):
            event.set()
        assert await asyncio.gather(*tasks) == ["ses_1", "ses_2"]
        assert [host.calls for host in hosts] == [["session.messages", "session.create"]] * 2
        assert [{asked.folder for asked in host.asked} for host in hosts] == [{"/one"}, {"/two"}]


class TestToasts:
    async def test_a_text_is_shown_by_the_sessions_host_without_what_steers_a_terminal(
        self, host: FakeOpenCode
    ) -> None:
        toasts = await remembering(host)
        assert await toasts.show(SESSION, "saved\x1b[31m") is True
        assert await toasts.show("ses_unknown", "saved") is False
        ((asked,),) = [host.asked]
        assert (asked.call, asked.folder) == ("tui.showToast", FOLDER)
        assert "\x1b" not in asked.given["body"]["message"]

    async def test_what_no_host_shows_was_not_shown(
        self, host: FakeOpenCode, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(link, "TOAST_S", 0.01)
        toasts = await remembering(host)
        host.refuses("tui.showToast", "tui.showToast is not offered for this folder")
        host.script("tui.showToast", b"false")
        host.holds("tui.showToast")
        assert [await toasts.show(SESSION, "saved") for _ in range(3)] == [False] * 3


async def remembering(host: FakeOpenCode, toasts: link.Toasts | None = None) -> link.Toasts:
    """Whoever remembers that this host told something."""
    toasts = toasts or link.Toasts()

    async def remember() -> None:
        toasts.remember()

    await host.told(remember())
    return toasts
