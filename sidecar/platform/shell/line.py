"""Parses a shell line: which commands it runs, and whether its exit code reveals how they ended.

Output that goes through a pipe counts as seen, because what `tail`, `grep` or `tee` leave of it is in the
result. Output that is redirected to a file or captured by `$(...)` is silenced, even if the line shows the
file later.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sidecar.kernel.turn import CommandRun

LINE_LIMIT: Final = 8 * 1024
"""Maximum characters of a line that is parsed; a longer one gives no commands."""


@lru_cache(maxsize=512)
def parse_simple_commands(line: str) -> tuple[CommandRun, ...]:
    """The simple commands of a line, at most 50, in the order in which the shell reaches them."""
    if not line.strip() or len(line) > LINE_LIMIT:
        return ()
    # Imported with the first line: the grammar would take a third of a cold start.
    from sidecar.platform.shell.reading import ShellLineReader  # noqa: PLC0415

    return ShellLineReader().read(line)
