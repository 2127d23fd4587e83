"""What the model judge sees of a stop.

What the worker says of itself cannot raise a verdict (law 2), so its last message comes without the sentences
that only praise. A criterion that names files is left out where none of the changed files is meant; where it
is not known what changed, all criteria stay.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from sidecar.model.effects import Case
from sidecar.model.inquiry import Inquiry
from sidecar.model.rubric import Criterion, Rubric
from sidecar.policy.claims.praise import without_praise
from sidecar.policy.steering import cleaned

MESSAGE_LIMIT: Final = 24_000
"""Characters of the last message that are looked at, half from each end; hosts' readers keep 20,000."""
PATHS_LIMIT: Final = 2_000
"""Changed files above which every criterion applies: somewhere in so many is what it means."""
GLOB_LIMIT: Final = 300
"""Characters of a glob; a longer one, and one of more than 30 parts, is not understood, so it applies."""
PARTS_LIMIT: Final = 30
BRACES_LIMIT: Final = 64
"""Globs that one with braces may stand for."""

Parts = tuple[str, ...]


def build(inquiry: Inquiry, condition: str) -> Case:
    """The case of this stop, without text addressed to the judge; `condition` is "" where no goal is set."""
    turn, survey = inquiry.turn, inquiry.survey
    case = Case(
        condition=condition,
        suspicion=inquiry.suspicion,
        prompts=turn.prompts,
        rubric=applying(survey.rubric, survey.changed),
        evidence=inquiry.evidence,
        last_message=without_praise(_bounded(turn.last_message)),
        edits=survey.edits,
        edits_unseen=survey.unseen,
    )
    return cleaned(case)


def applying(rubric: Rubric, changed: tuple[str, ...] | None) -> Rubric:
    """The rubric with the criteria that apply where these files changed; None: it is not known which."""
    if changed is None or len(changed) > PATHS_LIMIT:
        return rubric
    paths = tuple(tuple(path.split("/")) for path in changed)
    return replace(
        rubric,
        patterns=_applying(rubric.patterns, paths),
        antipatterns=_applying(rubric.antipatterns, paths),
        legitimate=_applying(rubric.legitimate, paths),
    )


def fits(glob: str, path: str) -> bool:
    """Whether a glob means this path of a project, as .gitignore does.

    `*` and `?` stop at `/`, `**` does not; without a `/` before its end it means a name at any depth, else it
    is anchored; a folder means all that is in it. `{a,b}` is understood too, as shells do.
    """
    return any(_fits(parts, tuple(path.split("/"))) for parts in _understood(glob))


def _applying(criteria: tuple[Criterion, ...], paths: tuple[Parts, ...]) -> tuple[Criterion, ...]:
    return tuple(one for one in criteria if not one.applies_to or _applies(one.applies_to, paths))


def _applies(globs: tuple[str, ...], paths: tuple[Parts, ...]) -> bool:
    """Whether a file is meant that no later glob with `!` takes out again."""
    return any(_meant(globs, path) for path in paths)


def _meant(globs: tuple[str, ...], path: Parts) -> bool:
    meant = all(glob.startswith("!") for glob in globs)
    for glob in globs:
        if any(_fits(parts, path) for parts in _understood(glob.removeprefix("!"))):
            meant = not glob.startswith("!")
    return meant


@lru_cache(maxsize=512)
def _understood(glob: str) -> tuple[Parts, ...]:
    """The globs that one stands for, each in its parts; `**` before what may stand at any depth."""
    if len(glob) > GLOB_LIMIT:
        return (("**",),)
    return tuple(_parts(one) for one in _braces(glob.strip()))


def _parts(glob: str) -> Parts:
    anchored = "/" in glob.rstrip("/")
    parts = [part for part in glob.removeprefix("./").split("/") if part]
    if len(parts) > PARTS_LIMIT:
        return ("**",)
    return tuple(parts) if anchored else ("**", *parts)


def _braces(glob: str) -> tuple[str, ...]:
    """Every choice of `{a,b}`, in order; braces within braces are not understood."""
    done: list[str] = []
    waiting = [glob]
    while waiting and len(done) + len(waiting) <= BRACES_LIMIT:
        one = waiting.pop(0)
        end = one.find("}")
        start = one.rfind("{", 0, end) if end >= 0 else -1
        if start < 0 or "," not in one[start:end]:
            done.append(one)
            continue
        waiting += [one[:start] + choice + one[end + 1 :] for choice in one[start + 1 : end].split(",")]
    return (*done, *waiting)


def _fits(glob: Parts, path: Parts) -> bool:
    """Whether the parts of a glob mean a path: all of it, or a folder above it."""
    reached = {0}  # how many parts of the path may be behind us
    for part in glob:
        if part == "**" and reached:
            reached = set(range(min(reached), len(path) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(path) and fnmatchcase(path[at], part)}
    return any(reached)


def _bounded(message: str) -> str:
    """Both ends of a message of any length."""
    if len(message) <= MESSAGE_LIMIT:
        return message
    half = MESSAGE_LIMIT // 2
    left = len(message) - 2 * half
    return f"{message[:half]}\n[... {left} characters left out ...]\n{message[-half:]}"
