"""What a headless agent reports while it works, and how Claude Code without a terminal is found.

Rules of this file:

- Which form an agent's output has shows in the output itself, because commands are arbitrary.
- A line that is not of the agent's known form is passed on as it is. Nothing that an agent prints raises.
- A write counts when the agent reports that it was done; one that was refused does not.
- What a shell command wrote is not reported, so it is not known here.
"""

from __future__ import annotations

import time
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from msgspec import Raw, Struct, field
from msgspec.structs import astuple

from sidecar.hosts.limits import read_failure, told_limit
from sidecar.hosts.opencode import wire
from sidecar.hosts.opencode.messages import describe_host_error
from sidecar.hosts.shared import NOTHING, try_decode
from sidecar.kernel.decoding import read_json
from sidecar.kernel.settings import TokenUsage, token_count_or_zero
from sidecar.kernel.text import clean_line, last_characters, one_printable_line, strip_control_codes
from sidecar.platform import processes
from sidecar.platform.data import load_data

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sidecar.kernel.limits import ServiceLimit
    from sidecar.kernel.session import Environment


T = TypeVar("T")

RETRIES: Final = {"CLAUDE_CODE_MAX_RETRIES": "2"}
"""How often Claude Code retries a failed request; it honours the model's Retry-After."""
COST_LIMIT: Final = 1000.0
"""Dollars; a higher cost reported by Claude Code is not believed."""
FAILED: Final = "it reported an error"
ENGINES: Final = frozenset(("bun", "deno", "node"))
"""Programs that may run a host's script: as CLAUDE_CODE_EXECPATH they are not the host itself."""
STATUSES: Final = {
    401: "the model service refused the credentials (401): run `claude` and type /login, or mend the API key",
    403: "the model service forbids the request (403)",
    404: "the model service does not know the model (404): see judge.model in the settings",
    429: "the limit of the model service is reached (429)",
    529: "the model service is overloaded (529)",
}
SCHEMA_GIVEN_UP: Final = "error_max_structured_output_retries"
"""How Claude Code ends if the model never fits the schema."""
SUBTYPES: Final = {SCHEMA_GIVEN_UP: "the model gave no answer in the asked form, in several tries"}


class ClaudeUsage(Struct, frozen=True):
    """Tokens of one or all requests; null and what is no number are no error."""

    input_tokens: object = 0
    cache_creation_input_tokens: object = 0
    cache_read_input_tokens: object = 0
    output_tokens: object = 0

    @property
    def counted(self) -> TokenUsage:
        """The tokens, without a number that is not believed."""
        new, written, cached, output = map(token_count_or_zero, astuple(self))
        return TokenUsage(input=new + written, cached=cached, output=output)


class ClaudeResult(Struct, frozen=True):
    """The output of `claude -p --output-format json`, and the last line of `stream-json`."""

    type: str
    is_error: bool = False
    subtype: str = ""
    result: str | None = None
    api_error_status: int | None = None
    structured_output: Raw = NOTHING
    usage: ClaudeUsage = ClaudeUsage()
    total_cost_usd: float | None = None

    @property
    def answer(self) -> str:
        """The model's answer: the structured output, or else its text."""
        given = bytes(self.structured_output)
        if given != bytes(NOTHING):
            return given.decode("utf-8", "replace")
        return self.result or ""

    @property
    def cents(self) -> float | None:
        """The cost as reported by Claude Code."""
        cost = self.total_cost_usd
        return None if cost is None or not 0 <= cost <= COST_LIMIT else 100 * cost


def find_claude(environment: Environment, project: str) -> str:
    """Return the `claude` that the session runs in, else the one on its PATH, "" if there is none.

    A program inside the project is ignored, because the project's settings can set variables.
    """
    running = PurePath(environment.get("CLAUDE_CODE_EXECPATH", ""))
    found = ""
    if running.is_absolute() and running.name not in ENGINES:
        found = processes.find_program(running.name, {**environment, "PATH": str(running.parent)}, project)
    return found or processes.find_program("claude", environment, project)


