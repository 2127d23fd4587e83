"""Runs a command-line agent: any program that takes a prompt and exits when it is done.

Rules, in addition to those of `processes`, which starts and kills the program:

- Output is passed on while it arrives. Only its first and last bytes are kept, however long it is.
- The address of the session's tools is a secret: it is put into the program's environment, and into a file
  that only its owner can read and that is deleted after the run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.hosts.limits import explain_failure
from sidecar.hosts.ports import AgentResult
from sidecar.hosts.shared import try_decode
from sidecar.hosts.streams import AnyStream
from sidecar.kernel.decoding import read_json
from sidecar.kernel.runs import MCP_SERVER_NAME
from sidecar.kernel.settings import NO_PRICES, Prices, TokenUsage, answer_price_cents, priced_cents
from sidecar.kernel.text import last_characters, one_printable_line, strip_control_codes
from sidecar.platform import processes
from sidecar.platform.confine import confined
from sidecar.platform.data import load_data
from sidecar.platform.files import write_whole
from sidecar.platform.processes import ProcessEnding, ProcessResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from sidecar.hosts.ports import AgentTask, McpAccess
    from sidecar.kernel.session import Environment


# --- How a program gets its prompt and our tools ------------------------------------------------------------
# Every program gets the address of its tools in its environment, and its prompt on standard input, or where
# its command says {prompt}. A known program (found by its name) is also given
# our MCP server in its own way, unless the user's command names an MCP configuration. This part starts no
# process and writes no file.


PROMPT, MCP_CONFIG, MCP_URL = "{prompt}", "{mcp_config}", "{mcp_url}"


class AgentInvocation(Struct, frozen=True, kw_only=True):
    """The command, environment and standard input with which a program is started."""

    command: tuple[str, ...]
    environment: Environment
    stdin: bytes = b""


def build_invocation(
    command: tuple[str, ...], task: AgentTask, config: str, tools: tuple[str, ...]
) -> AgentInvocation:
    """Build what to start for an agent task."""
    access = task.access
    fills = {PROMPT: task.prompt, MCP_CONFIG: config, MCP_URL: access.url if access else ""}
    prompt = task.prompt.encode("utf-8", "replace")
    trusted = TRUSTED if PurePath(command[0]).name == "gemini" else {}
    plain = AgentInvocation(
        command=tuple(_fill_placeholders(word, fills) for word in command),
        environment={**trusted, **task.environment},
        stdin=b"" if any(PROMPT in word for word in command) else prompt,
    )
    if access is None:
        return plain
    told = {"SUPERVISOR_MCP_URL": access.url, "SUPERVISOR_MCP_TOKEN": access.token}
    known = replace(plain, environment={**plain.environment, **told})
    match PurePath(command[0]).name:
        case "claude":
            return _equip_claude(known, config, tools)
        case "opencode":
            return _equip_opencode(known, access)
        case "codex":
            return _equip_codex(known, access)
        case _:
            return known


def mcp_config(access: McpAccess) -> bytes:
    """Return the tools' address in the JSON form that Claude Code and many other programs read.

    `alwaysLoad`: without it, Claude Code 2.1.330 hides the tools behind a tool search.
    """
    headers = _authorization_headers(access)
    server = {"type": "http", "url": access.url, "headers": headers, "alwaysLoad": True}
    return msgspec.json.encode({"mcpServers": {MCP_SERVER_NAME: server}})


def _fill_placeholders(word: str, fills: dict[str, str]) -> str:
    """Fill in a word's placeholder once. NUL is removed because no argument can contain it."""
    for name, value in fills.items():
        if name in word:
            return word.replace(name, value.replace("\0", ""))
    return word


def _authorization_headers(access: McpAccess) -> dict[str, str]:
    return {"Authorization": f"Bearer {access.token}"}


# --- Known programs -----------------------------------------------------------------------------------------


def _equip_claude(given: AgentInvocation, config: str, tools: tuple[str, ...]) -> AgentInvocation:
    """Add the MCP configuration, and permission for the tools that need none.

    `=` joins each option to its value because the option would otherwise take the next words too.
    """
    if any(word.startswith("--mcp-config") for word in given.command):
        return given
    allowed = ",".join(f"mcp__{MCP_SERVER_NAME}__{tool}" for tool in tools)
    more = (f"--mcp-config={config}", *((f"--allowedTools={allowed}",) if allowed else ()))
    return replace(given, command=(*given.command, *more))


