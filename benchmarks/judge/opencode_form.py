"""A turn as OpenCode's API lists it: messages with their parts.

The fields are those of the recorded example in tests/hosts/opencode/fixtures.
"""

from __future__ import annotations

from typing import Final

from judge.mix import chance
from judge.story import PROJECT, digest

from sidecar.kernel.turn import CallOutcome, ToolAction, ToolCall, Turn

Fields = dict[str, object]
BEGIN: Final = 1_795_295_921_000
"""Milliseconds since the epoch."""
STEP: Final = 2000
"""Milliseconds that one answer takes."""
TOOLS: Final = {
    "Bash": "bash",
    "Edit": "edit",
    "Write": "write",
    "Read": "read",
    "Grep": "grep",
    "Glob": "glob",
    "Task": "task",
    "Agent": "task",
    "TodoWrite": "todowrite",
    "AskUserQuestion": "question",
    "WebFetch": "webfetch",
}
STOPPED: Final = "Tool execution aborted"


def opencode_messages(turn: Turn, name: str) -> list[Fields]:
    """All messages of the session. `name` makes its ids its own."""
    return _Form(turn, name).messages()


class _Form:
    def __init__(self, turn: Turn, name: str) -> None:
        self._turn = turn
        self._name = name
        self._chance = chance("steps", name)
        self._messages: list[Fields] = []
        self._now = BEGIN
        self._session = f"ses_{digest(name, 'session', size=26)}"

    def messages(self) -> list[Fields]:
        turn = self._turn
        later = list(turn.prompts[1:])
        if turn.prompts:
            self._prompt(turn.prompts[0], turn.prompt_id)
        before = len(turn.calls) - turn.calls_since_arrival
        parts = (turn.calls[:before], turn.calls[before:])
        if later and not turn.calls:
            self._answer([self._part("reasoning", text="Let me think.")], finish="tool-calls")
        for number, calls in enumerate(parts):
            for step in self._steps(calls):
                self._answer([self._tool(call) for call in step], finish="tool-calls")
                self._typed_meanwhile(later)
            if number == 0:
                self._arrivals()
        self._typed_meanwhile(later)
        self._end()
        return self._messages

    def _end(self) -> None:
        turn = self._turn
        texts = [self._part("text", text=turn.last_message)] if turn.last_message else []
        finish = None if turn.interrupted else "stop"
        self._answer(texts, name=turn.last_message_id, finish=finish)
        if turn.queued:
            self._prompt("one more thing", self._id("msg", "queued"))

    def _steps(self, calls: tuple[ToolCall, ...]) -> list[tuple[ToolCall, ...]]:
        """The calls in groups: a model makes one or a few at once."""
        steps, rest = [], calls
        while rest:
            size = self._chance.choice((1, 1, 1, 2, 3))
            steps.append(rest[:size])
            rest = rest[size:]
        return steps

    def _arrivals(self) -> None:
        for name in self._turn.arrived:
            self._answer([self._part("text", text="Done.")], finish="stop")
            text = f"[supervisor {name}] go on"
            self._user([self._part("text", text=text, synthetic=True)], self._id("msg", "arrived", name))

    def _typed_meanwhile(self, prompts: list[str]) -> None:
        for number, text in enumerate(prompts):
            self._prompt(text, self._id("msg", "prompt", number), back=STEP // 2)
        prompts.clear()

    def _prompt(self, text: str, name: str, back: int = 0) -> None:
        self._user([self._part("text", text=text)], name, back)

    def _user(self, parts: list[Fields], name: str, back: int = 0) -> None:
        info: Fields = {
            "role": "user",
            "time": {"created": self._now - back},
            "summary": {"diffs": []},
            "agent": "build",
            "model": {"providerID": "anthropic", "modelID": "claude-sonnet-4-5"},
        }
        self._add(info, name, parts)

    def _answer(self, parts: list[Fields], *, finish: str | None, name: str = "") -> None:
        final = bool(name) and name == self._turn.last_message_id
        tokens = {"input": self._turn.tokens if final else 0, "output": 0, "reasoning": 0}
        info: Fields = {
            "role": "assistant",
            "time": {"created": self._now, "completed": self._now + STEP},
            "mode": "build",
            "agent": "build",
            "path": {"cwd": PROJECT, "root": PROJECT},
            "modelID": "claude-sonnet-4-5",
            "providerID": "anthropic",
            "cost": 0,
            "tokens": tokens | {"cache": {"read": 9000, "write": 0}},
        }
        if finish is None:
            info["error"] = {"name": "MessageAbortedError", "data": {"message": "Aborted"}}
        else:
            info["finish"] = finish
        begin = self._part("step-start", snapshot=digest(self._name, "snapshot", size=40))
        end = self._part("step-finish", reason=finish or "unknown", cost=0)
        self._now += STEP
        self._add(info, name or self._id("msg", len(self._messages)), [begin, *parts, end])

    def _add(self, info: Fields, name: str, parts: list[Fields]) -> None:
        head: Fields = {"id": name, "sessionID": self._session}
        self._messages.append({"info": head | info, "parts": [part | {"messageID": name} for part in parts]})

    def _part(self, kind: str, **fields: object) -> Fields:
        name = self._id("prt", kind, len(self._messages), *fields.values())
        return {"id": name, "sessionID": self._session, "type": kind, **fields}

    def _tool(self, call: ToolCall) -> Fields:
        return self._part(
            "tool", callID=call.id, tool=TOOLS.get(call.tool, call.tool), state=self._state(call)
        )

    def _state(self, call: ToolCall) -> Fields:
        given, time = self._input(call), {"start": self._now, "end": self._now + 100}
        match call.outcome:
            case CallOutcome.PENDING:
                return {"status": "running", "input": given, "time": {"start": self._now}}
            case CallOutcome.INTERRUPTED:
                error = "\n".join(part for part in (STOPPED, call.output) if part)
                return {"status": "error", "input": given, "error": error, "time": time}
            case CallOutcome.FAILED if call.doing is not ToolAction.RUN:
                return {"status": "error", "input": given, "error": call.output, "time": time}
            case _:
                metadata = _metadata(call)
                done: Fields = {"status": "completed", "input": given, "output": call.output, "title": ""}
                return done | {"metadata": metadata, "time": time}

    def _input(self, call: ToolCall) -> Fields:
        text = call.command
        if call.paths:
            patch = "".join(f"*** Update File: {one}\n" for one in call.paths)
            return {"filePath": call.paths[0]} if len(call.paths) == 1 else {"patchText": patch}
        known: dict[ToolAction, Fields] = {
            ToolAction.RUN: {"command": text, "description": text.split("\n")[0][:60]},
            ToolAction.ASK: {"questions": [{"question": text, "header": "Question", "options": []}]},
            ToolAction.DELEGATE: {"description": text[:40], "prompt": text, "subagent_type": "general"},
        }
        if call.doing is ToolAction.TODO:
            return {"todos": self._todos(call)}
        return known.get(call.doing, {"pattern": text})

    def _todos(self, call: ToolCall) -> list[Fields]:
        last = next(one for one in reversed(self._turn.calls) if one.doing is ToolAction.TODO)
        return [
            {
                "content": todo.text,
                "status": "completed" if todo.done and call is last else "pending",
                "priority": "medium",
            }
            for todo in self._turn.todos
        ]

    def _id(self, kind: str, *words: object) -> str:
        return f"{kind}_{digest(self._name, kind, *words, size=26)}"


def _metadata(call: ToolCall) -> Fields:
    if call.doing is not ToolAction.RUN:
        return {"truncated": False}
    known: Fields = {"output": call.output, "truncated": False}
    if call.exit_code is None and call.outcome is CallOutcome.OK:
        return known
    return known | {"exit": call.exit_code}
