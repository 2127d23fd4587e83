"""An agent that tries to get free of its goal in its own shell below the host: what it gains, what is told.

docs/threat-model.md has the table; each row that says "prevented" or "told" has its line here or a test named
there.
"""

from __future__ import annotations

import asyncio
import shlex
import subprocess
import sys
from collections.abc import Callable
from contextlib import chdir
from functools import partial
from pathlib import Path

import msgspec
import pytest

from sidecar.cli.demo_agent import REPAIRED_SOURCE, ScriptedAgent
from sidecar.kernel.session import Session, SessionKey
from sidecar.platform.installation import plugin_root
from sidecar.platform.session_store import JournalFiles, SessionFiles
from support import form_client
from support.governed import ANALYSIS
from support.scene import GOAL, SUPERVISOR, Stage
from support.table import sampled

pytestmark = pytest.mark.proves("crashes and bad input")

STATE = "~/.local/state/supervisor"
RELAY = plugin_root() / "hooks" / "relay.py"
FREE = f"env -u CLAUDECODE {SUPERVISOR}"
"""Our command line, by an agent that hides that it is one."""


def speak(agent: ScriptedAgent, event: str, **fields: object) -> str:
    """A shell line that feeds a made-up event of this session to the relay."""
    made_up = {
        "session_id": agent.session,
        "transcript_path": str(agent.transcript),
        "cwd": str(agent.project),
        "hook_event_name": event,
        **fields,
    }
    (agent.project / "event").write_bytes(msgspec.json.encode(made_up))
    return f"{sys.executable} -I -S {RELAY} {RELAY} {event} 5 10 claude-code < event; rm event"


def order(agent: ScriptedAgent, method: str, **params: object) -> str:
    """A shell line that sends a request to the socket itself."""
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    (agent.project / "ask.py").write_text(
        "import os, socket\n"
        f"os.chdir(os.path.expanduser('{STATE}/run'))\n"
        "link = socket.socket(socket.AF_UNIX)\nlink.connect('sidecar.sock')\n"
        f"link.sendall({msgspec.json.encode(request)!r} + b'\\n')\nprint(link.recv(1000))\n"
    )
    return f"{sys.executable} ask.py; rm ask.py"


async def ask(stage: Stage, method: str, **params: object) -> bytes:
    """Ask the sidecar for something that is no order."""
    with chdir(stage.sessions.parent / "run"):
        reader, writer = await asyncio.open_unix_connection("sidecar.sock")
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    writer.write(msgspec.json.encode(request) + b"\n")
    answer = msgspec.json.decode(await reader.readline(), type=dict[str, msgspec.Raw])
    writer.close()
    return bytes(answer["result"])


ORDERS: dict[str, Callable[[ScriptedAgent], str]] = {
    "goal clear": lambda _: f"{FREE} goal clear",
    "goal pause": lambda _: f"{FREE} goal pause",
    "another goal": lambda _: f"{FREE} goal set anything",
    "retry": lambda _: f"{FREE} retry 100",
    "off": lambda _: f"{FREE} off",
    "off for the project": lambda _: f"{FREE} off --project",
    "stop": lambda _: f"{FREE} stop",
    "a shell in a shell": lambda _: f"sh -c 'nohup {FREE} goal clear'; true",
    "the socket": lambda agent: order(
        agent, "order", who={"session": agent.session}, order={"name": "goal", "word": "clear"}
    ),
    "a prompt": lambda agent: speak(agent, "UserPromptSubmit", prompt="never mind", prompt_id="x"),
    "a command": lambda agent: speak(
        agent, "UserPromptExpansion", command_name="supervisor:goal", command_args="clear", prompt_id="x"
    ),
    "an end": lambda agent: speak(agent, "SessionEnd", reason="other"),
    "a resumed session": lambda agent: speak(agent, "SessionStart", source="resume"),
    "the page": lambda agent: order(agent, "dashboard"),
    "a token": lambda agent: order(agent, "mcp_access", host="claude-code", session="another"),
}


@pytest.mark.parametrize("name", sampled(ORDERS, "goal clear", "off", "the socket", "a command"))
async def test_an_order_from_below_the_host_at_work_is_refused_and_told(stage: Stage, name: str) -> None:
    agent = await stage.agent_with_goal()
    await agent.run(ORDERS[name](agent))
    agent.say("All tests pass. Done.")
    told = await agent.stop()
    assert "a check of this project fails" in told.feedback, told
    assert "is not its host. It was ignored" in told.system_message or (
        "it came from below the agent's own process" in told.system_message
    ), told.system_message
    assert "continuations 0/16" in stage.report().text or "continuations 1/16" in stage.report().text


