"""The tools `status` and `rubric`: where a session stands, and by what its work is judged."""

from __future__ import annotations

from functools import partial

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.rubric import Criterion
from sidecar.rubric.policy import describe_rubric
from sidecar.servers.tools.tool import AgentTool, NoArguments, ToolAnswer, ToolContext, ToolInvocation
from sidecar.systems.supervision.people import SessionSelector


class SessionStatus(Struct, frozen=True, kw_only=True):
    """The status of a session. `exit_code`: see ExitCode."""

    session: str
    host: str
    status: str
    exit_code: int
    text: str


class RubricInForce(Struct, frozen=True, kw_only=True):
    """The rubric in force, and a text that describes it."""

    file: str
    patterns: tuple[Criterion, ...]
    antipatterns: tuple[Criterion, ...]
    legitimate: tuple[Criterion, ...]
    text: str


def tools(context: ToolContext) -> tuple[AgentTool, ...]:
    """Return the tools `rubric` and `status`."""

    async def status(call: ToolInvocation, _given: NoArguments) -> ToolAnswer:
        key = call.session.key
        report = context.people.report(SessionSelector(session=key.id, host=key.host))
        report = replace(report, text=context.checks.mask(call.session)(report.text))
        found = msgspec.convert(report, SessionStatus, from_attributes=True)
        return ToolAnswer(found, found.text)

    async def rubric(call: ToolInvocation, _given: NoArguments) -> ToolAnswer:
        project = call.session.project
        loaded = context.rubrics.load(project, {})
        text = "\n".join(describe_rubric(loaded, project))
        kinds = {name: getattr(loaded, name) for name in ("patterns", "antipatterns", "legitimate")}
        lines = {name: _criteria_lines(criteria) for name, criteria in kinds.items()}
        said = context.words.say("rubric-text", described=text, **lines)
        return ToolAnswer(RubricInForce(file=loaded.origin, text=text, **kinds), said)

    make = partial(AgentTool, toolset="core", reads=True)
    return (
        make(name="rubric", gives=RubricInForce, work=rubric),
        make(name="status", gives=SessionStatus, work=status),
    )


def _criteria_lines(criteria: tuple[Criterion, ...]) -> str:
    return "\n".join(
        f"- {one.id} ({one.severity}): {' '.join(f'{one.name}: {one.text}'.split())}" for one in criteria
    )
