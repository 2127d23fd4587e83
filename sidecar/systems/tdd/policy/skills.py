"""What a skill is: one Markdown file, with what it needs at its head and its discipline as its text.

    ---
    name: review
    about: Reviews a change and says what must be mended.
    tools: [Read, Grep, Glob]
    answer: review
    ---
    Review this change ...

`answer` names one of ANSWERS, or lists the fields of the answer: `{verdict: text, issues: list}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from string import Template
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta, Struct, structs

from sidecar.kernel.decoding import parse_instructions
from sidecar.kernel.errors import BadInputError

NAME_PATTERN: Final = r"^[a-z][a-z0-9_-]{0,40}$"

SkillTool = Literal["Bash", "Read", "Write", "Edit", "Grep", "Glob"]


class PhaseAnswer(Struct, frozen=True, kw_only=True):
    """What a worker says of a phase. None of it counts as proof.

    `file_path` is the file that it wrote, relative to the project. With status "fail", `message` says what
    keeps it from doing the phase.
    """

    status: Literal["pass", "fail"]
    file_path: str = ""
    message: str = ""


class SkillReviewIssue(Struct, frozen=True, kw_only=True):
    """One issue. `line` is 0 where it concerns the whole file."""

    severity: Literal["major", "minor"]
    file: str
    line: int = 0
    description: str


class SkillReview(Struct, frozen=True, kw_only=True):
    """The result of a review."""

    verdict: Literal["approved", "rejected"]
    summary: str
    issues: tuple[SkillReviewIssue, ...] = ()


class DebugAnswer(Struct, frozen=True, kw_only=True):
    """The result of a search for a fault. `evidence` are commands that were run and what they showed."""

    root_cause: str
    evidence: tuple[str, ...]
    suggested_fix: str
    confidence: Annotated[int, Meta(ge=0, le=100)]


ANSWERS: Final[Mapping[str, type[Struct]]] = {
    "phase": PhaseAnswer,
    "review": SkillReview,
    "debug": DebugAnswer,
}
FIELD_TYPES: Final[Mapping[str, object]] = {
    "text": str,
    "number": float,
    "yes-or-no": bool,
    "list": tuple[str, ...],
}


class _Head(Struct, frozen=True, kw_only=True):
    """What the head of a skill's file says, but for the answer."""

    name: Annotated[str, Meta(pattern=NAME_PATTERN)]
    about: Annotated[str, Meta(min_length=1, max_length=300)]
    tools: tuple[SkillTool, ...] = ("Bash", "Read", "Write")
    model: Annotated[str, Meta(max_length=200)] = ""
    attempts: Annotated[int, Meta(ge=1, le=3)] = 1


class _Front(_Head, frozen=True, kw_only=True):
    """The head of a skill's file."""

    answer: str | dict[str, Literal["text", "number", "yes-or-no", "list"]]


class Skill(_Head, frozen=True, kw_only=True):
    """A skill. `answer` is the Struct of its answer; `text` is the prompt, with `$name` for each value.

    `source` is the path of its file, `content` all of it.
    """

    answer: type[Struct]
    text: str
    source: str
    content: str

    def prompt(self, values: Mapping[str, str]) -> str:
        """Fill in the values. A `$name` without a value stays as it is."""
        return Template(self.text).safe_substitute(values).strip()


def parse_skill(content: str, source: str) -> Skill:
    """Parse a skill's file. Raises BadInputError, which names the file, the place and what is wrong."""
    front, text = parse_instructions(content, source, _Front, "name")
    head = structs.asdict(front) | {"answer": _answer_struct(front, source)}
    return Skill(**head, text=text, source=source, content=content)


def _answer_struct(front: _Front, source: str) -> type[Struct]:
    if isinstance(front.answer, str):
        if front.answer not in ANSWERS:
            known = ", ".join(ANSWERS)
            raise BadInputError(
                f"{source}: there is no answer {front.answer[:40]!r}; there are: {known}, or name the fields"
            )
        return ANSWERS[front.answer]
    if not front.answer or not all(name.isidentifier() for name in front.answer):
        raise BadInputError(f"{source}: the fields of `answer` need names of letters, digits and _")
    fields = [(name, FIELD_TYPES[kind]) for name, kind in front.answer.items()]
    return msgspec.defstruct(f"{front.name}_answer", fields, frozen=True, kw_only=True)
