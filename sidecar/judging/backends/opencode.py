"""Asks OpenCode's model: the one that the session runs in, or a new one where its agents are of a run.

A connected OpenCode is asked through a temporary session, which is deleted afterwards. It is a child of the
user's session and uses a hidden agent without tools. The plugin lets the model see only our instructions: no
AGENTS.md, no instructions of other servers.

For `supervisor run` with OpenCode as its agent none is connected when an agent has ended: `opencode run`
starts one with the same hidden agent, configured for this process alone, in an empty folder; our plugin
stays silent in it, and its session stays in OpenCode's own records. OpenCode counts the cost.
"""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct

from sidecar.hosts.command import AgentInvocation, run_invocation
from sidecar.hosts.opencode import link, wire
from sidecar.hosts.opencode.messages import describe_host_error
from sidecar.hosts.shared import WORKER_MARKER, try_decode
from sidecar.hosts.streams import OpenCodeStream
from sidecar.judging.backends.answer import JudgeRequest, ModelJudge, NoVerdictError, OngoingJudgement
from sidecar.judging.ports import ChosenBackend
from sidecar.kernel.decoding import read_json
from sidecar.kernel.runs import RUN_AGENT_VARIABLE
from sidecar.kernel.settings import host_model_name
from sidecar.kernel.text import one_printable_line
from sidecar.platform.api_keys import session_project
from sidecar.platform.processes import ProcessEnding, find_program
from sidecar.platform.rpc import PeerError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from sidecar.kernel.settings import Settings


BACKEND: Final = "opencode"
CONFIG: Final = "OPENCODE_CONFIG_CONTENT"
TITLE: Final = "Supervisor's judge"
SHORT_S: Final = 15.0
"""Maximum seconds to wait for a session to be created or deleted."""


class _CreatedSession(Struct, frozen=True):
    id: str


class OpenCodeJudge(ModelJudge):
    """Implements `Judge`."""

    backend = BACKEND

    def chosen(self, environment: Mapping[str, str], settings: Settings) -> ChosenBackend:
        """Choose this backend if the session is OpenCode's, or a run's with OpenCode as its agent."""
        if link.get_session_context() is None:
            return _choose_run(environment)
        named = host_model_name(settings).partition("/")[2]
        return ChosenBackend(BACKEND, "OpenCode's model of that name" if named else "the session's own model")

    def model(self, settings: Settings) -> str:
        model = _choose_model(settings)
        return f"{model.provider}/{model.name}" if model.name else ""

    async def answer(self, asked: JudgeRequest) -> str:
        system = self.with_structure(asked.prompt.system)
        if link.get_session_context() is None:
            return await _ask_run(asked, system)
        return await _ask_model(asked, system)


def _choose_model(settings: Settings) -> link.OpenCodeModel:
    """The model from the settings if named as in OpenCode (`provider/model`), else the session's own."""
    provider, _, name = host_model_name(settings).partition("/")
    if name:
        return link.OpenCodeModel(provider, name)
    now = link.get_session_context()
    return now.model if now is not None else link.OpenCodeModel()


async def _ask_model(asked: JudgeRequest, system: str) -> str:
    hearing, model = asked.hearing, _choose_model(asked.settings)
    body: dict[str, Any] = {"agent": link.JUDGE_AGENT, "system": system, "tools": {"*": False}}
    body |= {"model": {"providerID": model.provider, "modelID": model.name}} if model.name else {}
    body["parts"] = [{"type": "text", "text": asked.prompt.case}]
    async with _temporary_session() as path:
        hearing.begin()
        try:
            said = await link.call_host_api("session.prompt", {"path": path, "body": body}, hearing.left)
        except PeerError as error:
            raise _no_answer(str(error)) from None
    return _read_model_answer(bytes(said), hearing)


@asynccontextmanager
async def _temporary_session() -> AsyncIterator[dict[str, str]]:
    """Yield the id of a temporary session; it is deleted even if we are cancelled repeatedly."""
    making = asyncio.create_task(_create_session())
    try:
        yield await asyncio.shield(making)
    finally:
        await asyncio.shield(asyncio.create_task(_delete_session(making)))


