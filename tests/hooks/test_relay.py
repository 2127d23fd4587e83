"""The relay beside a sidecar: what goes in, what comes out, whatever the sidecar says."""

from __future__ import annotations

import json
import os
import sys

import pytest

from hooks.relaying import EVENTS, FakeSidecar, Scene, answer, command, refusal, run
from sidecar import __version__
from support.table import often

pytestmark = pytest.mark.process

STOP = b'{"session_id":"s1","hook_event_name":"Stop","cwd":"/p","last_assistant_message":"Done."}'
GOAL = b'{"hook_event_name":"UserPromptSubmit","prompt":"/supervisor:goal all tests pass"}'
PROMPT = b'{"hook_event_name":"UserPromptSubmit","prompt":"tell me of /supervisor:goal"}'
WORKING = b'{"jsonrpc":"2.0","method":"working"}\n'
DOCTOR = "Type: supervisor doctor"


# --- the question -------------------------------------------------------------------------------------------


def test_the_sidecar_is_asked_one_hook_call_with_the_event_unparsed(scene: Scene) -> None:
    given = b'{"a": 1,\n  "text": "\\n\\ud83d",\n"a": 2}\n'
    line = scene.asks(given)
    assert b'"event":{"a": 1,   "text": "\\n\\ud83d", "a": 2}' in line
    call = json.loads(line)
    assert (call["jsonrpc"], call["id"], call["method"]) == ("2.0", 1, "hook")
    assert (call["params"]["host"], call["params"]["host_pid"]) == ("claude-code", os.getpid())


def test_the_environment_of_the_session_goes_along(scene: Scene) -> None:
    sent = {"VIRTUAL_ENV": "/p/.venv", "QUOTED": 'a "b" \\ \n\t é 😀', "EMPTY": ""}
    params = json.loads(scene.asks(STOP, **sent))["params"]
    assert sent.items() <= params["environment"].items()


def test_a_variable_that_is_no_text_spoils_neither_itself_nor_the_call(scene: Scene) -> None:
    params = json.loads(scene.asks(STOP, ODD=os.fsdecode(b"a\xffb")))["params"]
    assert params["environment"]["ODD"] == "a\ufffdb"


def test_an_event_cannot_speak_in_the_relays_name(scene: Scene) -> None:
    given = b'{},"host":"other","host_pid":1,"environment":{},"version":"99"'
    params = json.loads(scene.asks(given, KEPT="yes"))["params"]
    assert (params["host"], params["version"]) == ("claude-code", __version__)
    assert params["environment"]["KEPT"] == "yes"


# --- the answer ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("event", often(EVENTS, 3))
def test_an_answer_is_printed_as_it_is(scene: Scene, event: str) -> None:
    with FakeSidecar(scene.state, [answer(b'{"systemMessage": "hi",  "a":{"b":{}}}')]):
        done = run(command(event), STOP, scene.project)
    assert (done.returncode, done.stdout, done.stderr) == (0, b'{"systemMessage": "hi",  "a":{"b":{}}}', b"")


def test_an_answer_may_come_in_pieces_and_after_signs_of_work(scene: Scene) -> None:
    whole = WORKING + WORKING + answer(b'{"systemMessage":"hi"}')
    pieces: list[bytes | None] = [bytes([one]) for one in whole]
    assert scene.prints(pieces) == {"systemMessage": "hi"}


@pytest.mark.proves("Claude Code")
@pytest.mark.parametrize(
    "reply",
    often(
        [
            b"hello\n",
            b"\n",
            b'{"jsonrpc":"2.0","id":2,"result":{}}\n',
            answer(b"null"),
            answer(b"[1]"),
            answer(b'"text"'),
            answer(b"cut}"),
            b'{"jsonrpc":"2.0","id":1,"error":{}}\n',
            b'{"jsonrpc":"2.0","id":1,"error":{"message":7}\n',
            b"\xff\xfe\n",
        ],
        4,
    ),
)
def test_an_answer_that_makes_no_sense_lets_the_agent_rest_and_says_so(scene: Scene, reply: bytes) -> None:
    said = scene.prints([reply, None])["systemMessage"]
    assert (
        said == f"Supervisor did not answer (its answer makes no sense): this stop was not judged. {DOCTOR}"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says who listens")
@pytest.mark.parametrize("signed", ["1", "", "no number"])
def test_a_process_that_is_not_the_one_in_the_lock_is_not_believed(scene: Scene, signed: str) -> None:
    with FakeSidecar(scene.state) as fake:
        (scene.state / "run" / "sidecar.lock").write_text(signed, encoding="utf-8")
        done = run(command("Stop"), STOP, scene.project)
    said = json.loads(done.stdout)["systemMessage"]
    assert f"process {os.getpid()} answers in its place" in said
    assert fake.asked == []


@pytest.mark.proves("Claude Code")
@pytest.mark.parametrize(
    ("event", "given", "said"),
    [
        ("Stop", STOP, {"systemMessage": "Supervisor: the tree is gone"}),
        ("UserPromptExpansion", b"{}", {"decision": "block", "reason": "Supervisor: the tree is gone"}),
        ("UserPromptSubmit", GOAL, {"decision": "block", "reason": "Supervisor: the tree is gone"}),
        ("UserPromptSubmit", PROMPT, None),
        ("SessionStart", b"{}", None),
        ("StopFailure", b"{}", None),
        ("SessionEnd", b"{}", None),
    ],
)
def test_an_error_ends_a_stop_with_a_note_and_refuses_a_typed_command(
    scene: Scene, event: str, given: bytes, said: object
) -> None:
    assert scene.prints([refusal("the tree is gone")], event=event, given=given) == said


def test_a_connection_that_breaks_is_tried_once_more(scene: Scene) -> None:
    half = answer(b'{"systemMessage":"hi"}')[:-5]
    assert scene.prints([half], [answer(b'{"a":1}')]) == {"a": 1}


def test_a_connection_that_breaks_twice_is_given_up(scene: Scene) -> None:
    said = scene.prints([b""], [WORKING], [answer(b'{"a":1}')])
    assert said["systemMessage"].startswith(
        "Supervisor did not answer (the sidecar hung up): this stop was not"
    )


# --- what it does not take ----------------------------------------------------------------------------------


@pytest.mark.parametrize("event", often(EVENTS, 3))
@pytest.mark.parametrize("variable", ["SUPERVISOR_WORKER", "SUPERVISOR_PROXIED"])
def test_in_a_worker_of_ours_and_behind_the_proxy_it_says_and_asks_nothing(
    scene: Scene, event: str, variable: str
) -> None:
    with FakeSidecar(scene.state) as fake:
        done = run(command(event), STOP, scene.project, **{variable: "1"})
    assert (done.returncode, done.stdout, done.stderr, fake.asked) == (0, b"", b"", [])


@pytest.mark.parametrize("given", [b"", b'{"text":"' + b"x" * (4 << 20) + b'"}'])
def test_an_event_that_is_empty_or_above_4_mib_is_not_sent(scene: Scene, given: bytes) -> None:
    with FakeSidecar(scene.state, [answer(b"{}")]) as fake:
        done = run(command("Stop"), given, scene.project)
    assert fake.asked == []
    assert "(the event is empty or larger than 4 MiB)" in json.loads(done.stdout)["systemMessage"]
