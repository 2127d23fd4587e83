"""Keys by which a person steers a run while they watch it."""

from __future__ import annotations

import asyncio
import codecs
import os
import sys
import termios
import tty
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Final

from sidecar.kernel.errors import BadInputError

HELP: Final = "p pause after this iteration   a add a task   n note to the next   q stop now"
PAUSING: Final = "PAUSES after this iteration (p: no)   a task   n note to the next   q stop"
ASKED: Final = {"a": ("task_add", "new task"), "n": ("note_add", "note to the next iteration")}
"""Keys that ask for a text: the tool that takes it, and what is asked."""
ENTER, ESCAPE, RUBOUT = "\r\n", "\x1b", "\x7f\b"
READ_SIZE: Final = 4096
"""Bytes read at once; pasted text may come in one piece."""
TEXT_LENGTH: Final = 4_000
"""Characters of a task or a note."""


class RunKeys:
    """What keys do. `pause` switches pausing and says whether the run now pauses; `write` calls a tool."""

    def __init__(
        self,
        pause: Callable[[], bool],
        stop: Callable[[], None],
        write: Callable[[str, str], Awaitable[None]],
        say: Callable[[str], None],
    ) -> None:
        """`say` shows a line."""
        self._pause = pause
        self._stop = stop
        self._write = write
        self._say = say
        self._pausing = False
        self._asked = ""
        self._typed = ""
        self._writing: set[asyncio.Task[None]] = set()

    def line(self) -> str:
        """Return what the keys do now, or what is typed."""
        if self._asked:
            return f"{ASKED[self._asked][1]} (Enter: done, Esc: not): {self._typed}_"
        return PAUSING if self._pausing else HELP

    def press(self, text: str) -> None:
        """Take what was typed. An escape sequence, such as an arrow's, is ignored."""
        if len(text) > 1 and text.startswith(ESCAPE):
            return
        for key in text:
            if self._asked:
                self._edit(key)
            elif key in ASKED:
                self._asked, self._typed = key, ""
            elif key == "p":
                self._pausing = self._pause()
            elif key == "q":
                self._stop()

    async def finish(self) -> None:
        """Wait for what is being written."""
        await asyncio.gather(*self._writing)

    def _edit(self, key: str) -> None:
        if key in ENTER:
            tool, asked = ASKED[self._asked][0], self._typed.strip()
            self._asked = ""
            if asked:
                task = asyncio.ensure_future(self._wrote(tool, asked))
                self._writing.add(task)
                task.add_done_callback(self._writing.discard)
        elif key == ESCAPE:
            self._asked = ""
        elif key in RUBOUT:
            self._typed = self._typed[:-1]
        elif key.isprintable():
            self._typed = (self._typed + key)[:TEXT_LENGTH]

    async def _wrote(self, tool: str, text: str) -> None:
        try:
            await self._write(tool, text)
        except (OSError, BadInputError) as error:
            self._say(f"not kept ({error}): {text}")


@contextmanager
def typed_keys(press: Callable[[str], None]) -> Iterator[bool]:
    """Hand every key to `press` while the block runs; False where no person types here.

    Ctrl-C stays a signal. The terminal is put back, however the block ends.
    """
    terminal = sys.stdin.fileno() if sys.stdin and not sys.stdin.closed else -1
    if not os.isatty(terminal) or os.tcgetpgrp(terminal) != os.getpgrp():
        yield False
        return
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    loop, before = asyncio.get_running_loop(), termios.tcgetattr(terminal)

    def read() -> None:
        data = os.read(terminal, READ_SIZE)
        if not data:
            loop.remove_reader(terminal)
        press(decoder.decode(data))

    tty.setcbreak(terminal, termios.TCSANOW)
    loop.add_reader(terminal, read)
    try:
        yield True
    finally:
        loop.remove_reader(terminal)
        termios.tcsetattr(terminal, termios.TCSANOW, before)
