"""The prompt of a run's next agent, built from a template and the known facts.

The template is in rubric/run.md, or is the user's own. A paragraph with an empty placeholder is left out.
Texts of files, tools and agents are data: they are fenced (the feedback already is), stripped of control
characters and cut to the limits below, so that a prompt always stays under about 80,000 characters.
"""

from __future__ import annotations

from collections.abc import Iterable
from string import Template
from typing import Final

from sidecar.kernel.journal import Journal, Task, find_ready_tasks
from sidecar.kernel.runs import RunPromptInputs
from sidecar.kernel.text import clean_line, clean_text, fill_template, quote_as_code_block, truncate_middle

MAX_SPEC_LENGTH: Final = 24_000
"""Maximum characters of the specification; more is left out in the middle."""
MAX_FEEDBACK_LENGTH: Final = 10_000
"""Maximum characters of the last judging's feedback, which is under 9,000 by itself."""
MAX_HOOK_OUTPUT_LENGTH: Final = 6_000
"""Maximum characters of the hooks' output."""
MAX_EXTRA_LENGTH: Final = 4_000
MAX_CHECKS_LENGTH: Final = 4_000
MAX_TASK_LIST_LENGTH: Final = 10_000
MAX_NOTE_LIST_LENGTH: Final = 6_000
MAX_HISTORY_LENGTH: Final = 6_000
MAX_ITEM_LENGTH: Final = 600
"""Maximum characters of one task, note or summary."""


def unknown_placeholders(template: str) -> tuple[str, ...]:
    """Return the placeholders of a template that nothing fills in."""
    return tuple(sorted(set(Template(template).get_identifiers()) - placeholders()))


def placeholders() -> frozenset[str]:
    """Return the placeholders that a template may use."""
    return frozenset(_placeholder_values(RunPromptInputs(session="", iteration=0, most=0, goal="")))


def build_run_prompt(template: str, material: RunPromptInputs) -> str:
    """Fill in the template paragraph by paragraph."""
    return fill_template(template, _placeholder_values(material))


def _placeholder_values(material: RunPromptInputs) -> dict[str, str]:
    journal = material.journal
    first = () if material.branch else find_ready_tasks(journal)[:1]
    first = (material.task,) if material.task else first
    contested = material.task.contested if material.task else ()
    news, past = reversed(journal.notes), reversed(journal.summaries)
    notes = (f"{one.id} [{one.kind}] by {one.by}: {_one_line(one.content)}" for one in news)
    history = (f"{one.iteration}: {_one_line(one.content)}" for one in past)
    return {
        "before": quote_as_code_block(_cut_middle(material.before, MAX_HOOK_OUTPUT_LENGTH)),
        "branch": material.branch,
        "checks": quote_as_code_block(_cut_middle("\n".join(material.checks), MAX_CHECKS_LENGTH)),
        "conflict": quote_as_code_block(_cut_middle("\n".join(contested), MAX_CHECKS_LENGTH)),
        "extra": _cut_middle(material.extra, MAX_EXTRA_LENGTH),
        "feedback": _cut_middle(material.feedback, MAX_FEEDBACK_LENGTH),
        "goal": quote_as_code_block(material.goal),
        "history": quote_as_code_block(_newest_lines(history, MAX_HISTORY_LENGTH)),
        "iteration": str(material.iteration),
        "most": str(material.most),
        "notes": quote_as_code_block(_newest_lines(notes, MAX_NOTE_LIST_LENGTH)),
        "session": material.session,
        "spec": quote_as_code_block(_cut_middle(material.spec, MAX_SPEC_LENGTH)),
        "subagents": material.subagents,
        "task": quote_as_code_block(f"{first[0].id}: {_one_line(first[0].content)}") if first else "",
        "tasks": quote_as_code_block(_format_task_list(journal)),
        "tools": material.tools,
    }


def _format_task_list(journal: Journal) -> str:
    """List the open tasks, ready ones first, then the newest completed ones, as far as there is room."""
    free = find_ready_tasks(journal)
    rest = [task for task in journal.tasks if task.open and task not in free]
    done = [task for task in reversed(journal.tasks) if not task.open]
    lines = [_format_task(task) for task in (*free, *rest, *done)]
    shown = _lines_that_fit(lines, MAX_TASK_LIST_LENGTH)
    return "\n".join([*shown, f"... {len(lines) - len(shown)} more"] if len(shown) < len(lines) else shown)


def _format_task(task: Task) -> str:
    marks = [task.status.value, task.priority.name.lower()]
    marks += [f"after {', '.join(task.depends_on)}"] if task.depends_on else []
    marks += [f"claimed by iteration {task.claim.worker}"] if task.claim else []
    return f"{task.id} [{', '.join(marks)}] by {task.by}: {_one_line(task.content)}"


def _newest_lines(lines: Iterable[str], room: int) -> str:
    """Join as many of the first lines as there is room for, in reverse order."""
    return "\n".join(reversed(_lines_that_fit(lines, room)))


def _lines_that_fit(lines: Iterable[str], room: int) -> list[str]:
    """Return the first lines that together are not longer than `room`."""
    kept: list[str] = []
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return kept


# --- quoting ------------------------------------------------------------------------------------------------


def _one_line(text: str) -> str:
    return clean_line(text, MAX_ITEM_LENGTH)


def _cut_middle(text: str, limit: int) -> str:
    """Keep beginning and end, with a mark between them, where the text is longer than `limit`."""
    return truncate_middle(clean_text(text), limit)
