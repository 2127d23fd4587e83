"""A session's messages, as OpenCode's API lists them, read as one turn.

Rules of this file:

- A turn opens with a message in which a person wrote something. What is typed while an answer grows joins
  the turn it came into: its message was made before that answer was complete.
- A message behind which no answer stands yet waits, and is no part of the turn.
- Only a synthetic part, which no person and no agent can write, shows that a continuation arrived.
- A command that the user ran with `!` is an answer that no model gave; its call is not the agent's.
- Positions are no bytes here, but milliseconds since the epoch: when the newest answer was complete.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from sidecar.adapters.opencode import wire
from sidecar.adapters.opencode.tools import call, todos
from sidecar.adapters.text import middle_out, plain
from sidecar.model.turn import CallOutcome, Doing, Todo, ToolCall, Turn

PROMPT_LIMIT: Final = 4000
"""Characters of one prompt."""
PROMPTS_LIMIT: Final = 20
CALLS_LIMIT: Final = 400
MESSAGE_LIMIT: Final = 20_000
ARRIVED_LIMIT: Final = 100
ERROR_LIMIT: Final = 500
CONTINUATION: Final = re.compile(r"\[supervisor ([0-9a-f]{6})\]")
ABORTED: Final = "MessageAbortedError"
UNREADABLE: Final = "what the host answered is no list of messages"
GOING_ON: Final = frozenset(("tool-calls", "unknown"))
"""How an answer finishes that is followed by another."""


class Told(Struct, frozen=True):
    """A message, its parts, and what a person wrote in it: "" where nobody did."""

    message: wire.Message
    parts: tuple[wire.Part, ...]
    prompt: str = ""

    @property
    def answers(self) -> bool:
        """Whether the model, or a user's `!` command, wrote it."""
        return self.message.info.role == "assistant"

    @property
    def note(self) -> bool:
        """Whether it holds nothing but what no model reads."""
        return not self.answers and bool(self.parts) and all(part.ignored for part in self.parts)


def read(raw: bytes, counted_to: int = -1) -> Turn:
    """Read the last turn of `raw`, the JSON list of all messages.

    Tokens are those of answers completed after `counted_to`, those of this turn where it is negative. Never
    raises: what is no list of messages is not `readable`.
    """
    found = wire.messages(raw)
    if found is None:
        return Turn(position=max(counted_to, 0), readable=False, unfinished=UNREADABLE)
    told = [_told(message) for message in found]
    begin, end = _bounds(told)
    return _turn(told, begin, end, counted_to)


def complaint(error: wire.Error) -> str:
    """What the host says of an error, in one line."""
    said = wire.decoded(error.data, wire.SAID) or wire.Said()
    text = f"{error.name}: {said.message}" if said.message else error.name
    return " ".join(plain(text).split())[:ERROR_LIMIT]


def covers(raw: bytes, limit: int) -> bool:
    """Whether the newest `limit` messages of a session, which `raw` lists, hold its last turn whole.

    Only an answer before a prompt shows that it opens the turn and did not join it.
    """
    listed = wire.decoded(raw, wire.RAWS) or []
    if len(listed) < limit:
        return True
    told = [_told(message) for message in wire.messages(raw) or []]
    begin, _ = _bounds(told)
    return any(one.answers for one in told[:begin])


def _told(message: wire.Message) -> Told:
    parts = tuple(wire.parts(message))
    return Told(message, parts, _prompt(parts) if message.info.role == "user" else "")


def _prompt(parts: tuple[wire.Part, ...]) -> str:
    """What a person wrote; a file that was handed in shows as its type."""
    lines = []
    for part in parts:
        if part.type == "text" and not part.synthetic and not part.ignored:
            lines.append(part.text)
        elif part.type == "subtask":
            lines.append(part.prompt)
    lines += [f"[{part.type}]" for part in parts if part.type == "file" and not part.synthetic]
    return "\n".join(lines).strip()


def _bounds(told: list[Told]) -> tuple[int, int]:
    """The places of the message that opens the turn and of the first that waits behind it."""
    end = next((at + 1 for at in range(len(told) - 1, -1, -1) if told[at].answers), 0)
    if end == 0:  # nobody answered anything yet
        return next((at for at, one in enumerate(told) if one.prompt), 0), len(told)
    before: Told | None = None
    begin = 0
    for at, one in enumerate(told[:end]):
        if one.prompt and not _joined(before, one):
            begin = at
        before = one if one.answers else before
    return begin, end


def _joined(before: Told | None, prompt: Told) -> bool:
    """Whether this was typed while the answer `before` it grew."""
    if before is None or wire.error(before.message) is not None:
        return False
    grew, asked = wire.time(before.message), wire.time(prompt.message)
    if grew.completed and asked.created:
        return asked.created < grew.completed
    return before.message.info.finish in GOING_ON


