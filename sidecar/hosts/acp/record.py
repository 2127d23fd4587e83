"""The record of a session between an editor and an agent. Our proxy writes it, and the sidecar reads it.

What is known of agents (OpenCode 1.18, Gemini CLI 0.61, Copilot CLI 1.0, seen over the protocol's version 1):

- A call is told of piece by piece; a piece without a field leaves it as it was. Some begin with an update.
- A command is in `rawInput.command`, or in the title where there is no input. Its exit code is in
  `rawOutput`, in a place of each agent's own; Gemini tells neither exit code nor output.
- A message ends where a call begins, or where the message has another id.
- Where an agent tells its to-do list as no plan, a call of its own tool has it.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from contextvars import ContextVar
from typing import Final

from msgspec import Raw, Struct
from msgspec.structs import replace

from sidecar.hosts.acp.link import AcpContentBlock, PlanEntry, SessionUpdate
from sidecar.hosts.ports import NothingRecorded
from sidecar.hosts.shared import (
    ARRIVED_LIMIT,
    MESSAGE_LIMIT,
    NOTHING,
    clip_message,
    clip_prompt,
    decode_each,
    try_decode,
)
from sidecar.hosts.turns import TODO_LIMIT, build_call, build_todo, name_actions, result_output, tool_action
from sidecar.kernel.events import AgentStopped, CommandTyped
from sidecar.kernel.text import last_characters
from sidecar.kernel.turn import CallOutcome, Todo, ToolAction, ToolCall, Turn
from sidecar.platform.shell import line as shell

CALLS_LIMIT: Final = 200
"""So many calls with long lines and outputs fit into an event of 4 MiB."""
SPENT_LIMIT: Final = 1000
"""Responses whose tokens are remembered."""

KINDS: Final = {
    "execute": ToolAction.RUN,
    **dict.fromkeys(("edit", "delete", "move"), ToolAction.EDIT),
    **dict.fromkeys(("read", "search", "fetch"), ToolAction.READ),
}
"""What the protocol's kinds of calls do. By any other kind nothing is known."""
OVER: Final = ("completed", "failed")
TOOLS: Final = name_actions(todo="todowrite TodoWrite", delegate="task Task", ask="question")
"""Tools of agents whose first title is the tool's name, and whose kind tells nothing."""


class AcpTranscript(Struct, frozen=True):
    """What the proxy saw of a turn. `turn` has no parsed commands and no tokens.

    `spent`: when each response came, in milliseconds since the epoch, and its tokens. `begun`: when the turn
    began.
    """

    turn: Turn
    spent: tuple[tuple[int, int], ...] = ()
    begun: int = 0


# --- In the proxy -------------------------------------------------------------------------------------------


class _Part(Struct, frozen=True):
    """What is used of a call's input, of what it returned, and of each part of that."""

    command: str | tuple[str, ...] = ""
    path: str = ""
    todos: Raw = Raw(b"")
    subagent_type: str = ""
    output: str = ""
    exit: int | None = None
    exit_code: int | None = None
    exitCode: int | None = None  # noqa: N815 - as an agent names it
    metadata: _Part | None = None
    contents: tuple[_Part, ...] = ()
    content: Raw = NOTHING

    @property
    def code(self) -> int | None:
        """The exit code, wherever it is."""
        inner = (part.code for part in (self.metadata, *self.contents) if part)
        codes = (self.exit, self.exit_code, self.exitCode, *inner)
        return next((one for one in codes if one is not None), None)


def _merge(seen: SessionUpdate, update: SessionUpdate) -> SessionUpdate:
    told = ((name, getattr(update, name)) for name in update.__struct_fields__)
    return replace(seen, **{name: value for name, value in told if value and value != NOTHING})


def _tool_call(tool: str, seen: SessionUpdate) -> ToolCall:
    """Return a call as far as it was told of, without the commands of its line. `tool`: its first title."""
    given, result = (try_decode(raw, _Part) or _Part() for raw in (seen.raw_input, seen.raw_output))
    doing = KINDS.get(seen.kind or "") or tool_action(tool, TOOLS)
    doing = ToolAction.DELEGATE if given.subagent_type else doing
    parts = [*filter(None, decode_each(seen.content, tuple[_Part, ...], _Part) or ())]
    blocks = (try_decode(one.content, AcpContentBlock) for one in parts)
    text = "\n".join(one.text for one in blocks if one and one.text) or result.output
    named = [one.path for one in seen.locations or ()] + [one.path for one in parts] + [given.path]
    ran = doing is ToolAction.RUN
    failed = seen.status == "failed" or (ran and result.code)
    outcome = CallOutcome.FAILED if failed else CallOutcome.OK
    line = given.command if isinstance(given.command, str) else shlex.join(given.command)
    line = line or (seen.title or "").strip("`")
    return replace(
        build_call(seen.tool_call_id, tool, doing, line, named),
        runs=(),  # parsed where it is read
        outcome=outcome if seen.status in OVER else CallOutcome.PENDING,
        exit_code=result.code if ran else None,
        output=result_output(text),
    )


