"""Rubrics to be advised on: a criterion in a text that is sound else, what is said of it, fixes applied."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from sidecar.judging.rules.every import STOP_RULES
from sidecar.kernel.rubric import Flaw, QuickFix, RubricContext
from sidecar.platform.data import load_data
from sidecar.rubric.advice.advise import advise_on
from sidecar.rubric.advice.lines import AdviceWording
from sidecar.rubric.outline import parse_outline

CRITERIA: Final = Path(__file__).parents[1] / "rubric" / "advice" / "criteria"
WORDING: Final = load_data("rubric_advice", AdviceWording)
AROUND: Final = RubricContext(
    gates=("tests", "lint", "types", "build"),
    rules=tuple(rule.id for rule in STOP_RULES),
    paths=(
        "README.md",
        "api/shop.yaml",
        "docs/use.md",
        "python/tool.py",
        "src/app.py",
        "src/web/cart.ts",
        "src/web/cart.tsx",
        "tests/test_app.py",
        "tools/build.rs",
    ),
)
SOUND: Final = {
    "Patterns": "- **Reproduced first**: a command that failed before the repair is in the evidence.",
    "Antipatterns": "- **Output cut off**: a check was piped into something and its exit code was lost.",
    "Legitimate stops": "- **Key of the user**: only the user can sign in.",
}
"""A criterion of each section in which nothing is weak. Items, so that headings can follow them."""


class Case(NamedTuple):
    """A criterion as a team would write it, its section, and the code that it should get, if any."""

    section: str
    code: str
    text: str


def cases(name: str) -> Iterator[Case]:
    """The criteria of a file in which each stands under a line `==== Section: code`."""
    for part in (CRITERIA / f"{name}.txt").read_text(encoding="utf-8").split("==== ")[1:]:
        head, _, text = part.partition("\n")
        section, _, code = head.partition(": ")
        yield Case(section, code, text.rstrip("\n"))


def rubric(case: Case) -> str:
    """A rubric with this criterion; it may open a section of its own."""
    gap = "\n" if case.text.startswith("- ") else "\n\n"
    bodies = {**SOUND, case.section: f"{SOUND[case.section]}{gap}{case.text}"}
    return "".join(f"## {name}\n\n{body}\n\n" for name, body in bodies.items())


def advised(text: str, around: RubricContext = AROUND) -> tuple[Flaw, ...]:
    return advise_on(parse_outline(text), WORDING, around)


def codes(text: str, around: RubricContext = AROUND) -> list[str]:
    """The codes of all that is said."""
    return [flaw.code for flaw in advised(text, around)]


def applied(text: str, fix: QuickFix) -> str:
    """The text with a fix, whose edits must not overlap."""
    edits = sorted(fix.edits, key=lambda edit: edit.place)
    ends = [0, *(edit.place.end for edit in edits)]
    assert all(edit.place.begin >= end for edit, end in zip(edits, ends, strict=False)), "edits overlap"
    for edit in reversed(edits):
        text = text[: edit.place.begin] + edit.text + text[edit.place.end :]
    return text
