"""Tools of governed phases: six that do a phase, each with its published output."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import asdict, replace

from sidecar.kernel.decoding import UNLISTED
from sidecar.kernel.governance import FORMS, ErrorAction, GovernedPhase, PhaseError
from sidecar.kernel.settings import Mode
from sidecar.servers.tools.tool import AgentTool, ToolAnswer, ToolContext, ToolInvocation, with_progress
from sidecar.systems.governance.ports import PhaseCaller
from sidecar.systems.governance.service import NEW, PhaseOutcome, PhaseRequest

ASKED_BY: Final = "asked by the host"
"""The origin of an answer that the host's own form gave."""
LockName = Annotated[str, Meta(min_length=1, max_length=100)]


def phase_arguments(phase: GovernedPhase) -> type[Struct]:
    """Return the Struct of what the tool of a phase takes."""
    first, given = phase is GovernedPhase.ANALYZE, FORMS[phase].given
    mode = Mode | None if first else Annotated[Mode | None, UNLISTED]
    fields: list[Any] = [
        ("context_lock_id", LockName, *((NEW,) if first else ())),
        ("input_data", given) if first else ("input_data", given, given()),
        ("mode", mode, None),
    ]
    return msgspec.defstruct(f"{phase.title()}Arguments", fields, frozen=True, kw_only=True)


def phase_outcome(phase: GovernedPhase) -> type[Struct]:
    """Return the Struct of what the tool of a phase gives."""
    fields: list[Any] = [
        ("context_lock_id", str),
        ("section", Literal[FORMS[phase].section]),
        ("payload", FORMS[phase].payload | None),
        ("error", PhaseError | None, None),
    ]
    return msgspec.defstruct(f"{phase.title()}Outcome", fields, frozen=True, kw_only=True, omit_defaults=True)


def tools(context: ToolContext) -> tuple[AgentTool, ...]:
    """Return the tools of the toolset `governance`."""
    return tuple(
        AgentTool(
            name=f"phase_{phase}",
            toolset="governance",
            takes=phase_arguments(phase),
            gives=(gives := phase_outcome(phase)),
            work=partial(_answer_phase, context, phase, gives),
            asks=True,
            typed=True,
        )
        for phase in GovernedPhase
    )


async def _answer_phase(
    context: ToolContext,
    phase: GovernedPhase,
    gives: Callable[..., Struct],
    call: ToolInvocation,
    given: Any,  # noqa: ANN401
) -> ToolAnswer:
    caller = PhaseCaller(
        project=call.session.project,
        environment=context.checks.permitted_environment(call.session),
        session=call.session.key,
    )
    request = PhaseRequest(phase=phase, lock=given.context_lock_id, given=given.input_data, mode=given.mode)
    run = partial(context.governance.run, request, caller)
    outcome = await with_progress(context.clock, call, lambda progress: run(progress.tell_step))
    error = outcome.error
    if error is not None and error.action is ErrorAction.HUMAN_INTERVENTION:
        told, payload = context.words.say("governance-ask", lock=outcome.context_lock_id), outcome.payload
        if (said := await call.ask(error.message)) is not None:
            yes, why = said
            asked = replace(caller, origin=ASKED_BY)
            work = context.governance.answer(outcome.context_lock_id, asked, yes=yes, text=why)
            answer = "yes" if yes else "no"
            told = context.words.say("governance-answered", answer=answer, stage=work.stage)
            payload = work.review if phase is GovernedPhase.REVIEW else payload
        # In the message, as some hosts show an agent the data alone.
        error = replace(error, message=f"{error.message}\n\n{told}")
        outcome = replace(outcome, error=error, payload=payload)
    return ToolAnswer(gives(**asdict(outcome)), _text(context, outcome))


def _text(context: ToolContext, outcome: PhaseOutcome) -> str:
    shown = msgspec.json.format(msgspec.json.encode(outcome.payload), indent=1).decode()
    error = outcome.error
    return context.words.say(
        "governance-ended",
        section=outcome.section,
        lock=outcome.context_lock_id,
        error=f"{error.type} ({error.action}): {error.message}" if error else "none",
        payload=shown,
    ).strip()
