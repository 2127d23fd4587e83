"""What systems of headless agents share, and what they ask of the laws of a stop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from sidecar.evidence.ports import EvidenceServices, GateContext, HearGates
from sidecar.kernel.gate import GateRun
from sidecar.kernel.work import WorkClaim, WorkVerdict
from sidecar.rubric.texts import Texts
from sidecar.workers.ports import Workers


class WorkJudge(Protocol):
    """Finds out whether work is done."""

    async def look_before(self, claim: WorkClaim, hear: HearGates | None = None) -> tuple[GateRun, ...]:
        """Run the gates that must pass on the files of the beginning; none where somebody worked already."""

    async def judge(
        self, claim: WorkClaim, hear: HearGates | None = None, origin: GateContext | None = None
    ) -> WorkVerdict:
        """Look at the files, run the checks, and judge by them. Cancelling ends what runs. Raises OSError.

        `origin`: of what the claim's project is a copy.
        """


@dataclass(frozen=True, kw_only=True)
class HeadlessServices:
    """What each of these systems uses: what all systems share, its own words, and workers."""

    shared: EvidenceServices
    texts: Texts
    workers: Workers
