"""What a forge, whichever it is, says of a commit, and the outcome that follows. See `forge` for the laws."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

from sidecar.model.gate import Outcome

LINE: Final = 300
"""Characters of a line that is repeated."""
SHORT: Final = 9
"""Characters of a commit's name that people are shown."""
NAMED: Final = 10
"""Checks that a reason names."""


class Checkout(Struct, frozen=True, kw_only=True):
    """The commit checked out. `branch` is "" on a detached head. `changed`: tracked files that differ."""

    head: str
    branch: str = ""
    changed: tuple[str, ...] = ()

    @property
    def short(self) -> str:
        """The commit for people."""
        return self.head[:SHORT]


class Finding(Struct, frozen=True, kw_only=True):
    """An outcome. `reason` says why it could not run; `failures` what failed; `text` is for people."""

    outcome: Outcome
    reason: str = ""
    failures: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()
    text: str = ""


class State(StrEnum):
    """How one check stands."""

    PASSED = "passed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    PENDING = "pending"
    SKIPPED = "skipped"
    UNKNOWN = "unknown"


class Check(Struct, frozen=True, kw_only=True):
    """One check of a commit."""

    name: str
    state: State
    link: str = ""


class Request(Struct, frozen=True, kw_only=True):
    """A pull request or merge request. `sign` is how people write it: "#12", "!12"."""

    sign: str
    open: bool
    merged: bool
    head: str
    url: str
    notes: tuple[str, ...] = ()


def unknown(reason: str) -> Finding:
    """It could not be found out."""
    return Finding(outcome=Outcome.COULD_NOT_RUN, reason=one_line(reason))


def request_found(request: Request, here: Checkout) -> Finding:
    """It holds where the request is open or merged and has the commit checked out as its head."""
    state = "open" if request.open else "merged" if request.merged else "closed"
    text = one_line(", ".join((f"{request.sign} is {state}", *request.notes, request.url)))
    if state == "closed":
        return _failed(f"{request.sign} was closed without being merged: {request.url}")
    if not request.head:
        return unknown(f"{request.sign} names no commit")
    if request.head != here.head:
        theirs = request.head[:SHORT]
        return _failed(
            f"{request.sign} ends at {theirs}, checked out is {here.short}: not pushed, or not pulled"
        )
    return Finding(outcome=Outcome.PASSED, text=text)


def no_request(here: Checkout) -> Finding:
    """There is none."""
    return _failed(f"there is no pull request of the branch {here.branch or '(none)'}")


def _failed(failure: str) -> Finding:
    said = one_line(failure)
    return Finding(outcome=Outcome.FAILED, failures=(said,), failing=(said,), text=said)


def weighed(checks: Sequence[Check], here: Checkout) -> Finding:
    """What all checks of the commit say together. A failure decides, whatever else has not ended.

    Then all must have ended well, and at least one must have run.
    """
    text = "\n".join(one_line(f"{check.state}: {check.name} {check.link}") for check in checks)
    if bad := [check for check in checks if check.state is State.FAILED]:
        return Finding(
            outcome=Outcome.FAILED,
            failures=tuple(one_line(f"{check.name} {check.link}") for check in bad),
            failing=tuple(one_line(check.name) for check in bad),
            text=text,
        )
    for state, said in DOUBTS.items():
        if names := [check.name for check in checks if check.state is state]:
            more = ", ..." if len(names) > NAMED else ""
            return unknown(f"{said}: {', '.join(names[:NAMED])}{more}")
    if not any(check.state is State.PASSED for check in checks):
        return unknown(f"no check has run on {here.short}" + (": all were skipped" if checks else ""))
    return Finding(outcome=Outcome.PASSED, text=text)


DOUBTS: Final = {
    State.PENDING: "CI has not finished",
    State.CANCELLED: "CI was cancelled",
    State.UNKNOWN: "it is not known how these ended",
}
"""States that leave it open, and what is said then; the first decides."""


def one_line(text: str) -> str:
    """A text for the middle of a sentence."""
    return " ".join("".join(char if char.isprintable() else " " for char in text[: 4 * LINE]).split())[:LINE]
