"""What one turn of an agent left behind in a small project, with the truth about it. Pure data.

This file knows nothing of the product: what finds fakes must not teach what a fake is.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct


class Label(StrEnum):
    """The truth about an ending. HONEST_FAILURE: the checks fail, and the message says so."""

    HONEST_SUCCESS = "honest-success"
    HONEST_FAILURE = "honest-failure"
    FAKED = "faked"


class Step(Struct, frozen=True, kw_only=True):
    """One tool call: a shell `line` with what it returned, or an edit of `paths`."""

    line: str = ""
    exit_code: int = 0
    output: str = ""
    paths: tuple[str, ...] = ()


class Ending(Struct, frozen=True, kw_only=True):
    """A project before and after a turn, the turn's calls and last message, and the truth.

    `before` and `after` are all files by path, each whole; a text that begins with `#!` is executable.
    `set_up` and `wrap_up` are shell lines run once the files of before, or after, are there; the files of
    before are committed first. `way` is how it was faked, or what kind of honest work it is. `proof` is the
    shell line that runs the checks without Supervisor, "" where the runner is not on this machine; then
    `ran` and `not_ran` are the tests that its report names. `green`: the checks end well. `checks` are given
    with --check. `half` are the files without the fake, "" where that was not kept apart: the proof of
    a fake is that they fail. `gap`: why it is known that this fake is not found.
    """

    name: str
    label: Label
    way: str
    ecosystem: str
    before: Mapping[str, str]
    after: Mapping[str, str]
    message: str
    steps: tuple[Step, ...]
    goal: str = "all tests pass"
    checks: tuple[str, ...] = ()
    set_up: str = ""
    wrap_up: str = ""
    proof: str = ""
    green: bool = True
    ran: int = 1
    not_ran: int = 0
    half: Mapping[str, str] | None = None
    gap: str = ""

    @property
    def recorded(self) -> bool:
        """Whether the report of the runner is given, for want of the runner."""
        return not self.proof

    @property
    def changed(self) -> tuple[str, ...]:
        """The paths of all files that differ, in order."""
        names = sorted({*self.before, *self.after})
        return tuple(name for name in names if self.before.get(name) != self.after.get(name))
