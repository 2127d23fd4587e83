"""Reads the messages of a session, as OpenCode's API lists them, as one turn.

Rules of this file:

- A turn opens with a message in which a person wrote something. A prompt typed while an answer is being
  written joins the running turn: it was created before that answer was complete.
- A message that no answer follows yet is waiting, and is not part of the turn.
- Only a synthetic part, which no person and no agent can write, shows that a continuation arrived.
- What begins with our mark after an answer came through `supervisor acp`: nobody asked it, it shows nothing.
- A command that the user ran with `!` is an answer that no model gave; its call is not the agent's.
- Positions are not bytes here but milliseconds since the epoch: when the newest answer was complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.hosts.opencode import wire
from sidecar.hosts.opencode.tools import read_todo_part, read_tool_part
from sidecar.hosts.shared import (
    ARRIVED_LIMIT,
    CALLS_LIMIT,
    CONTINUATION,
    PROMPTS_LIMIT,
    clip_message,
    clip_prompt,
)
from sidecar.kernel.text import clean_line
from sidecar.kernel.turn import CallOutcome, Todo, Turn

ERROR_LIMIT: Final = 500
ABORTED: Final = "MessageAbortedError"
UNREADABLE: Final = "what the host answered is no list of messages"
GOING_ON: Final = frozenset(("tool-calls", "unknown"))
"""Finish reasons of an answer that is followed by another."""


class ParsedMessage(Struct, frozen=True):
    """A message, its parts, and what a person wrote in it, "" if nobody did.

    `answers`: the model, or a user's `!` command, wrote it. `by_agent`: the model did.
    """

    message: wire.HostMessage
    parts: tuple[wire.MessagePart, ...]
    prompt: str = ""
    answers: bool = False
    by_agent: bool = False

    @property
    def note(self) -> bool:
        """Whether it holds only parts that no model reads."""
        return not self.answers and bool(self.parts) and all(part.ignored for part in self.parts)


def read_last_turn(raw: bytes, counted_to: int = -1) -> Turn:
    """Read the last turn of `raw`, the JSON list of all messages.

    Tokens are those of answers completed after `counted_to`, or of this turn if it is negative. Never raises:
    what is not a list of messages gives a turn that is not `readable`.
    """
    return read_whole_turn(raw, counted_to) or Turn()


def read_whole_turn(raw: bytes, counted_to: int = -1, limit: int = wire.MESSAGES_LIMIT + 1) -> Turn | None:
    """Read the last turn of the newest `limit` messages; None if they may not hold the whole of it.

    Only an answer before a prompt shows that the prompt opens the turn and did not join it.
    """
    found = wire.decode_messages(raw)
    if found is None:
        return Turn(position=max(counted_to, 0), readable=False, unfinished=UNREADABLE)
    told = list(_without_ours(_parse_message(message) for message in found if message is not None))
    begin, end = _turn_bounds(told)
    if len(found) >= limit and not any(one.answers for one in told[:begin]):
        return None
    return _build_turn(told, begin, end, counted_to)


def describe_host_error(error: wire.MessageError) -> str:
    """Return what the host says of an error, in one line."""
    said = wire.error_data(error)
    text = f"{error.name}: {said.message}" if said.message else error.name
    return clean_line(text, ERROR_LIMIT)


def _parse_message(message: wire.HostMessage) -> ParsedMessage:
    parts = wire.decode_parts(message)
    if message.info.role == "user":
        return ParsedMessage(message, parts, _prompt_text(parts))
    answers = message.info.role == "assistant"
    by_agent = answers and not _is_user_shell(message, parts)
    return ParsedMessage(message, parts, answers=answers, by_agent=by_agent)


def _without_ours(told: Iterable[ParsedMessage]) -> Iterator[ParsedMessage]:
    """Take the prompt from messages with words of ours; before any answer there is nothing to continue."""
    answered = False
    for one in told:
        yield replace(one, prompt="") if answered and CONTINUATION.match(one.prompt) else one
        answered = answered or one.answers


def _prompt_text(parts: tuple[wire.MessagePart, ...]) -> str:
    """Return what a person wrote; an attached file is shown as its type."""
    lines = []
    for part in parts:
        if part.type == "text" and not part.synthetic and not part.ignored:
            lines.append(part.text)
        elif part.type == "subtask":
            lines.append(part.prompt)
    lines += [f"[{part.type}]" for part in parts if part.type == "file" and not part.synthetic]
    return "\n".join(lines).strip()


def _turn_bounds(told: list[ParsedMessage]) -> tuple[int, int]:
    """Return the indexes of the message that opens the turn and of the first one that waits after it."""
    end = next((at + 1 for at in range(len(told) - 1, -1, -1) if told[at].answers), 0)
    if end == 0:  # nobody answered anything yet
        return next((at for at, one in enumerate(told) if one.prompt), 0), len(told)
    before: ParsedMessage | None = None
    begin = 0
    for at, one in enumerate(told[:end]):
        if one.prompt and not _joined_running_turn(before, one):
            begin = at
        before = one if one.answers else before
    return begin, end


def _joined_running_turn(before: ParsedMessage | None, prompt: ParsedMessage) -> bool:
    """Return whether the prompt was typed while the answer `before` it was being written."""
    if before is None or wire.message_error(before.message) is not None:
        return False
    grew, asked = wire.message_time(before.message), wire.message_time(prompt.message)
    if grew.completed and asked.created:
        return asked.created < grew.completed
    return before.message.info.finish in GOING_ON


def unquote_arguments(arguments: str) -> str:
    """Return what was typed if the whole of it is one quoted word, else `arguments` unchanged.

    The host escapes quotes and nothing else.
    """
    word = arguments.strip()
    inner = word[1:-1]
    quoted = len(word) > 1 and word[0] == word[-1] == '"' and '"' not in inner.replace(r"\"", "")
    return inner.replace(r"\"", '"') if quoted else arguments


def _build_turn(told: list[ParsedMessage], begin: int, end: int, counted_to: int) -> Turn:
    turn = told[begin:end]
    prompts = [clip_prompt(unquote_arguments(one.prompt)) for one in turn if one.prompt]
    answers = [one for one in turn if one.by_agent]
    last = max((at for at, one in enumerate(turn) if _continuation_ids(one)), default=-1)
    arrived = [
        name
        for at, one in enumerate(told[:end])
        if at >= begin or 0 <= counted_to < wire.message_time(one.message).created
        for name in _continuation_ids(one)
    ]
    error = wire.message_error(answers[-1].message) if answers else None
    counted = told[begin:] if counted_to < 0 else [one for one in told if _completion_time(one) > counted_to]
    return Turn(
        prompts=(*prompts[:1], *prompts[1:][1 - PROMPTS_LIMIT :]),
        prompt_id=next((one.message.info.id for one in turn if one.prompt), ""),
        calls=tuple(read_tool_part(part) for part in _agent_calls(turn)[-CALLS_LIMIT:]),
        last_message=clip_message(_last_text(answers)),
        last_message_id=answers[-1].message.info.id if answers else "",
        arrived=tuple(arrived[-ARRIVED_LIMIT:]),
        calls_since_arrival=min(len(_agent_calls(turn[last + 1 :])), CALLS_LIMIT),
        todos=_latest_todos(turn),
        queued=any(one.prompt for one in told[end:]),
        interrupted=error is not None and error.name == ABORTED,
        unfinished=_unfinished_reason(told),
        tokens=sum(wire.message_tokens(one.message) for one in counted if one.answers),
        position=max((_completion_time(one) for one in told if one.answers), default=max(counted_to, 0)),
    )


def _unfinished_reason(told: list[ParsedMessage]) -> str:
    """Return why the session is idle without the end of an answer, "" if an answer ended.

    A notice of ours does not count as a message.
    """
    spoken = [one for one in told if not one.note]
    if not spoken or not spoken[-1].answers:
        return "the newest message is not the agent's"
    newest = spoken[-1].message
    if (error := wire.message_error(newest)) is not None:
        return describe_host_error(error)
    if _is_summary(newest):
        return "the session was compacted"
    if (
        newest.info.finish is None
        or newest.info.finish in GOING_ON
        or wire.message_time(newest).completed is None
    ):
        return "the agent was not done: a command of the user's, a refused permission, or a failure"
    return ""


def _is_summary(message: wire.HostMessage) -> bool:
    return bytes(message.info.summary) == b"true"


def _last_text(answers: list[ParsedMessage]) -> str:
    """Return the text of the newest answer that has one. A summary is only for the host's own memory."""
    for one in reversed(answers):
        if _is_summary(one.message):
            continue
        texts = (part.text for part in one.parts if part.type == "text" and not part.synthetic)
        text = "\n".join(texts).strip()
        if text:
            return text
    return ""


