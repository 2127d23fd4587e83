"""Decodes lines of Claude Code's transcript, as far as we use them.

Rules of this file:

- Only a line's `type` decides what it is: newer hosts write copies of whole API messages beside the real
  ones.
- What does not decode is left out by itself: a line, or one content block of it. Hosts add types freely.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

import msgspec

from sidecar.hosts.shared import NOTHING, decode_each, try_decode

ARTEFACT_PREFIXES: Final = (
    "<local-command-",
    "<bash-",
    "<task-notification>",
    "[Request interrupted by user",
    "The user doesn't want to take this action right now.",
)
"""How user lines begin that no person wrote as a prompt."""
INTERRUPTED: Final = ARTEFACT_PREFIXES[-2:]
LOCAL_COMMAND_PREFIX: Final = "<command-name>"
"""How commands begin that the host carries out itself.

A command for the model names its message first.
"""
LOCAL_PREFIXES: Final = (LOCAL_COMMAND_PREFIX, *ARTEFACT_PREFIXES[:2])
"""How user lines begin that set no model to work."""
NATIVE_GOAL: Final = "<command-name>/goal</command-name>"
"""The only command of the host's own that makes the model work."""
COMMAND: Final = re.compile(r"<command-name>(.*?)</command-name>", re.DOTALL)
ARGUMENTS: Final = re.compile(r"<command-args>(.*)</command-args>", re.DOTALL)


class PromptOrigin(msgspec.Struct, frozen=True):
    """Who wrote a prompt: human, task-notification, peer, ..."""

    kind: str = "human"


class RequestUsage(msgspec.Struct, frozen=True):
    """Tokens of one request to the model, without those read from the cache."""

    input_tokens: int | None = 0
    cache_creation_input_tokens: int | None = 0
    output_tokens: int | None = 0

    @property
    def total(self) -> int:
        """Uncached input plus output."""
        return sum(
            part or 0 for part in (self.input_tokens, self.cache_creation_input_tokens, self.output_tokens)
        )


class TranscriptMessage(msgspec.Struct, frozen=True):
    """A message. `content` is a string or a list of blocks.

    The host writes one line per block, all with the same `id`.
    """

    id: str = ""
    content: msgspec.Raw = NOTHING
    usage: RequestUsage | None = None
    stop_reason: str | None = None


class ContentBlock(msgspec.Struct, frozen=True):
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
    """What the host adds to a conversation. Text in `content` is a string or a list of strings."""

    type: str = ""
    content: msgspec.Raw = NOTHING
    hook_event: str = ""
    prompt: msgspec.Raw = NOTHING
    command_mode: str = "prompt"
    origin: PromptOrigin | None = None
    met: bool = False
    failed: bool = False
    condition: str = ""


class TranscriptLine(msgspec.Struct, frozen=True, rename="camel"):
    """Any line. `content` is that of a queue operation."""

    type: str
    timestamp: datetime | None = None
    uuid: str = ""
    parent_uuid: str | None = None
    is_sidechain: bool | None = False
    is_meta: bool | None = False
    is_compact_summary: bool | None = False
    is_visible_in_transcript_only: bool | None = False
    prompt_id: str | None = None
    prompt_source: str | None = None
    origin: PromptOrigin | None = None
    message: TranscriptMessage | None = None
    attachment: msgspec.Raw = NOTHING
    tool_use_result: msgspec.Raw = NOTHING
    operation: str = ""
    content: msgspec.Raw = NOTHING


def read_transcript_line(raw: bytes) -> TranscriptLine | None:
    """Decode a whole line, replacing lone surrogates; None if it is no line of a transcript."""
    return try_decode(raw, TranscriptLine)


def read_texts(raw: msgspec.Raw) -> list[str]:
    """Decode a string or a list of strings; an empty list if it is neither."""
    one = try_decode(raw, str)
    return [one] if one is not None else try_decode(raw, list[str]) or []


def read_content_blocks(raw: msgspec.Raw) -> list[ContentBlock]:
    """Decode content blocks; a string is one text block, a block that does not decode is left out."""
    if bytes(memoryview(raw)[:1]) == b'"':
        return [ContentBlock(type="text", text=text) for text in read_texts(raw)]
    return list(filter(None, decode_each(raw, tuple[ContentBlock, ...], ContentBlock) or ()))


def join_block_text(found: list[ContentBlock]) -> str:
    """Join the text of blocks, as the host does; other blocks are shown as their type."""
    shown = (block.text if block.type == "text" else f"[{block.type}]" for block in found)
    return "\n".join(shown).strip()


def human_prompt_text(line: TranscriptLine, found: list[ContentBlock]) -> str | None:
    """Return what a person asked in this user line, None if no person asked anything."""
    if line.is_meta or line.is_compact_summary or line.is_visible_in_transcript_only:
        return None
    if line.origin is not None and line.origin.kind != "human":
        return None
    if not found or any(block.type == "tool_result" for block in found):
        return None
    text = join_block_text(found)
    if text.startswith(ARTEFACT_PREFIXES) or (
        text.startswith(LOCAL_COMMAND_PREFIX) and not text.startswith(NATIVE_GOAL)
    ):
        return None
    return _typed_command(text)


def _typed_command(text: str) -> str:
    """Return a slash command as it was typed, any other text unchanged."""
    command = COMMAND.search(text) if text.startswith(("<command-message>", LOCAL_COMMAND_PREFIX)) else None
    if command is None:
        return text
    arguments = ARGUMENTS.search(text)
    return f"{command[1]} {arguments[1] if arguments else ''}".strip()
