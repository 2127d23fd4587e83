"""Tools that let a headless agent do a skill: the three phases of test-driven development, and any other.

What they answer as verified, Supervisor ran itself (systems/tdd).
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from sidecar.kernel.decoding import UNLISTED
from sidecar.platform.paths import lies_inside
from sidecar.servers.tools.tool import (
    AgentTool,
    NoArguments,
    RefusalError,
    ToolAnswer,
    ToolContext,
    ToolInvocation,
    clip_printable,
    with_progress,
)
from sidecar.systems.tdd.policy.phases import Phase
from sidecar.systems.tdd.workbench import SkillRequest, SkillResult

SPEC_LENGTH: Final = 8_000
PATH_LENGTH: Final = 1_000
COMMAND_LENGTH: Final = 4_000

PHASE_VALUES: Final = ("spec", "test_path", "impl_path")
"""Arguments of phases that their prompts speak of."""

PathText = Annotated[str, Meta(min_length=1, max_length=PATH_LENGTH)]


class _Asked(Struct, frozen=True, kw_only=True):
    """What every skill may be given. `project_root` "" is the session's project."""

    project_root: Annotated[str, Meta(max_length=PATH_LENGTH)] = ""
    model: Annotated[str, Meta(max_length=200)] = ""


class _Work(_Asked, frozen=True, kw_only=True):
    """What every phase may be given."""

    test_cmd: Annotated[str, Meta(max_length=COMMAND_LENGTH)] = ""
    keep: Annotated[bool, UNLISTED] = False


class RedArguments(_Work, frozen=True, kw_only=True):
    """One behaviour. `test_path`: the file for its test, where nothing else tells which files are tests."""

    spec: Annotated[str, Meta(min_length=1, max_length=SPEC_LENGTH)]
    test_path: Annotated[str, Meta(max_length=PATH_LENGTH)] = ""


class GreenArguments(_Work, frozen=True, kw_only=True):
    """The file of the failing test."""

    test_path: PathText


class RefactorArguments(_Work, frozen=True, kw_only=True):
    """The file of the passing tests, and the one to improve."""

    test_path: PathText
    impl_path: PathText


class SkillArguments(_Asked, frozen=True, kw_only=True):
    """The name of a skill and what it is asked."""

    skill: Annotated[str, Meta(min_length=1, max_length=100)]
    request: Annotated[str, Meta(min_length=1, max_length=SPEC_LENGTH)]


class SkillInfo(Struct, frozen=True, kw_only=True):
    """A skill. `answer` are the fields of its answer."""

    name: str
    about: str
    answer: tuple[str, ...]


class SkillsListed(Struct, frozen=True, kw_only=True):
    """The skills that may be used here, and what is wrong with others."""

    skills: tuple[SkillInfo, ...]
    problems: tuple[str, ...]


def tools(context: ToolContext) -> tuple[AgentTool, ...]:
    """Return the tools of the toolset `tdd`."""
    make = partial(AgentTool, toolset="tdd")
    phases = ((Phase.RED, RedArguments), (Phase.GREEN, GreenArguments), (Phase.REFACTOR, RefactorArguments))
    return (
        *(
            make(
                name=f"tdd_{phase}",
                takes=takes,
                gives=SkillResult,
                work=partial(_answer_phase, context, phase),
                asks=True,
            )
            for phase, takes in phases
        ),
        make(name="skill_list", gives=SkillsListed, work=partial(_answer_list, context), reads=True),
        make(
            name="skill_run",
            takes=SkillArguments,
            gives=SkillResult,
            work=partial(_answer_skill, context),
            asks=True,
        ),
    )


async def _answer_phase(context: ToolContext, phase: Phase, call: ToolInvocation, given: _Work) -> ToolAnswer:
    values = {name: getattr(given, name) for name in PHASE_VALUES if hasattr(given, name)}
    work = {"test_cmd": given.test_cmd.strip(), "keep": given.keep}
    result = await _run(context, phase, call, given, values=values, **work)
    if result.verified:
        after = context.words.say(f"after-{phase}", file=result.file_path)
        result = msgspec.structs.replace(result, message=f"{result.message} {after}")
    return _answer(context, result)


async def _answer_skill(context: ToolContext, call: ToolInvocation, given: SkillArguments) -> ToolAnswer:
    return _answer(context, await _run(context, given.skill, call, given, values={"request": given.request}))


async def _answer_list(context: ToolContext, call: ToolInvocation, _given: NoArguments) -> ToolAnswer:
    known = context.skills.known(call.session.project)
    skills = tuple(
        SkillInfo(name=one.name, about=one.about, answer=one.answer.__struct_fields__)
        for one in known.by_name.values()
    )
    lines = [
        context.words.say("skill-line", skill=one.name, about=one.about, answer=", ".join(one.answer))
        for one in skills
    ]
    text = "\n".join((*lines, *known.problems))
    return ToolAnswer(SkillsListed(skills=skills, problems=known.problems), text)


async def _run(
    context: ToolContext,
    skill: str,
    call: ToolInvocation,
    given: _Asked,
    **more: Any,  # noqa: ANN401 - other fields of the request
) -> SkillResult:
    """Run a skill. Raises RefusalError for a folder outside the session's project."""
    environment = context.checks.permitted_environment(call.session)
    project = Path(call.session.project, given.project_root)
    if not lies_inside(project, Path(call.session.project)):
        raise RefusalError(context.words.say("no-project-root", folder=clip_printable(str(project))))
    asked = SkillRequest(
        project=str(project), environment=environment, model=given.model, session=call.session.key, **more
    )
    run = partial(context.skills.run, skill, asked)
    return await with_progress(context.clock, call, lambda progress: run(progress.tell_step))


def _answer(context: ToolContext, result: SkillResult) -> ToolAnswer:
    text = context.words.say(
        "skill-ended",
        skill=result.skill,
        status="verified" if result.verified else result.status,
        message=msgspec.json.encode(result.answer).decode() if result.answer else result.message,
        output="" if result.status == "pass" else result.runner_output,
    )
    return ToolAnswer(result, text.strip(), failed=result.status != "pass")
