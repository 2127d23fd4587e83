"""The toolset `loop`: tasks under an orchestrator that runs the project's checks and alone calls them done.

The rules are in sidecar/systems/taskloop; this module only offers them as tools.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final

import msgspec
from msgspec import Struct

from sidecar.kernel.log import LoggedEvent
from sidecar.kernel.loop import (
    CommandType,
    CouncilMember,
    CouncilProposal,
    ExecutionMode,
    Loop,
    LoopStatus,
    Tier,
)
from sidecar.kernel.models import model_prices, resolve_model
from sidecar.servers.tools.gates import with_gate_progress
from sidecar.servers.tools.loop_forms import (
    AgentInfo,
    AgentName,
    AgentReport,
    AgentScored,
    AgentsListed,
    CheckpointChoice,
    CheckpointInfo,
    CheckpointsListed,
    CheckpointText,
    CompletionReport,
    CompletionRuled,
    CouncilReport,
    Files,
    LoopConfiguration,
    LoopEvent,
    LoopHistory,
    LoopReport,
    Proposal,
    Reason,
    RestoreReport,
    ScopeReport,
    SessionEnd,
    SessionRequest,
    TaskReport,
    TaskStart,
    TierModel,
    Tokens,
)
from sidecar.servers.tools.tool import (
    NoArguments,
    Resource,
    Tool,
    ToolAnswer,
    ToolContext,
    ToolInvocation,
    clip_printable,
)
from sidecar.systems.taskloop.checkpoints import Restore
from sidecar.systems.taskloop.policy.agents import Agent
from sidecar.systems.taskloop.service import Briefing, Completion, TaskRequest

EVENTS_TOLD: Final = 10
EVENT_LENGTH: Final = 200
FAILURES_TOLD: Final = 5
DIFF_LENGTH: Final = 12_000
"""Characters of a restore's differences in an answer."""
MOST: Final = 200

# --- the tools ----------------------------------------------------------------------------------------------

_Answer = Callable[[ToolContext, ToolInvocation, Any], Awaitable[ToolAnswer]]


def tools(context: ToolContext) -> tuple[Tool, ...]:
    """Return the tools of the toolset `loop`."""

    def make(name: str, takes: type[Struct], gives: type[Struct], work: _Answer, **marks: bool) -> Tool:
        return Tool(name=name, toolset="loop", takes=takes, gives=gives, work=partial(work, context), **marks)

    reads = {"reads": True, "repeats": True}
    return (
        make("session_start", SessionRequest, LoopReport, _start_session),
        make("session_status", NoArguments, LoopReport, _session_status, **reads),
        make("session_end", SessionEnd, LoopReport, _end_session),
        make("task_start", TaskStart, TaskReport, _start_task),
        make("task_context", NoArguments, TaskReport, _task_context, **reads),
        make("scope_check", Files, ScopeReport, _check_scope, **reads),
        make("report_completion", CompletionReport, CompletionRuled, _report_completion, asks=True),
        make("escalate", Reason, CompletionRuled, _escalate),
        make("council_analyze", NoArguments, CouncilReport, _analyze, **reads),
        make("council_submit", Proposal, CouncilReport, _submit),
        make("checkpoint_save", CheckpointText, CheckpointInfo, _save_checkpoint),
        make("checkpoint_restore", CheckpointChoice, RestoreReport, _restore_checkpoint, asks=True),
        make("checkpoint_list", NoArguments, CheckpointsListed, _list_checkpoints, **reads),
        make("agent_info", AgentName, AgentReport, _agent_info, **reads),
        make("tokens_record", Tokens, LoopReport, _record_tokens),
    )


# --- sessions ---


async def _start_session(context: ToolContext, call: ToolInvocation, given: SessionRequest) -> ToolAnswer:
    loop = context.loops.start_session(
        call.session,
        given.command,
        CommandType(given.command_type),
        ExecutionMode(given.execution_mode),
    )
    return _session_answer(context, loop)


async def _session_status(context: ToolContext, call: ToolInvocation, _given: NoArguments) -> ToolAnswer:
    events = context.loops.states.newest(call.session.key, EVENTS_TOLD)
    return _session_answer(context, context.loops.of(call.session.key), tuple(map(_event, events)))


