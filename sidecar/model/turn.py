"""What the agent did between a human prompt and its rest, as the host recorded it."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from sidecar.model.command import Run


class Doing(StrEnum):
    """What a tool call does to the world, whatever the host calls the tool."""

    RUN = "run"
    EDIT = "edit"
    READ = "read"
    TODO = "todo"
    ASK = "ask"
    DELEGATE = "delegate"
    OTHER = "other"


class CallOutcome(StrEnum):
    """How a tool call ended. PENDING: the host has recorded no result for it."""

    OK = "ok"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    PENDING = "pending"


class ToolCall(Struct, frozen=True, kw_only=True):
    """One tool call and what it really returned.

    `command` and what it `runs` are set for RUN, `paths` for EDIT. `exit_code` is None where the host names
    none. `output` is the end of the result, at most 2,000 characters, without terminal colours.
    """

    id: str
    tool: str
    doing: Doing
    outcome: CallOutcome
    command: str = ""
    runs: tuple[Run, ...] = ()
    paths: tuple[str, ...] = ()
    exit_code: int | None = None
    output: str = ""


class Todo(Struct, frozen=True):
    """One entry of the host's own to-do list."""

    text: str
    done: bool


class Planned(Struct, frozen=True, kw_only=True):
    """An open task of the session's journal. `now`: nothing blocks it, and it is not put off.

    `text` is "" where there are too many to be told one by one.
    """

    id: str
    status: str
    text: str = ""
    now: bool = False


class Turn(Struct, frozen=True, kw_only=True):
    """One turn: from the last human prompt to the stop.

    `calls` are in the order they were made, at most the last 400; `arrived` are the ids of our
    continuations that the host shows as delivered; `calls_since_arrival` counts the tool calls made after
    the last of them (after the prompt where there is none). `tokens` are uncached input plus output tokens
    of the model requests recorded since the position that the caller had counted to; `position` is the
    new one, in the host's measure (ports.Transcripts). `queued` is true while a human prompt waits in the
    host's queue. `native_goal` is the condition of the host's own goal while that is active. `unfinished`
    says why the host's rest is not the end of the agent's turn, where it is not. `readable` is false where
    the host keeps no transcript: then everything but `last_message` is unknown, not empty.

    What the host does not record comes from the session's journal: `planned`, what its notes say the agent is
    `stuck` at, the newest first, and whether it says that the session is `complete`.
    """

    prompts: tuple[str, ...] = ()
    prompt_id: str = ""
    calls: tuple[ToolCall, ...] = ()
    last_message: str = ""
    last_message_id: str = ""
    arrived: tuple[str, ...] = ()
    calls_since_arrival: int = 0
    todos: tuple[Todo, ...] = ()
    planned: tuple[Planned, ...] = ()
    stuck: tuple[str, ...] = ()
    complete: bool = False
    queued: bool = False
    interrupted: bool = False
    unfinished: str = ""
    native_goal: str = ""
    tokens: int = 0
    position: int = 0
    readable: bool = True

    @property
    def changed(self) -> bool:
        """Whether a tool call of this turn may have changed the project."""
        return any(call.doing in (Doing.EDIT, Doing.RUN, Doing.DELEGATE) for call in self.calls)

    @property
    def asking(self) -> bool:
        """Whether the turn rests on a question to the user that the host still holds open."""
        return any(call.doing is Doing.ASK and call.outcome is CallOutcome.PENDING for call in self.calls)

    @property
    def open_todos(self) -> tuple[str, ...]:
        """The texts of the host's to-dos that are not done."""
        return tuple(todo.text for todo in self.todos if not todo.done)
