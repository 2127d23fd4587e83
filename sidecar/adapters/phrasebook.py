"""What an agent is told, put together from rubric/continuation.md and rubric/goal.md.

Every wording stands in those files, one `##` section each. A paragraph that names something of which there is
nothing is left out as a whole. Texts of users, checks and tools are data: they are fenced or put on one line,
without control characters, and cut to fit; id, next step and the condition's beginning are never cut.
"""

from __future__ import annotations

import re
from string import Template
from typing import TYPE_CHECKING, Final, NamedTuple

from sidecar.adapters.files import UnfitError, read_whole, stamp
from sidecar.adapters.rubric import sections

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from sidecar.model.effects import Feedback
    from sidecar.model.evidence import Evidence

KINDS: Final = (
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
)
"""What a Feedback may be about, each a section of continuation.md."""
AGAIN: Final = "again"
GOAL: Final = "goal"
TEXT_LIMIT: Final = 9_000
"""UTF-16 code units that a text stays under: above some 10,000 Claude Code moves it to a file."""
FILE_LIMIT: Final = 64 * 1024
"""Bytes of a file of wordings."""
NEXT_STEP_LIMIT: Final = 1_500
"""Characters of a next step; a judge's has at most 1,000."""
FACT_LIMIT: Final = 300
"""Characters of an evidence line."""
PLACEHOLDERS: Final = {
    "continuation.md": frozenset(
        {"again", "budget", "condition", "evidence", "id", "left", "missing", "next_step", "number", "stalls"}
    ),
    "goal.md": frozenset({"budget", "checks", "condition"}),
}

_BLOCK = re.compile(r"[`-]")
"""How a fenced text or a list begins."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_TERMINAL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?)")


class Room(NamedTuple):
    """How much of each thing is shown, in characters (`detail` and `line` of one) or in numbers of them."""

    detail: int
    facts: int
    line: int
    missing: int
    condition: int


ROOMS: Final = (
    Room(detail=2000, facts=40, line=1000, missing=20, condition=4000),
    Room(detail=1000, facts=40, line=1000, missing=20, condition=4000),
    Room(detail=400, facts=20, line=1000, missing=20, condition=4000),
    Room(detail=120, facts=20, line=1000, missing=20, condition=4000),
    Room(detail=0, facts=10, line=1000, missing=20, condition=4000),
    Room(detail=0, facts=5, line=300, missing=10, condition=4000),
    Room(detail=0, facts=3, line=160, missing=5, condition=2000),
    Room(detail=0, facts=0, line=160, missing=3, condition=500),
)
"""From everything to the least: evidence goes first, then what is missing, then the condition's end."""

Values = dict[str, str]