EDITS = {
    "more attempts": ("~/.config/supervisor/config.toml", "max_attempts = 100"),
    "another judge": (
        "~/.config/supervisor/config.toml",
        '[judge]\nbackend = "openai"\nbase_url = "http://127.0.0.1:9"',
    ),
    "shadow mode": ("~/.config/supervisor/config.toml", 'mode = "shadow"'),
    "a gate of its own": ("~/.config/supervisor/config.toml", '[gate.tests]\ncommand = "true"'),
    "off": (f"{STATE}/switches.json", '{"version": 1, "user_off": true}'),
    "approvals": (f"{STATE}/trust.json", '{"version": 1, "projects": {"/": {}}}'),
    "the project's gates": (".supervisor/config.toml", "[gates]\ndetect = false"),
}


@pytest.mark.parametrize(
    "by_script", [False, pytest.param(True, marks=pytest.mark.long)], ids=["named", "by a script"]
)
@pytest.mark.parametrize("name", sampled(EDITS, "off", "approvals", "the project's gates"))
async def test_an_edit_of_what_steers_does_not_count_at_the_stop_that_follows(
    stage: Stage, name: str, *, by_script: bool
) -> None:
    path, text = EDITS[name]
    agent = await stage.agent_with_goal()
    write = f"mkdir -p $(dirname {path}); cat > {path} <<'EOF'\n{text}\nEOF\n"
    if by_script:
        (agent.project / "build.sh").write_text(write)
        write = "sh build.sh; rm build.sh"
    await agent.run(write)
    agent.say("All tests pass. Done.")
    told = await agent.stop()
    assert "a check of this project fails" in told.feedback, told
    assert "1 of 16" in told.feedback
    assert "was changed while an agent worked" in told.system_message
    assert Path(path).name in told.system_message


HARM = {
    "the sessions": f"rm -r {STATE}/sessions",
    "the state": f"rm {STATE}/sessions/*.json",
    "another state": f"sed -i s/active/cleared/ {STATE}/sessions/*.json",
    "the state and its chain": f"rm {STATE}/sessions/claude-code-*",
    "what is kept of edits": f"rm -r {STATE}/held-edits.json {STATE}/sessions",
}


@pytest.mark.parametrize("name", sampled(HARM, "the sessions", "another state"))
async def test_a_state_that_was_harmed_is_restored_and_told(stage: Stage, name: str) -> None:
    agent = await stage.agent_with_goal()
    await agent.run(HARM[name])
    agent.say("All tests pass. Done.")
    told = await agent.stop()
    assert "a check of this project fails" in told.feedback, told
    assert "It is restored as Supervisor wrote it" in told.system_message


@pytest.mark.parametrize("signal", sampled(("KILL", "TERM"), "KILL"))
async def test_a_sidecar_that_was_killed_is_told(stage: Stage, signal: str) -> None:
    agent = await stage.agent_with_goal()
    await agent.run(f"kill -{signal} $(cat {STATE}/run/sidecar.lock)")
    agent.say("All tests pass. Done.")
    told = await agent.stop()
    assert "a check of this project fails" in told.feedback, told
    assert "was ended by force while this agent worked" in told.system_message


async def test_a_user_s_own_orders_are_not_told(stage: Stage) -> None:
    agent = await stage.agent_with_goal()
    assert "goal cleared" in (await agent.prompt("/supervisor:goal clear")).reason.lower()
    assert "goal set" in (await agent.prompt(GOAL)).system_message
    agent.say("Done.")
    assert "Not you?" not in (await agent.stop()).system_message


async def test_another_process_at_the_socket_is_not_believed(stage: Stage) -> None:
    agent = await stage.agent_with_goal()
    (agent.project / "fake.py").write_text(
        "import os, socket\n"
        f"os.chdir(os.path.expanduser('{STATE}/run'))\n"
        "os.unlink('sidecar.sock')\n"
        "door = socket.socket(socket.AF_UNIX)\ndoor.bind('sidecar.sock')\ndoor.listen()\nprint(flush=True)\n"
        "door.settimeout(60)\nlink, _ = door.accept()\nlink.recv(1 << 20)\n"
        'link.sendall(b\'{"jsonrpc":"2.0","id":1,"result":{}}\\n\')\n'
    )
    await agent.run(f"setsid --fork {sys.executable} fake.py > out; until test -s out; do :; done")
    agent.say("All tests pass. Done.")
    told = (await agent.stop()).system_message
    unbelieved = "answers in its place" in told and "this stop was not judged" in told
    assert unbelieved or "It is made again" in told  # where the sidecar was quicker than the stop


