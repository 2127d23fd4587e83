"""What the readers of all hosts keep of a turn: calls of tools, and the state that a record's lines give."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Final

from msgspec import Raw, Struct
from msgspec.structs import replace

from sidecar.hosts.shared import (
    ARRIVED_LIMIT,
    CALLS_LIMIT,
    CONTINUATION,
    NOTHING,
    PROMPTS_LIMIT,
    clip_message,
    clip_prompt,
    is_harmless_tool,
)
from sidecar.kernel.text import last_characters, strip_control_codes, truncate_middle
from sidecar.kernel.turn import CallOutcome, Todo, ToolAction, ToolCall, Turn
from sidecar.platform.ports import remember_newest
from sidecar.platform.shell import line as shell

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# --- What tools did -----------------------------------------------------------------------------------------


COMMAND_LIMIT: Final = 2000
PATH_LIMIT: Final = 1000
PATHS_LIMIT: Final = 100
"""Files of one edit that are kept."""
OUTPUT_LIMIT: Final = 2000
RESULT_LIMIT: Final = 64 * 1024
"""Characters at the end of a result that are examined, before colours are removed."""
TODO_LIMIT: Final = 200
TODO_TEXT_LIMIT: Final = 500


def name_actions(**tools: str) -> dict[str, ToolAction]:
    """Return what tools do; each argument is an action, and the names of the tools that do it."""
    return {tool: ToolAction[action.upper()] for action, names in tools.items() for tool in names.split()}


def tool_action(tool: str, known: Mapping[str, ToolAction]) -> ToolAction:
    """Return what a tool does. One that is not known may do anything, except our own that only report."""
    return known.get(tool, ToolAction.READ if is_harmless_tool(tool) else ToolAction.OTHER)


def result_output(said: str) -> str:
    """Return what is kept of a result: its end, without colours."""
    return last_characters(strip_control_codes(last_characters(said, RESULT_LIMIT)), OUTPUT_LIMIT)


def build_call(
    name: str, tool: str, doing: ToolAction, command: str = "", paths: Iterable[str] = ()
) -> ToolCall:
    """Return a call that has no result yet, with the id `name`. Only a RUN keeps `command`, an EDIT `paths`.

    The command is a line in the syntax of bash.
    """
    line = strip_control_codes(command) if doing is ToolAction.RUN else ""
    edited = dict.fromkeys(path[:PATH_LIMIT] for path in paths if path.strip())
    return ToolCall(
        id=name,
        tool=tool[:PATH_LIMIT],
        doing=doing,
        outcome=CallOutcome.PENDING,
        command=truncate_middle(line, COMMAND_LIMIT),
        runs=shell.parse_simple_commands(line),
        paths=tuple(edited)[:PATHS_LIMIT] if doing is ToolAction.EDIT else (),
    )


def build_todo(text: str, status: str) -> Todo:
    """Return an entry of a to-do list."""
    return Todo(truncate_middle(strip_control_codes(text), TODO_TEXT_LIMIT), done=status == "completed")


# --- The state of a record ----------------------------------------------------------------------------------


REQUESTS_LIMIT: Final = 5000
"""Requests to the model whose tokens are remembered one by one: the newest."""
UNFINISHED_LIMIT: Final = 256
"""Requests to which more lines may belong, each of which repeats the usage."""


class NotedCall(Struct, frozen=True):
    """A call, and the byte at which its line begins.

    `alive`: it is on the branch that the conversation took. `given` is its input, where a result needs that.
    """

    call: ToolCall
    at: int
    alive: bool = True
    given: Raw = NOTHING


class TurnState:
    """The part of hosts.record_files.RecordState that is the same for all hosts; `feed` is each one's own.

    Offsets are bytes from the beginning of the file. `ended_at`: when the turn's last answer was given, in
    seconds since the epoch; 0.0 while the turn goes on.
    """

    def __init__(self) -> None:
        """Start before the first line."""
        self.last_text, self.last_id, self.last_at = "", "", -1
        self.ended_at = 0.0
        self._native_goal, self._read_only = "", False
        self._arrived: deque[tuple[int, str]] = deque(maxlen=ARRIVED_LIMIT)
        self._spent: deque[tuple[int, int]] = deque(maxlen=REQUESTS_LIMIT)
        self._unfinished: OrderedDict[str, int] = OrderedDict()
        self._open(0, "")

    @property
    def waiting(self) -> bool:
        """Whether a person's prompt is queued; False where the record does not show it."""
        return False

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The turn's tool calls, in order."""
        return tuple(noted.call for noted in self._noted())

    def turn(self, counted_to: int, position: int) -> Turn:
        """Return the turn up to byte `position`, with the tokens of requests from byte `counted_to` on.

        A negative `counted_to` means the beginning of the turn.
        """
        counted_to = counted_to if counted_to >= 0 else self._opened_at
        begin = min(counted_to, self._opened_at)
        return Turn(
            prompts=tuple(self._prompts),
            prompt_id=self._prompt_id,
            calls=self.calls,
            last_message=clip_message(self.last_text),
            last_message_id=self.last_id,
            arrived=tuple(name for at, name in self._arrived if at >= begin),
            calls_since_arrival=self._count_calls_since_arrival(),
            interrupted=self._interrupted,
            native_goal=self._native_goal,
            read_only=self._read_only,
            tokens=sum(tokens for at, tokens in self._spent if at >= counted_to),
            position=position,
        )

    def _open(self, at: int, prompt_id: str, *prompts: str) -> None:
        """Begin a turn at byte `at`."""
        self._opened_at, self._prompt_id = at, prompt_id
        self._prompts = [clip_prompt(prompt) for prompt in prompts]
        self._calls: OrderedDict[str, NotedCall] = OrderedDict()
        self._interrupted = False

    def _add_prompt(self, text: str) -> None:
        """Add a prompt that joined the running turn."""
        self._prompts.append(clip_prompt(text))
        del self._prompts[1 : 1 - PROMPTS_LIMIT]

    def _noted(self) -> Iterable[NotedCall]:
        return self._calls.values()

    def _note(self, at: int, call: ToolCall) -> None:
        """Remember a call, in its place if it is known."""
        if call.id in self._calls:
            self._calls[call.id] = replace(self._calls[call.id], call=call)
        elif call.id:
            remember_newest(self._calls, call.id, NotedCall(call, at), CALLS_LIMIT)

    def _deliver(self, at: int, text: str) -> None:
        """Remember the continuation of ours whose mark is in a text that reached the agent."""
        if mark := CONTINUATION.search(text):
            self._arrived.append((at, mark[1]))

    def _count_calls_since_arrival(self) -> int:
        since = max((at for at, _ in self._arrived), default=-1)
        return sum(1 for noted in self._noted() if noted.at > since)

    def _spend(self, at: int, tokens: int, request: str = "") -> None:
        """Count a request's tokens; of one that has an id and is told of again, what is new."""
        known = self._unfinished.pop(request, 0)
        if tokens > known:
            self._spent.append((at, tokens - known))
        if request:
            remember_newest(self._unfinished, request, max(tokens, known), UNFINISHED_LIMIT)
