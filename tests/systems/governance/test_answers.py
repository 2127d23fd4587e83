"""What workers of governed phases are asked for: a schema that services and our own Struct understand."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from sidecar.kernel.answers import strict_schema
from sidecar.kernel.governance import Phase
from sidecar.systems.governance.policy.phases import ANSWERS
from support.governed import ANALYSIS, APPROVED, PASSED, PLAN, implemented

GOLDEN: Final[dict[Phase, dict[str, Any]]] = {
    Phase.ANALYZE: ANALYSIS,
    Phase.PLAN: {**PLAN, "dependencies": [[1, 2]]},
    Phase.IMPLEMENT: implemented("calc.py"),
    Phase.REVIEW: {**APPROVED, "quick_fix_trigger": None},
    Phase.TEST: {**PASSED, "metrics": [{"name": "seconds", "value": 1.5}], "screenshots": ["a.png"]},
}


@pytest.mark.parametrize("phase", ANSWERS)
def test_a_whole_answer_fits_what_a_worker_is_asked_for_and_another_does_not(phase: Phase) -> None:
    asked = Draft202012Validator(strict_schema(ANSWERS[phase]))
    asked.validate(GOLDEN[phase])
    msgspec.convert(GOLDEN[phase], ANSWERS[phase])
    for name in GOLDEN[phase]:
        assert not asked.is_valid({**GOLDEN[phase], name: [["1", 2]]}), name
