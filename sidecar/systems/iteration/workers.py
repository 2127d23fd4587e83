"""Claims of a session's agents, kept in the journal: the one place that all of them see."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from sidecar.kernel.runs import RUN_HOST, StartedWorker
from sidecar.kernel.session import SessionKey
from sidecar.platform.ports import Clock
from sidecar.systems.iteration.journals import SessionJournals
from sidecar.systems.iteration.policy.claims import renew_claims, settle_worker, start_worker


class WorkerChange(Struct, frozen=True, kw_only=True):
    """A change of claims. `at_work`: the agents of the run that asks.

    "start" another agent on this `machine`, if one may begin; `planning`: one without a task is at work.
    "renew" the claims of those at work. "settle" `worker`, whose work was merged, or not, for the reason
    `refused`.
    """

    session: str
    do: Literal["start", "renew", "settle"]
    at_work: tuple[int, ...] = ()
    planning: bool = False
    machine: str = ""
    worker: int = 0
    refused: str = ""


class WorkerAnswer(Struct, frozen=True):
    """The answer to a change: the agent that may begin, None for none."""

    started: StartedWorker | None = None


def change_workers(journals: SessionJournals, clock: Clock, asked: WorkerChange) -> WorkerAnswer:
    """Carry out a change. Raises JournalError, OSError, BadInputError."""
    key, now = SessionKey(RUN_HOST, asked.session), clock.now()
    if asked.do == "start":
        return WorkerAnswer(
            journals.change(
                key,
                lambda journal: start_worker(
                    journal, now, asked.at_work, planning=asked.planning, machine=asked.machine
                ),
            )
        )
    journals.change(
        key,
        lambda journal: (
            renew_claims(journal, now, asked.at_work)
            if asked.do == "renew"
            else settle_worker(journal, asked.worker, now, asked.refused),
            None,
        ),
        quietly=asked.do == "renew",
    )
    return WorkerAnswer()
