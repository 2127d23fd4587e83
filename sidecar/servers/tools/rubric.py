"""The tool `rubric`: the rubric in force, against which this session's work is judged."""

from __future__ import annotations

from msgspec import Struct

from sidecar.kernel.rubric import Criterion
from sidecar.rubric.policy import describe_rubric
from sidecar.servers.tools.tool import NoArguments, Tool, ToolAnswer, ToolContext, ToolInvocation


class RubricInForce(Struct, frozen=True, kw_only=True):
    """The rubric in force, and a text that describes it."""

    file: str
    patterns: tuple[Criterion, ...]
    antipatterns: tuple[Criterion, ...]
    legitimate: tuple[Criterion, ...]
    text: str


def tools(context: ToolContext) -> tuple[Tool, ...]:
    """Return the tool `rubric`."""

    async def rubric(call: ToolInvocation, _given: NoArguments) -> ToolAnswer:
        project = call.session.project
        loaded = context.rubrics.load(project, {})
        text = describe_rubric(loaded, project)
        in_force = RubricInForce(
            file=loaded.origin,
            patterns=loaded.patterns,
            antipatterns=loaded.antipatterns,
            legitimate=loaded.legitimate,
            text=text,
        )
        said = context.words.say(
            "rubric-text",
            described=text,
            patterns=_criteria_lines(loaded.patterns),
            antipatterns=_criteria_lines(loaded.antipatterns),
            legitimate=_criteria_lines(loaded.legitimate),
        )
        return ToolAnswer(in_force, said)

    return (Tool(name="rubric", toolset="core", gives=RubricInForce, work=rubric, reads=True),)


def _criteria_lines(criteria: tuple[Criterion, ...]) -> str:
    return "\n".join(
        f"- {one.id} ({one.severity}): {' '.join(f'{one.name}: {one.text}'.split())}" for one in criteria
    )
