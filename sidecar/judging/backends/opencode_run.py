"""Asks OpenCode's model through `opencode run`, for the stops of `supervisor run` with OpenCode as its agent.

The agent that answers is configured for this process alone: it has no tools, and our instructions as its
prompt. It works in an empty folder, and our plugin stays silent in it. OpenCode counts the cost; its session
stays in OpenCode's own records.
"""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Any, Final

import msgspec

from sidecar.hosts.command import AgentInvocation, run_invocation
from sidecar.hosts.opencode.link import JUDGE_AGENT
from sidecar.hosts.shared import WORKER_MARKER
from sidecar.hosts.streams import OpenCodeStream
from sidecar.judging.backends.answer import NoVerdictError, OngoingJudgement
from sidecar.judging.ports import ChosenBackend
from sidecar.kernel.decoding import read_json
from sidecar.kernel.runs import RUN_AGENT_VARIABLE
from sidecar.kernel.text import one_printable_line
from sidecar.platform.api_keys import session_project
from sidecar.platform.processes import ProcessEnding, find_program

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sidecar.judging.backends.prompt import JudgePrompt


PROGRAM: Final = "opencode"
CONFIG: Final = "OPENCODE_CONFIG_CONTENT"
TITLE: Final = "Supervisor's judge"


def choose_opencode_run(environment: Mapping[str, str]) -> ChosenBackend:
    """Choose it if the agents of the run are OpenCode's, and `opencode` is found outside the project."""
    if environment.get(RUN_AGENT_VARIABLE) != PROGRAM:
        return ChosenBackend("", "the session is not OpenCode's")
    program = _find_program(environment)
    if not program:
        return ChosenBackend("", f"`{PROGRAM}` is not on the session's PATH")
    return ChosenBackend("opencode", f"OpenCode's model, through `{program} run`")


async def ask_opencode_run(
    prompt: JudgePrompt, system: str, hearing: OngoingJudgement, environment: Mapping[str, str]
) -> str:
    """Return the model's answer, valid or not. Raises NoVerdictError if there is none, and OSError."""
    chosen = choose_opencode_run(environment)
    if not chosen.backend:
        raise NoVerdictError(chosen.why)
    program = _find_program(environment)
    model = ("--model", hearing.model) if hearing.model else ()
    command = (program, "run", "--format", "json", "--title", TITLE, "--agent", JUDGE_AGENT, *model)
    stream = OpenCodeStream(lambda _said: None)
    hearing.begin()
    with tempfile.TemporaryDirectory(prefix="supervisor-judge-", ignore_cleanup_errors=True) as folder:
        told = {CONFIG: _with_judge(environment.get(CONFIG, ""), system), WORKER_MARKER: "1", "PWD": folder}
        given = AgentInvocation(
            command=command,
            environment={**environment, **told},
            stdin=prompt.case.encode("utf-8", "replace"),
        )
        ended, printed, complaint = await run_invocation(given, folder, hearing.left, stream.feed, tied=True)
    stream.close(printed, complaint)
    if ended.ending is ProcessEnding.TIMED_OUT:
        raise hearing.late()
    hearing.pay(stream.tokens, stream.cents)
    if stream.fault or not stream.text:
        why = stream.fault or ended.reason or complaint.strip() or "it said nothing"
        raise NoVerdictError(f"OpenCode's model did not answer: {one_printable_line(why)}")
    return stream.text


def _find_program(environment: Mapping[str, str]) -> str:
    return find_program(PROGRAM, environment, session_project(environment))


def _with_judge(content: str, system: str) -> str:
    """Return the user's inline configuration with the judge added: an agent without any tool."""
    config = read_json(content, dict[str, Any]) or {}
    agents = config.get("agent")
    judge = {"mode": "primary", "description": TITLE, "prompt": system, "permission": {"*": "deny"}}
    config["agent"] = {**(agents if isinstance(agents, dict) else {}), JUDGE_AGENT: judge}
    return msgspec.json.encode(config).decode()
