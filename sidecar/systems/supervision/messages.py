"""Messages to the agent, built from rubric/continuation.md and rubric/goal.md.

All wording is in those files, one `##` section each. A paragraph with an empty placeholder is left out as a
whole. Texts of users, checks and tools are data: they are put on one line, or each of their lines is
marked; stripped of control characters, and cut to fit. The id, the next step and the condition's beginning
are never cut.

Claude Code shows a continuation on the person's screen, too. So no line is wrapped here, nothing is a code
block, and evidence says only what the missing points do not.
"""

from __future__ import annotations

import re
from string import Template
from typing import TYPE_CHECKING, Final, NamedTuple

from sidecar.kernel.text import clean_line, clean_text, fill_template, quote_lines
from sidecar.platform.files import UnusableFileError, file_stamp, read_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from sidecar.kernel.effects import Feedback
    from sidecar.kernel.evidence import Evidence


FEEDBACK_KINDS: Final = (
    "gates-failed",
    "gates-could-not-run",
    "gates-disagree",
    "checks-changed",
    "incomplete",
    "permission-seeking",
    "stopped-with-todos",
    "false-complete",
    "promised-next-step",
    "narration",
    "error-walked-away",
    "background-headless",
    "tasks-open",
)
"""The possible kinds of a Feedback, each a section of continuation.md."""
AGAIN_SECTION: Final = "again"
GOAL_SECTION: Final = "goal"
TEXT_LIMIT: Final = 9_000
"""Limit of a text in UTF-16 code units; above some 10,000 Claude Code moves it to a file."""
FILE_LIMIT: Final = 64 * 1024
"""Maximum bytes of a file with wording."""
NEXT_STEP_LIMIT: Final = 1_500
"""Maximum characters of a next step; a judge's has at most 1,000."""
FACT_LIMIT: Final = 300
"""Maximum characters of an evidence line."""
PLACEHOLDERS: Final = {
    "continuation.md": frozenset(
        {"again", "budget", "condition", "evidence", "id", "left", "missing", "next_step", "number", "stalls"}
    ),
    "goal.md": frozenset({"budget", "checks", "condition"}),
}

_BLOCK = re.compile(r"[|-]")
"""The beginning of a quoted text or of a list."""
_WRAPPED = re.compile(r"(?<=[^\n:])\n(?=[^\n$-])")
"""Where a file's paragraph goes on in its next line."""


class DisplayLimits(NamedTuple):
    """How much is shown: characters of a `detail`, a `line` and the `condition`, numbers of the others."""

    detail: int
    facts: int
    line: int
    missing: int
    condition: int


DISPLAY_LIMITS: Final = (
    DisplayLimits(detail=2000, facts=40, line=1000, missing=20, condition=4000),
    DisplayLimits(detail=1000, facts=40, line=1000, missing=20, condition=4000),
    DisplayLimits(detail=400, facts=20, line=1000, missing=20, condition=4000),
    DisplayLimits(detail=120, facts=20, line=1000, missing=20, condition=4000),
    DisplayLimits(detail=0, facts=10, line=1000, missing=20, condition=4000),
    DisplayLimits(detail=0, facts=5, line=300, missing=10, condition=4000),
    DisplayLimits(detail=0, facts=3, line=160, missing=5, condition=2000),
    DisplayLimits(detail=0, facts=0, line=160, missing=3, condition=500),
)
"""From everything to the least: evidence is cut first, then what is missing, then the condition's end."""

TemplateValues = dict[str, str]