def explain_claude_failure(result: ClaudeResult) -> str:
    """Explain why the model did not answer, in words that help a person."""
    said = one_printable_line(result.result or "")
    known = SUBTYPES.get(result.subtype) or STATUSES.get(result.api_error_status or 0)
    told = (known or "the model did not answer", said or ("" if known else result.subtype))
    return ": ".join(filter(None, told))


OUTPUT_LIMIT: Final = 20_000
"""Characters of an agent's words that are kept: the last ones."""
LINE_LIMIT: Final = 4_194_304
"""Characters of one line; the rest of a longer one is dropped."""
CALL_SHOWN: Final = 200
"""Characters of a tool call that a person is shown."""


class RefusalData(Struct, frozen=True, forbid_unknown_fields=True):
    """Which failures of a model service last until a person does something."""

    statuses: tuple[int, ...]
    errors: tuple[str, ...]


class WorkerData(Struct, frozen=True, forbid_unknown_fields=True):
    """Contents of data/workers.toml."""

    permissions: dict[str, str]
    refused: RefusalData
    claude: dict[str, tuple[str, ...]]
    gemini: dict[str, str]
    writes: dict[str, str]


def worker_data() -> WorkerData:
    """Return what is known of agents' tools."""
    return load_data("workers", WorkerData)


def is_refusal(status: int | None, error: object = "") -> bool:
    """Whether no request is answered before a person does something; `error`: the host's name of it."""
    refused = worker_data().refused
    return status in refused.statuses or error in refused.errors


class _Typed(Struct, frozen=True):
    """A line of a host's form, of whatever kind."""

    type: str


class _Error(Struct, frozen=True):
    message: str = ""


class AgentStream:
    """The output of one agent, line by line. This one knows no form: any program.

    `text` is the agent's last message. `answer` is what the host itself took for the answer, "" if it takes
    none. `fault` says why the host failed, `refused` why every other request would be refused, too, and
    `limited` that its service answers nothing for now; both count only where the program failed. `unfit` says
    why it gave the answer up. `model` is the one that it says it ran on. `written` are paths of files.
    `calls` are the texts that tool calls were given, where they name the folder `watched`. `cents` are as in
    WorkerRun.
    """

    def __init__(self, hear: Callable[[str], None]) -> None:
        self._hear = hear
        self._line = ""
        self.text = ""
        self.answer = ""
        self.fault = ""
        self.refused = ""
        self.limited: ServiceLimit | None = None
        self.unfit = ""
        self.output = ""
        self.model = ""
        self.written: list[str] = []
        self.watched = ""
        self.calls: list[str] = []
        self.usage = TokenUsage()
        self.cents: float | None = None

    def feed(self, text: str) -> None:
        """Take the next piece of output."""
        first, *rest = text.split("\n")
        self._line += first[: max(0, LINE_LIMIT - len(self._line))]
        for line in rest:
            self._end_line()
            self._line = line[:LINE_LIMIT]

    def close(self, printed: str, complaint: str) -> None:
        """Take what is left; `printed` and `complaint` are what was kept of both output streams."""
        self._end_line()
        self._finish(printed)
        if not self.fault:
            self.limited, self.refused = read_failure(f"{printed}\n{complaint}", time.time())
        self.output = last_characters("\n".join(filter(None, (self.output, complaint.strip()))), OUTPUT_LIMIT)

    def _end_line(self) -> None:
        line, self._line = strip_control_codes(self._line), ""
        if line.strip() and (said := last_characters(self._read(line), OUTPUT_LIMIT)):
            self.output = last_characters(f"{self.output}\n{said}" if self.output else said, OUTPUT_LIMIT)
            self._hear(f"{said}\n")

    def _read(self, line: str) -> str:
        """Take one line, and return what a person is told of it."""
        return line

    def _finish(self, printed: str) -> None:
        whole = AnyStream(lambda _said: None)
        whole.feed(f"{printed}\n")
        if (known := whole.known) is None:
            self.text = printed
            return
        self.text, self.usage, self.cents, self.model = known.text, known.usage, known.cents, known.model
        self.fault, self.refused, self.limited = known.fault, known.refused, known.limited

    def _note_write(self, tool: str, given: Mapping[str, object]) -> str:
        texts = (text for text in given.values() if isinstance(text, str))
        self.calls += [text for text in texts if self.watched and self.watched in text]
        path = given.get(worker_data().writes.get(tool, ""))
        return path if isinstance(path, str) else ""


