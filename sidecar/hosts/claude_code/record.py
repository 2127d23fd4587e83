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
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from sidecar.hosts.claude_code import record_lines
from sidecar.hosts.claude_code.codec import HOST
from sidecar.hosts.claude_code.tools import (
    TODO_TOOLS,
    PromptQueue,
    TodoList,
    apply_call_result,
    parse_finish_notice,
    read_tool_call,
)
from sidecar.hosts.ports import RecordedSession
from sidecar.hosts.record_files import RecordFormat, recorded_file
from sidecar.hosts.shared import CALLS_LIMIT, NOTHING, clip_prompt, try_decode
from sidecar.hosts.turns import NotedCall, TurnState
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.session import SessionKey
from sidecar.kernel.turn import CallOutcome, Turn
from sidecar.platform.ports import remember_newest

if TYPE_CHECKING:
    from collections.abc import Mapping

BRANCH_LIMIT: Final = 1000
"""Prompts of the conversation, and prompts left by a rewind, that are remembered: the newest."""
DESCENT_LIMIT: Final = 2000
"""Remembered records that may still be named as a parent."""
FEEDBACK: Final = "Stop hook feedback:"


class TranscriptState(TurnState):
    """The state of one transcript. A call is `alive` on the prompt's branch."""

    def __init__(self) -> None:
        """Start before the first line."""
        self.queue = PromptQueue()
        self._branch: deque[tuple[str, str]] = deque(maxlen=BRANCH_LIMIT)
        self._rewound: deque[str] = deque(maxlen=BRANCH_LIMIT)
        super().__init__()

    def _open(self, at: int, prompt_id: str, *prompts: str) -> None:
        super()._open(at, prompt_id, *prompts)
        self._todos = TodoList()
        self._descent: OrderedDict[str, None] = OrderedDict()
        self._leaf_alive = True
        self.ended_at = 0.0

    def feed(self, at: int, raw: bytes) -> None:
        """Process the line that begins at byte `at`."""
        line = record_lines.read_transcript_line(raw)
        if line is None:
            return
        match line.type:
            case "user" if line.message is not None and not line.is_sidechain:
                self._user(at, line, record_lines.read_content_blocks(line.message.content))
            case "assistant" if line.message is not None:
                self._assistant(at, line, line.message)
            case "attachment" if not line.is_sidechain:
                self._descend(line)
                self._attachment(at, try_decode(line.attachment, record_lines.Attachment))
            case "queue-operation":
                self.queue.operate(line.operation, next(iter(record_lines.read_texts(line.content)), None))
            case "system" if not line.is_sidechain:
                self._descend(line)

    @property
    def waiting(self) -> bool:
        """Whether a person's prompt is queued."""
        return self.queue.waiting

    def _noted(self) -> list[NotedCall]:
        return [call for call in self._calls.values() if call.alive or not self._leaf_alive]

    def turn(self, counted_to: int, position: int) -> Turn:
        """Return the turn up to byte `position`; see hosts.record_files.RecordState."""
        found, rewound = super().turn(counted_to, position), tuple(self._rewound)
        return replace(found, todos=self._todos.all(), queued=self.waiting, rewound=rewound)

    def _user(
        self, at: int, line: record_lines.TranscriptLine, found: list[record_lines.ContentBlock]
    ) -> None:
        asked = record_lines.human_prompt_text(line, found)
        if asked is not None:
            self.queue.prompted(asked, line.prompt_source)
            prompt_id = line.prompt_id or line.uuid
            self._note_branch(prompt_id, line.parent_uuid or "")
            self._open(at, prompt_id, asked)
            self._descent[line.uuid] = None
            return
        self._leaf_alive = self._descend(line)
        text = record_lines.join_block_text(found)
        if not text.startswith(record_lines.LOCAL_PREFIXES):
            self.ended_at = 0.0
        if line.origin is not None and line.origin.kind == "task-notification":
            self._finished(text)
        elif line.is_meta:
            self._deliver(at, text if text.startswith(FEEDBACK) else "")
        elif text.startswith(record_lines.INTERRUPTED):
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

    def _results(self, line: record_lines.TranscriptLine, results: list[record_lines.ContentBlock]) -> None:
        structured = line.tool_use_result if len(results) == 1 else NOTHING
        for result in results:
            noted = self._calls.get(result.tool_use_id)
            if noted is None:
                continue
            call = apply_call_result(noted.call, result, structured)
            self._note(noted.at, call)
            if call.tool in TODO_TOOLS and call.outcome is CallOutcome.OK:
                self._todos.succeeded(call.tool, noted.given, structured, call.output)

    def _assistant(
        self, at: int, line: record_lines.TranscriptLine, message: record_lines.TranscriptMessage
    ) -> None:
        self._spend(at, message.usage.total if message.usage is not None else 0, message.id)
        if line.is_sidechain:
            return
        self._leaf_alive = self._descend(line)
        self._interrupted = False
        found = record_lines.read_content_blocks(message.content)
        ended = line.timestamp if message.stop_reason == "end_turn" else None
        self.ended_at = ended.timestamp() if ended else 0.0
        for block in found:
            if block.type == "tool_use" and block.id:
                self._call(at, block)
        text = "\n".join(block.text for block in found if block.type == "text").strip()
        if text:
            self.last_text, self.last_id, self.last_at = text, message.id or line.uuid, at

    def _call(self, at: int, block: record_lines.ContentBlock) -> None:
        call = read_tool_call(block)
        given = msgspec.Raw(bytes(block.input)) if call.tool in TODO_TOOLS else NOTHING
        noted = NotedCall(call, at, self._leaf_alive, given)
        remember_newest(self._calls, block.id, noted, CALLS_LIMIT)

    def _attachment(self, at: int, attachment: record_lines.Attachment | None) -> None:
        if attachment is None:
            return
        match attachment.type:
            case "hook_additional_context" if attachment.hook_event == "Stop":
                for text in record_lines.read_texts(attachment.content):
                    self._deliver(at, text)
            case "goal_status":
                active = not attachment.met and not attachment.failed
                self._native_goal = clip_prompt(attachment.condition) if active else ""
            case "queued_command":
                self._absorbed(attachment)
            case _:
                pass

    def _absorbed(self, attachment: record_lines.Attachment) -> None:
        text = record_lines.join_block_text(record_lines.read_content_blocks(attachment.prompt))
        self.queue.absorb(text)
        person = attachment.origin is None or attachment.origin.kind == "human"
        if attachment.command_mode == "task-notification":
            self._finished(text)
        elif (
            person
            and attachment.command_mode == "prompt"
            and not text.startswith(record_lines.ARTEFACT_PREFIXES)
        ):
            self._add_prompt(text)

    def _finished(self, notice: str) -> None:
        """Record the end of a command that ran in the background."""
        name, outcome, exit_code = parse_finish_notice(notice)
        noted = self._calls.get(name)
        if noted is not None:
            self._note(noted.at, replace(noted.call, outcome=outcome, exit_code=exit_code))

    def _descend(self, line: record_lines.TranscriptLine) -> bool:
        """Return whether this record descends from the prompt; without a prompt, all do."""
        alive = not self._prompts or not line.parent_uuid or line.parent_uuid in self._descent
        if alive and line.uuid:
            remember_newest(self._descent, line.uuid, None, DESCENT_LIMIT)
        return alive


