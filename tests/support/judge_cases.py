"""A case for a model judge, and the sections that its words are in."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from sidecar.judging.backends.prompt import JudgePrompt, build_judge_prompt
from sidecar.judging.backends.tokens import estimate_tokens
from sidecar.kernel.effects import JudgeCase
from sidecar.kernel.evidence import Evidence, EvidenceStrength, FileDiff, Source
from sidecar.kernel.rubric import Criterion, Rubric, Severity

TEXTS: Final = Path(__file__).parents[2] / "rubric"
RUBRIC: Final = Rubric(
    patterns=(
        Criterion("Verified", "What is claimed was run.", id="verified"),
        Criterion("Migrations", "Each has a way back.", id="migrations", applies_to=("db/**",)),
    ),
    antipatterns=(
        Criterion(
            "Left work", "Something is still to do.", id="left-work", severity=Severity.SHOULD, when="always"
        ),
        Criterion("Long lines", "Lines are long.", id="long-lines", severity=Severity.NOTE),
    ),
    legitimate=(Criterion("Credentials", "Only the user has them.", id="credentials"),),
    origin="default",
)
GATE: Final = Evidence(
    id="E1",
    source=Source.GATE,
    fact="Supervisor ran `pytest`: passed",
    tree="t",
    worth=EvidenceStrength.CHECK,
)
TOOL: Final = Evidence(
    id="E2",
    source=Source.TOOL,
    fact="the agent ran `pytest`: failed",
    detail="1 failed\nsee log",
    stale=True,
    bad=True,
)
CASE: Final = JudgeCase(
    condition="the parser accepts comments",
    suspicion="",
    prompts=("Write a parser.\nIn Python.", "With comments."),
    rubric=RUBRIC,
    evidence=(GATE, TOOL),
    last_message="All done.",
    edits=(
        FileDiff(path="parser.py", added=2, removed=1, hunks="@@ -1,1 +1,2 @@\n-old\n+new\n+more"),
        FileDiff(path="uv.lock", old_path="old.lock", added=9, removed=3, unshown="a lock file"),
    ),
)
ORDER: Final = ["goal", "rubric for these files", "prompts", "edits", "evidence", "last message"]
SECTION: Final = re.compile(
    r'<data-([0-9a-f]{16}) name="([a-z ]+)" by="[^"]+">\n(.*?)\n</data-\1>', re.DOTALL
)


def sections(text: str) -> dict[str, str]:
    return {name: body for _, name, body in SECTION.findall(text)}


def shown(case: JudgeCase) -> dict[str, str]:
    return sections(build_judge_prompt(case, TEXTS).case)


def size(prompt: JudgePrompt) -> int:
    return estimate_tokens("\n\n".join(prompt))


def facts(
    count: int, *, bad: bool = False, detail: str = "", worth: EvidenceStrength = EvidenceStrength.CHECK
) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(
            id=f"E{n}",
            source=Source.TOOL,
            fact=f"fact {n} {'word ' * 40}",
            detail=detail,
            bad=bad,
            worth=worth,
        )
        for n in range(1, count + 1)
    )
