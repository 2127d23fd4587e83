"""The prompt of a run's next agent, made of a template and what is known.

The words stand in rubric/run.md, or in the user's own template. A paragraph that names something of which
there is nothing is left out. Texts of files, tools and agents are data: fenced (what the judging said is so
already), without control characters, and cut to the sizes below, so that a prompt stays under some 80,000
characters whatever was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from string import Template
from typing import Final

from sidecar.model.iterations import Material
from sidecar.model.journal import Journal, Task
from sidecar.policy.journal import ready

SPEC: Final = 24_000
"""Characters of the specification; more is left out in the middle."""
FEEDBACK: Final = 10_000
"""Characters of what the last judging said: it is under 9,000 by itself."""
BEFORE: Final = 6_000
"""Characters of what the hooks printed."""
EXTRA: Final = 4_000
CHECKS: Final = 4_000
TASKS: Final = 10_000
NOTES: Final = 6_000
HISTORY: Final = 6_000
LINE: Final = 600
"""Characters of one task, note or summary."""
PLACEHOLDERS: Final = frozenset(
    {
        "before",
        "checks",
        "extra",
        "feedback",
        "goal",
        "history",
        "iteration",
        "most",
        "notes",
        "session",
        "spec",
        "task",
        "tasks",
        "tools",
    }
)
"""What a template may name."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def unknown(template: str) -> tuple[str, ...]:
    """The placeholders of a template that nothing fills in."""
    return tuple(sorted(set(Template(template).get_identifiers()) - PLACEHOLDERS))


def prompt(template: str, material: Material) -> str:
    """The template, filled in paragraph by paragraph."""
    values = _values(material)
    paragraphs = (Template(paragraph) for paragraph in re.split(r"\n[ \t]*\n", template))
    kept = (
        paragraph.safe_substitute(values)
        for paragraph in paragraphs
        if all(values.get(name, name) for name in paragraph.get_identifiers())
    )
    return "\n\n".join(kept).strip()


def _values(material: Material) -> dict[str, str]:
    journal = material.journal
    first = ready(journal)[:1]
    return {
        "before": quoted(_cut(material.before, BEFORE)),
        "checks": quoted(_cut("\n".join(material.checks), CHECKS)),
        "extra": _cut(material.extra, EXTRA),
        "feedback": _cut(material.feedback, FEEDBACK),
        "goal": quoted(material.goal),
        "history": quoted(_newest(_history(journal), HISTORY)),
        "iteration": str(material.iteration),
        "most": str(material.most),
        "notes": quoted(_newest(_notes(journal), NOTES)),
        "session": material.session,
        "spec": quoted(_cut(material.spec, SPEC)),
        "task": quoted(f"{first[0].id}: {_line(first[0].content)}") if first else "",
        "tasks": quoted(_tasks(journal)),
        "tools": material.tools,
    }


def _tasks(journal: Journal) -> str:
    """The open tasks, those that are ready first, then the newest completed ones, as far as there is room."""
    free = ready(journal)
    rest = [task for task in journal.tasks if task.open and task not in free]
    done = [task for task in reversed(journal.tasks) if not task.open]
    lines = [_task(task) for task in (*free, *rest, *done)]
    shown = _some(lines, TASKS)
    return "\n".join([*shown, f"... {len(lines) - len(shown)} more"] if len(shown) < len(lines) else shown)


def _task(task: Task) -> str:
    marks = [task.status.value, task.priority.name.lower()]
    marks += [f"after {', '.join(task.depends_on)}"] if task.depends_on else []
    return f"{task.id} [{', '.join(marks)}] by {task.by}: {_line(task.content)}"


def _notes(journal: Journal) -> Iterable[str]:
    """The newest first."""
    return (f"{note.id} [{note.kind}]: {_line(note.content)}" for note in reversed(journal.notes))


def _history(journal: Journal) -> Iterable[str]:
    """The newest first."""
    return (f"{one.iteration}: {_line(one.content)}" for one in reversed(journal.summaries))


def _newest(lines: Iterable[str], room: int) -> str:
    """As many of the first as there is room for, the last of them first."""
    return "\n".join(reversed(_some(lines, room)))


def _some(lines: Iterable[str], room: int) -> list[str]:
    """The first lines that are no longer together than `room`."""
    kept: list[str] = []
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return kept


# --- quoting ------------------------------------------------------------------------------------------------


def quoted(text: str) -> str:
    """A code block that its content cannot end; "" where there is nothing."""
    if not text.strip():
        return ""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _line(text: str) -> str:
    line = " ".join(_clean(text).split())
    return line if len(line) <= LINE else f"{line[: LINE - 1]}…"


def _cut(text: str, limit: int) -> str:
    """Beginning and end, with a mark between them where it is longer than `limit`."""
    clean = _clean(text)
    half = limit // 2
    return clean if len(clean) <= limit else f"{clean[:half]}\n[...]\n{clean[-half:]}"


def _clean(text: str) -> str:
    return _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