class PhrasebookFiles:
    """The Phrasebook of a folder with continuation.md and goal.md."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[str, tuple[tuple[int, ...], dict[str, str]]] = {}

    def continuation(self, feedback: Feedback) -> str:
        template = self._sections("continuation.md").get(feedback.kind, "")
        again = self._sections("continuation.md").get(AGAIN, "") if feedback.stalls else ""

        def worded(room: Room) -> str:
            values = _values(feedback, room)
            values["again"] = _filled(again, values)
            return _headed(feedback, _filled(template, values) if template else _plain(feedback, values))

        return _fitting(worded) or plain_continuation(feedback)

    def goal_context(self, condition: str, checks: tuple[str, ...], budget: int) -> str:
        template = self._sections("goal.md").get(GOAL, "")

        def worded(room: Room) -> str:
            return _filled(template, _goal_values(condition, checks, budget, room))

        return (template and _fitting(worded)) or plain_goal_context(condition, checks, budget)

    def problems(self) -> tuple[str, ...]:
        """What of the wordings is missing or cannot be filled in. A plain rendering serves in its place."""
        wanted = {"continuation.md": (*KINDS, AGAIN), "goal.md": (GOAL,)}
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
            now = stamp(path)
            if file not in self._read or self._read[file][0] != now:
                text = read_whole(path, FILE_LIMIT, follow=True).decode("utf-8-sig")
                self._read[file] = (now, sections(text))
            return self._read[file][1]
        except (OSError, UnfitError, UnicodeDecodeError):
            return {}


def plain_continuation(feedback: Feedback) -> str:
    """What there is to say, with labels instead of a wording."""

    def worded(room: Room) -> str:
        return _headed(feedback, _plain(feedback, _values(feedback, room)))

    return _fitting(worded) or worded(ROOMS[-1])


def plain_goal_context(condition: str, checks: tuple[str, ...], budget: int) -> str:
    """The goal, with labels instead of a wording."""

    def worded(room: Room) -> str:
        values = _goal_values(condition, checks, budget, room)
        return _labelled(
            ("goal", values["condition"]), ("checks", values["checks"]), ("budget", values["budget"])
        )

    return _fitting(worded) or worded(ROOMS[-1])


# --- putting together ---------------------------------------------------------------------------------------


def _fitting(worded: Callable[[Room], str]) -> str:
    """The longest rendering under the limit, "" where none is."""
    return next((text for text in map(worded, ROOMS) if len(text.encode("utf-16-le")) // 2 < TEXT_LIMIT), "")


def _headed(feedback: Feedback, body: str) -> str:
    return f"[supervisor {_line(feedback.id, 64)}] {body.lstrip()}"


def _filled(template: str, values: Values) -> str:
    """Paragraph by paragraph; one that names something of which there is nothing is left out."""
    paragraphs = (Template(paragraph) for paragraph in re.split(r"\n[ \t]*\n", template))
    kept = (
        paragraph.safe_substitute(values)
        for paragraph in paragraphs
        if all(values.get(name, name) for name in paragraph.get_identifiers())
    )
    return "\n\n".join(kept).strip()


def _plain(feedback: Feedback, values: Values) -> str:
    return _labelled(
        (_line(feedback.kind, 64), f"{feedback.number}/{feedback.budget}"),
        ("goal", values["condition"]),
        ("missing", values["missing"]),
        ("evidence", values["evidence"]),
        ("stalls", str(feedback.stalls) if feedback.stalls else ""),
        ("next step", values["next_step"]),
    )


def _labelled(*parts: tuple[str, str]) -> str:
    gaps = ("\n" if _BLOCK.match(text) else " " for _, text in parts)
    return "\n\n".join(f"{label}:{gap}{text}" for gap, (label, text) in zip(gaps, parts, strict=True) if text)


def _values(feedback: Feedback, room: Room) -> Values:
    return {
        "budget": str(feedback.budget),
        "condition": _fenced(_cut(_clean(feedback.condition), room.condition)),
        "evidence": _fenced(_facts(feedback.evidence, room)),
        "id": _line(feedback.id, 64),
        "left": str(max(feedback.budget - feedback.number, 0)),
        "missing": _bullets(feedback.missing, room),
        "next_step": _line(feedback.next_step, NEXT_STEP_LIMIT),
        "number": str(feedback.number),
        "stalls": str(feedback.stalls),
    }


def _goal_values(condition: str, checks: tuple[str, ...], budget: int, room: Room) -> Values:
    return {
        "budget": str(budget),
        "checks": _fenced("\n".join(_some(checks, room))),
        "condition": _fenced(_cut(_clean(condition), room.condition)),
    }


# --- quoting ------------------------------------------------------------------------------------------------


def _facts(evidence: tuple[Evidence, ...], room: Room) -> str:
    lines = [_fact(fact, room) for fact in evidence[: room.facts]]
    if lines and len(lines) < len(evidence):
        lines.append(f"... {len(evidence) - len(lines)} more")
    return "\n".join(lines)


def _fact(fact: Evidence, room: Room) -> str:
    """One line, and the end of its detail: that is where tools print their summaries."""
    head = f"{fact.id} {fact.source}: {_line(fact.fact, FACT_LIMIT)}{' (stale)' if fact.stale else ''}"
    detail = _clean(fact.detail).strip("\n")
    if not detail or not room.detail:
        return head
    shown = detail if len(detail) <= room.detail else f"...{detail[-room.detail :]}"
    return "\n".join([head, *(f"    {line}".rstrip() for line in shown.split("\n"))])


def _bullets(texts: tuple[str, ...], room: Room) -> str:
    return "\n".join(f"- {line}" for line in _some(texts, room))


def _some(texts: tuple[str, ...], room: Room) -> list[str]:
    shown = [_line(text, room.line) for text in texts[: room.missing]]
    return [*shown, f"... {len(texts) - len(shown)} more"] if len(shown) < len(texts) else shown


def _fenced(text: str) -> str:
    """A code block that its content cannot end."""
    if not text.strip():
        return ""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _clean(text: str) -> str:
    return _CONTROL.sub("", _TERMINAL.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))


def _line(text: str, limit: int) -> str:
    return _cut(" ".join(_clean(text).split()), limit)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
