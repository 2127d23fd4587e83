"""The real hosts as workers: they answer by the schema, stay in their folder, ask nobody, are not judged."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal

import pytest
from msgspec import Struct

from real_hosts.host import Host
from real_hosts.install import (
    OPENCODE_PINNED,
    PINNED,
    InstallError,
    claude_binary,
    hosts_folder,
    missing,
    newest_version,
    opencode_binary,
)
from real_hosts.opencode_host import OpenCode
from real_hosts.opencode_supervised import Supervised as OpenCodeUnder
from real_hosts.opencode_supervised import supervised as supervised_opencode
from real_hosts.supervised import Supervised as Claude
from real_hosts.supervised import supervised as supervised_claude
from sidecar.kernel.settings import Settings, WorkerSettings
from sidecar.platform.secrets import SecretForms
from sidecar.wiring.headless import build_workers
from sidecar.workers.ports import WorkerError, WorkerFailure, WorkerRun, WorkerTask
from support.memory_stores import MemorySpending
from support.model_script import (
    ModelRequest,
    ReplyRule,
    RequestMatch,
    ScriptedReply,
    reply_structured,
    reply_with_calls,
    reply_with_text,
)
from support.model_server import ScriptedModel
from support.model_wire import ModelMessage, ReplyToolCall
from support.worker_agents import GOOD, LIMIT_S, WRONG, Answer

pytestmark = pytest.mark.proves("workers")

OUTSIDE: Final = "/var/tmp/supervisor-worker-outside.txt"  # noqa: S108 - nobody may write it
TOOLS: Final = ("Bash", "Read", "Write", "Edit")


class Worker(Struct, frozen=True):
    """A host as a worker in a project, with our plugin installed for its user.

    `calls` makes a call of the host's own tools from Claude Code's words, `answers` an answer. `offered` is
    what the model is offered when all of TOOLS are allowed.
    """

    under: Claude | OpenCodeUnder
    calls: Callable[[str, Mapping[str, str]], ModelMessage]
    answers: Callable[[Mapping[str, object]], ModelMessage]
    offered: frozenset[str]

    @property
    def project(self) -> Path:
        return self.under.host.project

    @property
    def kind(self) -> Literal["claude", "opencode"]:
        return "claude" if isinstance(self.under, Claude) else "opencode"

    @property
    def requests(self) -> list[ModelRequest]:
        """The worker's own requests, not those for a title."""
        return [request for request in self.under.model.requests if request.tools]

    def script(self, *replies: ScriptedReply, times: int | None = 1) -> None:
        self.under.model.add(*(ReplyRule(reply, RequestMatch(tools="some"), times) for reply in replies))

    def run(self, **fields: Any) -> WorkerRun[Answer]:
        usual: dict[str, Any] = {"model": "self", "seconds": LIMIT_S, "tools": TOOLS}
        place: dict[str, Any] = {"project": str(self.project), "environment": self.under.host.env}
        task = WorkerTask(prompt="Write a test of half a cent.", answer=Answer, **place, **usual | fields)
        settings = Settings(workers=WorkerSettings(backend=self.kind))
        return asyncio.run(
            build_workers(self.under.state, MemorySpending(), SecretForms()).run(task, settings, print)
        )

    def by_hand(self, prompt: str) -> None:
        """Let the same host work as its user would start it."""
        said = ("-p", prompt) if self.kind == "claude" else ("run", prompt)
        assert self.under.host.run(*said).returncode == 0

    def failure(self, **fields: Any) -> WorkerError:
        with pytest.raises(WorkerError) as failed:
            self.run(**fields)
        return failed.value


def claude_calls(tool: str, given: Mapping[str, str]) -> ModelMessage:
    return reply_with_calls(ReplyToolCall(tool, given), before=f"I use {tool}.")


