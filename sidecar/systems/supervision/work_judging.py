"""Judges a piece of work of another system as the stop of an agent with that goal.

What was red when the work began is not the work's: where a required check fails that nobody saw then, it is
run on the files of the beginning, and only if it passed there does its failure count.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from sidecar.evidence.gates.policy import (
    bears_on_goal,
    build_gate_baseline,
    new_gate_failures,
    required_gates,
    runnable_gates,
)
from sidecar.evidence.ports import GateCatalog, GateContext, GateProgressCallback, GateRunner, HearGates
from sidecar.evidence.proof.policy import describe_findings
from sidecar.kernel.effects import Continue, Inquiry, Rest, RestReason, Ruling
from sidecar.kernel.events import NO_RUBRIC, AgentStopped, ProjectState
from sidecar.kernel.evidence import CheckChange
from sidecar.kernel.gate import AvailableGates, Gate, GateOrigin, GateRun, Outcome
from sidecar.kernel.goal import GateBaseline, Goal
from sidecar.kernel.masking import mask_gate_run, mask_ruling
from sidecar.kernel.session import MAX_CONTINUATIONS, Environment, Session, SessionKey
from sidecar.kernel.turn import Turn
from sidecar.kernel.work import Standing, WorkClaim, WorkVerdict
from sidecar.systems.supervision.ports import Services
from sidecar.systems.supervision.stop_loop import build_lone_loop

TASK_HOST: Final = "task"
"""The host of the sessions by which work is judged; it has no journal, and is never saved."""
ENDINGS: Final[Mapping[RestReason, Standing]] = {
    RestReason.ACHIEVED: Standing.PROVED,
    RestReason.JUDGED: Standing.JUDGED,
    RestReason.UNVERIFIED: Standing.HELD,
    RestReason.IMPOSSIBLE: Standing.HELD,
    RestReason.WAITING: Standing.OPEN,
}
"""How work stands after a rest; after any other, nobody judged it."""
NOTHING_CHANGED: Final = "nothing changed, and nothing shows that it was done before"
NOBODY_ANSWERS: Final = "Nobody answers here. Decide it by what the task says, or say what stands in the way."


class ToldTurn:
    """Implements hosts.ports.Transcripts with what an agent says of its work."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn

    async def read(self, stop: AgentStopped, counted_to: int) -> Turn:  # noqa: ARG002 - the port's
        return self._turn

    def position(self, event: object) -> int:  # noqa: ARG002 - the port's
        return 0

    def unanswered(self, key: object, transcript: str = "", *, but: str = "") -> bool:  # noqa: ARG002 - the port's
        return False

    def ended(self, key: object, transcript: str) -> float:  # noqa: ARG002 - the port's
        return 0.0

    def queued(self, stop: AgentStopped, position: int) -> bool:  # noqa: ARG002 - the port's
        return False


class WorkJudging:
    """Implements `WorkJudge`."""

    def __init__(self, services: Services) -> None:
        """Use these services; what judging decides is not saved as a session's."""
        self._services = services

    async def look_before(self, claim: WorkClaim, hear: HearGates | None = None) -> tuple[GateRun, ...]:
        base, workspace = claim.goal.base, self._services.workspace
        since = await workspace.since(base, claim.project, claim.environment)
        if since.files or since.unseen:
            return ()
        catalog = await WorkCatalog(self._services.catalog, claim).list(claim.project, claim.environment)
        state = ProjectState(tree=base.tree, rubric=NO_RUBRIC, catalog=catalog)
        required = [gate for gate in required_gates(claim.goal, state) if gate.origin is not GateOrigin.TYPED]
        gates = HeardGates(self._services.gates, hear)
        at = replace(self._at(claim), tree=base.tree)
        runs = await gates.run(runnable_gates(required), at, float(catalog.settings.seconds))
        mask = self._services.secrets.masker(claim.environment)
        return tuple(mask_gate_run(run, mask) for run in runs)

    async def judge(
        self, claim: WorkClaim, hear: HearGates | None = None, origin: GateContext | None = None
    ) -> WorkVerdict:
        gates, (settings, _) = HeardGates(self._services.gates, hear), self._services.configuration.load()
        verdict = await self._judge(claim, gates, origin)
        known = {one.gate for one in claim.goal.baseline}
        if new := [run for run in verdict.runs if _may_have_failed_before(run) and run.gate.id not in known]:
            seconds, at = settings.gates.seconds, replace(self._at(claim), origin=origin)
            before = build_gate_baseline(await self._services.old_checks.run_base(at, new, float(seconds)))
            goal = replace(verdict.goal, baseline=(*claim.goal.baseline, *before))
            verdict = replace(verdict, goal=goal)
            if any(one.outcome is not Outcome.PASSED for one in before):
                claim = replace(claim, goal=replace(claim.goal, baseline=goal.baseline))
                verdict = await self._judge(claim, gates, origin)
        return replace(verdict, runs=tuple(_with_weight(run, verdict.goal) for run in verdict.runs))

    async def _judge(self, claim: WorkClaim, gates: GateRunner, origin: GateContext | None) -> WorkVerdict:
        key = SessionKey(TASK_HOST, f"{claim.key.host}-{claim.key.id}-{claim.goal.id}")
        turn = Turn(
            prompts=(claim.goal.condition,), last_message=claim.said, last_message_id="report", readable=False
        )
        services = dataclasses.replace(
            self._services,
            catalog=WorkCatalog(self._services.catalog, claim),
            gates=gates,
            transcripts=ToldTurn(turn),
        )
        loop = build_lone_loop(services)
        loop.origin = origin
        stop = AgentStopped(key=key, project=claim.project, environment=claim.environment, transcript="")
        session = Session(key=key, project=claim.project, goal=claim.goal, retry=MAX_CONTINUATIONS)
        inquiry, ruling = await loop.decide(stop, session)
        ruling = mask_ruling(ruling, services.secrets.masker(claim.environment))
        return _verdict(claim, inquiry, ruling)

    def _at(self, claim: WorkClaim) -> GateContext:
        goal = claim.goal
        return GateContext(
            project=claim.project, tree="", environment=claim.environment, since=goal.set_at, base=goal.base
        )