class SessionRecord:
    """What the proxy remembers of a session's last turn."""

    def __init__(self, now: Callable[[], float]) -> None:
        """`now` returns seconds since the epoch."""
        self._now = now
        self._prompts: tuple[str, ...] = ()
        self._calls: dict[str, tuple[str, SessionUpdate] | ToolCall] = {}
        self._earlier = 0
        self._todos: tuple[Todo, ...] = ()
        self._said = self._back = ""
        self._message: str | None = None
        self._fresh = True
        self._arrived: list[str] = []
        self._spent: list[tuple[int, int]] = []
        self._begun = self._stops = 0

    def begin(self, prompt: str) -> None:
        """A person's prompt opens a turn."""
        self._prompts = (clip_prompt(prompt),)
        self._calls, self._earlier, self._todos = {}, 0, ()
        self._said, self._back, self._fresh = "", "", True
        self._begun = int(self._now() * 1000)

    def send_back(self, continuation: str) -> None:
        """A continuation of ours is on its way to the agent."""
        self._back, self._fresh = continuation, True

    def answered(self) -> None:
        """The agent reacts to what it was sent last."""
        if self._back:
            self._arrived, self._earlier = [*self._arrived, self._back][-ARRIVED_LIMIT:], len(self._calls)
            self._back = ""

    def feed(self, update: SessionUpdate) -> None:
        """Take an event of the session while a turn runs."""
        self.answered()
        match update.session_update:
            case "agent_message_chunk":
                self._hear(update)
            case "tool_call" | "tool_call_update":
                self._fresh = True
                self._follow(update)
            case "plan":
                self._todos = _read_todos(update.entries)
            case _:
                pass

    def spend(self, tokens: int) -> None:
        """The agent's response says what it spent."""
        self._spent = [*self._spent, (int(self._now() * 1000), tokens)][-SPENT_LIMIT:]

    def transcript(self) -> AcpTranscript:
        """Return the turn so far, at a stop."""
        self._stops += 1
        calls = (one if isinstance(one, ToolCall) else _tool_call(*one) for one in self._calls.values())
        turn = Turn(
            prompts=self._prompts,
            calls=tuple(calls)[-CALLS_LIMIT:],
            last_message=clip_message(self._said),
            last_message_id=f"{self._begun}-{self._stops}",
            arrived=tuple(self._arrived),
            calls_since_arrival=min(len(self._calls) - self._earlier, CALLS_LIMIT),
            todos=self._todos,
        )
        return AcpTranscript(turn, tuple(self._spent), self._begun)

    def _hear(self, update: SessionUpdate) -> None:
        block = try_decode(update.content, AcpContentBlock) or AcpContentBlock()
        if self._fresh or update.message_id != self._message:
            self._said, self._message, self._fresh = "", update.message_id, False
        self._said = last_characters(self._said + (block.text or ""), MESSAGE_LIMIT)

    def _follow(self, update: SessionUpdate) -> None:
        known = self._calls.get(update.tool_call_id, ("", update))
        if isinstance(known, ToolCall):
            return  # what is told after its end
        tool, seen = known[0] or update.title or "", _merge(known[1], update)
        self._calls[seen.tool_call_id] = tool, seen
        if seen.status in OVER:
            given = try_decode(seen.raw_input, _Part) or _Part()
            self._todos = _read_todos(given.todos) or self._todos
            self._calls[seen.tool_call_id] = _tool_call(tool, seen)


def _read_todos(raw: Raw) -> tuple[Todo, ...]:
    found = decode_each(raw, tuple[PlanEntry, ...], PlanEntry) or ()
    kept = [one for one in found[:TODO_LIMIT] if one is not None and one.status != "cancelled"]
    return tuple(build_todo(one.content, one.status) for one in kept)


# --- In the sidecar -----------------------------------------------------------------------------------------

_TRANSCRIPT: ContextVar[AcpTranscript | None] = ContextVar("transcript", default=None)


def remember_transcript(told: AcpTranscript) -> None:
    """From here on, this task and those that it starts are about this turn, which is kept nowhere else."""
    _TRANSCRIPT.set(told)


class AcpTurns(NothingRecorded):
    """Implements hosts.ports.Transcripts. A position is in milliseconds since the epoch."""

    def __init__(self, now: Callable[[], float]) -> None:
        """`now` returns seconds since the epoch."""
        self._now = now

    async def read(self, stop: AgentStopped, counted_to: int) -> Turn:  # noqa: ARG002 - the task knows the turn
        told = _TRANSCRIPT.get()
        if told is None:
            return Turn(position=max(counted_to, 0), readable=False, unfinished="the proxy sent no record")
        since = counted_to if counted_to >= 0 else told.begun
        calls = (
            replace(one, runs=shell.parse_simple_commands(one.command)) if one.command else one
            for one in told.turn.calls
        )
        return replace(
            told.turn,
            calls=tuple(calls),
            tokens=sum(tokens for at, tokens in told.spent if at > since),
            position=max((at for at, _ in told.spent), default=max(counted_to, 0)),
        )

    def position(self, event: CommandTyped) -> int:  # noqa: ARG002 - the record is where the proxy is
        return int(self._now() * 1000)
