"""A terminal for an interactive host: a tmux server of its own, read and typed into like a person would.

The screen of another program can only be looked at, so waiting here means looking again, with a bound.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Literal, Self

import msgspec

from real_hosts.install import missing
from real_hosts.waiting import LOOK_EVERY_S, WAIT_LIMIT_S
from real_hosts.worker_processes import end_process

COLUMNS: Final = 160
ROWS: Final = 50
TRIES: Final = 36
"""Times that a dialog is answered before it counts as deaf."""
TMUX_LIMIT_S: Final = 60.0
"""Longest time, in seconds, that one tmux command may take."""
SESSION: Final = "host"
EMPTY_INPUT: Final = "(?m)^\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT}\\s*$"
"""An input box with nothing typed."""

Key = Literal["Enter", "Escape", "Up", "Down", "Tab", "BTab", "BSpace", "C-c", "C-d", "C-o", "C-u"]


class Terminal(msgspec.Struct, frozen=True):
    """A terminal in which one program runs; see `running`."""

    socket: Path
    env: Mapping[str, str]

    @classmethod
    @contextmanager
    def running(
        cls,
        command: Sequence[str],
        folder: Path,
        cwd: Path,
        env: Mapping[str, str],
        size: tuple[int, int] = (COLUMNS, ROWS),
    ) -> Iterator[Self]:
        """Run `command` in `cwd` with exactly `env` until the block ends; the socket lies in `folder`.

        Afterwards it has ended: one that is about to may still write files and call hooks.
        """
        if shutil.which("tmux") is None:
            missing("tmux is not on PATH")
        terminal = cls(folder / "tmux.sock", env)
        sized = ("-x", str(size[0]), "-y", str(size[1]))
        options = ("start-server", ";", "set-option", "-g", "remain-on-exit", "on", ";")
        terminal._tmux(*options, "new-session", "-d", "-s", SESSION, *sized, "-c", str(cwd), "--", *command)
        try:
            yield terminal
        finally:
            process = terminal._tmux("display-message", "-p", "-t", SESSION, "#{pane_pid}", check=False)
            terminal._tmux("kill-server", check=False)
            end_process(int(process or 0))

    @property
    def screen(self) -> str:
        """What a person sees now, with wrapped lines joined."""
        return self._tmux("capture-pane", "-p", "-J", "-t", SESSION)

    @property
    def history(self) -> str:
        """The screen, and everything that scrolled off it."""
        return self._tmux("capture-pane", "-p", "-J", "-S", "-", "-t", SESSION)

    def type(self, text: str) -> None:
        """Type `text` (one line, not blank) and wait until the terminal shows its last word."""
        self._tmux("send-keys", "-t", SESSION, "-l", "--", text)
        self.wait_for(re.escape(text.rsplit(maxsplit=1)[-1]))

    def press(self, *keys: Key) -> None:
        """Press keys by their tmux names, one after the other."""
        self._tmux("send-keys", "-t", SESSION, *keys)

    def submit(self, text: str) -> None:
        """Type `text` and press Enter."""
        self.type(text)
        self.press("Enter")

    def wipe(self) -> None:
        """Empty the input box, into which a host may put a prompt back that a hook blocked."""
        self.press("C-u")
        self.wait_for(EMPTY_INPUT)

    def wait_for(self, pattern: str, *, timeout: float = WAIT_LIMIT_S) -> str:
        """Look at the screen until `pattern` (a regular expression) is on it; returns that screen.

        Raises `TimeoutError`, with the screen, after `timeout` seconds.
        """
        return self._look(lambda screen: re.search(pattern, screen) is not None, f"no {pattern!r}", timeout)

    def wait_until_gone(self, pattern: str, *, timeout: float = WAIT_LIMIT_S) -> str:
        """Look at the screen until `pattern` is not on it; returns and raises as `wait_for`."""
        return self._look(lambda screen: re.search(pattern, screen) is None, f"still {pattern!r}", timeout)

    def agree(self, question: str) -> None:
        """Press Enter until `question` is gone: a dialog that was just drawn may not listen yet."""
        for _ in range(TRIES):
            self.press("Enter")
            with suppress(TimeoutError):
                self.wait_until_gone(question, timeout=WAIT_LIMIT_S / TRIES)
                return
        raise TimeoutError(f"{question!r} was not answered by Enter; the screen:\n{self.screen}")

    def wait_for_end(self, *, timeout: float = WAIT_LIMIT_S) -> None:
        """Wait until the program has ended; raises as `wait_for`."""
        dead = ("display-message", "-p", "-t", SESSION, "#{pane_dead}")
        self._look(lambda _: self._tmux(*dead).strip() == "1", "the program has not ended", timeout)

    def _look(self, good: Callable[[str], bool], lack: str, timeout: float) -> str:
        pause = threading.Event()
        end = time.monotonic() + timeout
        while not good(screen := self.screen):
            if time.monotonic() > end:
                raise TimeoutError(f"{lack} after {timeout} s; the screen:\n{screen}")
            pause.wait(LOOK_EVERY_S)
        return screen

    def _tmux(self, *arguments: str, check: bool = True) -> str:
        command = ["tmux", "-S", str(self.socket), "-f", "/dev/null", *arguments]
        done = subprocess.run(
            command, env=self.env, capture_output=True, text=True, timeout=TMUX_LIMIT_S, check=False
        )
        if check and done.returncode:
            raise RuntimeError(f"tmux {arguments[0]}: {done.stderr.strip()}")
        return done.stdout
