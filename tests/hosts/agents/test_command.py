"""Any program as an agent: prompt in, words out, bounded, and nothing of it left. The programs are real."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from sidecar.hosts.command import COMMAND_SAID_LIMIT, CommandAgent, ask_for_reports
from sidecar.hosts.ports import AgentResult, AgentTask, McpAccess
from sidecar.hosts.streams import AnyStream
from sidecar.kernel.settings import ModelPrice
from support.table import often

pytestmark = pytest.mark.process

LIMIT_S: Final = 60.0
"""Bound of every wait here, in seconds."""
ACCESS: Final = McpAccess("http://127.0.0.1:4711/mcp", "svs.token")


class Desk:
    """A folder in which agents work, and what was heard of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = folder / "mcp-1.json"  # of the first run
        self.heard: list[str] = []

    def agent(self, source: str, *arguments: str, tools: tuple[str, ...] = ()) -> CommandAgent:
        """An agent that is a Python script; it is called `agent`."""
        program = self.folder / "agent"
        program.write_text(f"#!{sys.executable}\n{source}\n", encoding="utf-8")
        program.chmod(0o755)
        return CommandAgent((str(program), *arguments), self.folder / "mcp.json", tools)

    def errand(self, **fields: Any) -> AgentTask:
        usual: dict[str, Any] = {
            "prompt": "Work.",
            "project": str(self.folder),
            "environment": {"PATH": os.environ["PATH"]},
            "seconds": LIMIT_S,
        }
        return AgentTask(**usual | fields)

    async def run(
        self, agent: CommandAgent, hear: Callable[[str], None] | None = None, **fields: Any
    ) -> AgentResult:
        async with asyncio.timeout(LIMIT_S):
            return await agent.run(self.errand(**fields), hear or self.heard.append)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


ECHO: Final = "import sys; sys.stdout.write(sys.stdin.read() or 'nothing: ' + repr(sys.argv[1:]))"


@pytest.mark.parametrize("prompt", often(["Work.", "-rf --help", "Zeile\nzwei ä", "x" * 1_000_000], 2))
async def test_a_prompt_of_any_kind_and_length_comes_on_standard_input(desk: Desk, prompt: str) -> None:
    rest = await desk.run(desk.agent(ECHO), prompt=prompt)
    assert rest == AgentResult(said=prompt[-COMMAND_SAID_LIMIT:], exit_code=0)


async def test_a_prompt_goes_where_the_command_says(desk: Desk) -> None:
    rest = await desk.run(
        desk.agent(ECHO, "--about={prompt}", "{mcp_url}"), prompt="Do {mcp_url}.", access=ACCESS
    )
    assert rest.said == f"nothing: {['--about=Do {mcp_url}.', ACCESS.url]}"


async def test_what_no_argument_can_hold_is_trouble_and_no_crash(desk: Desk) -> None:
    assert (
        "Argument list too long"
        in (await desk.run(desk.agent(ECHO, "{prompt}"), prompt="x" * 3_000_000)).trouble
    )
    assert (await desk.run(desk.agent(ECHO, "{prompt}"), prompt="a\0b")).said == "nothing: ['ab']"


async def test_words_are_heard_while_the_agent_works(desk: Desk) -> None:
    os.mkfifo(desk.folder / "go")
    heard: list[str] = []

    def hear(said: str) -> None:
        heard.append(said)
        if "one" in said:
            descriptor = os.open(desk.folder / "go", os.O_RDWR)
            os.write(descriptor, b"go\n")
            desk.heard.append(str(descriptor))  # the agent may open its end later

    agent = desk.agent("print('one', flush=True); open('go').readline(); print('two \\xe4')")
    rest = await desk.run(agent, hear)
    os.close(int(desk.heard[0]))
    assert rest.said == "one\ntwo ä\n"
    assert heard[0] == "one\n"
    assert "".join(heard) == rest.said


async def test_an_agent_that_fails_is_told_by_its_code_and_its_complaint(desk: Desk) -> None:
    agent = desk.agent("import sys; print('I began.'); sys.exit('no key')")
    trouble = "the agent ended with exit code 1: no key"
    assert await desk.run(agent) == AgentResult(said="I began.\n", exit_code=1, trouble=trouble)