def _may_have_failed_before(run: GateRun) -> bool:
    """Whether a failure may be older than the work; what a person typed must pass whatever was before."""
    return run.gate.required and run.outcome is Outcome.FAILED and run.gate.origin is not GateOrigin.TYPED


def _with_weight(run: GateRun, goal: Goal) -> GateRun:
    """Return a run as required where its failure counts; what failed in the same way before does not."""
    old = run.outcome is Outcome.FAILED and new_gate_failures(run, goal.baseline) == ()
    counts = run.gate.required or (bears_on_goal(run) and not old)
    return replace(run, gate=replace(run.gate, required=counts))


def _verdict(claim: WorkClaim, inquiry: Inquiry, ruling: Ruling) -> WorkVerdict:
    state, goal = inquiry.project_state, inquiry.session.goal or claim.goal
    told = tuple(one for one in state.findings if one.change is not CheckChange.CI_CHANGED)
    seen = WorkVerdict(
        standing=Standing.OPEN,
        why="",
        goal=goal,
        runs=inquiry.runs,
        tree=state.tree,
        changed=state.changed,
        findings=told,
        tokens=inquiry.judge_tokens,
        cents=inquiry.judge_cents,
    )
    if isinstance(ruling, Continue):
        missing = ruling.feedback.missing
        return replace(seen, why=missing[0], missing=missing, next_step=ruling.feedback.next_step)
    standing = ENDINGS.get(ruling.reason, Standing.NOT_JUDGED)
    if standing is Standing.OPEN:
        return replace(seen, why=ruling.detail, missing=(ruling.detail,), next_step=NOBODY_ANSWERS)
    if standing is Standing.NOT_JUDGED and state.changed == ():
        return replace(seen, why=NOTHING_CHANGED, missing=(NOTHING_CHANGED,))
    if standing is Standing.NOT_JUDGED and (told or state.unseen):
        standing = Standing.HELD
    return replace(seen, standing=standing, why=_why(ruling, inquiry, describe_findings(told)))


def _why(ruling: Rest, inquiry: Inquiry, findings: tuple[str, ...]) -> str:
    untouched = (f"nothing that changed has {part}" for part in inquiry.project_state.untouched)
    shown = () if ruling.reason in ENDINGS else (*inquiry.proof, *findings, *untouched)
    return "; ".join(filter(None, (*shown, ruling.detail)))


class WorkCatalog:
    """Implements `GateCatalog`: the gates that count for a piece of work, and whether each must pass."""

    def __init__(self, catalog: GateCatalog, claim: WorkClaim) -> None:
        self._catalog, self._required, self._gates = catalog, claim.required, claim.gates
        self._baseline = {one.gate: one for one in claim.goal.baseline}

    async def list(self, project: str, environment: Environment, place: str = "") -> AvailableGates:
        found = await self._catalog.list(project, environment, place)
        gates = tuple(
            replace(gate, required=gate.required or (must and not _was_red(self._baseline.get(gate.id))))
            for gate in {one.id: one for one in (*found.gates, *self._gates)}.values()
            if (must := self._required.get(gate.id)) is not None
        )
        return replace(found, gates=gates)

    def approve(self, project: str, gates: Iterable[Gate]) -> None:
        self._catalog.approve(project, gates)


def _was_red(known: GateBaseline | None) -> bool:
    return known is not None and known.outcome is not Outcome.PASSED


class HeardGates:
    """Implements `GateRunner` on another one for one report: each gate runs once on the same files.

    `hear` is told which gate runs.
    """

    def __init__(self, gates: GateRunner, hear: HearGates | None) -> None:
        self._gates, self._hear = gates, hear
        self._ended: dict[tuple[str, str], GateRun] = {}

    async def run(
        self,
        gates: Sequence[Gate],
        at: GateContext,
        seconds: float,
        progress: GateProgressCallback | None = None,
    ) -> tuple[GateRun, ...]:
        wanted = [gate for gate in gates if (gate.id, at.tree) not in self._ended]
        ended = 0

        def heard(gate: Gate, run: GateRun | None) -> None:
            nonlocal ended
            ended += run is not None
            if self._hear is not None:
                self._hear(ended, len(wanted), gate, run)
            if progress is not None:
                progress(gate, run)

        for run in await self._gates.run(wanted, at, seconds, heard):
            self._ended[run.gate.id, at.tree] = run
        return tuple(replace(self._ended[gate.id, at.tree], gate=gate) for gate in gates)
