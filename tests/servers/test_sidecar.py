"""The sidecar's manners, over a real socket in one event loop."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from contextlib import ExitStack

import pytest

from servers.bench import LIMIT_S, SECRET, Bench, happens
from servers.conftest import Start
from sidecar.platform import rpc
from sidecar.servers import sidecar
from sidecar.servers.control import Methods, SidecarControl
from sidecar.servers.sidecar import INTERNAL_ERROR, SidecarIntervals
from sidecar.systems.supervision.policy.sessions import WorkingNote

WORKING = {"jsonrpc": "2.0", "method": "working"}
REPLACE = {"jsonrpc": "2.0", "method": "replace"}


# --- answers ------------------------------------------------------------------------------------------------


async def test_a_request_gets_the_result_of_its_method(bench: Bench) -> None:
    caller = await bench.caller()
    assert await caller.ask("echo", {"a": [1]}) == {"jsonrpc": "2.0", "id": 1, "result": {"a": [1]}}


@pytest.mark.parametrize(
    ("method", "code", "text"),
    [
        ("nowhere", rpc.UNKNOWN_METHOD, "there is no such method"),
        ("refuse", rpc.BAD_INPUT, "name a session: --session ID"),
    ],
)
async def test_a_request_that_cannot_be_served_gets_its_error(
    bench: Bench, method: str, code: int, text: str
) -> None:
    answer = await (await bench.caller()).ask(method)
    assert answer["error"] == {"code": code, "message": text}


async def test_a_burst_of_a_thousand_connections_is_queued(bench: Bench) -> None:
    await (await bench.caller()).ask("echo")
    with ExitStack() as burst:
        for _ in range(1000):  # the loop, which would accept them, does not run meanwhile
            link = burst.enter_context(socket.socket(socket.AF_UNIX))
            link.setblocking(False)  # noqa: FBT003 - the standard library's
            link.connect("sidecar.sock")


async def test_an_internal_error_names_the_log_and_neither_text_nor_trace(bench: Bench) -> None:
    answer = await (await bench.caller()).ask("break_down")
    assert answer["error"] == {
        "code": rpc.INTERNAL_FAULT,
        "message": f"internal error, see {bench.control.log}",
    }


@pytest.mark.parametrize("line", [b"", b"nonsense", b"[1]", b'{"jsonrpc":"2.0","id":[],"method":"echo"}'])
async def test_a_malformed_line_is_told_and_the_next_one_served(bench: Bench, line: bytes) -> None:
    caller = await bench.caller()
    caller.send(line)
    assert "error" in await caller.hear()
    assert (await caller.ask("echo", {}))["result"] == {}


async def test_parameters_of_the_wrong_type_are_bad_input(bench: Bench) -> None:
    answer = await (await bench.caller()).ask("hello", {"version": 7})
    assert answer["error"]["code"] == rpc.BAD_INPUT


async def test_a_line_of_17_mib_is_told_and_ends_the_connection(bench: Bench) -> None:
    caller = await bench.caller()
    caller.send(b"x" * (17 << 20))
    assert (await caller.hear())["error"]["code"] == rpc.INVALID_REQUEST
    assert await caller.is_hung_up_on()


async def test_a_line_of_15_mib_is_served(bench: Bench) -> None:
    text = "x" * (15 << 20)
    assert (await (await bench.caller()).ask("echo", text))["result"] == text


async def test_a_notification_is_carried_out_and_not_answered(bench: Bench) -> None:
    caller = await bench.caller()
    caller.send(b'{"jsonrpc":"2.0","method":"wait"}')
    await happens(bench.begun)
    bench.go_on.set()
    assert (await caller.ask("echo", 2))["result"] == 2


async def test_a_quick_request_overtakes_a_slow_one(bench: Bench) -> None:
    caller = await bench.caller()
    caller.call("wait", ident=1)
    await happens(bench.begun)
    caller.call("echo", ident=2)
    assert (await caller.hear())["id"] == 2
    bench.go_on.set()
    assert (await caller.hear())["id"] == 1


async def test_a_method_can_ask_its_peer(bench: Bench) -> None:
    caller = await bench.caller()
    caller.call("ask_back", 5)
    asked = await caller.hear()
    assert asked["method"] == "model"
    caller.send(b'{"jsonrpc":"2.0","id":99,"result":"for nobody"}')
    caller.send(b'{"jsonrpc":"2.0","id":%d,"result":"sonnet"}' % asked["id"])
    assert (await caller.hear())["result"] == 5
    assert bench.heard == [b'"sonnet"']


async def test_a_peer_that_refuses_what_it_is_asked_fails_the_request(bench: Bench) -> None:
    caller = await bench.caller()
    caller.call("ask_back", 5)
    asked = await caller.hear()
    caller.send(b'{"jsonrpc":"2.0","id":%d,"error":{"code":-1,"message":"no model"}}' % asked["id"])
    assert (await caller.hear())["error"]["code"] == rpc.INTERNAL_FAULT


# --- a peer that leaves, a peer that waits ------------------------------------------------------------------


async def test_closing_the_connection_cancels_what_it_asked_for(bench: Bench) -> None:
    caller = await bench.caller()
    caller.call("wait")
    await happens(bench.begun)
    caller.leave()
    await happens(bench.cancelled)


async def test_closing_one_connection_leaves_the_others_alone(bench: Bench) -> None:
    stays, leaves = await bench.caller(), await bench.caller()
    stays.call("wait")
    await happens(bench.begun)
    leaves.call("ask_back")
    await leaves.hear()
    leaves.leave()
    bench.go_on.set()
    assert (await stays.hear())["result"] == "done"


async def test_a_slow_answer_is_preceded_by_signs_of_work(start: Start) -> None:
    bench = start(pace=SidecarIntervals(beat_s=0.001))
    caller = await bench.caller()
    caller.call("wait")
    assert [await caller.hear() for _ in range(3)] == [WORKING] * 3
    bench.go_on.set()
    while (said := await caller.hear()) == WORKING:
        pass
    assert said["result"] == "done"


async def test_a_sign_of_work_says_what_is_done(start: Start) -> None:
    bench = start(pace=SidecarIntervals(beat_s=0.001))
    bench.control.working = lambda: WorkingNote({"s1": "running `make`, 8 s"})
    caller = await bench.caller()
    caller.call("wait")
    assert (await caller.hear())["params"] == {"judging": {"s1": "running `make`, 8 s"}}
    bench.go_on.set()


async def test_no_sign_of_work_is_given_where_nothing_is_asked(start: Start) -> None:
    bench = start(pace=SidecarIntervals(beat_s=0.001))
    idle, busy = await bench.caller(), await bench.caller()
    busy.call("wait")
    for _ in range(5):
        assert await busy.hear() == WORKING
    assert (await idle.ask("echo", 1))["id"] == 1


async def test_requests_that_come_before_the_methods_are_built_wait_for_them(start: Start) -> None:
    built = threading.Event()
    bench: Bench

    def build(control: SidecarControl) -> Methods:
        assert built.wait(LIMIT_S)
        return bench.methods(control)

    bench = start(build=build)
    caller = await bench.caller()
    caller.call("echo", 3)
    assert (await (await bench.caller()).ask("hello"))["result"]["version"] == "1.2.3"
    built.set()
    assert (await caller.hear())["result"] == 3


async def test_a_peer_that_does_not_wait_for_the_methods_takes_them_from_nobody(start: Start) -> None:
    left = threading.Event()
    bench: Bench

    def build(control: SidecarControl) -> Methods:
        assert left.wait(LIMIT_S)
        return bench.methods(control)

    bench = start(build=build)
    stays, leaves = await bench.caller(), await bench.caller()
    stays.call("echo", 3)
    leaves.call("echo", 4)
    assert "result" in await leaves.ask("hello")
    leaves.leave()
    async with asyncio.timeout(LIMIT_S):
        while bench.control.connections > 1:
            assert "result" in await stays.ask("hello")
    left.set()
    assert (await stays.hear())["result"] == 3


async def test_methods_that_cannot_be_built_are_told_and_end_the_process_as_an_error(start: Start) -> None:
    called = threading.Event()

    def build(_control: SidecarControl) -> Methods:
        assert called.wait(LIMIT_S)
        raise ImportError("half an installation")

    bench = start(build=build)
    caller = await bench.caller()
    caller.call("echo")
    assert "result" in await caller.ask("hello")
    called.set()
    assert (await caller.hear())["error"]["code"] == rpc.INTERNAL_FAULT
    assert await bench.end() == INTERNAL_ERROR


# --- a relay that is newer, a log that is discreet ----------------------------------------------------------


async def test_a_newer_relay_is_asked_once_to_start_its_own_sidecar(bench: Bench) -> None:
    caller = await bench.caller()
    assert await caller.ask("hook", {"version": "1.3.0"}) == REPLACE
    assert "result" in await caller.hear()
    assert "result" in await caller.ask("hook", {"version": "1.3.0"})
    assert await caller.ask("hook", {"version": "1.4.0"}) == REPLACE


async def test_a_newer_relay_is_asked_again_after_a_while(start: Start) -> None:
    caller = await start(pace=SidecarIntervals(renew_s=0.0)).caller()
    for _ in range(2):
        assert await caller.ask("hook", {"version": "1.3.0"}) == REPLACE
        assert "result" in await caller.hear()


@pytest.mark.parametrize("version", ["1.2.3", "1.2.2", ""])
async def test_a_relay_that_is_not_newer_is_asked_nothing(bench: Bench, version: str) -> None:
    assert "result" in await (await bench.caller()).ask("hook", {"version": version})


async def test_the_log_has_no_word_of_what_was_sent(
    bench: Bench, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sidecar, "SLOW_S", -1.0)  # each answer counts as slow
    with caplog.at_level(logging.DEBUG):
        caller = await bench.caller()
        await caller.ask("echo", SECRET)
        await caller.ask(SECRET)
        await caller.ask("hello", {"version": [SECRET]})
        caller.send(SECRET.encode())
        await caller.hear()
    assert "echo took" in caplog.text
    assert SECRET not in caplog.text
