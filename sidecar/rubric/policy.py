"""The interfaces of this room, and the messages when a rubric is saved, created or shown."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final, Protocol

from msgspec import Struct

from sidecar.kernel.rubric import (
    AgentWrites,
    ConfigurationContents,
    Criterion,
    FlawSeverity,
    HeldEdit,
    Rubric,
)
from sidecar.kernel.session import Environment
from sidecar.kernel.text import clean_line, counted

MAX_CRITERIA_NAMED: Final = 3
"""Criteria of each kind that a summary names."""
MAX_SUMMARY_LENGTH: Final = 120
"""Characters of what an edit changed, on a host's screen."""
MAX_CRITERION_NAME_LENGTH: Final = 40
"""Characters of a criterion's name in a summary."""
ACCEPT_COMMAND: Final = "/supervisor:accept"
PROJECT_RUBRIC_PATHS: Final = (".supervisor/rubric.md", ".reflection/rubric.md")
"""Where a project's own rubric is."""


# --- Interfaces to the rubric in force, and to the files by which people guide us ---------------------------


NOTHING_HELD: Final = "nothing is held"


class RubricStore(Protocol):
    """The rubric in force."""

    def load(self, project: str, environment: Environment, writes: AgentWrites | None = None) -> Rubric:
        """Return the first rubric found: the project's, the user's, the default. Never raises.

        A broken file is listed in `rejected`. `writes` says what the agent did since the last look. If it may
        have edited the file, the text that was in force before stays in force, and `held` says so, until
        `accept`.
        """

    def accept(self, project: str, environment: Environment) -> str:
        """Put the held edit in force; return in one line what was done. Raises OSError."""

    def begin(self, project: str) -> tuple[str, bool]:
        """Return the path of the project's own rubric, and whether it was just created from the default.

        Raises OSError.
        """


class GuidanceFiles(Protocol):
    """The present files by which people guide us, whoever wrote them. No method raises."""

    def paths(self, project: str, environment: Environment) -> tuple[str, ...]:
        """Return where they may be: the rubrics by precedence, then the configuration."""

    def rubric(self, project: str, environment: Environment) -> Rubric | None:
        """Return what would be in force if every edit counted; None while a file is being written."""

    def settings(self, project: str) -> tuple[ConfigurationContents, ...]:
        """Return the contents of the user's configuration file and of the project's."""


# --- Messages about changes, held edits and the rubric in force ---------------------------------------------


def summarize_rubric_changes(before: Rubric, after: Rubric) -> str:
    """Describe in one line what differs between two rubrics."""
    new = _criteria_by_kind(after)
    parts = [
        part
        for kind, old in _criteria_by_kind(before).items()
        for part in _change_phrases(kind, old, new[kind])
    ]
    return "; ".join(parts) or "its criteria stay as they are"


def _criteria_by_kind(rubric: Rubric) -> dict[str, tuple[Criterion, ...]]:
    return {
        "pattern": rubric.patterns,
        "antipattern": rubric.antipatterns,
        "legitimate stop": rubric.legitimate,
    }


def _change_phrases(kind: str, old: tuple[Criterion, ...], new: tuple[Criterion, ...]) -> list[str]:
    was, now = {one.id: one for one in old}, {one.id: one for one in new}
    groups = (
        ("gone", [one for one in old if one.id not in now]),
        ("added", [one for one in new if one.id not in was]),
        ("changed", [one for one in new if one.id in was and one != was[one.id]]),
    )
    return [f"{counted(len(found), kind)} {word} ({_list_criterion_names(found)})"
            for word, found in groups if found]  # fmt: skip


def _list_criterion_names(found: list[Criterion]) -> str:
    shown = ", ".join(clean_line(one.name)[:MAX_CRITERION_NAME_LENGTH] for one in found[:MAX_CRITERIA_NAMED])
    return shown + (", ..." if len(found) > MAX_CRITERIA_NAMED else "")


def held_edit_message(edit: HeldEdit) -> str:
    """Return one line for the user about an edit that waits."""
    path, summary = clean_line(edit.path), clean_line(edit.summary, MAX_SUMMARY_LENGTH)
    if edit.unsure:
        return (
            f"Supervisor: {path} was changed while the agent worked ({summary}). It counts from your next "
            f"message on, at once with {ACCEPT_COMMAND}; not yours? Take it back"
        )
    return (
        f"Supervisor: the agent changed {path} ({summary}). It does not count until you type {ACCEPT_COMMAND}"
    )


