"""Tools that let a headless agent do a skill: the three phases of test-driven development, and any other.

What they answer as verified, Supervisor ran itself (systems/tdd).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

from sidecar.kernel.masking import mask_texts
from sidecar.servers.tools.steps import with_steps
from sidecar.servers.tools.tool import (
    NoArguments,
    RefusalError,
    Tool,
    ToolAnswer,
    ToolContext,
    ToolInvocation,
    clip_printable,
)
from sidecar.systems.tdd.policy.phases import Phase
from sidecar.systems.tdd.workbench import SkillRequest, SkillResult

SPEC_LENGTH: Final = 8_000
PATH_LENGTH: Final = 1_000
COMMAND_LENGTH: Final = 4_000

PathText = Annotated[str, Meta(min_length=1, max_length=PATH_LENGTH)]
ModelName = Annotated[str, Meta(max_length=200)]


class _Work(Struct, frozen=True, kw_only=True):
    """What every phase may be given. `project_root` "" is the session's project."""

    project_root: Annotated[str, Meta(max_length=PATH_LENGTH)] = ""
    model: ModelName = ""
    test_cmd: Annotated[str, Meta(max_length=COMMAND_LENGTH)] = ""
    keep: bool = False


class RedArguments(_Work, frozen=True, kw_only=True):
    """One behaviour."""

    spec: Annotated[str, Meta(min_length=1, max_length=SPEC_LENGTH)]


class GreenArguments(_Work, frozen=True, kw_only=True):
    """The file of the failing test."""

    test_path: PathText


class RefactorArguments(_Work, frozen=True, kw_only=True):
    """The file of the passing tests, and the one to improve."""

    test_path: PathText
    impl_path: PathText


class SkillArguments(Struct, frozen=True, kw_only=True):
    """The name of a skill and what it is asked."""

    skill: Annotated[str, Meta(min_length=1, max_length=100)]
    request: Annotated[str, Meta(min_length=1, max_length=SPEC_LENGTH)]
    project_root: Annotated[str, Meta(max_length=PATH_LENGTH)] = ""
    model: ModelName = ""


class PhaseEnded(Struct, frozen=True, kw_only=True):
    """How a phase ended; see systems.tdd.workbench.SkillResult."""

    status: Literal["pass", "fail", "error"]
    phase: str
    skill: str
    file_path: str
    runner_output: str
    verified: bool
    model_used: str
    message: str
    attempts: int
    files: tuple[str, ...]
    tokens: int
    cents: float | None


class SkillEnded(Struct, frozen=True, kw_only=True):
    """How a skill ended. `answer` has the fields of the skill's answer, and is null after an error."""

    status: Literal["pass", "fail", "error"]
    skill: str
    answer: dict[str, Any] | None
    model_used: str
    message: str
    attempts: int
    tokens: int
    cents: float | None


class SkillInfo(Struct, frozen=True, kw_only=True):
    """A skill. `answer` are the fields of its answer."""

    name: str
    about: str
    answer: tuple[str, ...]


class SkillsListed(Struct, frozen=True, kw_only=True):
    """The skills that may be used here, and what is wrong with others."""

    skills: tuple[SkillInfo, ...]
    problems: tuple[str, ...]


def tools(context: ToolContext) -> tuple[Tool, ...]:
    """Return the tools of the toolset `tdd`."""
    phases = (
        (Phase.RED, RedArguments, ("spec",)),
        (Phase.GREEN, GreenArguments, ("test_path",)),
        (Phase.REFACTOR, RefactorArguments, ("test_path", "impl_path")),
    )
    return (
        *(
            Tool(
                name=f"tdd_{phase}",
                toolset="tdd",
                takes=takes,
                gives=PhaseEnded,
                work=partial(_answer_phase, context, phase, values),
                asks=True,
            )
            for phase, takes, values in phases
        ),
        Tool(
            name="skill_list",
            toolset="tdd",
            takes=NoArguments,
            gives=SkillsListed,
            work=partial(_answer_list, context),
            reads=True,
            repeats=True,
        ),
        Tool(
            name="skill_run",
            toolset="tdd",
            takes=SkillArguments,
            gives=SkillEnded,
            work=partial(_answer_skill, context),
            asks=True,
        ),
    )


async def _answer_phase(
    context: ToolContext, phase: Phase, names: tuple[str, ...], call: ToolInvocation, given: _Work
) -> ToolAnswer:
    values = {name: getattr(given, name) for name in names}
    request = _request(context, call, given.project_root, values)
    request = msgspec.structs.replace(
        request, model=given.model, test_cmd=given.test_cmd.strip(), keep=given.keep
    )
    result = await with_steps(context.clock, call, partial(context.skills.run_phase, phase, request))
    if result.verified:
        after = context.words.say(f"after-{phase}", file=result.file_path)
        result = msgspec.structs.replace(result, message=f"{result.message} {after}")
    result = _masked(context, call, result)
    return ToolAnswer(msgspec.convert(result, PhaseEnded, from_attributes=True), _text(context, result))


async def _answer_skill(context: ToolContext, call: ToolInvocation, given: SkillArguments) -> ToolAnswer:
    request = _request(context, call, given.project_root, {"request": given.request})
    request = msgspec.structs.replace(request, model=given.model)
    result = await with_steps(context.clock, call, partial(context.skills.run, given.skill, request))
    result = _masked(context, call, result)
    ended = SkillEnded(
        status=result.status,
        skill=result.skill,
        answer=msgspec.json.decode(result.answer),
        model_used=result.model_used,
        message=result.message,
        attempts=result.attempts,
        tokens=result.tokens,
        cents=result.cents,
    )
    return ToolAnswer(ended, _text(context, result))


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


def _request(
    context: ToolContext, call: ToolInvocation, root: str, values: Mapping[str, str]
) -> SkillRequest:
    """Build the request. Raises RefusalError for a folder outside the session's project."""
    environment = context.checks.permitted_environment(call.session)
    project = Path(call.session.project, root)
    if not _lies_inside(project, call.session.project):
        raise RefusalError(context.words.say("no-project-root", folder=clip_printable(str(project))))
    return SkillRequest(
        project=str(project), environment=environment, values=values, session=call.session.key
    )


def _lies_inside(project: Path, session_project: str) -> bool:
    try:
        return project.resolve().is_relative_to(Path(session_project).resolve())
    except (OSError, ValueError):  # such as a path with a surrogate
        return False


def _masked(context: ToolContext, call: ToolInvocation, result: SkillResult) -> SkillResult:
    mask = context.checks.mask(call.session)
    return msgspec.structs.replace(
        result,
        runner_output=mask(result.runner_output),
        message=mask(result.message),
        answer=msgspec.Raw(msgspec.json.encode(mask_texts(msgspec.json.decode(result.answer), mask))),
    )


def _text(context: ToolContext, result: SkillResult) -> str:
    answer = bytes(result.answer).decode()
    return context.words.say(
        "skill-ended",
        skill=result.skill,
        status="verified" if result.verified else result.status,
        message=result.message if answer == "null" else answer,
        output="" if result.status == "pass" else result.runner_output,
    ).strip()
