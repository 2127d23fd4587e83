"""Governed phases on the real hosts: as workers of `supervisor govern`, and with agents that call the tools.

The model is scripted, the project's tests are real.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from real_hosts.agent_session import AgentSession, agent_session, reply_that_writes
from real_hosts.host import Host
from real_hosts.opencode_host import OpenCode
from real_hosts.supervised import Supervised
from sidecar.kernel.governance import GovernedPhase
from sidecar.platform.confine import can_close_folders
from support import form_client
from support.governed import ANALYSIS, APPROVED, MADE, PASSED, PLAN, PROBLEM, implemented
from support.model_script import (
    ReplyRule,
    RequestMatch,
    reply_structured,
    reply_with_calls,
    reply_with_text,
)
from support.model_server import ScriptedModel
from support.model_wire import ReplyToolCall
from support.tdd_projects import PYTHON, contents, lay_out

pytestmark = pytest.mark.proves("governed phases")

SUPERVISOR: Final = Path(sys.executable).parent / "supervisor"
LEFT: Final = (".git", ".gitignore", "__pycache__", ".pytest_cache")
LIMIT_S: Final = 240.0
"""Bound of every wait here, in seconds."""
BRIEFED: Final = "The problem:\n"
WORKER: Final = RequestMatch(tools="some", any=BRIEFED)
"""Requests of a worker: not those for a title."""
FORM: Final = "requests your input"
LOCK: Final = re.compile(r"gov-[0-9a-f]+")
GOAL: Final = "all tests pass --check 'python -m pytest -q'"
DONE: Final = PYTHON | MADE
OWN_WORK: Final = 'toolsets = ["core", "governance"]\n[governance]\nworkers = false\n'
"""Settings by which the agent does each phase's work itself."""

Files = Mapping[str, str]


def works(
    host: Host | OpenCode, model: ScriptedModel, answer: Mapping[str, Any], files: Files | None = None
) -> None:
    """The model lets the next worker write these files and answer so."""
    end = reply_structured(answer) if isinstance(host, Host) else reply_with_text(json.dumps(answer))
    replies = [*([reply_that_writes(host, files)] if files else []), end]
    model.add(*(ReplyRule(reply, WORKER) for reply in replies))


def implements(host: Host | OpenCode, model: ScriptedModel) -> None:
    """The next worker makes the change, and writes into the project itself, which comes to nothing.

    Where the system closes no folder, tests/workers/test_agents.py shows what comes of it.
    """
    outside = {str(host.project / "evil.py"): "evil"} if can_close_folders() else {}
    works(host, model, implemented(*MADE), {**outside, **MADE})


def holds(host: Host | OpenCode, files: Files) -> bool:
    """Whether the project holds these files and nothing else but what tools left."""
    return contents(host.project, but=LEFT) == files


