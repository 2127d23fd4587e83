"""One line of a transcript, as far as we read it.

Rules of this file:

- A line counts by its `type` alone: newer hosts write copies of whole API messages beside the real ones.
- What does not decode is left out by itself: a line, or one content block of it. Hosts add types freely.
"""

from __future__ import annotations

import re
from typing import Final, TypeVar

import msgspec

from sidecar.adapters.text import mended

Wanted = TypeVar("Wanted")

NOTHING: Final = msgspec.Raw(b"null")
ARTEFACTS: Final = (
    "<local-command-",
    "<bash-",
    "<task-notification>",
    "[Request interrupted by user",
    "The user doesn't want to take this action right now.",
)
"""How user lines begin that no person wrote as a prompt."""
INTERRUPTED: Final = ARTEFACTS[-2:]
LOCAL: Final = "<command-name>"
"""How commands begin that the host carries out itself. A command for the model names its message first."""
NATIVE_GOAL: Final = "<command-name>/goal</command-name>"
"""The one command of the host's own after which the model works."""
COMMAND: Final = re.compile(r"<command-name>(.*?)</command-name>", re.DOTALL)
ARGUMENTS: Final = re.compile(r"<command-args>(.*)</command-args>", re.DOTALL)


class Origin(msgspec.Struct, frozen=True):
    """Who wrote a prompt: human, task-notification, peer, ..."""

    kind: str = "human"


class Usage(msgspec.Struct, frozen=True):
    """Tokens of one request to the model; what came from the cache is left out."""

    input_tokens: int | None = 0
    cache_creation_input_tokens: int | None = 0
    output_tokens: int | None = 0

    @property
    def total(self) -> int:
        """Uncached input plus output."""
        return sum(
            part or 0 for part in (self.input_tokens, self.cache_creation_input_tokens, self.output_tokens)
        )


class Message(msgspec.Struct, frozen=True):
    """`content` is a string or a list of blocks. The host writes one line per block, all with this `id`."""

    id: str = ""
    content: msgspec.Raw = NOTHING
    usage: Usage | None = None


class Block(msgspec.Struct, frozen=True):
    """A content block of any type: text, tool_use, tool_result, thinking, image, ..."""

    type: str = ""
    text: str = ""
    id: str = ""
    name: str = ""
    input: msgspec.Raw = NOTHING
    tool_use_id: str = ""
    content: msgspec.Raw = NOTHING
    is_error: bool | None = False


class Attachment(msgspec.Struct, frozen=True, rename="camel"):
    """What the host adds to a conversation. `content` is a string or a list of strings where it is text."""

    type: str = ""
    content: msgspec.Raw = NOTHING
    hook_event: str = ""
    prompt: msgspec.Raw = NOTHING
    command_mode: str = "prompt"
    origin: Origin | None = None
    met: bool = False
    failed: bool = False
    condition: str = ""


class Line(msgspec.Struct, frozen=True, rename="camel"):
    """Any line. `content` is that of a queue operation."""

    type: str
    uuid: str = ""
    parent_uuid: str | None = None
    is_sidechain: bool | None = False
    is_meta: bool | None = False
    is_compact_summary: bool | None = False
    is_visible_in_transcript_only: bool | None = False
    prompt_id: str | None = None
    prompt_source: str | None = None
    origin: Origin | None = None
    message: Message | None = None
    attachment: msgspec.Raw = NOTHING
    tool_use_result: msgspec.Raw = NOTHING
    operation: str = ""
    content: msgspec.Raw = NOTHING


LINES: Final = msgspec.json.Decoder(Line)
ATTACHMENTS: Final = msgspec.json.Decoder(Attachment)
TEXTS: Final[msgspec.json.Decoder[str | list[str]]] = msgspec.json.Decoder(str | list[str])
BLOCKS: Final = msgspec.json.Decoder(list[Block])
BLOCK: Final = msgspec.json.Decoder(Block)
RAWS: Final = msgspec.json.Decoder(list[msgspec.Raw])


def decoded(raw: bytes | msgspec.Raw, decoder: msgspec.json.Decoder[Wanted]) -> Wanted | None:
    """Decode what was written by a host; None where it is something else."""
    try:
        return decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def read_line(raw: bytes) -> Line | None:
    """Decode a whole line, mending half characters; None where it is no line of a transcript."""
    line = decoded(raw, LINES)
    return line if line is not None else decoded(mended(raw), LINES)


def texts(raw: msgspec.Raw) -> list[str]:
    """Read a string or a list of strings; nothing where it is neither."""
    found = decoded(raw, TEXTS)
    return [found] if isinstance(found, str) else found or []


def blocks(raw: msgspec.Raw) -> list[Block]:
    """Read content blocks; a string is one block of text, a block that does not decode is left out."""
    if bytes(memoryview(raw)[:1]) == b'"':
        return [Block(type="text", text=text) for text in texts(raw)]
    found = decoded(raw, BLOCKS)
    if found is not None:
        return found
    one_by_one = (decoded(part, BLOCK) for part in decoded(raw, RAWS) or [])
    return [block for block in one_by_one if block is not None]


def written(found: list[Block]) -> str:
    """Join the text of blocks, as the host does; other blocks show as their type."""
    shown = (block.text if block.type == "text" else f"[{block.type}]" for block in found)
    return "\n".join(shown).strip()


def prompt(line: Line, found: list[Block]) -> str | None:
    """Return what a person asked in this user line, None where no person asked."""
    if line.is_meta or line.is_compact_summary or line.is_visible_in_transcript_only:
        return None
    if line.origin is not None and line.origin.kind != "human":
        return None
    if not found or any(block.type == "tool_result" for block in found):
        return None
    text = written(found)
    if text.startswith(ARTEFACTS) or (text.startswith(LOCAL) and not text.startswith(NATIVE_GOAL)):
        return None
    return _typed(text)


def opens_turn(raw: bytes) -> bool:
    """Whether this line is a prompt of a person."""
    line = read_line(raw) if b'"user"' in raw else None
    if line is None or line.type != "user" or line.is_sidechain or line.message is None:
        return False
    return prompt(line, blocks(line.message.content)) is not None


def _typed(text: str) -> str:
    """A slash command as it was typed."""
    command = COMMAND.search(text) if text.startswith(("<command-message>", LOCAL)) else None
    if command is None:
        return text
    arguments = ARGUMENTS.search(text)
    return f"{command[1]} {arguments[1] if arguments else ''}".strip()