class MessageFiles:
    """Implements ports.AgentMessages for a folder with continuation.md and goal.md."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[str, tuple[tuple[int, ...], dict[str, str]]] = {}

    def continuation(self, feedback: Feedback) -> str:
        sections = self._sections("continuation.md")
        again = sections.get(AGAIN_SECTION, "") if feedback.stalls else ""
        return render_continuation(feedback, sections.get(feedback.kind, ""), again)

    def goal_context(self, condition: str, checks: tuple[str, ...], budget: int) -> str:
        template = self._sections("goal.md").get(GOAL_SECTION, "")

        def worded(room: DisplayLimits) -> str:
            return fill_template(template, _goal_values(condition, checks, budget, room))

        return (template and _longest_fitting(worded)) or plain_goal_context(condition, checks, budget)

    def problems(self) -> tuple[str, ...]:
        """List wordings that are missing or cannot be filled in; a plain rendering replaces them."""
        wanted = {"continuation.md": (*FEEDBACK_KINDS, AGAIN_SECTION), "goal.md": (GOAL_SECTION,)}
        return tuple(problem for file, names in wanted.items() for problem in self._problems(file, names))

    def _problems(self, file: str, names: tuple[str, ...]) -> Iterator[str]:
        found = self._sections(file)
        for name in names:
            if not found.get(name):
                yield f"{self._folder / file}: the section `## {name}` is missing or empty"
                continue
            for unknown in sorted(set(Template(found[name]).get_identifiers()) - PLACEHOLDERS[file]):
                yield f"{self._folder / file}: `## {name}` names ${unknown}, which nothing fills in"

    def _sections(self, file: str) -> Mapping[str, str]:
        path = self._folder / file
        try:
            now = file_stamp(path)
            if file not in self._read or self._read[file][0] != now:
                text = read_whole(path, FILE_LIMIT, follow=True).decode("utf-8-sig")
                from sidecar.rubric.markdown import markdown_sections  # noqa: PLC0415 - not at start

                sections = markdown_sections(text)
                self._read[file] = (now, {name: _WRAPPED.sub(" ", part) for name, part in sections.items()})
            return self._read[file][1]
        except (OSError, UnusableFileError, UnicodeDecodeError):
            return {}


def render_continuation(feedback: Feedback, template: str = "", again: str = "") -> str:
    """Render a continuation; without a template with labels instead of wording."""

    def worded(room: DisplayLimits) -> str:
        values = _feedback_values(feedback, room)
        values["again"] = fill_template(again, values)
        body = fill_template(template, values) if template else _plain_feedback(feedback, values)
        return f"[supervisor {values['id']}] {body.lstrip()}"

    plain = render_continuation if template else lambda _: worded(DISPLAY_LIMITS[-1])
    return _longest_fitting(worded) or plain(feedback)


def plain_goal_context(condition: str, checks: tuple[str, ...], budget: int) -> str:
    """Render the goal with labels instead of wording."""

    def worded(room: DisplayLimits) -> str:
        values = _goal_values(condition, checks, budget, room)
        return _join_labelled(
            ("goal", values["condition"]), ("checks", values["checks"]), ("budget", values["budget"])
        )

    return _longest_fitting(worded) or worded(DISPLAY_LIMITS[-1])


# --- rendering ----------------------------------------------------------------------------------------------


def _longest_fitting(worded: Callable[[DisplayLimits], str]) -> str:
    """Return the longest rendering under the limit, "" where there is none."""
    return next(
        (text for text in map(worded, DISPLAY_LIMITS) if len(text.encode("utf-16-le")) // 2 < TEXT_LIMIT), ""
    )


def _plain_feedback(feedback: Feedback, values: TemplateValues) -> str:
    return _join_labelled(
        (clean_line(feedback.kind, 64), f"{feedback.number}/{feedback.budget}"),
        ("goal", values["condition"]),
        ("missing", values["missing"]),
        ("evidence", values["evidence"]),
        ("stalls", str(feedback.stalls) if feedback.stalls else ""),
        ("next step", values["next_step"]),
    )


def _join_labelled(*parts: tuple[str, str]) -> str:
    gaps = ("\n" if _BLOCK.match(text) else " " for _, text in parts)
    return "\n\n".join(f"{label}:{gap}{text}" for gap, (label, text) in zip(gaps, parts, strict=True) if text)


def _feedback_values(feedback: Feedback, room: DisplayLimits) -> TemplateValues:
    return {
        "budget": str(feedback.budget),
        "condition": quote_lines(_truncate_text(clean_text(feedback.condition), room.condition)),
        "evidence": quote_lines(_evidence_lines(feedback, room)),
        "id": clean_line(feedback.id, 64),
        "left": str(max(feedback.budget - feedback.number, 0)),
        "missing": "\n".join(f"- {line}" for line in _shorten_list(feedback.missing, room)),
        "next_step": clean_line(feedback.next_step, NEXT_STEP_LIMIT),
        "number": str(feedback.number),
        "stalls": str(feedback.stalls),
    }


def _goal_values(condition: str, checks: tuple[str, ...], budget: int, room: DisplayLimits) -> TemplateValues:
    return {
        "budget": str(budget),
        "checks": quote_lines("\n".join(_shorten_list(checks, room))),
        "condition": quote_lines(_truncate_text(clean_text(condition), room.condition)),
    }


# --- quoting ------------------------------------------------------------------------------------------------


def _evidence_lines(feedback: Feedback, room: DisplayLimits) -> str:
    said = "\n".join(clean_line(line, FACT_LIMIT) for line in feedback.missing)
    entries = [entry for fact in feedback.evidence if (entry := _evidence_entry(fact, said, room))]
    shown = entries[: room.facts]
    if shown and len(shown) < len(entries):
        shown.append(f"... {len(entries) - len(shown)} more")
    return "\n".join(shown)


def _evidence_entry(fact: Evidence, said: str, room: DisplayLimits) -> str:
    """Format one line and the end of its detail, which is where tools print their summaries.

    "" where the detail has nothing that is not `said` already.
    """
    head = f"{clean_line(fact.fact, FACT_LIMIT)}{' (stale)' if fact.stale else ''}"
    detail = clean_text(fact.detail).strip("\n")
    if not detail or not room.detail:
        return head
    if all(line.strip() in said for line in detail.split("\n")):
        return ""
    shown = detail if len(detail) <= room.detail else f"...{detail[-room.detail :]}"
    return "\n".join([head, *(f"    {line}".rstrip() for line in shown.split("\n"))])


def _shorten_list(texts: tuple[str, ...], room: DisplayLimits) -> list[str]:
    shown = [clean_line(text, room.line) for text in texts[: room.missing]]
    return [*shown, f"... {len(texts) - len(shown)} more"] if len(shown) < len(texts) else shown


def _truncate_text(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