def _equip_opencode(given: AgentInvocation, access: McpAccess) -> AgentInvocation:
    """Add our server to the MCP configuration that the user's environment contains."""
    name = "OPENCODE_CONFIG_CONTENT"
    content = read_json(given.environment.get(name, ""), dict[str, Any]) or {}
    headers = _authorization_headers(access)
    server = {"type": "remote", "url": access.url, "headers": headers, "oauth": False, "enabled": True}
    mcp = content.get("mcp")
    content["mcp"] = {**(mcp if isinstance(mcp, dict) else {}), MCP_SERVER_NAME: server}
    told = msgspec.json.encode(content).decode()
    return replace(given, environment={**given.environment, name: told})


def _equip_codex(given: AgentInvocation, access: McpAccess) -> AgentInvocation:
    """Add our server to the settings of this start; the token stays in the environment."""
    server = f'{{url="{access.url}", bearer_token_env_var="SUPERVISOR_MCP_TOKEN"}}'
    program, *words = given.command
    return replace(given, command=(program, "-c", f"mcp_servers.{MCP_SERVER_NAME}={server}", *words))


TRUSTED: Final = {"GEMINI_CLI_TRUST_WORKSPACE": "true"}
"""Without it Gemini CLI does nothing in a folder that no person has trusted, unless a terminal is there."""
MODEL_OPTIONS: Final = frozenset(("-m", "--model"))
SPENT_S: Final = 30.0
"""Seconds that a program has to say what a session took."""
REPORTS: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "claude": (("-p", "--print"), ("--output-format", "stream-json", "--verbose")),
    "gemini": ((), ("--output-format", "stream-json")),
    "opencode": (("run",), ("--format", "json")),
    "codex": (("exec", "e"), ("--json",)),
}
"""How a program is asked to report its work: behind the first of these words, or its name, the options."""
SHORT_FORMS: Final = {"gemini": ("-o",)}
"""Other names of the first of these options."""
TELLS_CENTS: Final = frozenset(("claude", "opencode"))
"""Programs whose reports say what the work cost; those of others say its tokens."""


def ask_for_reports(command: tuple[str, ...]) -> tuple[str, ...]:
    """Return a command that reports its work while it works, where its program can and nothing else is said.

    Without that `claude -p` is silent until its end, and neither it nor OpenCode says what it spent.
    """
    name = PurePath(command[0]).name
    after, report = REPORTS.get(name, ((), ()))
    at = next((number for number, word in enumerate(command) if number and word in after), 0)
    forms = (*report[:1], *SHORT_FORMS.get(name, ()))
    if not report or (after and not at) or any(word.startswith(forms) for word in command):
        return command
    return (*command[: at + 1], *report, *command[at + 1 :])


def reports_work(command: tuple[str, ...]) -> bool:
    """Return whether a command starts a host that says what its work cost."""
    return PurePath(command[0]).name in TELLS_CENTS and ask_for_reports(command) == command


def command_model(command: Sequence[str]) -> str:
    """Return the model that a command names, else the program's name."""
    words = [part for word in command[1:] for part in word.split("=", 1)]
    named = (model for option, model in pairwise(words) if option in MODEL_OPTIONS)
    return next(named, PurePath(command[0]).name)


def tells_cost(command: tuple[str, ...], prices: Prices) -> bool:
    """Whether a run of a command shows what it cost: its program tells, or the settings price its model."""
    priced = answer_price_cents(command_model(command), TokenUsage(), prices) is not None
    return priced or PurePath(command[0]).name in TELLS_CENTS


class SessionSpent(TokenUsage, frozen=True):
    """What all of a session took, as its program keeps it."""

    cents: float | None = None
    model: str | None = None


async def ask_spent(command: Sequence[str], session: str, task: AgentTask) -> SessionSpent | None:
    """Ask a program what a session of its own took; None where it cannot say."""
    asked = _known().spent.get(PurePath(command[0]).name)
    if not asked or not session.replace("_", "").isalnum():
        return None
    words = (command[0], *(_fill_placeholders(word, {"{session}": session}) for word in asked))
    ended = await processes.run_process(
        words, cwd=task.project, environment=task.environment, seconds=SPENT_S, separate=True
    )
    rows = try_decode(ended.output, tuple[SessionSpent])
    return rows[0] if rows else None


# --- Running the program ------------------------------------------------------------------------------------


AGENT_OUTPUT_KEPT: Final = 131_072
"""Bytes of each output stream that are kept: half from the beginning, half from the end."""
COMMAND_SAID_LIMIT: Final = 20_000
"""Characters kept of the agent's message: its end."""
COMPLAINT_LIMIT: Final = 2_000
"""Characters of standard error that are the message if the program printed nothing else."""