def _describe_call(tool: str, given: Mapping[str, object]) -> str:
    """Return one line: the tool and its first text argument."""
    first = next((value for value in given.values() if isinstance(value, str)), "")
    return clean_line(f"[{tool}] {first}", CALL_SHOWN)


class HostStream(AgentStream, Generic[T]):
    """The output of a host, whose lines have the form `form`: they say all, so nothing is left at the end."""

    form: type[T]

    def __init__(self, hear: Callable[[str], None]) -> None:
        super().__init__(hear)
        self._writing: dict[str, str] = {}

    def _read(self, line: str) -> str:
        """Nothing is told of a line of the host that has another form; what is none of its lines stays."""
        if (found := read_json(line, self.form)) is not None:
            return self._read_form(found)
        return line if read_json(line, _Typed) is None else ""

    def _read_form(self, found: T) -> str:
        raise NotImplementedError

    def _finish(self, printed: str) -> None:
        """The lines said it all."""

    def _end_write(self, call: str, *, done: bool) -> None:
        """A call that may write a file ended."""
        path = self._writing.pop(call, "")
        self.written += [path] if path and done else []

    def _fail(self, said: str) -> None:
        """The host failed, and says in words why."""
        self.fault = one_printable_line(said) or FAILED
        self.limited, self.refused = read_failure(said, time.time())


# --- Claude Code: `--output-format stream-json` -------------------------------------------------------------


class _Block(Struct, frozen=True):
    """A block of a message: text, a tool call, or the result of one."""

    type: str = ""
    text: str = ""
    id: str = ""
    name: str = ""
    input: dict[str, Any] = {}
    tool_use_id: str = ""
    is_error: bool | None = False


class _Message(Struct, frozen=True):
    id: str = ""
    model: str = ""
    content: list[_Block] | str = ""
    usage: ClaudeUsage = ClaudeUsage()


class _RateLimit(Struct, frozen=True):
    status: str = ""
    resets: float = field(name="resetsAt", default=0.0)


class _ClaudeLine(ClaudeResult, frozen=True):
    message: _Message | None = None
    error: Any = ""
    rate_limit_info: _RateLimit = _RateLimit()


class ClaudeStream(HostStream[_ClaudeLine]):
    """What Claude Code reports. Until its last line, tokens are summed over the messages."""

    form = _ClaudeLine

    def __init__(self, hear: Callable[[str], None]) -> None:
        super().__init__(hear)
        self._spent: dict[str, TokenUsage] = {}
        self._resets, self._refused = 0.0, False

    def _read_form(self, found: _ClaudeLine) -> str:
        if found.type == "result":
            self._end(found)
            return ""
        if found.rate_limit_info.status == "rejected":
            self._resets = found.rate_limit_info.resets
        if found.message is None:
            return ""
        if found.type == "assistant":
            self._spent[found.message.id] = found.message.usage.counted
            self.model = found.message.model
            self.usage = sum(self._spent.values(), TokenUsage())
            self._refused = is_refusal(None, found.error)
        blocks = found.message.content
        return "\n".join(filter(None, map(self._read_block, blocks))) if isinstance(blocks, list) else ""

    def _read_block(self, block: _Block) -> str:
        if block.type == "text":
            self.text = block.text
            return block.text
        if block.type == "tool_use":
            self._writing[block.id] = self._note_write(block.name, block.input)
            return _describe_call(block.name, block.input)
        if block.type == "tool_result":
            self._end_write(block.tool_use_id, done=not block.is_error)
        return ""

    def _end(self, result: ClaudeResult) -> None:
        self.usage, self.cents = result.usage.counted, result.cents
        self.text = result.result or self.text
        if bytes(result.structured_output) != bytes(NOTHING):
            self.answer = result.answer
        if result.subtype == SCHEMA_GIVEN_UP:
            self.unfit = explain_claude_failure(result)
        elif result.is_error:
            self.fault = explain_claude_failure(result)
            status = result.api_error_status
            self.refused = self.fault if self._refused or is_refusal(status) else ""
            self.limited = told_limit(status, self.fault, self._resets)


