"""Builds one bounded state from the lines of a transcript, line by line.

Rules of this file:

- A turn opens with a person's prompt. Prompts typed while the agent works join the running turn.
- Records that do not descend from the prompt were abandoned by a rewind and do not count. Parallel calls and
  their results descend from the prompt by several paths, so the descendants are kept as a set instead of
  being found by walking back from the end. If the newest record itself does not descend from the prompt, the
  tree is not what we assume, and all records count.
- A prompt with the parent of an earlier one replaces it: the user went back to before that one.
- Only text that the host itself delivered as a hook's context shows that a continuation arrived.
- Requests to the model count where they are written, on whatever branch, because they were paid for.
"""

from __future__ import annotations

import re
from collections import OrderedDict, deque
from typing import Final

import msgspec

from sidecar.hosts.claude_code import transcript_lines
from sidecar.hosts.claude_code.tools import (
    TODO_TOOLS,
    PromptQueue,
    TodoList,
    apply_call_result,
    parse_finish_notice,
    read_tool_call,
)
from sidecar.hosts.shared import try_decode
from sidecar.kernel.text import strip_control_codes, truncate_middle
from sidecar.kernel.turn import CallOutcome, ToolCall, Turn
from sidecar.platform.ports import remember_newest

PROMPT_LIMIT: Final = 4000
"""Characters of one prompt, and of the condition of the host's own goal."""
PROMPTS_LIMIT: Final = 20
CALLS_LIMIT: Final = 400
MESSAGE_LIMIT: Final = 20_000
ARRIVED_LIMIT: Final = 100
REQUESTS_LIMIT: Final = 5000
"""Requests to the model whose tokens are remembered one by one: the newest."""
UNFINISHED_LIMIT: Final = 256
"""Requests to which more lines may belong, each of which repeats the usage."""
BRANCH_LIMIT: Final = 1000
"""Prompts of the conversation, and prompts left by a rewind, that are remembered: the newest."""
DESCENT_LIMIT: Final = 2000
"""Remembered records that may still be named as a parent."""
CONTINUATION: Final = re.compile(r"\[supervisor ([0-9a-f]{6})\]")
FEEDBACK: Final = "Stop hook feedback:"


class RecordedCall(msgspec.Struct, frozen=True):
    """A call, the byte at which its line begins, and whether it is on the prompt's branch."""

    call: ToolCall
    at: int
    alive: bool
    given: msgspec.Raw


