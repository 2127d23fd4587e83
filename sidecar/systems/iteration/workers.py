"""Claims of a session's agents, kept in the journal: the one place that all of them see."""

from __future__ import annotations

from sidecar.kernel.runs import RUN_HOST, WorkerAnswer, WorkerChange
from sidecar.kernel.session import SessionKey
from sidecar.platform.ports import Clock
from sidecar.systems.iteration.journals import SessionJournals
from sidecar.systems.iteration.policy.claims import renew_claims, settle_worker, start_worker


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
