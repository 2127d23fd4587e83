"""Agents as workers: what they are given, what of their output counts, and how each failure is told."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec.structs import replace

from sidecar.kernel.log import EventFilter, WorkerRan
from sidecar.kernel.settings import NamedModel, Settings, WorkerSettings
from sidecar.platform import confine
from sidecar.platform.confine import can_close_folders
from sidecar.workers.ports import WorkerError, WorkerFailure
from support.git_projects import repository
from support.worker_agents import GOOD, KINDS, LIMIT_S, Room

pytestmark = pytest.mark.process
HOSTS: Final = ("claude", "opencode", "codex")


@pytest.fixture(params=KINDS)
def room(request: pytest.FixtureRequest, tmp_path: Path) -> Room:
    return Room(tmp_path, request.param)


@pytest.fixture(params=HOSTS)
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Room:
    return Room(tmp_path, request.param)


async def failure(room: Room, **fields: Any) -> WorkerError:
    with pytest.raises(WorkerError) as failed:
        await room.run(**fields)
    assert room.spending.today().calls == (failed.value.failure is not WorkerFailure.NOT_STARTED)
    return failed.value


async def test_an_agent_works_in_its_folder_marked_as_ours_with_the_prompt_on_standard_input(
    room: Room,
) -> None:
    show = (
        "json.dump([prompt, os.getcwd(), os.environ['SUPERVISOR_WORKER'], sys.argv[1:]], open('seen', 'w'))"
    )
    room.plays(f"{show}\nanswer({GOOD})")
    await room.run()
    prompt, folder, marker, arguments = json.loads((room.project / "seen").read_text())
    assert (prompt[:13], folder, marker) == ("Write a test.", str(room.project), "1")
    assert not any("Write a test" in word for word in arguments)
    assert ('"required":["file","ok"]' in prompt) is (room.kind != "claude")


async def test_tokens_cents_and_the_model_that_an_agent_tells_are_told(host: Room) -> None:
    host.plays(f"say('I look.')\nanswer({GOOD})")
    done = await host.run()
    model = "claude-4" if host.kind == "claude" else "self"  # the others do not tell which
    cents = None if host.kind == "codex" else 0.2
    assert (done.tokens, done.cents, done.model) == (240, cents, model)
    assert (host.spending.today().tokens, host.spending.today().cents) == (240, cents or 0.0)


async def test_an_agent_that_is_not_there_is_not_started(room: Room) -> None:
    failed = await failure(room)
    assert failed.failure is WorkerFailure.NOT_STARTED
    assert "[workers]" in failed.message


async def test_a_program_of_the_project_is_no_host(host: Room) -> None:
    host.plays(f"answer({GOOD})")
    host.program.rename(host.project / host.kind)
    path = f"{host.project}{os.pathsep}{os.environ['PATH']}"
    assert (await failure(host, environment={"PATH": path})).failure is WorkerFailure.NOT_STARTED


async def test_an_agent_that_fails_is_told_by_its_code_and_its_output(room: Room) -> None:
    room.plays("say('I began.'); sys.exit('no key')")
    failed = await failure(room)
    assert failed.failure is WorkerFailure.EXITED
    assert "exit code 1" in failed.message
    assert failed.output == "I began.\nno key"


async def test_a_flood_is_bounded_and_its_end_is_kept(room: Room) -> None:
    room.plays("for _ in range(300): sys.stdout.write('x' * 100_000)\nprint(); end('the end')")
    failed = await failure(room)
    assert failed.failure is WorkerFailure.UNPARSABLE
    assert failed.output.endswith("the end")
    assert len(failed.output) <= 20_000


async def test_secrets_are_masked_in_all_that_is_told(room: Room) -> None:
    room.plays("say('the key is ' + os.environ['A_KEY']); sys.exit(os.environ['A_KEY'])")
    failed = await failure(room, environment={**room.task().environment, "A_KEY": "hunter2-hunter2"})
    assert "hunter2" not in failed.output + failed.message + "".join(room.heard)
    assert "[masked]" in failed.output


@pytest.mark.parametrize("path", ["/etc/passwd2", "../beside", "link/x"])
async def test_a_file_written_outside_the_folder_fails_the_work(host: Room, path: str) -> None:
    (host.project / "link").symlink_to("/usr")
    host.plays(f"write({path!r}); answer({GOOD})")
    failed = await failure(host)
    assert failed.failure is WorkerFailure.WROTE_OUTSIDE
    assert path in failed.message


BY_THE_WORKER: Final = ("echo > {guarded}/evil.py", "cd {guarded} && echo > evil.py")
BY_SOMEBODY: Final = "subprocess.Popen('echo > {guarded}/evil.py', shell=True).wait()"
"""As a person would: no call of the worker names it."""


@pytest.mark.parametrize("closed", [True, False], ids=["closed by the system", "compared"])
@pytest.mark.parametrize("line", BY_THE_WORKER)
async def test_a_worker_in_a_copy_changes_nothing_in_the_project_or_fails(
    host: Room, monkeypatch: pytest.MonkeyPatch, line: str, *, closed: bool
) -> None:
    guarded = repository(host.project.parent / "guarded")
    monkeypatch.setattr(confine, "can_close_folders", lambda: closed and can_close_folders())
    host.plays(f"shell({line.format(guarded=guarded)!r}); answer({GOOD})")
    if closed and can_close_folders():
        await host.run(guarded=str(guarded))
        assert not (guarded / "evil.py").exists()
    else:
        failed = await failure(host, guarded=str(guarded))
        assert (failed.failure, "evil.py" in failed.message) == (WorkerFailure.WROTE_OUTSIDE, True)


async def test_what_a_person_writes_meanwhile_fails_nothing_and_is_told(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    guarded = repository(room.project.parent / "guarded")
    monkeypatch.setattr(confine, "can_close_folders", lambda: False)
    room.plays(f"{BY_SOMEBODY.format(guarded=guarded)}; answer({GOOD})")
    assert (await room.run(guarded=str(guarded))).answer.ok
    (ended,) = room.spending.log.read(EventFilter())
    assert isinstance(ended.data, WorkerRan)
    assert ended.data.meanwhile == ("evil.py",)


def prints(*lines: dict[str, Any]) -> str:
    """Let an agent print these events, and fail."""
    return f"for one in {lines!r}: print(json.dumps(one))\nsys.exit(1)"


def opencode_error(name: str, **data: object) -> str:
    return prints({"type": "error", "sessionID": "s", "error": {"name": name, "data": data}})


def claude_error(said: str, status: int | None, name: str) -> str:
    message = {"id": "m", "model": "<synthetic>", "content": [{"type": "text", "text": said}]}
    end = {"type": "result", "subtype": "success", "is_error": True, "result": said, "total_cost_usd": 0}
    return prints(
        {"type": "assistant", "message": message, "error": name}, {**end, "api_error_status": status}
    )


UNFIT: Final = "end('no', subtype='error_max_structured_output_retries', is_error=True)"
LOGGED_OUT: Final = "Not logged in · Please run /login"
EXPIRED: Final = "Failed to authenticate. API Error: 401 no good"
FAULTS: Final = [
    ("claude", UNFIT, WorkerFailure.INVALID, "in the asked form"),
    ("claude", claude_error("Busy", 529, "server_error"), WorkerFailure.LIMITED, "overloaded (529): Busy"),
    ("claude", claude_error(EXPIRED, 401, "authentication_failed"), WorkerFailure.REFUSED, EXPIRED),
    ("claude", claude_error(LOGGED_OUT, None, "authentication_failed"), WorkerFailure.REFUSED, LOGGED_OUT),
    ("opencode", opencode_error("APIError", message="no"), WorkerFailure.EXITED, "APIError: no"),
    (
        "opencode",
        opencode_error("APIError", message="no", statusCode=403),
        WorkerFailure.REFUSED,
        "APIError: no",
    ),
    ("opencode", opencode_error("ProviderAuthError", message="a key"), WorkerFailure.REFUSED, "a key"),
]
"""What the hosts print, as they were recorded."""


@pytest.mark.parametrize(("host", "body", "kind", "words"), FAULTS)
async def test_what_a_host_itself_gives_up_is_told_apart_in_its_own_words(
    tmp_path: Path, host: str, body: str, kind: WorkerFailure, words: str
) -> None:
    room = Room(tmp_path, host)
    room.plays(body)
    failed = await failure(room)
    assert (failed.failure, words in failed.message) == (kind, True), failed.message


async def test_a_price_of_the_settings_wins_over_the_hosts_guess(host: Room) -> None:
    price = NamedModel(model="a/b", input_cents=1_000_000.0, output_cents=0.0)
    host.settings = replace(host.settings, models={"mine": price})
    host.plays(f"answer({GOOD})")
    assert (await host.run(model="mine")).cents == 200.0
    assert (await host.run(model="c/d")).cents == (None if host.kind == "codex" else 0.2)


async def test_a_command_is_given_the_model_where_it_takes_one(tmp_path: Path) -> None:
    room = Room(tmp_path, "command")
    room.settings = Settings(
        workers=WorkerSettings(backend="command", command=(str(room.program), "--model={model}"))
    )
    room.plays(f"json.dump(sys.argv[1:], open('seen', 'w')); answer({GOOD})")
    for name, given in (("large", "opus"), ("self", "sonnet")):
        assert (await room.run(model=name)).model == given
        assert json.loads((room.project / "seen").read_text()) == [f"--model={given}"]


async def arguments(room: Room, **fields: Any) -> list[str]:
    room.plays(f"json.dump([sys.argv[1:], dict(os.environ)], open('seen', 'w')); answer({GOOD})")
    await room.run(**fields)
    given, environment = json.loads((room.project / "seen").read_text())
    return [*given, environment.get("OPENCODE_CONFIG_CONTENT", "")]


async def test_claude_code_may_use_the_named_tools_alone_and_asks_nobody(tmp_path: Path) -> None:
    given = await arguments(Room(tmp_path, "claude"), model="opus")
    assert {"--tools=Bash,Read,Write", "--allowedTools=Bash,Read", "--strict-mcp-config"} < set(given)
    assert given[given.index("--permission-mode") + 1] == "acceptEdits"
    assert given[given.index("--model") + 1] == "opus"


async def test_opencode_may_use_the_named_tools_alone_and_keeps_inline_settings(
    tmp_path: Path,
) -> None:
    room = Room(tmp_path, "opencode")
    mine = {**room.task().environment, "OPENCODE_CONFIG_CONTENT": '{"theme": "x", "agent": {"mine": {}}}'}
    given = await arguments(room, model="a/b", environment=mine)
    assert given[given.index("--model") + 1] == "a/b"
    told = json.loads(given[-1])
    assert given[given.index("--agent") + 1] == "supervisor-worker"
    assert list(told["agent"]["supervisor-worker"]["permission"].items()) == [
        ("*", "deny"),
        ("bash", "allow"),
        ("read", "allow"),
        ("edit", "allow"),
        ("external_directory", "deny"),
    ]
    assert told["theme"] == "x"
    assert set(told["agent"]) == {"mine", "supervisor-worker"}


@pytest.mark.parametrize(
    ("tools", "sandbox"), [(("Read",), "read-only"), (("Read", "Bash", "Write"), "workspace-write")]
)
async def test_codex_works_in_a_sandbox_that_is_as_wide_as_the_tools_and_asks_nobody(
    tmp_path: Path, tools: tuple[str, ...], sandbox: str
) -> None:
    given = await arguments(Room(tmp_path, "codex"), model="gpt-x", tools=tools)
    assert given[given.index("--sandbox") + 1] == sandbox
    assert given[given.index("--model") + 1] == "gpt-x"
    assert {"exec", "--json", "--ephemeral", 'approval_policy="never"', "-"} < set(given)


HANGS: Final = """
wire = os.open("wire", os.O_WRONLY)
subprocess.Popen(["sleep", "600"], pass_fds=(wire,))
say("up")
subprocess.run(["sleep", "600"])
"""


@pytest.mark.parametrize("how", ["deadline", "cancelled"])
async def test_a_worker_that_hangs_ends_with_all_that_it_started_and_what_it_cost_counts(
    host: Room, how: str
) -> None:
    os.mkfifo(host.project / "wire")
    wire = os.open(host.project / "wire", os.O_RDONLY | os.O_NONBLOCK)
    host.plays(HANGS)
    up = asyncio.Event()
    seconds = 5.0 if how == "deadline" else LIMIT_S
    task = asyncio.create_task(host.run(lambda _said: up.set(), seconds=seconds))
    if how == "cancelled":
        async with asyncio.timeout(LIMIT_S):
            await up.wait()
        task.cancel()
    with pytest.raises(asyncio.CancelledError if how == "cancelled" else WorkerError):
        await task
    readable = asyncio.Event()
    asyncio.get_running_loop().add_reader(wire, readable.set)
    async with asyncio.timeout(LIMIT_S):
        await readable.wait()
    asyncio.get_running_loop().remove_reader(wire)
    assert os.read(wire, 1) == b""
    os.close(wire)
    assert host.spending.today().calls == 1
    assert host.spending.today().tokens == (120 if host.kind == "claude" else 0)