def rubric_change_message(rubric: Rubric) -> str:
    """Return one line for the user about a change that counts, "" if there is none."""
    return f"Supervisor: the rubric in force changed: {rubric.changed}" if rubric.changed else ""


def describe_rubric(rubric: Rubric, project: str) -> tuple[str, ...]:
    """Describe in lines what is in force and why, which files were passed over, and what is held."""
    counts = ", ".join(counted(len(found), kind) for kind, found in _criteria_by_kind(rubric).items())
    why = _explain_origin(rubric.origin, project) + ", as it was before it was broken" * rubric.broken
    lines = [f"rubric in force: {clean_line(rubric.origin)} ({why}; {counts})"]
    if rubric.rejected:
        lines.append(f"passed over: {clean_line('; '.join(rubric.rejected))}")
    if held := rubric.held:
        return *lines, f"held: {clean_line(held.path)}: {held.summary}. Type {ACCEPT_COMMAND}"
    return *lines, "Nothing is held."


def _explain_origin(origin: str, project: str) -> str:
    if project and any(origin == f"{project.rstrip('/')}/{place}" for place in PROJECT_RUBRIC_PATHS):
        return "the project's own"
    if origin.endswith("/supervisor/rubric.md"):
        return "yours; the project has none in force"
    return "the default; neither project nor user has one in force"


# --- Messages at once when a rubric or a configuration file was saved ---------------------------------------
# - They say what changed and whether it counts. While an agent is at work, that is decided at its stop.
# - A file that reads the same as before is not reported.
# - What a file says is quoted in one line, and its length is limited.


MAX_ITEMS_NAMED: Final = 5
"""Settings that a line names, and lines about one file."""
MAX_NOTICE_LENGTH: Final = 400
"""Characters of a line."""
TRUST_HINT: Final = "a command of the project runs only once you approved it: supervisor trust"

_COMMAND = re.compile(r"gate\..+\.command")


class RubricObservation(Struct, frozen=True):
    """What was seen of a project's rubrics.

    `order`: where they may be, the first by precedence first. `before` and `now` are what the files say,
    whoever wrote them; `force` is what counts. `at_rest`: no agent was at work, so what was saved is decided.
    """

    project: str
    order: tuple[str, ...]
    before: Rubric
    now: Rubric
    force: Rubric
    at_rest: bool


def rubric_save_notices(seen: RubricObservation) -> tuple[str, ...]:
    """Return lines for the user, none if there is nothing new."""
    if broken := [line for line in seen.now.rejected if line not in seen.before.rejected]:
        rest = _fallback_text(seen)
        return tuple(
            _format_notice(seen.project, "rubric saved", _rejection_text(line), rest)
            for line in broken[:MAX_ITEMS_NAMED]
        )
    differs = not _says_the_same(seen.before, seen.now)
    path = changed_rubric_path(seen.order, seen.before.origin, seen.now.origin)
    change = f"{path}: {summarize_rubric_changes(seen.before, seen.now)}"
    what = "rubric saved" if path == seen.now.origin else "rubric removed"
    if not seen.at_rest:
        rest = ". Whether it counts is told at the next stop"
        return (_format_notice(seen.project, what, change, rest),) if differs else ()
    if seen.force.changed:
        change = seen.force.changed
    elif not differs or not _says_the_same(seen.force, seen.now):
        return ()
    return (_format_notice(seen.project, what, change, ". It counts from the next stop"),)


def changed_rubric_path(order: Sequence[str], before: str, now: str) -> str:
    """Return the file because of which the rubric at `now` serves, not that at `before`.

    It is new, changed or gone. `order`: where rubrics may be, the first by precedence first.
    """
    return min(before, now, key=lambda path: order.index(path) if path in order else len(order))


def settings_save_notices(
    project: str,
    before: Sequence[ConfigurationContents],
    now: Sequence[ConfigurationContents],
    undecided: Collection[str] = (),
) -> tuple[str, ...]:
    """Return lines for the user about configuration files, none if there is nothing new.

    `undecided` are paths of which a stop will say whether their change counts.
    """
    return tuple(
        line
        for old, new in zip(before, now, strict=True)
        for line in _file_notices(project, old, new, decided=new.path not in undecided)
    )


