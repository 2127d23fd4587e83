"""A turn as Claude Code writes it into its transcript, in the forms of two versions.

The lines are those of the recorded transcripts in tests/hosts/claude_code/fixtures.
"""

from __future__ import annotations

from typing import Final

from judge.story import PROJECT, digest

from sidecar.kernel.turn import CallOutcome, FailureHandling, Todo, ToolAction, ToolCall, Turn

OLD, NEW = "2.1.197", "2.1.330"
VERSIONS: Final = (OLD, NEW)
Line = dict[str, object]
MODELS: Final = {OLD: "claude-opus-4-8", NEW: "claude-opus-5-5"}
BEFORE: Final[dict[str, tuple[Line, ...]]] = {
    OLD: (
        {"type": "agent_listing_delta", "addedTypes": ["Explore"], "removedTypes": [], "isInitial": True},
        {"type": "skill_listing", "content": "", "skillCount": 0, "isInitial": True, "names": []},
    ),
    NEW: (
        {
            "type": "environment",
            "snapshot": {"workingDirectory": PROJECT, "isGitRepo": True, "shell": "bash"},
        },
        {"type": "model", "identity": {"modelId": MODELS[NEW]}, "text": "You are powered by a model."},
        {"type": "session_context", "context": {}},
        {"type": "date", "date": "2026-11-21"},
        {"type": "prompt_snapshot", "systemPrompt": ["You are an agent."], "reminderFold": False},
    ),
}
"""What stands between the prompt and the first answer."""
REMARKS: Final = {
    "grep": "No matches found",
    "egrep": "No matches found",
    "rg": "No matches found",
    "find": "Some directories were inaccessible",
    "diff": "Files differ",
    "test": "Condition is false",
    "[": "Condition is false",
}
"""Commands whose exit code 1 the host does not take for a failure, and what it says instead."""
REFUSED: Final = "User rejected tool use"


def claude_lines(turn: Turn, name: str, version: str) -> list[Line]:
    """All lines of the transcript. `name` makes its ids its own."""
    return _Form(turn, name, version).lines()


def remark(call: ToolCall) -> str:
    """What the host says instead of the exit code of this command; "" where it gives the code."""
    last = call.runs[-1] if call.runs else None
    if call.exit_code != 1 or last is None or last.fate is not FailureHandling.DECIDES:
        return ""
    return REMARKS.get(last.argv[0] if last.argv else "", "")