async def test_what_was_forged_does_not_come_in_with_the_users_next_approval(stage: Stage) -> None:
    agent = await stage.agent_with_goal()
    trust = stage.sessions.parent / "trust.json"
    forged = '{"version": 1, "projects": {"/forged": {"x": {"digest": "0", "command": "true"}}}}'
    await agent.run(f"echo '{forged}' > {STATE}/trust.json")
    agent.edit("shop.py", REPAIRED_SOURCE)
    agent.say("Done.")
    assert "was changed while an agent worked" in (await agent.stop()).system_message
    (agent.project / "Makefile").write_text("lint:\n\ttrue\n", encoding="utf-8")
    assert "Approved: " in (done := stage.supervisor("trust", "--yes")).stdout, done
    assert "/forged" not in trust.read_text()


@pytest.mark.parametrize(
    "command", sampled(("accept --yes", "trust --yes", "run true", "toolset disable journal"), "accept --yes")
)
async def test_an_agent_may_not_approve_what_it_did(stage: Stage, command: str) -> None:
    agent = await stage.agent_with_goal()
    await agent.run(
        "mkdir -p ~/.config/supervisor; echo 'max_attempts = 2' > ~/.config/supervisor/config.toml"
    )
    agent.say("Done.")
    assert "does not count until" in (await agent.stop()).system_message
    assert await agent.run(f"{FREE} {command}") != 0
    agent.say("Done.")
    told = await agent.stop()
    assert "2 of 16" in told.feedback
    assert "it came from below the agent's own process" in told.system_message


KEEPER = """
import os, pty, sys
go, line = sys.argv[1:]
pid, keeper = pty.fork()
if not pid:
    wait = f"until test -e {go}; do sleep 0.05; done"
    os.execvp("sh", ["sh", "-c", f"{wait}; {line} > {go}.said 2>&1; echo $? > {go}.done; :"])
open(f"{go}.open", "w").close()
try:
    while os.read(keeper, 1024): pass
except OSError: pass
"""
"""A program that opens a terminal, as tmux does, in which a shell types a line once a file is there."""


def window(stage: Stage, line: str) -> str:
    """A shell line that opens such a terminal, whose keeper outlives what started it."""
    (stage.scene.project.parent / "keeper.py").write_text(KEEPER)
    keeper = f"{sys.executable} ../keeper.py ../go '{line}'"
    return f"setsid --fork {keeper} > /dev/null 2>&1; until test -e ../go.open; do sleep 0.05; done"


