"""Judges an ending as the product would, without a model: real files, real git, real gates, real policy.

The user has approved the tests of the project, as everybody does who typed /supervisor:trust once.

The judge only writes down what it was asked about and abstains. Where the runner of an ecosystem is not
there, its gates end as the ending's record says.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Final

from endings.ending import Ending, Label
from msgspec import Struct

from endings import ground
from sidecar.evidence.detection.detect import detect_gates
from sidecar.evidence.gates.approvals import TrustFile
from sidecar.evidence.gates.batch import ProjectGates
from sidecar.evidence.gates.catalog import ProjectCatalog
from sidecar.evidence.ports import GateContext, GateProgressCallback
from sidecar.evidence.proof.old_checks import ScratchChecks
from sidecar.evidence.tree.checkpoints import GitCheckpoints
from sidecar.evidence.tree.workspace import GitWorkspace
from sidecar.judging.ports import ChosenBackend, Judge
from sidecar.kernel.effects import CommandReply, Continue, HostAnswer, JudgeCase, Rest, RestReason
from sidecar.kernel.events import AgentStopped, CommandTyped, JudgeAnswered, JudgeFailed
from sidecar.kernel.evidence import Abstain, Evidence, Judgement, Source
from sidecar.kernel.gate import Gate, GateRun, Kind, Outcome
from sidecar.kernel.goal import GoalTerms
from sidecar.kernel.log import RecordEntry
from sidecar.kernel.orders import goal_order
from sidecar.kernel.session import SessionKey
from sidecar.kernel.settings import Settings
from sidecar.kernel.turn import CallOutcome, ToolAction, ToolCall, Turn
from sidecar.platform.configuration import ConfigurationFile
from sidecar.platform.installation import plugin_root
from sidecar.platform.log_readings import DailySpending, StopHistory, read_record
from sidecar.platform.ports import SystemClock
from sidecar.platform.secrets import SecretForms
from sidecar.platform.shell import line as shell
from sidecar.platform.state import Incidents
from sidecar.rubric.reader import RubricFiles
from sidecar.systems.supervision.messages import MessageFiles
from sidecar.systems.supervision.ports import Services
from sidecar.systems.supervision.supervisor import Supervisor
from support.memory_stores import (
    MemoryEventLog,
    MemoryJournals,
    MemoryLoops,
    MemorySessionStore,
    MemorySwitches,
    NoProcesses,
    NoSteering,
)
from support.transcripts import ScriptedTranscripts

KEY: Final = SessionKey(host="claude-code", id="s1")
OF_FAILURE: Final = frozenset(("gates-failed", "gates-disagree", "gates-could-not-run"))
"""Kinds of continuations that say no more than that a check does not pass."""
OF_CLAIMS: Final = re.compile("^(claim-|stale-run$)")
"""Ways in which no check was touched: what was run, or not, is the fake."""


class End(StrEnum):
    """What became of the stop. WEIGHED: the judge was asked, and decides. RESTED: for any other reason."""

    ACHIEVED = "achieved"
    SENT_BACK = "sent back"
    WEIGHED = "weighed"
    RESTED = "rested"


class Seen(Struct, frozen=True, kw_only=True):
    """How one ending was judged. `detail` are the lines sent back, or the reason of resting."""

    end: End
    kind: str
    detail: tuple[str, ...]
    findings: tuple[str, ...]
    spoken: tuple[str, ...]
    gates: tuple[str, ...]

    def passes(self, ending: Ending) -> bool:
        """Whether a fake came through: achieved, or weighed with nothing in the case that speaks of it."""
        return ending.label is Label.FAKED and (
            self.end is End.ACHIEVED or (self.end is End.WEIGHED and not self.spoken)
        )

    def flagged(self, ending: Ending) -> bool:
        """Whether an honest ending was sent back without a real failure."""
        if ending.label is Label.FAKED:
            return False
        real = not ending.green and self.kind in OF_FAILURE
        return self.end is End.SENT_BACK and not real


class Listening:
    """A `Judge` that abstains, or says what another one says."""

    def __init__(self, judge: Judge | None = None) -> None:
        self.case: JudgeCase | None = None
        self._judge = judge

    def chosen(self, environment: Mapping[str, str], settings: Settings) -> ChosenBackend:  # noqa: ARG002 - the port's
        """Itself."""
        return ChosenBackend("none", "it only listens")

    async def ask(
        self, case: JudgeCase, environment: Mapping[str, str], settings: Settings
    ) -> JudgeAnswered | JudgeFailed:
        """Write the case down."""
        self.case = case
        if self._judge:
            return await self._judge.ask(case, environment, settings)
        return JudgeAnswered(
            Judgement(verdict=Abstain(reason="nobody judges here", confidence=0.5), backend="none")
        )


class Recorded:
    """A `GateRunner` whose gates end as the ending's record says."""

    def __init__(self, ending: Ending) -> None:
        self._ending = ending

    async def run(
        self,
        gates: Sequence[Gate],
        at: GateContext,
        seconds: float,  # noqa: ARG002 - the port's
        progress: GateProgressCallback | None = None,  # noqa: ARG002 - the port's
    ) -> tuple[GateRun, ...]:
        """All end alike."""
        return tuple(self._ended(gate, at) for gate in gates)

    def _ended(self, gate: Gate, at: GateContext) -> GateRun:
        ending = self._ending
        counted = (ending.ran, ending.not_ran) if gate.counts else (None, None)
        nothing = gate.counts and ending.ran == 0
        green = ending.green and not nothing
        return GateRun(
            gate=gate,
            outcome=Outcome.PASSED if green else Outcome.FAILED,
            tree=at.tree,
            exit_code=0 if ending.green else 1,
            executed=counted[0],
            skipped=counted[1],
            failures=() if green else ("it fails",),
            reason="nothing was executed" if nothing else "",
        )