class _Form:
    def __init__(self, turn: Turn, name: str, version: str) -> None:
        self._turn = turn
        self._name = name
        self._version = version
        self._lines: list[Line] = []
        self._leaf: str | None = None
        self._session = digest(name, "session", size=32)
        self._tasks: dict[str, int] = {}

    def lines(self) -> list[Line]:
        turn = self._turn
        if turn.prompts:
            self._prompt(turn.prompts[0])
        self._waiting = list(turn.prompts[1:])
        arrival = len(turn.calls) - turn.calls_since_arrival
        for at, call in enumerate(turn.calls):
            if at == arrival:
                self._arrivals()
            self._call(call, last=call is self._last_todo())
            self._later_prompts()
        if arrival == len(turn.calls):
            self._arrivals()
        self._later_prompts()
        self._end()
        return self._lines

    def _end(self) -> None:
        turn = self._turn
        if turn.native_goal:
            self._attachment({"type": "goal_status", "met": False, "condition": turn.native_goal})
        if turn.last_message:
            self._assistant({"type": "text", "text": turn.last_message}, turn.last_message_id, "end_turn")
        if turn.interrupted:
            block = {"type": "text", "text": "[Request interrupted by user]"}
            self._user([block], interruptedMessageId=turn.last_message_id)
        if turn.queued:
            self._bare({"type": "queue-operation", "operation": "enqueue", "content": "one more thing"})
        if turn.prompts:
            self._bare({"type": "last-prompt", "lastPrompt": turn.prompts[-1], "leafUuid": self._leaf})

    def _prompt(self, text: str) -> None:
        if self._version == NEW:
            self._bare({"type": "mode", "mode": "normal"})
        fields: Line = {"permissionMode": "acceptEdits", "promptSource": "typed"}
        if self._version == NEW:
            position = {"promptIndex": 1, "turnIndex": 1}
            fields |= {"origin": {"kind": "human"}, "turnOrigin": "human", "turnPosition": position}
        self._user(text, **fields)
        for attachment in BEFORE[self._version]:
            self._attachment(attachment)

    def _later_prompts(self) -> None:
        for text in self._waiting:
            extra: Line = {"humanTurn": True} if self._version == NEW else {}
            origin = {"kind": "human"}
            self._bare({"type": "queue-operation", "operation": "enqueue", "content": text})
            self._bare({"type": "queue-operation", "operation": "remove"})
            attachment = {"type": "queued_command", "prompt": text, "commandMode": "prompt", "origin": origin}
            self._attachment(attachment | extra)
        self._waiting.clear()

    def _arrivals(self) -> None:
        for name in self._turn.arrived:
            self._assistant({"type": "text", "text": "Done."}, f"msg_{digest(self._name, name)}", "end_turn")
            content = [f"[supervisor {name}] go on"]
            attachment: Line = {"type": "hook_additional_context", "content": content}
            self._attachment(attachment | {"hookName": "Stop", "hookEvent": "Stop"})

    def _last_todo(self) -> ToolCall | None:
        return next((call for call in reversed(self._turn.calls) if call.doing is ToolAction.TODO), None)

    def _call(self, call: ToolCall, *, last: bool) -> None:
        if call.doing is ToolAction.TODO:
            states = [(todo, todo.done and last) for todo in self._turn.todos]
            if self._version == NEW:
                self._task_calls(call.id, states)
            else:
                self._use(call.id, "TodoWrite", {"todos": [_item(*state) for state in states]})
                self._result(call.id, call.output, {"oldTodos": [], "newTodos": []})
            return
        self._use(call.id, call.tool, _input(call))
        if call.outcome is not CallOutcome.PENDING:
            self._returned(call)

    def _task_calls(self, name: str, states: list[tuple[Todo, bool]]) -> None:
        for todo, done in states:
            if todo.text not in self._tasks:
                number = self._tasks[todo.text] = len(self._tasks) + 1
                self._use(f"{name}-{number}", "TaskCreate", {"subject": todo.text, "description": todo.text})
                task = {"task": {"id": str(number), "subject": todo.text}}
                self._result(f"{name}-{number}", f"Task #{number} created successfully: {todo.text}", task)
            if done:
                number = self._tasks[todo.text]
                given: Line = {"taskId": str(number), "status": "completed"}
                self._use(f"{name}-{number}-done", "TaskUpdate", given)
                result = {"success": True, "taskId": str(number), "updatedFields": ["status"]}
                self._result(f"{name}-{number}-done", f"Updated task #{number} status", result)

    def _returned(self, call: ToolCall) -> None:
        if call.outcome is CallOutcome.INTERRUPTED:
            self._result(call.id, call.output, REFUSED, is_error=True)
        elif call.outcome is CallOutcome.FAILED and not remark(call):
            code = "" if call.exit_code is None else f"Exit code {call.exit_code}"
            text = "\n".join(part for part in (code, call.output) if part)
            self._result(call.id, text, f"Error: {text}", is_error=True)
        else:
            self._result(call.id, call.output, _structured(call))

    def _use(self, name: str, tool: str, given: Line) -> None:
        block: Line = {"type": "tool_use", "name": tool, "input": given, "id": name}
        self._assistant(block, f"msg_{digest(self._name, name)}", "tool_use")

    def _result(self, name: str, text: str, structured: object, *, is_error: bool = False) -> None:
        block: Line = {"tool_use_id": name, "type": "tool_result", "content": text}
        self._user([block | ({"is_error": True} if is_error else {})], toolUseResult=structured)

    def _user(self, content: object, **fields: object) -> None:
        message = {"role": "user", "content": content}
        self._record("user", {"promptId": self._turn.prompt_id, "message": message, **fields})

    def _assistant(self, block: Line, name: str, reason: str) -> None:
        final = name == self._turn.last_message_id
        usage = {
            "input_tokens": self._turn.tokens if final else 0,
            "cache_read_input_tokens": 9000,
            "output_tokens": 0,
        }
        message = {
            "type": "message",
            "id": name,
            "role": "assistant",
            "model": MODELS[self._version],
            "content": [block],
            "stop_reason": reason,
            "usage": usage,
        }
        extra: Line = {"madeBy": "model", "effort": "medium"} if self._version == NEW else {}
        self._record("assistant", {"message": message, **extra})

    def _attachment(self, attachment: Line) -> None:
        self._record("attachment", {"attachment": attachment})

    def _record(self, kind: str, fields: Line) -> None:
        uuid = digest(self._name, "uuid", len(self._lines), size=32)
        line: Line = {"parentUuid": self._leaf, "isSidechain": False, "type": kind, "uuid": uuid}
        common = {
            "timestamp": self._clock(),
            "userType": "external",
            "entrypoint": "cli",
            "cwd": PROJECT,
            "sessionId": self._session,
            "version": self._version,
            "gitBranch": "main",
        }
        self._lines.append(line | fields | common)
        self._leaf = uuid

    def _bare(self, line: Line) -> None:
        self._lines.append(line | {"timestamp": self._clock(), "sessionId": self._session})

    def _clock(self) -> str:
        minutes, seconds = divmod(len(self._lines), 60)
        return f"2026-11-21T{10 + minutes // 60:02}:{minutes % 60:02}:{seconds:02}.000Z"


def _item(todo: Todo, done: bool) -> Line:  # noqa: FBT001 - the two halves of one state
    return {
        "content": todo.text,
        "status": "completed" if done else "pending",
        "activeForm": todo.text,
    }


def _input(call: ToolCall) -> Line:
    path, text = call.paths[0] if call.paths else "", call.command
    options = [{"label": "Yes", "description": ""}, {"label": "No", "description": ""}]
    task: Line = {"description": text[:40], "prompt": text, "subagent_type": "Explore"}
    known: dict[str, Line] = {
        "Bash": {"command": text, "description": text.split("\n")[0][:60]},
        "Write": {"file_path": path, "content": ""},
        "Edit": {"replace_all": False, "file_path": path, "old_string": "", "new_string": ""},
        "Read": {"file_path": path},
        "AskUserQuestion": {"questions": [{"question": text, "header": "Question", "options": options}]},
        "Task": task,
        "Agent": task,
    }
    return known.get(call.tool, {"pattern": text})


def _structured(call: ToolCall) -> Line:
    if call.doing is not ToolAction.RUN:
        return {"type": "text"}
    said = remark(call)
    ran: Line = {"stdout": call.output, "stderr": "", "interrupted": False, "isImage": False}
    if said:
        return ran | {"returnCodeInterpretation": said}
    behind = {"backgroundTaskId": digest(call.id, size=9)} if call.exit_code is None else {}
    return ran | behind
