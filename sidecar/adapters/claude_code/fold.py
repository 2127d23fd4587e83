"""What a transcript says, folded line by line into one bounded state.

Rules of this file:

- A turn opens with a prompt of a person. Prompts typed while the agent works join the turn they came into.
- Records that do not descend from the prompt were left behind by a rewind and do not count. Parallel calls
  and their results descend from it by several ways, so descent is kept as a set, never as a walk from the
  end. Should the newest record itself not descend from the prompt, the tree is not what we think: all count.
- Only text that the host itself delivered as a hook's context shows that a continuation arrived.
- Requests to the model are counted where they are written, on whatever branch: they were paid for.
"""

from __future__ import annotations

import re
from collections import OrderedDict, deque
from typing import Final

import msgspec

from sidecar.adapters.claude_code import lines
from sidecar.adapters.claude_code.queue import Queue
from sidecar.adapters.claude_code.todos import TOOLS, Todos
from sidecar.adapters.claude_code.tools import called, finished, returned
from sidecar.adapters.text import middle_out, plain
from sidecar.model.turn import CallOutcome, ToolCall, Turn

PROMPT_LIMIT: Final = 4000
"""Characters of one prompt, and of the condition of the host's own goal."""
PROMPTS_LIMIT: Final = 20
CALLS_LIMIT: Final = 400
MESSAGE_LIMIT: Final = 20_000
ARRIVED_LIMIT: Final = 100
REQUESTS_LIMIT: Final = 5000
"""Requests to the model whose tokens are remembered one by one, the newest."""
UNFINISHED_LIMIT: Final = 256
"""Requests of which more lines may come, each repeating the usage."""
DESCENT_LIMIT: Final = 2000
"""Records that may still be named as a parent."""
CONTINUATION: Final = re.compile(r"\[supervisor ([0-9a-f]{6})\]")
FEEDBACK: Final = "Stop hook feedback:"


class Noted(msgspec.Struct, frozen=True):
    """A call, the byte where its line begins, and whether it is on the prompt's branch."""

    call: ToolCall
    at: int
    alive: bool
    given: msgspec.Raw