def _agent_calls(turn: list[ParsedMessage]) -> list[wire.MessagePart]:
    """Return the agent's own calls, in order."""
    return [part for one in turn if one.by_agent for part in one.parts if part.type == "tool"]


def _is_user_shell(answer: wire.HostMessage, parts: tuple[wire.MessagePart, ...]) -> bool:
    """Return whether the user ran this with `!`: complete, with no finish, no cost and one command."""
    if answer.info.finish is not None or [part.tool for part in parts if part.type == "tool"] != ["bash"]:
        return False
    bare = wire.message_error(answer) is None and not wire.message_tokens(answer)
    spoke = any(part.type in ("text", "reasoning", "step-start") for part in parts)
    return bare and not spoke and wire.message_time(answer).completed is not None


def _latest_todos(turn: list[ParsedMessage]) -> tuple[Todo, ...]:
    """Return the list as the last call that succeeded left it."""
    tools = [part for one in turn if one.answers for part in one.parts if part.type == "tool"]
    for part in reversed(tools):
        if part.tool == "todowrite" and read_tool_part(part).outcome is CallOutcome.OK:
            return read_todo_part(part)
    return ()


def _continuation_ids(one: ParsedMessage) -> list[str]:
    if one.message.info.role != "user":
        return []
    texts = (part.text for part in one.parts if part.type == "text" and part.synthetic)
    found = (CONTINUATION.search(text) for text in texts)
    return [match[1] for match in found if match is not None]


def _completion_time(one: ParsedMessage) -> int:
    at = wire.message_time(one.message)
    return int(at.completed or at.created)