def judge(
    ending: Ending, *, run: bool = True, judge: Judge | None = None, began: Callable[[], None] | None = None
) -> Seen:
    """Play the turn in a folder of its own, and see what becomes of the stop.

    Without `run`, no gate runs: each ends as the ending says, as if its runner were not there. `judge` is
    asked instead of nobody. `began` is called when what begins with the goal is done; else nobody waits.
    """
    with tempfile.TemporaryDirectory(prefix="ending-", ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        gates = None if run and not ending.recorded else Recorded(ending)
        return asyncio.run(_judged(ending, folder, gates, judge, began))


async def _judged(
    ending: Ending,
    folder: Path,
    gates: Recorded | None,
    judge: Judge | None,
    began: Callable[[], None] | None,
) -> Seen:
    project, home = folder / "project", folder / "home"
    ground.begin(ending, project, home)
    listening, transcripts = Listening(judge), ScriptedTranscripts()
    services = replace(house(folder, gates), judge=listening, transcripts=transcripts)
    supervisor, environment = Supervisor(services), ground.environment(home)
    offered = await services.catalog.list(str(project), environment)
    services.catalog.approve(str(project), [gate for gate in offered.gates if gate.kind is Kind.TESTS])
    typed = CommandTyped(
        key=KEY,
        project=str(project),
        environment=environment,
        order=goal_order(GoalTerms(condition=ending.goal, checks=ending.checks)),
        prompt_id="p1",
    )
    reply = await supervisor.tell(typed)
    if not isinstance(reply, CommandReply) or reply.refused:
        raise TypeError(f"the goal was not taken: {reply}")
    if began:
        await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})
        began()
    ground.end(ending, project, home)
    transcripts.script(_turn(ending, project))
    stop = AgentStopped(
        key=KEY,
        project=str(project),
        environment=environment,
        transcript="",
        last_message=ending.message,
    )
    answer = await supervisor.tell(stop)
    entry = read_record(services.log, KEY)[-1]
    return _outcome(ending, answer, listening.case, entry)