async def run_invocation(
    given: AgentInvocation, project: str, seconds: float, hear: Callable[[str], None], *, tied: bool = False
) -> tuple[ProcessResult, str, str]:
    """Run an agent to its end, and return how it ended and what was kept of both output streams.

    `tied`: it must not outlive this process.
    """
    ended = await processes.run_process(
        given.command,
        cwd=project,
        environment=given.environment,
        seconds=seconds,
        stdin=given.stdin,
        keep=AGENT_OUTPUT_KEPT,
        separate=True,
        hear=hear,
        tied=tied,
    )
    printed, complaint = (
        strip_control_codes(data.decode("utf-8", "replace")) for data in (ended.output, ended.errors)
    )
    return ended, printed, complaint


class CommandAgent:
    """Implements ports.AgentRunner for a command."""

    def __init__(
        self, command: Sequence[str], config: Path, tools: Sequence[str] = (), prices: Prices = NO_PRICES
    ) -> None:
        """`command`: a program and its arguments. `config`: path of the file with the tools' address.

        Each run adds its number to the file's name. `tools`: names of our tools that need no permission.
        `prices`: the user's, by model.
        """
        self._prices = prices
        self._command = ask_for_reports(tuple(command))
        self._config = config
        self._tools = tuple(tools)
        self._runs = 0

    async def run(self, task: AgentTask, hear: Callable[[str], None]) -> AgentResult:
        """Run once. `hear` gets the output piece by piece. Cancelling kills it and all it started."""
        self._runs += 1  # several may run at once
        config = self._config.with_stem(f"{self._config.stem}-{self._runs}")
        try:
            with _tool_config_file(config, task.access):
                invocation = build_invocation(self._command, task, str(config), self._tools)
                with confined(invocation.command, task.project, task.guarded, task.environment) as held:
                    return await self._run(replace(invocation, command=held), task, hear)
        except (OSError, ValueError) as error:
            why = processes.launch_failure_reason(error)
            return AgentResult(trouble=f"it could not be started: {why}", unusable=True)

    async def _run(
        self, invocation: AgentInvocation, task: AgentTask, hear: Callable[[str], None]
    ) -> AgentResult:
        output = AnyStream(hear)
        ended, printed, complaint = await run_invocation(
            invocation, task.project, task.seconds, output.feed, tied=True
        )
        if ended.ending is ProcessEnding.NOT_LAUNCHED:
            return AgentResult(trouble=f"it could not be started: {ended.reason}", unusable=True)
        told = output.close(printed, complaint)
        said = told.text or told.fault
        trouble, unusable = find_agent_fault(ended.exit_code, said, complaint)
        if not trouble and not said.strip():  # it speaks on standard error
            said = last_characters(complaint, COMPLAINT_LIMIT).strip()
        rest = AgentResult(
            said=last_characters(said, COMMAND_SAID_LIMIT),
            exit_code=ended.exit_code,
            trouble=ended.reason or trouble,
            unusable=unusable,
            tokens=told.usage.tokens,
            cents=priced_cents(command_model(self._command), told.usage, told.cents, self._prices),
        )
        if not ended.exit_code:
            return rest
        return explain_failure(rest, self._command[0], told.limited, told.refused)


@contextmanager
def _tool_config_file(config: Path, access: McpAccess | None) -> Iterator[None]:
    """Keep the tools' address in a file while the agent works. Raises OSError."""
    if access is None:
        yield
        return
    write_whole(config, mcp_config(access))
    try:
        yield
    finally:
        config.unlink(missing_ok=True)


class RunPrograms(Struct, frozen=True, forbid_unknown_fields=True):
    """The data file, which explains each field."""

    errors: tuple[str, ...]
    usage: tuple[str, ...]
    subagents: dict[str, str]
    spent: dict[str, tuple[str, ...]]


def find_agent_fault(exit_code: int | None, said: str, complaint: str) -> tuple[str, bool]:
    """Return how an agent that ended failed, "" where it did not, and whether each start would fail so.

    One that printed nothing and did not understand its command line failed, whatever its exit code.
    """
    lines = [line.strip() for line in complaint.splitlines() if line.strip()]
    errors, usage = _patterns()
    wrong = next(filter(errors.match, lines), "")
    unusable = not said.strip() and bool(wrong or (exit_code and any(map(usage.match, lines))))
    if not unusable and exit_code in (0, None):
        return "", False
    first = one_printable_line(wrong or next(iter(lines), ""))
    return f"the agent ended with exit code {exit_code}{first and f': {first}'}", unusable


def subagent_tool(command: Sequence[str]) -> str:
    """Return the name of the tool that starts subagents in this program, "" where none is known."""
    return _known().subagents.get(PurePath(command[0]).name, "")


def _known() -> RunPrograms:
    return load_data("run_programs", RunPrograms)


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    known = _known()
    errors, usage = (re.compile("|".join(each), re.IGNORECASE) for each in (known.errors, known.usage))
    return errors, usage
