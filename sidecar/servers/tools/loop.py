"""The toolset `loop`: tasks under an orchestrator that runs the project's checks and alone calls them done.

The rules are in sidecar/systems/taskloop; this module only offers them as tools.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final

import msgspec
from msgspec import Struct

from sidecar.kernel.journal import Task
from sidecar.kernel.log import LoggedEvent
from sidecar.kernel.loop import (
    CheckpointInfo,
    CouncilProposal,
    Loop,
    LoopCheckpoint,
    LoopState,
    LoopStatus,
    Tier,
)
from sidecar.kernel.settings import model_prices, resolve_model
from sidecar.servers.tools import loop_forms as forms
from sidecar.servers.tools.tool import (
    AgentTool,
    NoArguments,
    Resource,
    ToolAnswer,
    ToolContext,
    ToolInvocation,
    clip_printable,
    with_progress,
)
from sidecar.systems.taskloop.council import missing_members
from sidecar.systems.taskloop.policy.agents import Agent, AgentHead
from sidecar.systems.taskloop.policy.loop import Report
from sidecar.systems.taskloop.reports import WorkerReport
from sidecar.systems.taskloop.service import Completion, TaskRequest
from sidecar.systems.taskloop.states import Restore
from sidecar.systems.taskloop.wording import list_lines

EVENTS_SHOWN: Final = 10
EVENT_LENGTH: Final = 200
DIFF_LENGTH: Final = 12_000
"""Characters of a restore's differences in an answer."""
MOST: Final = 200

Reading = Callable[[ToolInvocation, Any], Awaitable[Struct]]


def tools(context: ToolContext) -> tuple[AgentTool, ...]:
    """Return the tools of the toolset `loop`."""
    work = LoopTools(context)

    def make(name: str, takes: type[Struct], gives: type[Struct], **marks: bool) -> AgentTool:
        return AgentTool(
            name=name, toolset="loop", takes=takes, gives=gives, work=getattr(work, name), **marks
        )

    return (
        make("session_start", forms.SessionRequest, forms.LoopReport),
        make("session_status", NoArguments, forms.LoopReport, reads=True),
        make("session_end", forms.LoopEnd, forms.LoopReport),
        make("task_start", TaskRequest, Task),
        make("task_context", NoArguments, Task, reads=True),
        make("scope_check", forms.FileList, forms.ScopeReport, reads=True),
        make("report_completion", forms.CompletionReport, Completion, asks=True),
        make("escalate", forms.Reason, Completion),
        make("council_analyze", NoArguments, forms.CouncilReport, reads=True),
        make("council_submit", CouncilProposal, forms.CouncilReport),
        make("checkpoint_save", forms.CheckpointText, CheckpointInfo),
        make("checkpoint_restore", forms.CheckpointChoice, forms.RestoreReport, asks=True),
        make("checkpoint_list", NoArguments, forms.CheckpointsListed, reads=True),
        make("agent_info", forms.AgentName, Agent, reads=True),
        make("tokens_record", forms.Tokens, forms.LoopReport),
    )


def resources(context: ToolContext) -> tuple[Resource, ...]:
    """Return what clients may read; it costs an agent's context nothing until then."""
    work = LoopTools(context)

    def make(path: str, read: Reading, takes: type[Struct] = NoArguments) -> Resource:
        return Resource(uri=f"supervisor://{path}", toolset="loop", takes=takes, work=read)

    return (
        make("agents", work.agents),
        make("agents/{agent_id}", work.agent_info, forms.AgentName),
        make("session/current", work.session_status),
        make("session/history", work.history),
        make("config", work.configuration),
    )