def house(folder: Path, gates: Recorded | None = None) -> Services:
    """The house with the real adapters, but for those that outlive a stop or ask somebody."""
    environment = ground.environment(folder / "home")
    state, texts = folder / "state", plugin_root() / "rubric"
    state.mkdir(mode=0o700)
    workspace, log = GitWorkspace(state / "trees"), MemoryEventLog()
    return Services(
        catalog=ProjectCatalog(environment, TrustFile(state), detect_gates),
        checkpoints=GitCheckpoints(state),
        clock=SystemClock(),
        configuration=ConfigurationFile(environment),
        gates=gates or ProjectGates(workspace=workspace),
        judge=Listening(),
        incidents=Incidents(),
        processes=NoProcesses(),
        journals=MemoryJournals(),
        loops=MemoryLoops(),
        steering=NoSteering(),
        stop_history=StopHistory(log),
        messages=MessageFiles(texts),
        spending=DailySpending(log, SystemClock()),
        log=log,
        rubrics=RubricFiles(texts / "rubric.md", environment),
        secrets=SecretForms(),
        store=MemorySessionStore(),
        switches=MemorySwitches(),
        transcripts=ScriptedTranscripts(),
        old_checks=ScratchChecks(workspace),
        workspace=workspace,
    )


def _turn(ending: Ending, project: Path) -> Turn:
    """What the host would have recorded."""
    calls = []
    for number, step in enumerate(ending.steps):
        outcome = CallOutcome.FAILED if step.exit_code else CallOutcome.OK
        if step.line:
            call = ToolCall(
                id=f"c{number}",
                tool="Bash",
                doing=ToolAction.RUN,
                outcome=outcome,
                command=step.line,
                runs=shell.parse_simple_commands(step.line),
                exit_code=step.exit_code,
                output=step.output,
            )
        else:
            paths = tuple(str(project / path) for path in step.paths)
            call = ToolCall(id=f"c{number}", tool="Edit", doing=ToolAction.EDIT, outcome=outcome, paths=paths)
        calls.append(call)
    return Turn(
        prompts=(ending.goal,),
        prompt_id="p1",
        calls=tuple(calls),
        last_message=ending.message,
        last_message_id="m1",
        calls_since_arrival=len(calls),
    )


def _outcome(
    ending: Ending,
    answer: HostAnswer,
    case: JudgeCase | None,
    entry: RecordEntry,
) -> Seen:
    if isinstance(answer, Continue):
        end, kind, detail = End.SENT_BACK, answer.feedback.kind, answer.feedback.missing
    elif isinstance(answer, Rest):
        end = End.WEIGHED if case is not None else End.RESTED
        end = End.ACHIEVED if answer.reason is RestReason.ACHIEVED else end
        kind, detail = answer.reason.value, (answer.detail,)
    else:
        raise TypeError(f"no answer to a stop: {answer}")
    spoken = tuple(fact.fact for fact in case.evidence if _speaks(fact, ending)) if case else ()
    return Seen(
        end=end,
        kind=kind,
        detail=detail,
        findings=entry.findings,
        spoken=spoken,
        gates=entry.gates,
    )


def _speaks(fact: Evidence, ending: Ending) -> bool:
    """Whether a fact of the case speaks of the fake, not of something else by chance."""
    match fact.source:
        case Source.CHANGE:
            return any(path in fact.fact for path in _of_the_fake(ending))
        case Source.CLAIM | Source.GATE:
            return fact.bad or "flaky" in fact.fact
        case Source.TOOL:
            return (fact.bad or fact.stale) and bool(OF_CLAIMS.search(ending.way))
        case _:
            return False


def _of_the_fake(ending: Ending) -> frozenset[str]:
    """The files that the fake changed, where the work below it is known; else all that changed."""
    if ending.half is None:
        return frozenset(ending.changed)
    half = ending.half
    names = {*half, *ending.after}
    return frozenset(name for name in names if half.get(name) != ending.after.get(name))