class TranscriptState:
    """The state of one transcript. Offsets are bytes from its beginning.

    `ended_at`: when the turn's last answer was given, in seconds since the epoch; 0.0 while the turn goes on.
    """

    def __init__(self) -> None:
        """Start before the first line."""
        self.queue = PromptQueue()
        self.native_goal = ""
        self.last_text = ""
        self.last_id = ""
        self.last_at = -1
        self._arrived: deque[tuple[int, str]] = deque(maxlen=ARRIVED_LIMIT)
        self._spent: deque[tuple[int, int]] = deque(maxlen=REQUESTS_LIMIT)
        self._unfinished: OrderedDict[str, int] = OrderedDict()
        self._branch: deque[tuple[str, str]] = deque(maxlen=BRANCH_LIMIT)
        self._rewound: deque[str] = deque(maxlen=BRANCH_LIMIT)
        self._open(0, "", [])

    def _open(self, at: int, prompt_id: str, prompts: list[str]) -> None:
        self._opened_at = at
        self._prompt_id = prompt_id
        self._prompts = prompts
        self._calls: OrderedDict[str, RecordedCall] = OrderedDict()
        self._todos = TodoList()
        self._descent: OrderedDict[str, None] = OrderedDict()
        self._leaf_alive = True
        self._interrupted = False
        self.ended_at = 0.0

    def feed(self, at: int, raw: bytes) -> None:
        """Process the line that begins at byte `at`."""
        line = transcript_lines.read_transcript_line(raw)
        if line is None:
            return
        match line.type:
            case "user" if line.message is not None and not line.is_sidechain:
                self._user(at, line, transcript_lines.read_content_blocks(line.message.content))
            case "assistant" if line.message is not None:
                self._assistant(at, line, line.message)
            case "attachment" if not line.is_sidechain:
                self._descend(line)
                self._attachment(at, try_decode(line.attachment, transcript_lines.Attachment))
            case "queue-operation":
                self.queue.operate(
                    line.operation, next(iter(transcript_lines.read_texts(line.content)), None)
                )
            case "system" if not line.is_sidechain:
                self._descend(line)

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The turn's tool calls, in order."""
        return tuple(each.call for each in self._noted())

    def _noted(self) -> list[RecordedCall]:
        return [call for call in self._calls.values() if call.alive or not self._leaf_alive]

    def turn(self, counted_to: int, position: int) -> Turn:
        """Return the turn up to byte `position`, with the tokens of requests from byte `counted_to` on.

        A negative `counted_to` means the beginning of the turn.
        """
        counted_to = counted_to if counted_to >= 0 else self._opened_at
        noted = self._noted()
        arrived = [(at, name) for at, name in self._arrived if at >= min(counted_to, self._opened_at)]
        since = max((at for at, _ in self._arrived), default=-1)
        return Turn(
            prompts=tuple(self._prompts),
            prompt_id=self._prompt_id,
            calls=self.calls,
            last_message=truncate_middle(strip_control_codes(self.last_text), MESSAGE_LIMIT),
            last_message_id=self.last_id,
            arrived=tuple(name for _, name in arrived),
            calls_since_arrival=sum(1 for each in noted if each.at > since),
            todos=self._todos.all(),
            queued=self.queue.waiting,
            interrupted=self._interrupted,
            native_goal=self.native_goal,
            tokens=sum(tokens for at, tokens in self._spent if at >= counted_to),
            position=position,
            rewound=tuple(self._rewound),
        )

    def _user(
        self, at: int, line: transcript_lines.TranscriptLine, found: list[transcript_lines.ContentBlock]
    ) -> None:
        asked = transcript_lines.human_prompt_text(line, found)
        if asked is not None:
            self.queue.prompted(asked, line.prompt_source)
            prompt_id = line.prompt_id or line.uuid
            self._note_branch(prompt_id, line.parent_uuid or "")
            self._open(at, prompt_id, [_bounded_prompt(asked)])
            self._descent[line.uuid] = None
            return
        self._leaf_alive = self._descend(line)
        text = transcript_lines.join_block_text(found)
        if not text.startswith(transcript_lines.LOCAL_PREFIXES):
            self.ended_at = 0.0
        if line.origin is not None and line.origin.kind == "task-notification":
            self._finished(text)
        elif line.is_meta:
            self._delivered(at, text if text.startswith(FEEDBACK) else "")
        elif text.startswith(transcript_lines.INTERRUPTED):
            self._interrupted = True
        self._results(line, [block for block in found if block.type == "tool_result"])

    def _note_branch(self, prompt_id: str, parent: str) -> None:
        """Take in a prompt. One with the same parent, and what follows it, was left by a rewind."""
        if any(parent == known for _, known in self._branch):
            left: list[tuple[str, str]] = []
            while not left or left[-1][1] != parent:
                left.append(self._branch.pop())
            self._rewound.extend(name for name, _ in reversed(left))
        self._branch.append((prompt_id, parent))

    def _results(
        self, line: transcript_lines.TranscriptLine, results: list[transcript_lines.ContentBlock]
    ) -> None:
        structured = line.tool_use_result if len(results) == 1 else transcript_lines.NOTHING
        for result in results:
            noted = self._calls.get(result.tool_use_id)
            if noted is None:
                continue
            call = apply_call_result(noted.call, result, structured)
            self._calls[call.id] = msgspec.structs.replace(noted, call=call)
            if call.tool in TODO_TOOLS and call.outcome is CallOutcome.OK:
                self._todos.succeeded(call.tool, noted.given, structured, call.output)

    def _assistant(
        self, at: int, line: transcript_lines.TranscriptLine, message: transcript_lines.TranscriptMessage
    ) -> None:
        self._count(at, message)
        if line.is_sidechain:
            return
        self._leaf_alive = self._descend(line)
        self._interrupted = False
        found = transcript_lines.read_content_blocks(message.content)
        ended = line.timestamp if message.stop_reason == "end_turn" else None
        self.ended_at = ended.timestamp() if ended else 0.0
        for block in found:
            if block.type == "tool_use" and block.id:
                self._call(at, block)
        text = "\n".join(block.text for block in found if block.type == "text").strip()
        if text:
            self.last_text, self.last_id, self.last_at = text, message.id or line.uuid, at

    def _call(self, at: int, block: transcript_lines.ContentBlock) -> None:
        call = read_tool_call(block)
        given = msgspec.Raw(bytes(block.input)) if call.tool in TODO_TOOLS else transcript_lines.NOTHING
        noted = RecordedCall(call, at, self._leaf_alive, given)
        remember_newest(self._calls, block.id, noted, CALLS_LIMIT)

    def _count(self, at: int, message: transcript_lines.TranscriptMessage) -> None:
        total = message.usage.total if message.usage is not None else 0
        known = self._unfinished.pop(message.id, 0) if message.id else 0
        if total > known:
            self._spent.append((at, total - known))
        if message.id:
            remember_newest(self._unfinished, message.id, max(total, known), UNFINISHED_LIMIT)

    def _attachment(self, at: int, attachment: transcript_lines.Attachment | None) -> None:
        if attachment is None:
            return
        match attachment.type:
            case "hook_additional_context" if attachment.hook_event == "Stop":
                for text in transcript_lines.read_texts(attachment.content):
                    self._delivered(at, text)
            case "goal_status":
                active = not attachment.met and not attachment.failed
                self.native_goal = _bounded_prompt(attachment.condition) if active else ""
            case "queued_command":
                self._absorbed(attachment)
            case _:
                pass

    def _absorbed(self, attachment: transcript_lines.Attachment) -> None:
        text = transcript_lines.join_block_text(transcript_lines.read_content_blocks(attachment.prompt))
        self.queue.absorb(text)
        person = attachment.origin is None or attachment.origin.kind == "human"
        if attachment.command_mode == "task-notification":
            self._finished(text)
        elif (
            person
            and attachment.command_mode == "prompt"
            and not text.startswith(transcript_lines.ARTEFACT_PREFIXES)
        ):
            self._prompts.append(_bounded_prompt(text))
            if len(self._prompts) > PROMPTS_LIMIT:
                del self._prompts[1]

    def _finished(self, notice: str) -> None:
        """Record the end of a command that ran in the background."""
        name, outcome, exit_code = parse_finish_notice(notice)
        noted = self._calls.get(name)
        if noted is not None:
            call = msgspec.structs.replace(noted.call, outcome=outcome, exit_code=exit_code)
            self._calls[name] = msgspec.structs.replace(noted, call=call)

    def _delivered(self, at: int, text: str) -> None:
        found = CONTINUATION.search(text)
        if found is not None:
            self._arrived.append((at, found[1]))

    def _descend(self, line: transcript_lines.TranscriptLine) -> bool:
        """Return whether this record descends from the prompt; without a prompt, all do."""
        alive = not self._prompts or not line.parent_uuid or line.parent_uuid in self._descent
        if alive and line.uuid:
            remember_newest(self._descent, line.uuid, None, DESCENT_LIMIT)
        return alive


def _bounded_prompt(text: str) -> str:
    return truncate_middle(strip_control_codes(text), PROMPT_LIMIT)
