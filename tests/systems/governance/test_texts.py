"""Every trouble and every refusal of governed phases has its words, and none is left over."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sidecar.kernel.decoding import PromptHead, parse_instructions
from sidecar.kernel.governance import GovernedPhase
from sidecar.platform.installation import plugin_root
from sidecar.rubric.markdown import markdown_sections
from sidecar.systems import governance
from support.governed import ANSWERS

pytestmark = pytest.mark.proves("governed phases")

SOURCES = "\n".join(
    path.read_text(encoding="utf-8") for path in Path(governance.__file__).parent.rglob("*.py")
)
RUBRIC = plugin_root() / "rubric"


def sections(name: str) -> set[str]:
    return set(markdown_sections((RUBRIC / name).read_text(encoding="utf-8")))


def test_every_trouble_has_its_section_and_no_section_is_left_over() -> None:
    named = set(re.findall(r'(?:TroubleError\(\s*ErrorType\.\w+,|\.say\()\s*"([a-z-]+)"', SOURCES))
    assert named == sections("governance.md") - {"what-governed-phases-say"}


def test_every_refusal_has_its_section() -> None:
    named = set(re.findall(r'"(governance-[a-z-]+)"', SOURCES))
    assert named <= sections("tools.md")
    assert len(named) >= 10


@pytest.mark.parametrize("phase", ANSWERS)
def test_every_phase_of_a_worker_has_its_prompt(phase: GovernedPhase) -> None:
    path = RUBRIC / "governance" / f"{phase}.md"
    head, _ = parse_instructions(path.read_text(encoding="utf-8"), str(path), PromptHead, "name")
    assert head.name == phase