async def _create_session() -> dict[str, str]:
    now = link.get_session_context()
    body = {"parentID": now.session if now else "", "title": TITLE}
    try:
        made = await link.call_host_api("session.create", {"body": body}, SHORT_S)
        return {"id": msgspec.json.decode(made, type=_CreatedSession).id}
    except (PeerError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        why = one_printable_line(str(error))
        raise NoVerdictError(f"OpenCode made no session for the judge: {why}") from None


async def _delete_session(making: asyncio.Task[dict[str, str]]) -> None:
    """Delete the session whatever happened; the plugin does so too if it loses the connection."""
    try:
        path = await making
    except NoVerdictError:
        return
    for call in ("session.abort", "session.delete"):
        with suppress(PeerError):
            await link.call_host_api(call, {"path": path}, SHORT_S)


def _read_model_answer(said: bytes, hearing: OngoingJudgement) -> str:
    answer = try_decode(said, wire.HostMessage)
    if answer is None:
        raise NoVerdictError("OpenCode's answer cannot be read")
    dollars = wire.message_cost(answer)
    hearing.pay(wire.message_tokens(answer), None if dollars is None else 100 * dollars)
    fault = wire.message_error(answer)
    if fault is not None:
        raise _no_answer(describe_host_error(fault))
    return "".join(
        part.text for part in wire.decode_parts(answer) if part.type == "text" and not part.synthetic
    )


# --- `opencode run`, for the stops of `supervisor run` ------------------------------------------------------


def _choose_run(environment: Mapping[str, str]) -> ChosenBackend:
    """Choose it if the agents of the run are OpenCode's, and `opencode` is found outside the project."""
    if environment.get(RUN_AGENT_VARIABLE) != BACKEND:
        return ChosenBackend("", "the session is not OpenCode's")
    program = _find_program(environment)
    if not program:
        return ChosenBackend("", f"`{BACKEND}` is not on the session's PATH")
    return ChosenBackend(BACKEND, f"OpenCode's model, through `{program} run`")


async def _ask_run(asked: JudgeRequest, system: str) -> str:
    environment, hearing = asked.environment, asked.hearing
    chosen = _choose_run(environment)
    if not chosen.backend:
        raise NoVerdictError(chosen.why)
    program = _find_program(environment)
    model = ("--model", hearing.model) if hearing.model else ()
    command = (program, "run", "--format", "json", "--title", TITLE, "--agent", link.JUDGE_AGENT, *model)
    stream = OpenCodeStream(lambda _said: None)
    hearing.begin()
    with tempfile.TemporaryDirectory(prefix="supervisor-judge-", ignore_cleanup_errors=True) as folder:
        told = {CONFIG: _with_judge(environment.get(CONFIG, ""), system), WORKER_MARKER: "1", "PWD": folder}
        given = AgentInvocation(
            command=command,
            environment={**environment, **told},
            stdin=asked.prompt.case.encode("utf-8", "replace"),
        )
        ended, printed, complaint = await run_invocation(given, folder, hearing.left, stream.feed, tied=True)
    stream.close(printed, complaint)
    if ended.ending is ProcessEnding.TIMED_OUT:
        raise hearing.late()
    hearing.pay(stream.usage.tokens, stream.cents)
    if stream.fault or not stream.text:
        raise _no_answer(stream.fault or ended.reason or complaint.strip() or "it said nothing")
    return stream.text


def _no_answer(why: str) -> NoVerdictError:
    return NoVerdictError(f"OpenCode's model did not answer: {one_printable_line(why)}")


def _find_program(environment: Mapping[str, str]) -> str:
    return find_program(BACKEND, environment, session_project(environment))


def _with_judge(content: str, system: str) -> str:
    """Return the user's inline configuration with the judge added: an agent without any tool."""
    config = read_json(content, dict[str, Any]) or {}
    agents = config.get("agent")
    judge = {"mode": "primary", "description": TITLE, "prompt": system, "permission": {"*": "deny"}}
    config["agent"] = {**(agents if isinstance(agents, dict) else {}), link.JUDGE_AGENT: judge}
    return msgspec.json.encode(config).decode()
