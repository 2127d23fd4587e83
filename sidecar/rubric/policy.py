"""The interfaces of this room, and the messages when a rubric is saved, created or shown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Protocol

from sidecar.kernel.rubric import Criterion, FlawSeverity, HeldEdit, Rubric
from sidecar.kernel.session import Environment
from sidecar.kernel.text import clean_line, counted

MAX_CRITERIA_NAMED: Final = 3
"""Criteria of each kind that a summary names."""
MAX_SUMMARY_LENGTH: Final = 120
"""Characters of what an edit changed, on a host's screen."""
MAX_FAULTS_NAMED: Final = 5
"""Lines about what is wrong with a saved file, of at most so many characters:"""
MAX_FAULT_LENGTH: Final = 300
MAX_CRITERION_NAME_LENGTH: Final = 40
"""Characters of a criterion's name in a summary."""
ACCEPT_COMMAND: Final = "/supervisor:accept"
PROJECT_RUBRIC_PATHS: Final = (".supervisor/rubric.md", ".reflection/rubric.md")
"""Where a project's own rubric is."""


# --- The interface to the rubric in force -------------------------------------------------------------------


NOTHING_HELD: Final = "nothing is held"
ENVIRONMENT: Final = "the environment"
"""What stands for a path where variables of a session's host are held."""


class RubricStore(Protocol):
    """The rubric in force."""

    def load(self, project: str, environment: Environment) -> Rubric:
        """Return the first rubric found: the project's, the user's, the default. Never raises.

        A broken file is listed in `rejected`. Of a file with an edit that waits, the text from before counts.
        """

    def begin(self, project: str) -> tuple[str, bool]:
        """Return the path of the project's own rubric, and whether it was just created from the default.

        Raises OSError.
        """


# --- Messages about changes, held edits and the rubric in force ---------------------------------------------


def summarize_rubric_changes(before: Rubric, after: Rubric) -> str:
    """Describe in one line what differs between two rubrics."""
    old, new = _criteria_by_kind(before), _criteria_by_kind(after)
    parts = [part for kind in new for part in _change_phrases(kind, old[kind], new[kind])]
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
    since = "since the session began" if edit.path == ENVIRONMENT else "while an agent worked"
    said = f"{_shown_path(edit)} was changed {since}"
    summary = clean_line(edit.summary, MAX_SUMMARY_LENGTH)
    until = "The goal does not end until it is taken back, or" if edit.live else "It does not count until"
    return f"Supervisor: {said} ({summary}). {until} you type {ACCEPT_COMMAND}"


def saved_file_messages(edit: HeldEdit) -> tuple[str, ...]:
    """Return lines for the user about an edit that does not wait: what changed, and what is wrong with it."""
    if edit.live:
        return ()
    path = _shown_path(edit)
    faults = [clean_line(fault, MAX_FAULT_LENGTH) for fault in edit.faults[:MAX_FAULTS_NAMED]]
    if not edit.serves:
        return (f"Supervisor: {path} cannot serve: {'; '.join(faults)}; what it said before stays in force",)
    summary = clean_line(edit.summary, MAX_SUMMARY_LENGTH)
    first = f"{path} was changed ({summary}). It counts from the next stop"
    return tuple(f"Supervisor: {line}" for line in (first, *faults))


def _shown_path(edit: HeldEdit) -> str:
    """Return the path, relative to the project whose file it is."""
    return clean_line(edit.path.removeprefix(f"{edit.project.rstrip('/')}/") if edit.project else edit.path)


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
