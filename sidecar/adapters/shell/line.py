"""Understands a shell line: which commands it really runs, and whether its exit code tells how they ended.

A command DECIDES only where every way on which it fails ends in an exit code other than 0; `walk`
shows that, on the forms that `reading` made of the line. What is not followed is UNKNOWN, a line that
does not parse altogether.

What a command says counts as seen when it goes through a pipe: what `tail`, `grep` or `tee` leave of it is
in the result. Redirected to a file or caught in `$(...)` it is silenced, also where the line shows the file
later.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from sidecar.model.command import Fate, Run
from sidecar.policy.peeling import peeled

if TYPE_CHECKING:
    from sidecar.adapters.shell.reading import Reader

LINE_LIMIT: Final = 8 * 1024
"""Characters of a line that is read; a longer one runs nothing that we know of."""
HOME_OF_TOOLS: Final = re.compile(
    r"[\"']?(?:\$\{?PATH\}?|(?:\S*/)?(?:\.?venv|\.?env|node_modules/\.bin|\.local|\.cargo|go|\.go|\.bun|\.deno|\.yarn"
    r"|\.poetry|\.pyenv(?:/shims)?|\.rbenv/shims|\.asdf/shims|\.nvm/\S*|homebrew|\.dotnet(?:/tools)?)(?:/s?bin)?"
    r"|/(?:usr/(?:local/)?)?s?bin|/usr/local/go/bin)[\"']?"
)
"""Folders on PATH in which tools are installed."""


@lru_cache(maxsize=512)
def runs(line: str) -> tuple[Run, ...]:
    """The simple commands of a line, at most 50, in the order in which the shell comes to them."""
    if not line.strip() or len(line) > LINE_LIMIT:
        return ()
    # The grammar is loaded when the first command is read: it would make up a third of a cold start.
    from sidecar.adapters.shell.reading import Reader  # noqa: PLC0415
    from sidecar.adapters.shell.walk import endings  # noqa: PLC0415

    reader = Reader()
    form = reader.read(line)
    listed = tuple(reader.runs)
    if reader.redefines:
        return tuple(replace(run, fate=Fate.UNKNOWN, shadowed=True) for run in listed)
    if reader.broken:
        return tuple(replace(run, fate=Fate.UNKNOWN) for run in listed)
    ends = endings(form, len(listed))
    return tuple(
        replace(
            run,
            fate=end.fate,
            implied=end.implied,
            blamed=end.blamed,
            shadowed=_shadowed(run, reader),
        )
        for run, end in zip(listed, ends, strict=True)
    )


def _shadowed(run: Run, reader: Reader) -> bool:
    """Whether the line says itself what the name stands for."""
    inner = peeled(run.argv)
    names = {*run.argv[:1], *inner[:1]}
    paths = (each.partition("=")[2] for each in (*run.assignments, *reader.paths) if each.startswith("PATH="))
    strange = any(not HOME_OF_TOOLS.fullmatch(part) for path in paths for part in path.split(":") if part)
    by_path = "/" not in (inner or run.argv)[0]
    return bool(names & {*reader.functions, *reader.aliases}) or (strange and by_path)