class LoopTools:
    """What each tool does, and what each resource holds that is no tool's, under its name."""

    def __init__(self, context: ToolContext) -> None:
        self._clock, self._loops = context.clock, context.loops
        self._say = context.loops.words.say

    # --- sessions ---

    async def session_start(self, call: ToolInvocation, given: forms.SessionRequest) -> ToolAnswer:
        started = self._loops.start_session(
            call.session, given.command, given.command_type, given.execution_mode
        )
        return self._session(started)

    async def session_status(self, call: ToolInvocation, _given: NoArguments) -> ToolAnswer:
        events = self._loops.states.newest(call.session.key, EVENTS_SHOWN)
        return self._session(self._loops.of(call.session.key), *events)

    async def session_end(self, call: ToolInvocation, given: forms.LoopEnd) -> ToolAnswer:
        return self._session(self._loops.end_session(call.session, LoopStatus(given.status), given.reason))

    async def tokens_record(self, call: ToolInvocation, given: forms.Tokens) -> ToolAnswer:
        return self._session(self._loops.record_tokens(call.session, given.model, given.input, given.output))

    def _session(self, loop: Loop, *logged: LoggedEvent) -> ToolAnswer:
        events = tuple(map(read_event, logged))
        text = (
            self._say("loop-session-none")
            if loop.state is LoopState.IDLE
            else self._say(
                "loop-session",
                loop,
                command=clip_printable(loop.command, EVENT_LENGTH) or "-",
                most=self._loops.states.settings().loop.max_iterations,
                cents=self._loops.words.cents(loop),
                events=list_lines(f"{one.kind}: {one.text}" for one in events),
            )
        )
        return ToolAnswer(forms.LoopReport(**loop.overview(), events=events), text)

    # --- tasks ---

    async def task_start(self, call: ToolInvocation, given: TaskRequest) -> ToolAnswer:
        begun = await self._loops.start_task(call.session, given, call.author)
        return ToolAnswer(begun.task, begun.text)

    async def task_context(self, call: ToolInvocation, _given: NoArguments) -> ToolAnswer:
        at_work = self._loops.context(call.session)
        results = map(self._loops.words.gate, at_work.loop.gates)
        return ToolAnswer(at_work.task, "\n".join((at_work.text, *results)))

    async def scope_check(self, call: ToolInvocation, given: forms.FileList) -> ToolAnswer:
        found = self._loops.files_outside(call.session, given.files)
        outside = tuple(clip_printable(one, EVENT_LENGTH) for one in found)[:MOST]
        text = self._loops.words.findings(Report(gates=(), outside=outside)) or self._say("loop-in-scope")
        return ToolAnswer(forms.ScopeReport(ok=not outside, outside=outside), text)

    async def agent_info(self, call: ToolInvocation, given: forms.AgentName) -> ToolAnswer:
        agent = self._loops.find_agent(call.session, given.agent_id.strip())
        scope = self._loops.words.scope(agent.scope.can_modify)
        text = self._say("loop-agent", agent, scope=scope, never=", ".join(agent.scope.cannot_modify))
        return ToolAnswer(agent, text)

    # --- reports ---

    async def report_completion(self, call: ToolInvocation, given: forms.CompletionReport) -> ToolAnswer:
        said = WorkerReport(summary=given.summary, files_changed=given.files_changed)
        report = partial(self._loops.report_completion, call.session, said)
        done = await with_progress(self._clock, call, lambda progress: report(progress.tell_gate))
        return ToolAnswer(done, done.text)

    async def escalate(self, call: ToolInvocation, given: forms.Reason) -> ToolAnswer:
        done = self._loops.escalate(call.session, given.reason)
        return ToolAnswer(done, done.text)

    # --- the council ---

    async def council_analyze(self, call: ToolInvocation, _given: NoArguments) -> ToolAnswer:
        loop = self._loops.councils.open_council(call.session, "council_analyze")
        found = forms.CouncilReport(task=loop.task, missing=missing_members(loop))
        case = self._loops.councils.prompt_in_turn(call.session)
        return ToolAnswer(found, self._say("loop-analyze", found, case=case))

    async def council_submit(self, call: ToolInvocation, given: CouncilProposal) -> ToolAnswer:
        loop = self._loops.councils.submit(call.session, given)
        found = forms.CouncilReport(task=loop.task, missing=missing_members(loop), decision=loop.decision)
        if found.missing:
            return ToolAnswer(found, self._say("loop-submitted", given, found))
        decided = self._say("loop-decided", loop, model=self._loops.context(call.session).model)
        return ToolAnswer(found, f"{self._loops.words.decision(loop)}\n{decided}")

    # --- checkpoints ---

    async def checkpoint_save(self, call: ToolInvocation, given: forms.CheckpointText) -> ToolAnswer:
        made = await self._loops.checkpoints.save(call.session, given.description)
        return ToolAnswer(_checkpoint_info(made), self._checkpoint("loop-saved", made))

    async def checkpoint_list(self, call: ToolInvocation, _given: NoArguments) -> ToolAnswer:
        made = self._loops.of(call.session.key).checkpoints
        lines = [self._checkpoint("loop-checkpoint-line", one) for one in made]
        text = "\n".join(lines) or self._say("loop-checkpoints-none")
        listed = tuple(map(_checkpoint_info, made))
        return ToolAnswer(forms.CheckpointsListed(checkpoints=listed), text)

    async def checkpoint_restore(self, call: ToolInvocation, given: forms.CheckpointChoice) -> ToolAnswer:
        done = await self._loops.checkpoints.restore(call.session, given.checkpoint_id, given.confirm)
        found = forms.RestoreReport(
            done=bool(done.kept),
            confirm="" if done.kept else done.word,
            files=tuple(edit.path for edit in done.diffs)[:MOST],
            kept=done.kept,
        )
        wrong = given.confirm and not done.kept
        said = self._say("loop-wrong-word", word=given.confirm) + "\n" if wrong else ""
        return ToolAnswer(found, said + self._restore(done))

    def _checkpoint(self, section: str, made: LoopCheckpoint) -> str:
        return self._say(section, made, description=made.description or "-")

    def _restore(self, done: Restore) -> str:
        ident, tree = done.checkpoint.id, done.tree
        if done.kept:
            written, removed = (len(tree.written), len(tree.removed)) if tree else (0, 0)
            return self._say("loop-restored", done, checkpoint=ident, written=written, removed=removed)
        lines = [
            f"{edit.path} +{edit.added} -{edit.removed} {edit.unshown}\n{edit.hunks}".strip()
            for edit in done.diffs
        ]
        shown = "\n".join(lines)[:DIFF_LENGTH] or self._say("loop-same-files")
        return self._say("loop-restore", done, checkpoint=ident, lines=shown)

    # --- resources ---

    async def agents(self, call: ToolInvocation, _given: NoArguments) -> forms.AgentsListed:
        known = self._loops.agents(call.session).values()
        return forms.AgentsListed(
            agents=tuple(msgspec.convert(one, AgentHead, from_attributes=True) for one in known)
        )

    async def history(self, call: ToolInvocation, _given: NoArguments) -> forms.LoopHistory:
        return forms.LoopHistory(
            events=tuple(map(read_event, self._loops.states.newest(call.session.key, MOST)))
        )

    async def configuration(self, _call: ToolInvocation, _given: NoArguments) -> forms.LoopConfiguration:
        settings = self._loops.states.settings()
        models = {str(tier): resolve_model(tier, settings) for tier in Tier if tier is not Tier.COUNCIL}
        return forms.LoopConfiguration(loop=settings.loop, models=models, prices=model_prices(settings))


def read_event(event: LoggedEvent) -> forms.LoopEvent:
    """Return an event with what it says in a line."""
    fields = msgspec.to_builtins(event.data)
    said = ", ".join(f"{name} {value}" for name, value in fields.items() if value and name != "type")
    return forms.LoopEvent(at=event.at, kind=event.kind, text=clip_printable(said, EVENT_LENGTH))


def _checkpoint_info(made: LoopCheckpoint) -> CheckpointInfo:
    return CheckpointInfo(id=made.id, at=made.at, description=made.description, tree=made.tree)