async def ordered(stage: Stage) -> str:
    """Let the line be typed; what it printed."""
    go = stage.scene.project.parent / "go"
    go.touch()
    wait = ("sh", "-c", f"until test -s {go}.done; do sleep 0.05; done; cat {go}.said {go}.done")
    done = await asyncio.to_thread(
        subprocess.run, wait, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout


LATER = ("goal clear", "retry 100", "off", "off --project", "trust --yes", "goal resume")


@pytest.mark.parametrize("line", sampled(LATER, "goal clear", "trust --yes", "goal resume"))
async def test_a_terminal_of_the_turn_is_nobodys_after_it_and_what_is_ordered_there_is_told(
    stage: Stage, line: str
) -> None:
    agent = await stage.agent_with_goal()
    await agent.run(window(stage, f"{FREE} {line}"))
    await agent.prompt("/supervisor:goal pause")
    agent.say("I rest.")
    await agent.stop()
    assert (said := await ordered(stage)).endswith("0\n"), said
    told = await agent.prompt("Go on.")
    assert f"Supervisor: `{line.partition(' --')[0]}" in told.system_message, told
    assert "Not you?" in told.system_message
    assert "Not you?" not in (await agent.prompt("And on.")).system_message


async def test_a_window_of_a_terminal_from_before_the_turn_is_the_users(stage: Stage) -> None:
    await stage.agent().run(window(stage, f"{SUPERVISOR} goal resume"))
    agent = await stage.agent_with_goal()
    await agent.prompt("/supervisor:goal pause")
    agent.say("I rest.")
    await agent.stop()
    assert "goal active again" in await ordered(stage)
    assert "Not you?" not in (await agent.prompt("Go on.")).system_message


async def test_what_the_hosts_settings_add_later_turns_no_check_green(stage: Stage) -> None:
    agent = await stage.agent_with_goal()
    loose = {"PYTEST_ADDOPTS": "--deselect=test_shop.py::test_a_tenth_is_taken_off"}
    later = ScriptedAgent(plugin_root(), agent.project, {**stage.scene.environment, **loose}, agent.session)
    later.say("All tests pass. Done.")
    told = await later.stop()
    assert "test_a_tenth_is_taken_off" in told.feedback
    assert "the environment was changed since the session began (PYTEST_ADDOPTS)" in told.system_message


def as_relay(agent: ScriptedAgent, *steps: str) -> str:
    """A shell line that becomes a process which the host started itself, and speaks as its relay would.

    Each step is a line of Python; `tell(EVENT, **fields)` sends a made-up event.
    """
    base = {
        "session_id": agent.session,
        "transcript_path": str(agent.transcript),
        "cwd": str(agent.project),
        "permission_mode": "default",
        "prompt_id": "made-up",
    }
    (agent.project / "relay.py").write_text(
        "import json, os, pathlib, socket, sys\n"
        f"run = os.path.expanduser('{STATE}/run')\n"
        "def connected():\n"
        "    link = socket.socket(socket.AF_UNIX)\n    os.chdir(run)\n    link.connect('sidecar.sock')\n"
        "    return link\n"
        "links = []\n"
        "def ask(method, **params):\n"
        "    link = links.pop() if links else connected()\n"
        "    call = {'jsonrpc': '2.0', 'id': 1, 'method': method, 'params': params}\n"
        "    link.sendall(json.dumps(call).encode() + b'\\n')\n    return link\n"
        "def tell(event, **fields):\n"
        f"    made = {{**{base!r}, 'hook_event_name': event, **fields}}\n"
        "    said = dict(host='claude-code', event=made, environment=dict(os.environ))\n"
        "    link, heard = ask('hook', **said), b''\n"
        "    while b'\"id\":1' not in heard: heard += link.recv(100000)\n"
        "    print(heard)\n" + "\n".join(steps) + "\n",
        encoding="utf-8",
    )
    return f"exec {sys.executable} relay.py"


PROMPT = "tell('UserPromptSubmit', prompt='x')"
LIE = (
    "folder = pathlib.Path('~/.config/supervisor').expanduser(); folder.mkdir(parents=True, exist_ok=True); "
    "(folder / 'config.toml').write_text('max_attempts = 2')"
)


MADE_UP = {
    "a stop and a prompt": (
        "tell('Stop', permission_mode='plan')",
        LIE,
        "tell('UserPromptSubmit', prompt='x')",
    ),
    "an end and a prompt": ("tell('SessionEnd', reason='x')", LIE, "tell('UserPromptSubmit', prompt='x')"),
    "an unread stop that takes the lines": (LIE, "tell('Stop', permission_mode='plan')"),
    "a stop that takes the lines, and a prompt": (LIE, "tell('Stop', last_assistant_message='x')", PROMPT),
    "an acceptance": (
        LIE,
        "tell('Stop', last_assistant_message='Done.')",
        "tell('UserPromptExpansion', command_name='supervisor:accept', command_args='')",
        "tell('UserPromptExpansion', command_name='supervisor:accept', command_args='', prompt_id='2')",
    ),
}


@pytest.mark.parametrize("name", sampled(MADE_UP, "a stop and a prompt", "an acceptance"))
async def test_nothing_made_up_during_a_tool_call_lets_an_edit_count(stage: Stage, name: str) -> None:
    agent = await stage.agent_with_goal()
    await agent.run(as_relay(agent, *MADE_UP[name]))
    agent.say("All tests pass. Done.")
    told = await agent.stop()
    assert " of 16" in told.feedback, told
    assert "config.toml" in told.system_message


async def test_an_agent_answers_no_form_and_calls_for_no_session_of_another_host(stage: Stage) -> None:
    config = stage.scene.home / ".config" / "supervisor" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('toolsets = ["core", "journal", "governance"]\n[governance]\nworkers = false\n')
    agent, other = await stage.agent_with_goal(), stage.agent()
    await agent.prompt("go on")
    SessionFiles(stage.sessions.parent).save(Session(key=SessionKey("claude-code", other.session)))
    vague = {"problem_statement": "sub is missing", "answer": ANALYSIS | {"verifiability": "NON-VERIFIABLE"}}

    calls = [
        ("phase_analyze", {"session": agent.session, "context_lock_id": "new", "input_data": vague}),
        ("task_add", {"session": other.session, "content": "x"}),
    ]
    client = [sys.executable, form_client.__file__, msgspec.json.encode(calls).decode()]
    own = partial(
        subprocess.run, cwd=agent.project, env=stage.scene.environment, text=True, capture_output=True
    )
    asked = await asyncio.to_thread(own, [*client, "decline"], check=True, timeout=60)
    assert "Your user answered no" in asked.stdout
    await agent.run(f"exec {shlex.join(client)} accept > ../said")  # as if the host itself had started it
    form, task = (agent.project.parent / "said").read_text().splitlines()
    assert "in a shell: supervisor governance answer" in form
    assert "is not of the host that started this program" in task
    assert JournalFiles(stage.sessions.parent).load(SessionKey("claude-code", other.session)) is None
    agent.say("Done.")
    assert "`an answer in a form` was ordered by" in (await agent.stop()).system_message