def opencode_calls(tool: str, given: Mapping[str, str]) -> ModelMessage:
    known = {"file_path": "filePath", "command": "command", "content": "content"}
    words = {known[name]: value for name, value in given.items()}
    more = {"description": "runs it"} if tool == "Bash" else {}
    return reply_with_calls(ReplyToolCall(tool.lower(), {**words, **more}), before=f"I use {tool}.")


def opencode_answers(value: Mapping[str, object]) -> ModelMessage:
    text = json.dumps(value)
    return reply_with_text(f"I am done with {{it}}.\n\n```json\n{text}\n```")


@pytest.fixture(
    scope="session",
    params=("claude", pytest.param("newest claude", marks=pytest.mark.long), "opencode"),
)
def program(request: pytest.FixtureRequest) -> tuple[str, str, Path]:
    """A host, its version and its binary, looked up before any test replaces the home."""
    try:
        if request.param == "opencode":
            return "opencode", OPENCODE_PINNED, opencode_binary(hosts_folder())
        version = PINNED if request.param == "claude" else newest_version()
        return "claude", version, claude_binary(version, hosts_folder())
    except InstallError as error:
        missing(str(error))


@pytest.fixture
def worker(program: tuple[str, str, Path], model: ScriptedModel, tmp_path: Path) -> Iterator[Worker]:
    kind, version, binary = program
    under: Claude | OpenCodeUnder
    if kind == "claude":
        host = Host.prepare(binary, version, tmp_path, model.url)
        with supervised_claude(host, model, environment={}) as under:
            assert under.supervisor("install", "claude-code").returncode == 0
            yield Worker(under, claude_calls, reply_structured, frozenset({*TOOLS, "StructuredOutput"}))
    else:
        with supervised_opencode(OpenCode.prepare(binary, tmp_path, model.url), model) as under:
            under.host.configure(permission={"bash": {"*": "ask"}, "external_directory": "allow"})
            offered = frozenset({"bash", "read", "write", "edit"})
            yield Worker(under, opencode_calls, opencode_answers, offered)


def test_a_worker_writes_in_its_folder_answers_and_is_not_judged(worker: Worker) -> None:
    target = str(worker.project / "test_half.py")
    worker.script(
        worker.calls("Write", {"file_path": target, "content": "def test_half(): assert 0\n"}),
        worker.calls("Bash", {"command": "echo ran > ran.txt"}),
        worker.answers(GOOD),
    )
    done = worker.run()
    assert done.answer == Answer("test_a.py", ok=True)
    assert (worker.project / "test_half.py").exists()
    assert (worker.project / "ran.txt").exists()
    assert done.tokens > 0
    assert done.cents is not None
    assert done.cents > 0
    assert "I use Write." in done.output
    assert set(worker.requests[0].tools) - {"DeferredToolPlaceholder"} == worker.offered
    assert "Write a test of half a cent." in worker.requests[0].text
    assert len(worker.requests) == 3
    assert not list(worker.under.state.glob("sessions/*"))
    worker.by_hand("Say hello.")
    assert list(worker.under.state.glob("sessions/*"))


@pytest.mark.long
def test_an_answer_that_never_fits_is_told(worker: Worker) -> None:
    worker.script(worker.answers(WRONG), times=None)
    failed = worker.failure()
    assert failed.failure is WorkerFailure.INVALID
    assert failed.tokens > 0


def test_the_host_refuses_what_is_not_allowed_and_waits_for_nobody(worker: Worker) -> None:
    worker.script(
        worker.calls("Write", {"file_path": OUTSIDE, "content": "x"}),
        worker.calls("Bash", {"command": "touch by-shell"}),
        worker.answers(GOOD),
    )
    assert worker.run(tools=("Read", "Write")).answer.ok
    assert not Path(OUTSIDE).exists()
    assert not (worker.project / "by-shell").exists()


@pytest.mark.long
def test_a_named_model_is_asked(worker: Worker) -> None:
    worker.script(worker.answers(GOOD))
    name = "haiku" if worker.kind == "claude" else "anthropic/claude-haiku-4-5"
    assert worker.run(model=name).model == name
    assert "haiku" in worker.requests[0].model
