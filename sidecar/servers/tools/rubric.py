"""The rubric in force: what this session's work is measured with."""

from __future__ import annotations

from msgspec import Struct

from sidecar.model.rubric import Criterion
from sidecar.policy.rubrics import described
from sidecar.servers.tools.reach import Reach
from sidecar.servers.tools.tool import Answer, Call, Nothing, Tool


class InForce(Struct, frozen=True, kw_only=True):
    """The rubric in force, and what is to be said of it."""

    file: str
    patterns: tuple[Criterion, ...]
    antipatterns: tuple[Criterion, ...]
    legitimate: tuple[Criterion, ...]
    text: str


def tools(reach: Reach) -> tuple[Tool, ...]:
    """The tool `rubric`."""

    async def rubric(call: Call, _given: Nothing) -> Answer:
        project = call.session.project
        loaded = reach.rubrics.load(project, {})
        text = described(loaded, project)
        in_force = InForce(
            file=loaded.origin,
            patterns=loaded.patterns,
            antipatterns=loaded.antipatterns,
            legitimate=loaded.legitimate,
            text=text,
        )
        said = reach.words.say(
            "rubric-text",
            described=text,
            patterns=_list(loaded.patterns),
            antipatterns=_list(loaded.antipatterns),
            legitimate=_list(loaded.legitimate),
        )
        return Answer(in_force, said)

    return (
        Tool(
            name="rubric", toolset="core", takes=Nothing, gives=InForce, work=rubric, reads=True, repeats=True
        ),
    )


def _list(criteria: tuple[Criterion, ...]) -> str:
    return "\n".join(
        f"- {one.id} ({one.severity}): {' '.join(f'{one.name}: {one.text}'.split())}" for one in criteria
    )