@pytest.mark.proves("runs and the journal")
@pytest.mark.parametrize(
    ("complaint", "code", "line"),
    often(
        [
            ("error: unknown option '--nme'\n(Did you mean --name?)", 1, "error: unknown option '--nme'"),
            (
                "usage: a [-h]\na: error: unrecognized arguments: -x",
                2,
                "a: error: unrecognized arguments: -x",
            ),
            ("opencode run [message..]\n\nOptions:\n  -h, --help", 1, "opencode run [message..]"),
            (
                "Error: Failed to change directory to /shop/rn",
                0,
                "Error: Failed to change directory to /shop/rn",
            ),
        ],
        2,
    ),
)
async def test_an_agent_that_does_not_understand_its_command_line_is_unusable_and_asks_nothing(
    desk: Desk, complaint: str, code: int, line: str
) -> None:
    rest = await desk.run(desk.agent(f"import sys; sys.stderr.write({complaint!r}); sys.exit({code})"))
    trouble = f"the agent ended with exit code {code}: {line}"
    assert rest == AgentResult(exit_code=code, trouble=trouble, unusable=True)


@pytest.mark.parametrize(
    ("command", "why"), [(("/no/such/agent",), "No such file"), (("./plain",), "Permission denied")]
)
async def test_an_agent_that_cannot_be_started_is_trouble(
    desk: Desk, command: tuple[str, ...], why: str
) -> None:
    (desk.folder / "plain").write_text("no program")
    rest = await desk.run(CommandAgent(command, desk.folder / "mcp.json"), access=ACCESS)
    assert rest.trouble.startswith("it could not be started: ")
    assert why in rest.trouble
    assert not desk.config.exists()


HANGS: Final = """
import os, subprocess
wire = os.open("wire", os.O_WRONLY)
subprocess.Popen(["sleep", "600"], pass_fds=(wire,))
print("up", flush=True)
os.write(wire, b"up")
subprocess.run(["sleep", "600"])
"""