def _turn(told: list[Told], begin: int, end: int, counted_to: int) -> Turn:
    turn = told[begin:end]
    prompts = [middle_out(plain(one.prompt), PROMPT_LIMIT) for one in turn if one.prompt]
    answers = [one for one in turn if one.answers and not _shell(one)]
    text, since = _last_text(answers), _since_arrival(turn)
    error = wire.error(answers[-1].message) if answers else None
    return Turn(
        prompts=(*prompts[:1], *prompts[1:][1 - PROMPTS_LIMIT :]),
        prompt_id=next((one.message.info.id for one in turn if one.prompt), ""),
        calls=tuple(call(part) for part in _called(turn)[-CALLS_LIMIT:]),
        last_message=middle_out(plain(text), MESSAGE_LIMIT),
        last_message_id=answers[-1].message.info.id if answers else "",
        arrived=_arrived(
            [one for at, one in enumerate(told[:end]) if at >= begin or _later(one, counted_to)]
        ),
        calls_since_arrival=min(len(_called(since)), CALLS_LIMIT),
        todos=_todos(turn),
        queued=any(one.prompt for one in told[end:]),
        interrupted=error is not None and error.name == ABORTED,
        unfinished=_unfinished(told),
        tokens=_tokens(told, begin, counted_to),
        position=max((_completed(one) for one in told if one.answers), default=max(counted_to, 0)),
    )


def _unfinished(told: list[Told]) -> str:
    """Why the session's rest is not the end of an answer, "" where it is. A note of ours is no message."""
    spoken = [one for one in told if not one.note]
    if not spoken or not spoken[-1].answers:
        return "the newest message is not the agent's"
    newest = spoken[-1].message
    if (error := wire.error(newest)) is not None:
        return complaint(error)
    if _summary(newest):
        return "the session was compacted"
    if newest.info.finish is None or newest.info.finish in GOING_ON or wire.time(newest).completed is None:
        return "the agent was not done: a command of the user's, a refused permission, or a failure"
    return ""


def _summary(message: wire.Message) -> bool:
    return bytes(message.info.summary) == b"true"


def _last_text(answers: list[Told]) -> str:
    """The text of the newest answer that has any. A summary is for the host's own memory."""
    for one in reversed(answers):
        if _summary(one.message):
            continue
        texts = (part.text for part in one.parts if part.type == "text" and not part.synthetic)
        text = "\n".join(texts).strip()
        if text:
            return text
    return ""


def _called(turn: list[Told]) -> list[wire.Part]:
    """The agent's own calls, in order."""
    agents = (one for one in turn if one.answers and not _shell(one))
    return [part for one in agents for part in one.parts if part.type == "tool"]


def _shell(answer: Told) -> bool:
    """Whether the user ran this with `!`: complete, with no finish, no cost and one command."""
    info = answer.message.info
    kinds = [part.tool for part in answer.parts if part.type == "tool"]
    bare = info.finish is None and wire.error(answer.message) is None and not wire.tokens(answer.message)
    spoke = any(part.type in ("text", "reasoning", "step-start") for part in answer.parts)
    return bare and kinds == ["bash"] and not spoke and wire.time(answer.message).completed is not None


def _todos(turn: list[Told]) -> tuple[Todo, ...]:
    """The list as the last call that succeeded left it."""
    tools = [part for one in turn if one.answers for part in one.parts if part.type == "tool"]
    for part in reversed(tools):
        if part.tool == "todowrite" and _succeeded(call(part)):
            return todos(part)
    return ()


def _succeeded(made: ToolCall) -> bool:
    return made.doing is Doing.TODO and made.outcome is CallOutcome.OK


def _arrivals(one: Told) -> list[str]:
    if one.message.info.role != "user":
        return []
    texts = (part.text for part in one.parts if part.type == "text" and part.synthetic)
    found = (CONTINUATION.search(text) for text in texts)
    return [match[1] for match in found if match is not None]


def _arrived(told: list[Told]) -> tuple[str, ...]:
    return tuple(name for one in told for name in _arrivals(one))[-ARRIVED_LIMIT:]


def _since_arrival(turn: list[Told]) -> list[Told]:
    """What came after the last continuation, all of the turn where none came."""
    last = max((at for at, one in enumerate(turn) if _arrivals(one)), default=-1)
    return turn[last + 1 :]


def _later(one: Told, counted_to: int) -> bool:
    return 0 <= counted_to < wire.time(one.message).created


def _completed(one: Told) -> int:
    at = wire.time(one.message)
    return int(at.completed or at.created)


def _tokens(told: list[Told], begin: int, counted_to: int) -> int:
    counted = told[begin:] if counted_to < 0 else [one for one in told if _completed(one) > counted_to]
    return sum(wire.tokens(one.message) for one in counted if one.answers)
