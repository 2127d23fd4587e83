"""One turn: what the agent did from a human prompt until it rested, as the host recorded it."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

# --- Commands of a shell line, and whether its exit code shows how they ended -------------------------------


class FailureHandling(StrEnum):
    """What happens to a command's failure."""

    DECIDES = "decides"
    """If it fails, the exit code of the line is not 0."""
    SWALLOWED = "swallowed"
    """It can fail while the line's exit code is 0: `|| true`, `; echo ok`, a pipe into another command."""
    UNKNOWN = "unknown"
    """The line does not parse, or has a form that is not analyzed."""


class CommandRun(Struct, frozen=True, kw_only=True):
    """One simple command of a shell line, in execution order.

    `argv` are its words without quotes; a word that only the running shell can expand (`$X`, `$(...)`) stays
    as written. `assignments` are those before it ("CI=1"). `text` is the command as written. `fate`: see
    FailureHandling. `silenced`: its output is not visible in the result (`>/dev/null`, `2>/dev/null` or a
    file). `background`: it is started with `&`. `implied`: exit code 0 of the line means that it ran.
    `blamed`: any other exit code means that it ran and failed, unless a command that only prepares (`cd`,
    `mkdir`, `echo`) did. `implied` and `blamed` are set only for a fate of DECIDES.
    """

    argv: tuple[str, ...]
    text: str
    assignments: tuple[str, ...] = ()
    fate: FailureHandling = FailureHandling.DECIDES
    silenced: bool = False
    background: bool = False
    implied: bool = False
    blamed: bool = False


# --- The turn -----------------------------------------------------------------------------------------------


class ToolAction(StrEnum):
    """What a tool call does, independent of the host's name for the tool."""

    RUN = "run"
    EDIT = "edit"
    READ = "read"
    TODO = "todo"
    ASK = "ask"
    DELEGATE = "delegate"
    OTHER = "other"


class CallOutcome(StrEnum):
    """How a tool call ended. PENDING: the host has not recorded a result."""

    OK = "ok"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    PENDING = "pending"


class ToolCall(Struct, frozen=True, kw_only=True):
    """One tool call and what it really returned.

    `command` and its commands `runs` are set for RUN, `paths` for EDIT. `exit_code` is None where the host
    records none. `output` is the end of the result, at most 2,000 characters, without terminal colours.
    """

    id: str
    tool: str
    doing: ToolAction
    outcome: CallOutcome
    command: str = ""
    runs: tuple[CommandRun, ...] = ()
    paths: tuple[str, ...] = ()
    exit_code: int | None = None
    output: str = ""


class Todo(Struct, frozen=True):
    """One entry of the host's own to-do list."""

    text: str
    done: bool


class OpenTask(Struct, frozen=True, kw_only=True):
    """An open task of the session's journal. `now`: nothing blocks it, and it is not postponed.

    `text` is "" where there are too many tasks to show each.
    """

    id: str
    status: str
    text: str = ""
    now: bool = False


class Turn(Struct, frozen=True, kw_only=True):
    """One turn: from the last human prompt to the stop.

    `calls` are in the order they were made, at most the last 400. `arrived` are the ids of our continuations
    that the host shows as delivered. `calls_since_arrival` counts the tool calls after the last of them
    (after the prompt where there is none). `tokens` are uncached input plus output tokens of the model
    requests recorded since the position to which the caller had counted; `position` is the new one, in the
    host's measure (see hosts.ports.Transcripts). `queued`: a human prompt waits in the host's queue.
    `native_goal` is the condition of the host's own goal while that is active. `unfinished` says why the
    host's rest is not the end of the agent's turn, "" where it is. `readable` is false where the host keeps
    no transcript: then everything but `last_message` is unknown, not empty. `current` is false where the
    record does not hold the last message yet: then calls before it may be missing. `rewound` are the ids of
    the prompts that the user went back before, the newest last. `waited`: seconds of it in which nobody
    worked. `read_only`: plan mode or a sandbox without writing, where only the record shows it.

    The session's journal adds what the host does not record: the `planned` tasks, what the agent noted as
    `stuck` (the newest first), and whether it declared the session `complete`.
    """

    prompts: tuple[str, ...] = ()
    prompt_id: str = ""
    calls: tuple[ToolCall, ...] = ()
    last_message: str = ""
    last_message_id: str = ""
    arrived: tuple[str, ...] = ()
    calls_since_arrival: int = 0
    todos: tuple[Todo, ...] = ()
    planned: tuple[OpenTask, ...] = ()
    stuck: tuple[str, ...] = ()
    complete: bool = False
    queued: bool = False
    interrupted: bool = False
    unfinished: str = ""
    native_goal: str = ""
    tokens: int = 0
    waited: float = 0.0
    position: int = 0
    readable: bool = True
    current: bool = True
    rewound: tuple[str, ...] = ()
    read_only: bool = False

    @property
    def changed(self) -> bool:
        """Whether a tool call of this turn may have changed the project."""
        return any(
            call.doing in (ToolAction.EDIT, ToolAction.RUN, ToolAction.DELEGATE) for call in self.calls
        )

    @property
    def asking(self) -> bool:
        """Whether the turn ends with a question to the user that the host still holds open."""
        return any(
            call.doing is ToolAction.ASK and call.outcome is CallOutcome.PENDING for call in self.calls
        )

    @property
    def open_todos(self) -> tuple[str, ...]:
        """The texts of the host's to-dos that are not done."""
        return tuple(todo.text for todo in self.todos if not todo.done)