def govern(host: Host | OpenCode, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Type `supervisor govern ARGUMENTS`."""
    path = os.pathsep.join((str(host.binary.parent), host.env["PATH"]))
    return subprocess.run(
        [str(SUPERVISOR), "govern", *arguments],
        cwd=host.project,
        env={**host.env, "PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


@pytest.mark.long
def test_a_change_that_opencode_made_is_delivered_at_once(
    opencode_host: OpenCode, model: ScriptedModel
) -> None:
    lay_out(opencode_host.project, PYTHON)
    works(opencode_host, model, ANALYSIS)
    works(opencode_host, model, PLAN)
    implements(opencode_host, model)
    works(opencode_host, model, APPROVED)
    works(opencode_host, model, PASSED)
    done = govern(opencode_host, PROBLEM, "--mode", "fast")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert holds(opencode_host, DONE)


# --- the tools, called by the agent of a session ------------------------------------------------------------


@contextmanager
def begun(session: AgentSession, mode: str, **given: Any) -> Iterator[str]:
    """Yield the lock of an agent that has called phase_analyze and waits until the block scripted the rest.

    The host has come to its end afterwards.
    """
    held, aside = threading.Event(), ThreadPoolExecutor()
    assert session.under.supervisor("trust", "--yes").returncode == 0
    asked = {"problem_statement": PROBLEM, **given}
    session.calls("phase_analyze", context_lock_id="new", mode=mode, input_data=asked)
    waits = reply_that_writes(session.under.host, {".git/waited": ""})
    session.under.script(ReplyRule(waits, session.agent, gate=held))
    run = aside.submit(session.goal, GOAL)
    try:
        told = session.under.model.wait_for(lambda request: "[ANALYSIS]" in request.last, timeout=LIMIT_S)
        found = LOCK.search(told.last)
        assert found is not None, told.last
        yield found[0]
    finally:
        held.set()
        run.result(LIMIT_S)
        aside.shutdown()


def test_claude_code_conducts_a_delivery_and_waits_for_its_user_in_between(
    host: Host, model: ScriptedModel
) -> None:
    with agent_session(host, model, PYTHON, "governance") as session:
        works(host, model, ANALYSIS)
        with begun(session, "light") as lock:
            works(host, model, PLAN)
            implements(host, model)
            works(host, model, APPROVED)
            for phase in (GovernedPhase.PLAN, GovernedPhase.IMPLEMENT, GovernedPhase.REVIEW):
                session.calls(f"phase_{phase}", context_lock_id=lock, input_data={})
            session.under.script(ReplyRule(reply_with_text("My user is asked."), session.agent))
        assert f"in a shell: supervisor governance answer {lock} yes" in session.told[-1]
        waiting = session.under.report()
        assert (waiting.status, session.under.stops()[-1]) == ("active", "waiting")
        assert (holds(host, PYTHON), session.under.continuations()) == (True, [])

        assert session.under.supervisor("governance", "answer", lock, "yes").returncode == 0
        works(host, model, PASSED)
        for phase in (GovernedPhase.TEST, GovernedPhase.CONDUCT):
            session.calls(f"phase_{phase}", context_lock_id=lock, input_data={})
        session.says("sub is there, and tested.")
        session.under.ask("They said yes.", "--continue")
        assert '"decision":"DELIVER"' in session.told[-1]
        assert holds(host, DONE)
        assert session.under.report().status == "achieved"


VAGUE: Final = {
    "context_lock_id": "new",
    "input_data": {"problem_statement": PROBLEM, "answer": ANALYSIS | {"verifiability": "NON-VERIFIABLE"}},
}
"""What the tool of the first phase is given, so that a person must be asked."""


def answers_in_its_shell(session: AgentSession) -> None:
    """The agent's shell opens our pipe, asks for itself, and says yes to each form."""
    host = session.under.host
    lay_out(host.home, {".config/supervisor/config.toml": OWN_WORK})
    calls = json.dumps([("phase_analyze", {"session": "MINE", **VAGUE})])
    client = shlex.join([sys.executable, form_client.__file__, calls, "accept", str(SUPERVISOR), "mcp"])
    mine = f'$({SUPERVISOR} status --json | sed -n \'s/.*"session": *"\\([^"]*\\)".*/\\1/p\' | head -n 1)'
    line = {"command": client.replace("MINE", f"'{mine}'"), "description": "Ask"}
    call = ReplyToolCall("Bash" if isinstance(host, Host) else "bash", line)
    session.under.script(ReplyRule(reply_with_calls(call), session.agent))
    session.under.script(ReplyRule(reply_with_text("I tried."), session.agent))


def test_opencode_lets_no_shell_of_its_agent_answer_for_the_user(
    opencode_host: OpenCode, model: ScriptedModel
) -> None:
    with agent_session(opencode_host, model, PYTHON, "governance") as session:
        answers_in_its_shell(session)
        session.goal(GOAL)
        assert "in a shell: supervisor governance answer" in session.told[0]


def test_claude_code_shows_its_user_a_form_and_their_yes_alone_counts(
    host: Host, model: ScriptedModel
) -> None:
    with agent_session(host, model, PYTHON, "governance") as session:
        assert isinstance(session.under, Supervised)
        answers_in_its_shell(session)
        session.under.script(
            ReplyRule(reply_with_calls(ReplyToolCall("WaitForMcpServers", {})), session.agent)
        )
        session.calls("phase_analyze", **VAGUE)
        session.says("They said yes.")
        with session.under.terminal() as terminal:
            terminal.submit("say what is missing")
            terminal.wait_for("I tried")
            tried = LOCK.search(session.told[0])
            assert tried is not None, session.told
            assert f"in a shell: supervisor governance answer {tried[0]} yes" in session.told[0]
            assert session.under.supervisor("governance", "answer", tried[0], "no").returncode == 0
            terminal.submit("say it again")
            assert "Nobody could tell whether this problem is solved." in terminal.wait_for(FORM)
            terminal.agree(FORM)
            terminal.wait_for("They said yes")
        assert "Your user answered yes; the work is analyzed now." in session.told[-1]