async def ended(wire: int) -> None:
    """Wait until nobody holds the pipe any more."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(LIMIT_S):
        while True:
            readable = asyncio.Event()
            loop.add_reader(wire, readable.set)
            await readable.wait()
            loop.remove_reader(wire)
            if not os.read(wire, 100):
                return


LEAVES: Final = """
import os, subprocess
wire = os.open("wire", os.O_WRONLY)
subprocess.Popen(["sh", "-c", "trap '' TERM; sleep 600; sleep 600"], pass_fds=(wire,))
os.write(wire, b"up")
print("Done.")
"""


async def test_what_an_agent_leaves_running_ends_with_it(desk: Desk) -> None:
    os.mkfifo(desk.folder / "wire")
    wire = os.open(desk.folder / "wire", os.O_RDONLY | os.O_NONBLOCK)
    rest = await desk.run(desk.agent(LEAVES))
    assert (rest.said, rest.exit_code) == ("Done.\n", 0)
    await ended(wire)
    os.close(wire)


@pytest.mark.parametrize("how", ["deadline", "cancelled"])
async def test_an_agent_that_hangs_ends_with_all_that_it_started(desk: Desk, how: str) -> None:
    os.mkfifo(desk.folder / "wire")
    wire = os.open(desk.folder / "wire", os.O_RDONLY | os.O_NONBLOCK)
    up = asyncio.Event()
    agent = desk.agent(HANGS)
    seconds = 1.0 if how == "deadline" else LIMIT_S
    task = asyncio.create_task(desk.run(agent, lambda _said: up.set(), seconds=seconds, access=ACCESS))
    if how == "cancelled":
        async with asyncio.timeout(LIMIT_S):
            await up.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    else:
        rest = await task
        assert (rest.exit_code, rest.trouble) == (None, "it did not end within 1 s")
    await ended(wire)
    os.close(wire)
    assert not desk.config.exists()


# --- the way to its tools ---

STREAM: Final = ("--output-format", "stream-json", "--verbose")
SHOW: Final = """
import json, os, sys
known = ("SUPERVISOR", "OPENCODE", "GEMINI")
told = {name: value for name, value in os.environ.items() if name.startswith(known)}
there = os.path.exists("mcp-1.json")
file = open("mcp-1.json").read() if there else ""
mode = os.stat("mcp-1.json").st_mode if there else 0
print(json.dumps({"told": told, "file": file, "mode": mode, "arguments": sys.argv[1:]}))
"""


async def shown(desk: Desk, name: str, *arguments: str, **fields: Any) -> dict[str, Any]:
    """What an agent of this name is given."""
    desk.agent(SHOW)
    (desk.folder / "agent").rename(desk.folder / name)
    agent = CommandAgent(
        (str(desk.folder / name), *arguments), desk.folder / "mcp.json", ("task_add", "status")
    )
    rest = await desk.run(agent, **fields)
    found: dict[str, Any] = json.loads(rest.said)
    return found


@pytest.mark.proves("runs and the journal")
async def test_any_agent_is_told_the_way_in_its_environment_and_in_a_file_for_its_owner_alone(
    desk: Desk,
) -> None:
    got = await shown(desk, "mine", "--mcp", "{mcp_config}", access=ACCESS)
    assert got["told"] == {"SUPERVISOR_MCP_URL": ACCESS.url, "SUPERVISOR_MCP_TOKEN": ACCESS.token}
    assert got["arguments"] == ["--mcp", str(desk.config)]
    assert stat.S_IMODE(got["mode"]) == 0o600
    server = json.loads(got["file"])["mcpServers"]["supervisor"]
    assert (server["type"], server["url"]) == ("http", ACCESS.url)
    assert server["headers"] == {"Authorization": "Bearer svs.token"}
    assert not desk.config.exists()


async def test_claude_gets_the_file_and_leave_for_the_tools_that_need_none(desk: Desk) -> None:
    got = await shown(desk, "claude", "-p", access=ACCESS)
    assert got["arguments"] == [
        "-p",
        *STREAM,
        f"--mcp-config={desk.config}",
        "--allowedTools=mcp__supervisor__task_add,mcp__supervisor__status",
    ]


@pytest.mark.parametrize(
    ("command", "more"),
    often(
        [
            (("claude", "--model", "x", "--print", "{prompt}"), (4, *STREAM)),
            (("claude", "-p", "--output-format=text"), ()),
            (("claude", "mcp", "list"), ()),
            (("/usr/bin/opencode", "run", "{prompt}"), (2, "--format", "json")),
            (("opencode", "run", "--format", "default"), ()),
            (("gemini", "--yolo", "-p", "{prompt}"), (1, "--output-format", "stream-json")),
            (("gemini", "-o", "json"), ()),
            (("codex", "-c", "x=1", "exec", "{prompt}"), (4, "--json")),
            (("./agent", "-p", "run"), ()),
        ],
        3,
    ),
)
def test_a_host_reports_its_work_unless_the_user_chose_a_form(
    command: tuple[str, ...], more: tuple[Any, ...]
) -> None:
    at, *words = more or (0,)
    assert ask_for_reports(command) == (*command[:at], *words, *command[at:])


@pytest.mark.parametrize(
    ("before", "kept"),
    often(
        [
            ("", {}),
            ("no json", {}),
            (
                '{"model":"m","mcp":{"own":{"type":"local"}}}',
                {"model": "m", "mcp": {"own": {"type": "local"}}},
            ),
            ('{"mcp":7}', {}),
        ],
        2,
    ),
)
async def test_opencode_gets_one_server_more_in_its_configuration(
    desk: Desk, before: str, kept: dict[str, Any]
) -> None:
    environment = {"PATH": os.environ["PATH"], "OPENCODE_CONFIG_CONTENT": before}
    got = await shown(desk, "opencode", "run", access=ACCESS, environment=environment)
    content = json.loads(got["told"]["OPENCODE_CONFIG_CONTENT"])
    ours = content["mcp"].pop("supervisor")
    assert (ours["url"], ours["headers"], ours["oauth"]) == (
        ACCESS.url, {"Authorization": "Bearer svs.token"}, False,
    )  # fmt: skip
    assert content == {"mcp": {}, **kept}


async def test_codex_gets_one_server_more_for_this_start_and_the_token_in_its_environment_alone(
    desk: Desk,
) -> None:
    got = await shown(desk, "codex", "exec", access=ACCESS)
    server = f'{{url="{ACCESS.url}", bearer_token_env_var="SUPERVISOR_MCP_TOKEN"}}'
    assert got["arguments"] == ["-c", f"mcp_servers.supervisor={server}", "exec", "--json"]
    assert got["told"]["SUPERVISOR_MCP_TOKEN"] == ACCESS.token


def test_what_codex_reports_is_its_last_message_its_files_and_tokens_that_were_not_cached() -> None:
    heard: list[str] = []
    changed = {"type": "file_change", "changes": [{"path": "/p/a.py"}], "status": "completed"}
    spent = {"input_tokens": 1000, "cached_input_tokens": 400, "output_tokens": 50}
    lines: list[dict[str, Any]] = [
        {"type": "thread.started", "thread_id": "01a2"},
        {"type": "item.started", "item": {"type": "command_execution", "command": "bash -lc make"}},
        {"type": "item.completed", "item": changed},
        {"type": "item.completed", "item": {"type": "agent_message", "text": "Done."}},
        {"type": "turn.completed", "usage": spent},
    ]
    stream = AnyStream(heard.append)
    stream.feed("\n".join(map(json.dumps, lines)) + "\n")
    told = stream.close("", "")
    assert "".join(heard) == "[exec] bash -lc make\n[apply_patch] /p/a.py\nDone.\n"
    assert (told.text, told.written, told.usage.input, told.usage.tokens) == ("Done.", ["/p/a.py"], 600, 650)


async def test_gemini_is_told_that_the_folder_is_trusted(desk: Desk) -> None:
    assert (await shown(desk, "gemini"))["told"]["GEMINI_CLI_TRUST_WORKSPACE"] == "true"


CLAUDE_SAYS: Final = """
{"type":"system","session_id":"s"}
{"type":"assistant","session_id":"s","message":{"id":"m","content":[{"type":"text","text":"I look."}]}}
{"type":"assistant","session_id":"s","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Bash",
"input":{"command":"make"}}]}}
{"type":"result","session_id":"s","result":"Done.","usage":{"input_tokens":5},"total_cost_usd":0.02}
""".replace(',\n"input', ',"input').lstrip()
OPENCODE_SAYS: Final = """
{"type":"tool_use","sessionID":"s","part":{"tool":"bash","state":{"status":"completed","input":{"command":"make"}}}}
{"type":"text","sessionID":"s","part":{"messageID":"m","text":"Done."}}
{"type":"step_finish","sessionID":"s","part":{"tokens":{"input":2,"output":3},"cost":0.02}}
""".lstrip()


GEMINI_SAYS: Final = """
{"type":"init","session_id":"s","model":"gemini-2.5-pro"}
{"type":"message","role":"user","content":"Make it."}
{"type":"message","role":"assistant","content":"I look.","delta":true}
{"type":"tool_use","tool_name":"run_shell_command","tool_id":"t","parameters":{"command":"make"}}
{"type":"tool_result","tool_id":"t","status":"success","output":"Command exited with code: 3"}
{"type":"message","role":"assistant","content":"Do","delta":true}
{"type":"message","role":"assistant","content":"ne.","delta":true}
{"type":"result","status":"success","stats":{"total_tokens":125,"input_tokens":100,"output_tokens":20,"cached":90}}
""".lstrip()


@pytest.mark.parametrize(
    ("printed", "said", "heard", "spent"),
    often(
        [
            (f"A banner.\n{CLAUDE_SAYS}", "Done.", "A banner.\nI look.\n[Bash] make\n", (5, 2.0)),
            (OPENCODE_SAYS, "Done.", "[bash] make\nDone.\n", (5, 2.0)),
            (GEMINI_SAYS, "Done.", "I look.\n[run_shell_command] make\nDo\nne.\n", (35, None)),
            ('{"type":"x"}\n{"type":"result","result":"Done."}', "Done.", '{"type":"x"}\n', (0, None)),
            ('{"type":"error","sessionID":"s","error":{"name":"No"}}\n', "No", "No\n", (0, None)),
            ('{"type":"x"}\n{', '{"type":"x"}\n{', '{"type":"x"}\n{\n', (0, None)),
            ("Done.", "Done.", "Done.", (0, None)),
            ("", "", "", (0, None)),
        ],
        3,
    ),
)
async def test_what_an_agent_does_says_and_spends_is_read_from_its_output_whatever_its_name(
    desk: Desk, printed: str, said: str, heard: str, spent: tuple[int, float | None]
) -> None:
    agent = desk.agent(f"for char in {printed!r}: print(char, end='', flush=True)")
    rest = await desk.run(agent)
    assert (rest.said, "".join(desk.heard), (rest.tokens, rest.cents)) == (said, heard, spent)


async def test_tokens_without_cents_cost_what_the_settings_say_of_the_commands_model(desk: Desk) -> None:
    program = desk.folder / "agent"
    desk.agent(f"print({OPENCODE_SAYS.replace('0.02', '0')!r})")
    prices = {"p/mini": ModelPrice(input=1e6, output=2e6)}
    for words, cents in ((("-m", "p/mini"), 8.0), (("--model=p/mini",), 8.0), (("--model", "q/mini"), None)):
        rest = await desk.run(CommandAgent((str(program), *words), desk.config, prices=prices))
        assert (rest.tokens, rest.cents) == (5, cents)