# --- OpenCode: `run --format json` --------------------------------------------------------------------------


class _OpenCodeState(Struct, frozen=True):
    status: str = ""
    input: dict[str, Any] = {}


class _OpenCodePart(Struct, frozen=True, rename={"message_id": "messageID"}):
    message_id: str = ""
    text: str = ""
    tool: str = ""
    state: _OpenCodeState = _OpenCodeState()
    tokens: wire.MessageTokens = wire.MessageTokens()
    cost: float = 0.0


class _OpenCodeLine(Struct, frozen=True):
    type: str
    part: _OpenCodePart = _OpenCodePart()
    timestamp: float = 0.0
    error: Raw = NOTHING


class OpenCodeStream(HostStream[_OpenCodeLine]):
    """What OpenCode reports. A cost of 0 is taken for an unknown price."""

    form = _OpenCodeLine

    def __init__(self, hear: Callable[[str], None]) -> None:
        super().__init__(hear)
        self._message = ""

    def _read_form(self, found: _OpenCodeLine) -> str:
        part = found.part
        if found.type == "text":
            again = part.message_id == self._message
            self.text = f"{self.text}\n{part.text}" if again else part.text
            self._message = part.message_id
            return part.text
        if found.type == "tool_use":
            path = self._note_write(part.tool, part.state.input)
            self.written += [path] if path and part.state.status == "completed" else []
            return _describe_call(part.tool, part.state.input)
        if found.type == "step_finish":
            self.usage += part.tokens.usage
            if 0 < part.cost <= wire.COST_LIMIT:
                self.cents = (self.cents or 0.0) + 100 * part.cost
        if found.type == "error":
            error = try_decode(found.error, wire.MessageError) or wire.MessageError()
            self.fault = describe_host_error(error) or FAILED
            data = wire.error_data(error)
            self.refused = self.fault if is_refusal(data.status, error.name) else ""
            until = data.retry_after and found.timestamp / 1000 + data.retry_after
            self.limited = told_limit(data.status, self.fault, until)
            return self.fault
        return ""


# --- Gemini CLI: `--output-format stream-json` --------------------------------------------------------------


class _GeminiStats(Struct, frozen=True):
    """Tokens of the whole run; the input holds what was cached, the total what was thought."""

    total_tokens: int = 0
    input_tokens: int = 0
    cached: int = 0

    @property
    def counted(self) -> TokenUsage:
        """The tokens, without a number that is not believed."""
        total, given, cached = map(token_count_or_zero, astuple(self))
        return TokenUsage(input=max(0, given - cached), cached=cached, output=max(0, total - given))


class _GeminiLine(_Typed, frozen=True):
    role: str = ""
    content: str = ""
    model: str = ""
    tool_name: str = ""
    tool_id: str = ""
    parameters: dict[str, Any] = {}
    status: str = ""
    error: _Error = _Error()
    stats: _GeminiStats = _GeminiStats()


class GeminiStream(HostStream[_GeminiLine]):
    """What Gemini CLI reports. A message comes in pieces; what its service said is in the last line."""

    form = _GeminiLine

    def __init__(self, hear: Callable[[str], None]) -> None:
        super().__init__(hear)
        self._goes_on = False

    def _read_form(self, found: _GeminiLine) -> str:
        goes_on, self._goes_on = self._goes_on, found.role == "assistant"
        match found.type:
            case "init":
                self.model = found.model
            case "message" if found.role == "assistant":
                self.text = self.text + found.content if goes_on else found.content
                return found.content
            case "tool_use":
                self._writing[found.tool_id] = self._note_write(found.tool_name, found.parameters)
                return _describe_call(found.tool_name, found.parameters)
            case "tool_result":
                self._end_write(found.tool_id, done=found.status == "success")
            case "result":
                self.usage = found.stats.counted
                if found.status != "success":
                    self._fail(found.error.message)
            case _:
                pass
        return ""


# --- Codex: `exec --json` -----------------------------------------------------------------------------------