async def _end_session(context: ToolContext, call: ToolInvocation, given: SessionEnd) -> ToolAnswer:
    return _session_answer(
        context, context.loops.end_session(call.session, LoopStatus(given.status), given.reason)
    )


async def _record_tokens(context: ToolContext, call: ToolInvocation, given: Tokens) -> ToolAnswer:
    return _session_answer(
        context, context.loops.record_tokens(call.session, given.model, given.input, given.output)
    )


def _session_answer(context: ToolContext, loop: Loop, events: tuple[LoopEvent, ...] = ()) -> ToolAnswer:
    words = context.loops.words
    found = LoopReport(
        status=loop.status,
        state=loop.state,
        command=loop.command,
        command_type=loop.command_type,
        execution_mode=loop.mode,
        task=loop.task,
        agent=loop.agent,
        tier=loop.tier,
        iteration=loop.iteration,
        consecutive_failures=loop.consecutive_failures,
        input_tokens=loop.input_tokens,
        output_tokens=loop.output_tokens,
        cents=loop.spent_cents,
        end_reason=loop.end_reason,
        waits_for_person=loop.held,
        events=events,
    )
    text = words.say(
        "loop-session",
        status=loop.status,
        state=loop.state,
        type=loop.command_type,
        mode=loop.mode,
        command=clip_printable(loop.command, EVENT_LENGTH),
        task=loop.task or "-",
        tier=loop.tier,
        iteration=loop.iteration,
        most=context.loops.states.settings().loop.max_iterations,
        failures=loop.consecutive_failures,
        read=loop.input_tokens,
        written=loop.output_tokens,
        cents=words.cents(loop),
    )
    if events:
        lines = "\n".join(f"- {one.kind}: {one.text}" for one in events)
        text = f"{text}\n{words.say('loop-events', lines=lines)}"
    return ToolAnswer(found, text)


def _event(event: LoggedEvent) -> LoopEvent:
    fields = msgspec.to_builtins(event.data)
    said = ", ".join(f"{name} {value}" for name, value in fields.items() if value and name != "type")
    return LoopEvent(at=event.at, kind=event.kind, text=clip_printable(said, EVENT_LENGTH))


# --- tasks ---


async def _start_task(context: ToolContext, call: ToolInvocation, given: TaskStart) -> ToolAnswer:
    asked = TaskRequest(
        task_id=given.task_id,
        description=given.description,
        acceptance_criteria=given.acceptance_criteria,
        scope_files=given.scope_files,
    )
    return _task_answer(await context.loops.start_task(call.session, asked, call.author))


async def _task_context(context: ToolContext, call: ToolInvocation, _given: NoArguments) -> ToolAnswer:
    return _task_answer(context.loops.context(call.session))


async def _check_scope(context: ToolContext, call: ToolInvocation, given: Files) -> ToolAnswer:
    words = context.loops.words
    outside = tuple(
        clip_printable(one, EVENT_LENGTH) for one in context.loops.files_outside(call.session, given.files)
    )[:MOST]
    named = {"files": ", ".join(outside)}
    text = words.say("loop-files-outside", **named) if outside else words.say("loop-in-scope")
    return ToolAnswer(ScopeReport(ok=not outside, outside=outside), text)


async def _agent_info(context: ToolContext, call: ToolInvocation, given: AgentName) -> ToolAnswer:
    agent, words = context.loops.find_agent(call.session, given.agent_id.strip()), context.loops.words
    text = words.say(
        "loop-agent",
        agent=agent.id,
        name=agent.name,
        category=agent.category,
        purpose=agent.purpose,
        role=agent.role,
        scope=words.scope(agent.scope.can_modify),
        never=", ".join(agent.scope.cannot_modify) or words.say("loop-nothing"),
        model=agent.model,
        instructions=agent.instructions,
    )
    return ToolAnswer(_agent_report(agent), text)


def _agent_report(agent: Agent) -> AgentReport:
    return AgentReport(
        id=agent.id,
        name=agent.name,
        category=agent.category,
        purpose=agent.purpose,
        role=agent.role,
        model=agent.model,
        can_modify=agent.scope.can_modify,
        cannot_modify=agent.scope.cannot_modify,
        outputs=agent.outputs.fields,
        instructions=agent.instructions,
    )


