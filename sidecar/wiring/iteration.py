"""Builds the socket methods of the iteration system."""

from __future__ import annotations

from typing import Final

import msgspec

from sidecar.hosts.names import checked_session_id
from sidecar.kernel.gate import Outcome
from sidecar.kernel.runs import RUN_HOST, CheckRun, RunStatusQuery, WorkerChange
from sidecar.kernel.session import SessionKey
from sidecar.kernel.text import last_characters
from sidecar.servers.connection import struct_handler
from sidecar.servers.control import Methods
from sidecar.servers.run_status import RunStatusReader
from sidecar.systems.iteration.journals import RunChecks, RunNote, SessionJournals
from sidecar.systems.supervision.gate_requests import SessionChecks
from sidecar.systems.supervision.ports import Services

CHECK_OUTPUT_LENGTH: Final = 600
"""Characters of a failing check's output that a refused merge is told with, from its end."""


def iteration_methods(services: Services, journals: SessionJournals, checks: SessionChecks) -> Methods:
    """Build its methods of the socket, by name."""
    statuses = RunStatusReader(services, journals)

    async def run_status(look: RunStatusQuery) -> bytes:
        return msgspec.json.encode(statuses.of(look))

    async def run_note(note: RunNote) -> bytes:
        key = SessionKey(RUN_HOST, checked_session_id(note.session))
        journals.note(key, note.event, note.project)
        return b"null"

    async def run_workers(change: WorkerChange) -> bytes:
        from sidecar.systems.iteration.workers import change_workers  # noqa: PLC0415 - `run --jobs` alone needs it

        return msgspec.json.encode(change_workers(journals, services.clock, change))

    async def run_checks(trial: RunChecks) -> bytes:
        session = services.store.load(SessionKey(RUN_HOST, checked_session_id(trial.session)))
        if session is None:
            return b"[]"
        runs = await checks.run_elsewhere(session, trial.folder, trial.environment, trial.only)
        return msgspec.json.encode(
            [
                CheckRun(
                    id=run.gate.id,
                    command=run.gate.command,
                    passed=run.outcome is Outcome.PASSED,
                    why=run.reason or last_characters(run.output, CHECK_OUTPUT_LENGTH),
                )
                for run in runs
            ]
        )

    return {
        "run_checks": struct_handler(RunChecks, run_checks),
        "run_workers": struct_handler(WorkerChange, run_workers),
        "run_note": struct_handler(RunNote, run_note),
        "run_status": struct_handler(RunStatusQuery, run_status),
    }