class _CodexChange(Struct, frozen=True):
    path: str = ""


class _CodexItem(Struct, frozen=True):
    type: str = ""
    text: str = ""
    command: str = ""
    tool: str = ""
    arguments: Any = None
    changes: tuple[_CodexChange, ...] = ()
    status: str = ""

    @property
    def given(self) -> dict[str, Any]:
        """The arguments of a call."""
        return self.arguments if isinstance(self.arguments, dict) else {"command": self.command}


class _CodexUsage(Struct, frozen=True):
    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0

    @property
    def counted(self) -> TokenUsage:
        """The tokens, without a number that is not believed; those of the input include the cached ones."""
        read, cached, output = map(token_count_or_zero, astuple(self))
        return TokenUsage(input=max(read - cached, 0), cached=cached, output=output)


class _CodexLine(Struct, frozen=True):
    type: str
    item: _CodexItem = _CodexItem()
    usage: _CodexUsage = _CodexUsage()
    error: _Error = _Error()


class CodexStream(HostStream[_CodexLine]):
    """What Codex reports. Its failures are told in words only, and it names no price."""

    form = _CodexLine

    def _read_form(self, found: _CodexLine) -> str:
        item = found.item
        match found.type, item.type:
            case "item.completed", "agent_message":
                self.text = item.text
                return item.text
            case "item.started", "command_execution" | "mcp_tool_call":
                self._note_write(item.tool, item.given)
                return _describe_call(item.tool or "exec", item.given)
            case "item.completed", "file_change":
                paths = [change.path for change in item.changes if change.path]
                self.written += paths if item.status == "completed" else []
                return _describe_call("apply_patch", {"paths": ", ".join(paths)})
            case "turn.completed", _:
                self.usage += found.usage.counted
            case "turn.failed", _:
                self._fail(found.error.message)
                return self.fault
            case _:
                pass
        return ""


# --- Any program --------------------------------------------------------------------------------------------


class _FormMark(_Typed, frozen=True, rename={"opencode_session": "sessionID"}):
    """What tells the forms apart; OpenCode's own errors have a session too."""

    session_id: str = ""
    thread_id: str = ""
    opencode_session: str = ""
    result: str | None = None


class AnyStream:
    """The output of any program: text, passed on as it comes, until a line is of a known form.

    `known` reads the output from that line on; None while it is text.
    """

    def __init__(self, hear: Callable[[str], None]) -> None:
        self._hear = hear
        self._begun = ""
        self._fresh = True
        self.known: AgentStream | None = None

    def feed(self, text: str) -> None:
        """Take the next piece of output. Only a line that begins as an object is held until its end."""
        while text and self.known is None:
            if self._begun or (self._fresh and text.startswith("{")):
                text = self._hold(text)
                continue
            at = text.find("\n{") + 1
            plain, text = (text[:at], text[at:]) if at else (text, "")
            self._fresh = plain.endswith("\n")
            self._hear(plain)
        if self.known is not None:
            self.known.feed(text)

    def close(self, printed: str, complaint: str) -> AgentStream:
        """Take what is left as AgentStream.close does; return what is known of the output."""
        if self._begun:
            self.feed("\n")
        stream = self.known or AgentStream(lambda _said: None)
        stream.close(printed, complaint)
        return stream

    def _hold(self, text: str) -> str:
        """Take the text up to the end of the held line, and return the rest."""
        line, end, rest = text.partition("\n")
        self._begun += line[: max(0, LINE_LIMIT - len(self._begun))]
        if not end:
            return ""
        held, self._begun = f"{self._begun}\n", ""
        if form := _find_form(held):
            self.known = form(self._hear)
            return held + rest
        self._hear(held)
        return rest


def _find_form(line: str) -> type[AgentStream] | None:
    if (mark := read_json(line, _FormMark)) is None:
        return None
    if mark.opencode_session:
        return OpenCodeStream
    if mark.type == "init" and mark.session_id:
        return GeminiStream
    if mark.type == "thread.started" and mark.thread_id:
        return CodexStream
    return ClaudeStream if mark.session_id or (mark.type == "result" and mark.result is not None) else None
