"""Judged stops that are kept, what another rubric makes of them, and what they tell of a criterion."""

from __future__ import annotations

from msgspec import Struct

from sidecar.model.events import Fact
from sidecar.model.inquiry import Inquiry


class Heard(Struct, frozen=True):
    """A fact that policy was told, and when, in seconds since the epoch."""

    at: float
    fact: Fact


class KeptStop(Struct, frozen=True, kw_only=True):
    """One judged stop, with all that is needed to play it again.

    `at` is when it was over, in seconds since the epoch. `inquiry` is what policy knew before it was told
    anything, without the session's environment, `heard` what it was told then, in order. `ended` is
    "continue" or a Reason, `detail` why, in one line, `stage` where it was decided, `rule` which rule decided
    or was suspicious.
    """

    at: float
    project: str
    inquiry: Inquiry
    heard: tuple[Heard, ...]
    ended: str
    stage: str
    detail: str = ""
    rule: str = ""


class Recalled(Struct, frozen=True):
    """Kept stops, the newest last, and in one line each why others could not be read."""

    stops: tuple[KeptStop, ...] = ()
    problems: tuple[str, ...] = ()


class Replayed(Struct, frozen=True, kw_only=True):
    """What became of one kept stop under another rubric.

    `at`, `host` and `session` say which stop it is; `before` is how it ended, `now` how it ends, "continue"
    or a Reason, `detail` why. `other_case`: the judge would see another case than it saw. `asks`: how it ends
    cannot be told without asking a model; `now` is what the answer from then would lead to. `failed`: a model
    was asked, and gave no verdict.
    """

    at: float
    host: str
    session: str
    before: str
    now: str
    detail: str = ""
    other_case: bool = False
    asks: bool = False
    failed: str = ""

    @property
    def changed(self) -> bool:
        """Whether it is known to end otherwise."""
        return not self.asks and self.now != self.before


class Fired(Struct, frozen=True):
    """At how many of so many stops a criterion spoke, and when it did last, in seconds since the epoch."""

    times: int = 0
    stops: int = 0
    last: float | None = None


class Measured(Struct, frozen=True, kw_only=True):
    """How often it was right to send an agent back for a criterion, on stops of which the truth is known.

    `on` is the day (UTC, "2026-11-22"), `by` the backend, `rubric` the digest of the rubric.
    """

    right: int
    of: int
    on: str
    by: str
    rubric: str


class History(Struct, frozen=True, kw_only=True):
    """What is known of one criterion in one project.

    It spoke at `fired` of the last `stops` stops, and `last` then (seconds since the epoch). When it was
    measured on the day `measured_on` with the backend `measured_by`, sending back was right `measured_right`
    of `measured_of` times; `measured_of` is 0 where it never was.
    """

    fired: int = 0
    stops: int = 0
    last: float | None = None
    measured_right: int = 0
    measured_of: int = 0
    measured_on: str = ""
    measured_by: str = ""
