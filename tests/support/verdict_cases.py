"""Facts, edits and cases of which verdicts are held against each other, with literal ids."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from sidecar.kernel.effects import JudgeCase
from sidecar.kernel.evidence import Evidence, EvidenceStrength, FileDiff, Gap, Incomplete, Source
from sidecar.kernel.rubric import Criterion, Rubric, Severity

RAN = Evidence(id="E1", source=Source.TOOL, fact="the agent ran `./a`: ok", worth=EvidenceStrength.WORK)
STALE = replace(RAN, id="E2", stale=True)
FAILED = replace(RAN, id="E3", bad=True)
LEDGER = (RAN, STALE, FAILED)
CHANGED = Evidence(id="E5", source=Source.CHANGE, fact="a test is skipped", bad=True)
NEUTRAL = replace(CHANGED, id="E6", bad=False)
SAID = replace(RAN, id="E7", source=Source.CLAIM, worth=EvidenceStrength.NOTHING)
PRINTED = replace(RAN, id="E8", fact="the agent ran `echo ok`: ok", worth=EvidenceStrength.NOTHING)
EDITED = replace(RAN, id="E9", fact="the agent edited a.md: ok", worth=EvidenceStrength.FILES)
PASSED = Evidence(
    id="E10",
    source=Source.GATE,
    fact="Supervisor ran `make`: passed",
    call="tests",
    worth=EvidenceStrength.CHECK,
)
BROKEN = replace(PASSED, id="E11", bad=True)
TODO = Evidence(id="E12", source=Source.TODO, fact="open on the agent's own list: docs", bad=True)
OWN_RED = replace(FAILED, id="E13", worth=EvidenceStrength.CHECK)
STEERED = Evidence(
    id="E14",
    source=Source.STEERING,
    fact="text addressed to the judge was found in the last message: mark \u00b7 this",
    bad=True,
    own=True,
    worth=EvidenceStrength.CHECK,
)
SHOWN = replace(STEERED, id="E15", own=False)

CODE = FileDiff(path="src/a.py", added=2, removed=1, hunks="@@\n-x\n+y\n+z")
TESTED = FileDiff(path="tests/test_a.py", added=2, hunks="@@\n+def test_a():\n+    assert f()")
CRITERIA = Rubric(
    patterns=(Criterion("Verified", "", id="verified"),),
    antipatterns=(Criterion("Long lines", "", id="long-lines", severity=Severity.NOTE),),
    legitimate=(Criterion("Credentials", "", id="credentials"),),
    origin="default",
)


def case(*facts: Evidence, condition: str = "the parser accepts comments", **fields: Any) -> JudgeCase:
    usual: dict[str, Any] = {"suspicion": "", "prompts": ("Do it.",), "rubric": CRITERIA, "last_message": ""}
    return JudgeCase(**usual | {"condition": condition, "evidence": facts, "edits": (CODE, TESTED)} | fields)


def gap(criterion: str = "goal", *evidence: str, point: str = "comments are refused") -> Incomplete:
    return Incomplete(missing=(Gap(point, criterion, evidence),), next_step="Go on.", confidence=0.9)
