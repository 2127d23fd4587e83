"""Decodes lines of a transcript, as far as we use them, and reads them from a growing file.

Rules of this file:

- Only a line's `type` decides what it is: newer hosts write copies of whole API messages beside the real
  ones.
- What does not decode is left out by itself: a line, or one content block of it. Hosts add types freely.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from sidecar.hosts.shared import decode_each, try_decode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


NOTHING: Final = msgspec.Raw(b"null")
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


def opens_turn(raw: bytes) -> bool:
    """Return whether this line is a person's prompt."""
    line = read_transcript_line(raw) if b'"user"' in raw else None
    if line is None or line.type != "user" or line.is_sidechain or line.message is None:
        return False
    return human_prompt_text(line, read_content_blocks(line.message.content)) is not None


def _typed_command(text: str) -> str:
    """Return a slash command as it was typed, any other text unchanged."""
    command = COMMAND.search(text) if text.startswith(("<command-message>", LOCAL_COMMAND_PREFIX)) else None
    if command is None:
        return text
    arguments = ARGUMENTS.search(text)
    return f"{command[1]} {arguments[1] if arguments else ''}".strip()


# --- Reading a file to which another process appends lines --------------------------------------------------
# Reads at offsets, and only from regular files.


CHUNK: Final = 1024 * 1024
"""Bytes of one read."""
LINE_LIMIT: Final = 8 * 1024 * 1024
"""Bytes of the longest line that is decoded; a longer one is skipped."""
FLAGS: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


class TranscriptFile(msgspec.Struct, frozen=True):
    """An open file with the size and identity it had when it was opened."""

    fd: int
    size: int
    identity: tuple[int, int]

    def read(self, start: int, end: int) -> bytes:
        """Read the bytes from `start` up to `end`; fewer where the file has become shorter."""
        return b"".join(self.chunks(start, end))

    def chunks(self, start: int, end: int) -> Iterator[bytes]:
        """Read the same bytes piece by piece."""
        while start < end and (part := os.pread(self.fd, min(end - start, CHUNK), start)):
            yield part
            start += len(part)


class RawLine(msgspec.Struct, frozen=True):
    """A complete line: its start, the start of the next one, and its bytes without the line feed."""

    start: int
    end: int
    data: bytes


@contextmanager
def open_transcript(path: str) -> Iterator[TranscriptFile | None]:
    """Open `path`; None if it is not absolute, missing, not readable or not a regular file."""
    try:
        fd = os.open(path, FLAGS) if path.startswith("/") else -1
    except (OSError, ValueError):
        fd = -1
    try:
        yield _file_from_descriptor(fd)
    finally:
        if fd >= 0:
            os.close(fd)


def regular_file_size(path: str) -> int:
    """Return the present size of a regular file in bytes, 0 for anything else."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def split_complete_lines(chunks: Iterable[bytes], start: int) -> Iterator[RawLine]:
    """Split into complete lines; what follows the last line feed is ignored.

    `start` is the offset at which the first line begins.
    """
    parts: list[bytes] = []
    end = start
    for chunk in chunks:
        begin = 0
        while (feed := chunk.find(b"\n", begin)) >= 0:
            end += feed + 1 - begin
            parts.append(chunk[begin:feed])
            yield RawLine(start, end, b"".join(parts) if end - start <= LINE_LIMIT else b"")
            parts, start, begin = [], end, feed + 1
        end += len(chunk) - begin
        if end - start <= LINE_LIMIT:
            parts.append(chunk[begin:])
        else:
            parts.clear()


def _file_from_descriptor(fd: int) -> TranscriptFile | None:
    if fd < 0:
        return None
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        return None
    return TranscriptFile(fd, status.st_size, (status.st_dev, status.st_ino))
