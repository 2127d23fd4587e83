"""Input of the language server: messages read ahead, features of the client, and work in threads.

All available input is taken at once, so the main loop sees every message that has arrived before it does
anything that can wait (see server.py). Stdin is read when it is readable but stays in blocking mode, as
non-blocking mode would affect all processes that share it.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final, TypeVar

from lsprotocol import types
from msgspec import Struct

READ_BYTES: Final = 1 << 20
"""Maximum size in bytes of one read; a pipe returns 64 KiB at a time."""


def read_ahead(fd: int) -> asyncio.StreamReader:
    """Return a reader of the input for the running event loop."""
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()

    def take() -> bool:
        if chunk := _read_chunk(fd):
            reader.feed_data(chunk)
            return True
        loop.remove_reader(fd)
        reader.feed_eof()
        return False

    try:
        loop.add_reader(fd, take)
    except PermissionError:  # a regular file, which is always readable
        while take():
            pass
    return reader


def _read_chunk(fd: int) -> bytes:
    """Return the next bytes; empty at the end or if reading fails."""
    try:
        return os.read(fd, READ_BYTES)
    except OSError:
        return b""


# --- features of the client ---------------------------------------------------------------------------------


class ClientFeatures(Struct, frozen=True, kw_only=True):
    """Features that the client supports; each is off unless the client declares it.

    `asks`: it requests diagnostics; none are pushed to it then, as editors would show both.
    """

    asks: bool = False
    asks_again: bool = False
    """It requests diagnostics again when told to."""
    related: bool = False
    data: bool = False
    markdown: bool = False
    nested_symbols: bool = False
    literal_actions: bool = False
    versioned_edits: bool = False
    lenses_again: bool = False
    folds: int | None = None
    """Maximum number of folding ranges that it wants."""


def read_client_features(client: types.ClientCapabilities) -> ClientFeatures:
    """Return the features that a client declared when it connected."""
    text = client.text_document or types.TextDocumentClientCapabilities()
    space = client.workspace or types.WorkspaceClientCapabilities()
    shown = text.diagnostic or text.publish_diagnostics
    formats = text.hover.content_format if text.hover else None
    return ClientFeatures(
        asks=text.diagnostic is not None,
        asks_again=bool(space.diagnostics and space.diagnostics.refresh_support),
        related=bool(shown and shown.related_information),
        data=bool(shown and shown.data_support),
        markdown=types.MarkupKind.Markdown in (formats or ()),
        nested_symbols=bool(
            text.document_symbol and text.document_symbol.hierarchical_document_symbol_support
        ),
        literal_actions=bool(text.code_action and text.code_action.code_action_literal_support),
        versioned_edits=bool(space.workspace_edit and space.workspace_edit.document_changes),
        lenses_again=bool(space.code_lens and space.code_lens.refresh_support),
        folds=text.folding_range.range_limit if text.folding_range else None,
    )


# --- slow work in a thread ----------------------------------------------------------------------------------


T = TypeVar("T")


def run_in_thread(work: Callable[[], T]) -> asyncio.Future[T]:
    """Return a future of what `work` returns or raises. The thread does not keep the process alive."""
    ran: Future[T] = Future()
    ran.set_running_or_notify_cancel()

    def run() -> None:
        try:
            ran.set_result(work())
        except Exception as error:  # noqa: BLE001 - whoever waits gets it
            ran.set_exception(error)

    threading.Thread(target=run, name="aside", daemon=True).start()
    return asyncio.wrap_future(ran)