def _file_notices(
    project: str, before: ConfigurationContents, now: ConfigurationContents, *, decided: bool
) -> list[str]:
    wrong = [line for line in now.problems if line not in before.problems]
    names = before.values.keys() | now.values.keys()
    changed = sorted(name for name in names if before.values.get(name) != now.values.get(name))
    lines = [_format_notice(project, "settings saved", line, "") for line in wrong[:MAX_ITEMS_NAMED]]
    if changed and decided:
        shown = ", ".join(changed[:MAX_ITEMS_NAMED]) + (", ..." if len(changed) > MAX_ITEMS_NAMED else "")
        own = now.path.startswith(f"{project}/") and any(_COMMAND.fullmatch(name) for name in changed)
        lines.append(
            _format_notice(
                project, "settings changed", f"{shown} in {now.path}", f"; {TRUST_HINT}" if own else ""
            )
        )
    return lines


def _format_notice(project: str, what: str, text: str, rest: str) -> str:
    """Return one line, in which the project's paths are relative to the project."""
    text, rest = _shorten_paths(text, project), _shorten_paths(rest, project)[: MAX_NOTICE_LENGTH // 2]
    room = MAX_NOTICE_LENGTH - len(rest)
    return f"Supervisor: {what}: {text if len(text) <= room else text[: room - 3] + '...'}{rest}"


def _shorten_paths(text: str, project: str) -> str:
    inside = project.rstrip("/")
    return clean_line(text.replace(f"{inside}/", "") if inside else text)


def _rejection_text(rejected: str) -> str:
    path, _, why = rejected.partition(": ")
    return f"{path} cannot serve: {why}"


def _fallback_text(seen: RubricObservation) -> str:
    """Return what counts if a file cannot serve."""
    if not seen.at_rest and seen.now.origin != seen.force.origin:
        return "; what was in force stays, at least until the next stop"
    return f"; in force: {seen.force.origin}"


def _says_the_same(one: Rubric, other: Rubric) -> bool:
    return one.origin == other.origin and _criteria_by_kind(one) == _criteria_by_kind(other)


# --- Answers to a person who creates or inspects a rubric, and the text of a new one ------------------------
# This part reads no files: whether one exists, and what is wrong with it, is given by the caller.


MAX_PROJECT_NAME_LENGTH: Final = 60
"""Characters of a project's name in the title of its rubric."""
RUBRIC_HEADER: Final = """\
# What done looks like{project}

The rubric that Supervisor judges by here; change it as you like. What you save counts from the next stop, and
`supervisor rubric check` says what is wrong with it. Each `###` heading or list item below is one criterion;
`## Patterns` and `## Antipatterns` must both have some; 8 KiB is the most."""
EDIT_HINT: Final = (
    "Edit it; what you save counts from the next stop. Type in a shell: supervisor rubric check"
)

_SECTION: Final = re.compile(r"^## ", re.MULTILINE)
_BREAK: Final = re.compile(r"\r\n|\r|\n")


def new_rubric_text(default: str, project: str = "") -> str:
    """Return a new rubric: the default's criteria below a header for whoever edits it.

    `project` is the name of the folder, "" for the rubric that a user has for all projects. Of the default's
    header, the paragraphs after the first two are kept: they explain how a criterion is written.
    """
    first = _SECTION.search(default)
    begin = first.start() if first else len(default)
    explained = default[:begin].strip().split("\n\n")[2:]
    name = clean_line(project, MAX_PROJECT_NAME_LENGTH)
    header = RUBRIC_HEADER.format(project=f" in {name}" if name else "")
    return "\n\n".join([header, *explained, default[begin:]])


def edit_rubric_answer(path: str, *, made: bool) -> str:
    """Return the answer to a person who wants to edit a project's rubric."""
    begun = f"{path} is there now, begun with the default's criteria" if made else f"the rubric is {path}"
    return f"{begun}. {EDIT_HINT}"


def find_text_position(text: str, place: int) -> tuple[int, int]:
    """Return the line and column of an offset, as people count: both from 1, columns in code points.

    Lines end where an editor ends them: at LF, CR LF, or CR.
    """
    above = text[: max(place, 0)]
    ends = [found.end() for found in _BREAK.finditer(above)]
    return len(ends) + 1, len(above) - (ends[-1] if ends else 0) + 1


def count_flaws(weights: Sequence[FlawSeverity]) -> str:
    """Count flaws by weight: "1 error, 2 warnings"; "nothing to mend" for none."""
    parts = [(weights.count(weight), weight.value) for weight in FlawSeverity]
    return ", ".join(counted(n, word) for n, word in parts if n) or "nothing to mend"
