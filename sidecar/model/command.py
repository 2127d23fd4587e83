"""What a shell line really runs, and whether its exit code tells how that ended."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Fate(StrEnum):
    """What becomes of a command's failure."""

    DECIDES = "decides"
    """Where it fails, the line's exit code is not 0."""
    SWALLOWED = "swallowed"
    """It can fail while the line's exit code is 0: `|| true`, `; echo ok`, a pipe into another command."""
    UNKNOWN = "unknown"
    """The line has a form that we do not follow, or does not parse."""


class Run(Struct, frozen=True, kw_only=True):
    """One simple command of a line, in the order in which the shell comes to it.

    `argv` are its words without quotes; a word that only the running shell knows (`$X`, `$(...)`) stands as
    it is written. `assignments` are those before it ("CI=1"). `text` is the command as written. `fate`: see
    Fate. `silenced`: what it says cannot be seen in the result (`>/dev/null`, `2>/dev/null` or a file).
    `conditional`: it may not run at all (after `&&`, `||`, in an `if`). `shadowed`: the line itself defines
    its name anew, as a function, an alias or by PATH. `background`: `&` puts it there. `implied`: the line's
    exit code 0 means that it ran. `blamed`: an exit code other than 0 means that it ran and failed, unless a
    command that only prepares (`cd`, `mkdir`, `echo`) did; both need a line that is followed to its end.
    """

    argv: tuple[str, ...]
    text: str
    assignments: tuple[str, ...] = ()
    fate: Fate = Fate.DECIDES
    silenced: bool = False
    conditional: bool = False
    shadowed: bool = False
    background: bool = False
    implied: bool = False
    blamed: bool = False