def opens_turn(raw: bytes) -> bool:
    """Return whether this line is a person's prompt."""
    line = record_lines.read_transcript_line(raw) if b'"user"' in raw else None
    if line is None or line.type != "user" or line.is_sidechain or line.message is None:
        return False
    return (
        record_lines.human_prompt_text(line, record_lines.read_content_blocks(line.message.content))
        is not None
    )


RECORD: Final = RecordFormat(TranscriptState, opens_turn, (b'"queue', b'"typed"'))


# --- A session that the host recorded, for people who have not put Supervisor into it -----------------------
# The host writes `<configuration>/projects/<folder>/<session>.jsonl`, where every character of the folder's
# path but letters and digits is a dash.


HEAD_BYTES: Final = 256 * 1024
"""Bytes of a transcript in which its first time stands."""


class _Line(msgspec.Struct, frozen=True):
    timestamp: datetime | None = None
    cwd: str = ""


def newest_session(project: str, environment: Mapping[str, str], session: str = "") -> RecordedSession | None:
    """Return Claude Code's newest session of a folder (its real path), or the one whose id begins so."""
    home = environment.get("CLAUDE_CONFIG_DIR") or str(Path.home() / ".claude")
    folder = Path(home, "projects", re.sub(r"[^A-Za-z0-9]", "-", project))
    files = [path for path in folder.glob("*.jsonl") if path.stem.startswith(session) and path.is_file()]
    newest = max(files, key=lambda path: path.stat().st_mtime, default=None)
    return read_recorded(newest, project) if newest else None


def read_recorded(path: Path, project: str = "") -> RecordedSession:
    """Return the session of a transcript; its folder is the first one that it names. Raises BadInputError."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES).splitlines()
    lines = [line for raw in head if (line := try_decode(raw, _Line))]
    began = next((line.timestamp for line in lines if line.timestamp), None)
    if began is None:
        raise BadInputError(f"{path}: no transcript of Claude Code, as no line of it has a time")
    folder = project or next((line.cwd for line in lines if line.cwd), "")
    return recorded_file(path, SessionKey(HOST, path.stem), folder, began)