def _task_answer(brief: Briefing) -> ToolAnswer:
    loop, task, agent = brief.loop, brief.task, brief.agent
    selection = brief.selection
    found = TaskReport(
        text=brief.text,
        task=task.id,
        content=task.content,
        complexity=task.complexity,
        acceptance_criteria=task.acceptance_criteria,
        scope_files=task.scope_files,
        agent=loop.agent,
        role=agent.role if agent else "",
        can_modify=_agent_globs(agent)[0],
        cannot_modify=_agent_globs(agent)[1],
        tier=loop.tier,
        model=brief.model,
        enforced=False,
        iteration=loop.iteration,
        consecutive_failures=loop.consecutive_failures,
        state=loop.state,
        support=selection.support if selection else (),
        scores=tuple(AgentScored(agent=one.agent, points=one.total) for one in selection.scores)
        if selection
        else (),
        reasoning=selection.reasoning if selection else (),
        failures=tuple(one for one in loop.failures if one.task == task.id)[-FAILURES_TOLD:],
        gates=loop.gates,
        decision=loop.decision,
    )
    return ToolAnswer(found, brief.text)


def _agent_globs(agent: Agent | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return (agent.scope.can_modify, agent.scope.cannot_modify) if agent else ((), ())


# --- reports ---


async def _report_completion(
    context: ToolContext, call: ToolInvocation, given: CompletionReport
) -> ToolAnswer:
    ended = await with_gate_progress(
        context.clock,
        call,
        lambda tell: context.loops.report_completion(call.session, given.files_changed, given.summary, tell),
    )
    return _completion_answer(ended)


async def _escalate(context: ToolContext, call: ToolInvocation, given: Reason) -> ToolAnswer:
    return _completion_answer(context.loops.escalate(call.session, given.reason))


def _completion_answer(ended: Completion) -> ToolAnswer:
    ruling, loop = ended.ruling, ended.ruling.loop
    found = ended.examined
    report = found.report if found else None
    gates = report.gates if report else ()
    data = CompletionRuled(
        text=ended.text,
        action=ruling.action,
        exit_signal=ended.exit_signal,
        verdict=ruling.verdict,
        reason=ruling.reason,
        status=loop.status,
        state=loop.state,
        tier=loop.tier,
        model=ended.model,
        enforced=False,
        iteration=loop.iteration,
        stuck=ruling.stuck,
        gates=gates,
        blocking=tuple(gate.id for gate in gates if gate.required and gate.verdict != "pass"),
        files=report.files if report else (),
        outside=report.outside if report else (),
        weakened=report.weakened if report else (),
        unreported=found.unreported if found else (),
        unchanged=found.unchanged if found else (),
    )
    return ToolAnswer(data, ended.text)


# --- the council ---


async def _analyze(context: ToolContext, call: ToolInvocation, _given: NoArguments) -> ToolAnswer:
    councils, words = context.loops.councils, context.loops.words
    status = councils.status(call.session)
    text = words.say(
        "loop-analyze",
        task=status.loop.task,
        missing=", ".join(status.missing),
        case=councils.case(call.session),
    )
    return ToolAnswer(CouncilReport(text=text, task=status.loop.task, missing=status.missing), text)


async def _submit(context: ToolContext, call: ToolInvocation, given: Proposal) -> ToolAnswer:
    proposal = CouncilProposal(
        member=CouncilMember(given.member),
        findings=given.findings,
        hypothesis=given.hypothesis,
        suggested_fix=given.suggested_fix,
        confidence=given.confidence,
    )
    status, words = context.loops.councils.submit(call.session, proposal), context.loops.words
    loop = status.loop
    if status.missing:
        said = words.say("loop-submitted", member=given.member, missing=", ".join(status.missing))
    else:
        model = context.loops.context(call.session).model
        said = f"{words.decision(loop)}\n{words.say('loop-decided', tier=loop.tier, model=model)}"
    found = CouncilReport(text=said, task=loop.task, missing=status.missing, decision=loop.decision)
    return ToolAnswer(found, said)


# --- checkpoints ---


async def _save_checkpoint(context: ToolContext, call: ToolInvocation, given: CheckpointText) -> ToolAnswer:
    made, words = (
        await context.loops.checkpoints.save(call.session, given.description),
        context.loops.words,
    )
    what = words.say("loop-with-tree" if made.tree else "loop-without-tree")
    info = CheckpointInfo(id=made.id, at=made.at, description=made.description, tree=bool(made.tree))
    return ToolAnswer(info, words.say("loop-saved", checkpoint=made.id, what=what))


async def _list_checkpoints(context: ToolContext, call: ToolInvocation, _given: NoArguments) -> ToolAnswer:
    words = context.loops.words
    found = tuple(
        CheckpointInfo(id=one.id, at=one.at, description=one.description, tree=bool(one.tree))
        for one in context.loops.of(call.session.key).checkpoints
    )
    lines = [
        words.say(
            "loop-checkpoint-line",
            checkpoint=one.id,
            what=words.say("loop-with-tree" if one.tree else "loop-without-tree"),
            description=one.description,
        )
        for one in found
    ]
    return ToolAnswer(
        CheckpointsListed(checkpoints=found), "\n".join(lines) or words.say("loop-checkpoints-none")
    )


async def _restore_checkpoint(
    context: ToolContext, call: ToolInvocation, given: CheckpointChoice
) -> ToolAnswer:
    done = await context.loops.checkpoints.restore(call.session, given.checkpoint_id, given.confirm)
    files = tuple(edit.path for edit in done.diffs)[:MOST]
    text, word = _restore_text(context, done), "" if done.kept else done.word
    found = RestoreReport(text=text, done=bool(done.kept), confirm=word, files=files, kept=done.kept)
    return ToolAnswer(found, text)


def _restore_text(context: ToolContext, done: Restore) -> str:
    words, ident = context.loops.words, done.checkpoint.id
    if done.kept:
        return words.say(
            "loop-restored",
            checkpoint=ident,
            written=len(done.written),
            removed=len(done.removed),
            kept=done.kept,
        )
    lines = [
        f"{edit.path} +{edit.added} -{edit.removed} {edit.told}\n{edit.hunks}".strip() for edit in done.diffs
    ]
    if done.left:
        lines.append(words.say("loop-kept", files=", ".join(done.left[:EVENTS_TOLD])))
    shown = "\n".join(lines)[:DIFF_LENGTH] or words.say("loop-same-files")
    return words.say("loop-restore", checkpoint=ident, lines=shown, word=done.word)


# --- resources ----------------------------------------------------------------------------------------------

_Reading = Callable[[ToolContext, ToolInvocation, Any], Awaitable[Struct]]


def resources(context: ToolContext) -> tuple[Resource, ...]:
    """Return what clients may read; it costs an agent's context nothing until then."""

    def make(path: str, work: _Reading, takes: type[Struct] = NoArguments) -> Resource:
        return Resource(uri=f"supervisor://{path}", toolset="loop", takes=takes, work=partial(work, context))

    return (
        make("agents", _read_agents),
        make("agents/{agent_id}", _read_agent, AgentName),
        make("session/current", _read_session),
        make("session/history", _read_history),
        make("config", _read_configuration),
    )


async def _read_agents(context: ToolContext, call: ToolInvocation, _given: NoArguments) -> AgentsListed:
    known = context.loops.agents(call.session)
    return AgentsListed(
        agents=tuple(
            AgentInfo(id=one.id, name=one.name, category=one.category, purpose=one.purpose, model=one.model)
            for one in known
        )
    )


async def _read_agent(context: ToolContext, call: ToolInvocation, given: AgentName) -> AgentReport:
    return _agent_report(context.loops.find_agent(call.session, given.agent_id))


async def _read_session(context: ToolContext, call: ToolInvocation, given: NoArguments) -> Struct:
    return (await _session_status(context, call, given)).data


async def _read_history(context: ToolContext, call: ToolInvocation, _given: NoArguments) -> LoopHistory:
    return LoopHistory(events=tuple(map(_event, context.loops.states.newest(call.session.key, MOST))))


async def _read_configuration(
    context: ToolContext, _call: ToolInvocation, _given: NoArguments
) -> LoopConfiguration:
    settings = context.loops.states.settings()
    prices = model_prices(settings)
    models = [(tier, resolve_model(tier, settings)) for tier in Tier if tier is not Tier.COUNCIL]
    return LoopConfiguration(
        loop=settings.loop,
        models=tuple(TierModel(tier=tier, model=model, price=prices.get(model)) for tier, model in models),
    )