class Fold:
    """The state of one transcript. Offsets are bytes from its beginning."""

    def __init__(self) -> None:
        """Start before the first line."""
        self.queue = Queue()
        self.native_goal = ""
        self.last_text = ""
        self.last_id = ""
        self.last_at = -1
        self._arrived: deque[tuple[int, str]] = deque(maxlen=ARRIVED_LIMIT)
        self._spent: deque[tuple[int, int]] = deque(maxlen=REQUESTS_LIMIT)
        self._unfinished: OrderedDict[str, int] = OrderedDict()
        self._open(0, "", [])

    def _open(self, at: int, prompt_id: str, prompts: list[str]) -> None:
        self._opened_at = at
        self._prompt_id = prompt_id
        self._prompts = prompts
        self._calls: OrderedDict[str, Noted] = OrderedDict()
        self._todos = Todos()
        self._descent: OrderedDict[str, None] = OrderedDict()
        self._leaf_alive = True
        self._interrupted = False

    def feed(self, at: int, raw: bytes) -> None:
        """Take in the line that begins at byte `at`."""
        line = lines.read_line(raw)
        if line is None:
            return
        match line.type:
            case "user" if line.message is not None and not line.is_sidechain:
                self._user(at, line, lines.blocks(line.message.content))
            case "assistant" if line.message is not None:
                self._assistant(at, line, line.message)
            case "attachment" if not line.is_sidechain:
                self._descend(line)
                self._attachment(at, lines.decoded(line.attachment, lines.ATTACHMENTS))
            case "queue-operation":
                self.queue.operate(line.operation, next(iter(lines.texts(line.content)), None))
            case "system" if not line.is_sidechain:
                self._descend(line)

    def turn(self, counted_to: int, position: int) -> Turn:
        """Return the turn up to byte `position`, with the tokens of requests from byte `counted_to` on.

        A negative `counted_to` stands for the beginning of the turn.
        """
        counted_to = counted_to if counted_to >= 0 else self._opened_at
        noted = [call for call in self._calls.values() if call.alive or not self._leaf_alive]
        arrived = [(at, name) for at, name in self._arrived if at >= min(counted_to, self._opened_at)]
        since = max((at for at, _ in self._arrived), default=-1)
        return Turn(
            prompts=tuple(self._prompts),
            prompt_id=self._prompt_id,
            calls=tuple(each.call for each in noted),
            last_message=middle_out(plain(self.last_text), MESSAGE_LIMIT),
            last_message_id=self.last_id,
            arrived=tuple(name for _, name in arrived),
            calls_since_arrival=sum(1 for each in noted if each.at > since),
            todos=self._todos.all(),
            queued=self.queue.waiting,
            interrupted=self._interrupted,
            native_goal=self.native_goal,
            tokens=sum(tokens for at, tokens in self._spent if at >= counted_to),
            position=position,
        )

    def _user(self, at: int, line: lines.Line, found: list[lines.Block]) -> None:
        asked = lines.prompt(line, found)
        if asked is not None:
            self.queue.prompted(asked, line.prompt_source)
            self._open(at, line.prompt_id or line.uuid, [_bounded(asked)])
            self._descent[line.uuid] = None
            return
        self._leaf_alive = self._descend(line)
        text = lines.written(found)
        if line.origin is not None and line.origin.kind == "task-notification":
            self._finished(text)
        elif line.is_meta:
            self._delivered(at, text if text.startswith(FEEDBACK) else "")
        elif text.startswith(lines.INTERRUPTED):
            self._interrupted = True
        self._results(line, [block for block in found if block.type == "tool_result"])

    def _results(self, line: lines.Line, results: list[lines.Block]) -> None:
        structured = line.tool_use_result if len(results) == 1 else lines.NOTHING
        for result in results:
            noted = self._calls.get(result.tool_use_id)
            if noted is None:
                continue
            call = returned(noted.call, result, structured)
            self._calls[call.id] = msgspec.structs.replace(noted, call=call)
            if call.tool in TOOLS and call.outcome is CallOutcome.OK:
                self._todos.succeeded(call.tool, noted.given, structured, call.output)

    def _assistant(self, at: int, line: lines.Line, message: lines.Message) -> None:
        self._count(at, message)
        if line.is_sidechain:
            return
        self._leaf_alive = self._descend(line)
        self._interrupted = False
        found = lines.blocks(message.content)
        for block in found:
            if block.type == "tool_use" and block.id:
                self._call(at, block)
        text = "\n".join(block.text for block in found if block.type == "text").strip()
        if text:
            self.last_text, self.last_id, self.last_at = text, message.id or line.uuid, at

    def _call(self, at: int, block: lines.Block) -> None:
        call = called(block)
        given = msgspec.Raw(bytes(block.input)) if call.tool in TOOLS else lines.NOTHING
        self._calls[block.id] = Noted(call, at, self._leaf_alive, given)
        if len(self._calls) > CALLS_LIMIT:
            self._calls.popitem(last=False)

    def _count(self, at: int, message: lines.Message) -> None:
        total = message.usage.total if message.usage is not None else 0
        known = self._unfinished.pop(message.id, 0) if message.id else 0
        if total > known:
            self._spent.append((at, total - known))
        if message.id:
            self._unfinished[message.id] = max(total, known)
            if len(self._unfinished) > UNFINISHED_LIMIT:
                self._unfinished.popitem(last=False)

    def _attachment(self, at: int, attachment: lines.Attachment | None) -> None:
        if attachment is None:
            return
        match attachment.type:
            case "hook_additional_context" if attachment.hook_event == "Stop":
                for text in lines.texts(attachment.content):
                    self._delivered(at, text)
            case "goal_status":
                active = not attachment.met and not attachment.failed
                self.native_goal = _bounded(attachment.condition) if active else ""
            case "queued_command":
                self._absorbed(attachment)
            case _:
                pass

    def _absorbed(self, attachment: lines.Attachment) -> None:
        text = lines.written(lines.blocks(attachment.prompt))
        self.queue.absorb(text)
        person = attachment.origin is None or attachment.origin.kind == "human"
        if attachment.command_mode == "task-notification":
            self._finished(text)
        elif person and attachment.command_mode == "prompt" and not text.startswith(lines.ARTEFACTS):
            self._prompts.append(_bounded(text))
            if len(self._prompts) > PROMPTS_LIMIT:
                del self._prompts[1]

    def _finished(self, notice: str) -> None:
        """A command that ran in the background is over."""
        name, outcome, exit_code = finished(notice)
        noted = self._calls.get(name)
        if noted is not None:
            call = msgspec.structs.replace(noted.call, outcome=outcome, exit_code=exit_code)
            self._calls[name] = msgspec.structs.replace(noted, call=call)

    def _delivered(self, at: int, text: str) -> None:
        found = CONTINUATION.search(text)
        if found is not None:
            self._arrived.append((at, found[1]))

    def _descend(self, line: lines.Line) -> bool:
        """Whether this record descends from the prompt; without a prompt, all do."""
        alive = not self._prompts or not line.parent_uuid or line.parent_uuid in self._descent
        if alive and line.uuid:
            self._descent[line.uuid] = None
            if len(self._descent) > DESCENT_LIMIT:
                self._descent.popitem(last=False)
        return alive


def _bounded(text: str) -> str:
    return middle_out(plain(text), PROMPT_LIMIT)
