"""Parses a shell line: which commands it really runs, and whether its exit code reveals how they ended.

The fate of a command is DECIDES only if every way in which it can fail ends in a nonzero exit code; `walk`
proves that on the forms that `reading` makes of the line. It is UNKNOWN for what is not followed, and for
every command of a line that does not parse.

Output that goes through a pipe counts as seen, because what `tail`, `grep` or `tee` leave of it is in the
result. Output that is redirected to a file or captured by `$(...)` is silenced, even if the line shows the
file later.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from sidecar.kernel.turn import CommandRun, FailureHandling
from sidecar.platform.shell.wrappers import unwrap_command

if TYPE_CHECKING:
    from sidecar.platform.shell.reading import ShellLineReader


LINE_LIMIT: Final = 8 * 1024
"""Maximum characters of a line that is parsed; a longer one gives no commands."""
HOME_OF_TOOLS: Final = re.compile(
    r"[\"']?(?:\$\{?PATH\}?|(?:\S*/)?(?:\.?venv|\.?env|node_modules/\.bin|\.local|\.cargo|go|\.go|\.bun|\.deno|\.yarn"
    r"|\.poetry|\.pyenv(?:/shims)?|\.rbenv/shims|\.asdf/shims|\.nvm/\S*|homebrew|\.dotnet(?:/tools)?)(?:/s?bin)?"
    r"|/(?:usr/(?:local/)?)?s?bin|/usr/local/go/bin)[\"']?"
)
"""Folders on PATH in which tools are installed."""


@lru_cache(maxsize=512)
def parse_simple_commands(line: str) -> tuple[CommandRun, ...]:
    """The simple commands of a line, at most 50, in the order in which the shell reaches them."""
    if not line.strip() or len(line) > LINE_LIMIT:
        return ()
    # Imported with the first line: the grammar would take a third of a cold start.
    from sidecar.platform.shell.reading import ShellLineReader  # noqa: PLC0415
    from sidecar.platform.shell.walk import command_endings  # noqa: PLC0415

    reader = ShellLineReader()
    form = reader.read(line)
    listed = tuple(reader.runs)
    if reader.redefines:
        return tuple(replace(run, fate=FailureHandling.UNKNOWN, shadowed=True) for run in listed)
    if reader.broken:
        return tuple(replace(run, fate=FailureHandling.UNKNOWN) for run in listed)
    ends = command_endings(form, len(listed))
    return tuple(
        replace(
            run,
            fate=end.fate,
            implied=end.implied,
            blamed=end.blamed,
            shadowed=_is_shadowed(run, reader),
        )
        for run, end in zip(listed, ends, strict=True)
    )


def _is_shadowed(run: CommandRun, reader: ShellLineReader) -> bool:
    """Whether the line itself redefines the command's name."""
    inner = unwrap_command(run.argv)
    names = {*run.argv[:1], *inner[:1]}
    paths = (each.partition("=")[2] for each in (*run.assignments, *reader.paths) if each.startswith("PATH="))
    strange = any(not HOME_OF_TOOLS.fullmatch(part) for path in paths for part in path.split(":") if part)
    by_path = "/" not in (inner or run.argv)[0]
    return bool(names & {*reader.functions, *reader.aliases}) or (strange and by_path)
