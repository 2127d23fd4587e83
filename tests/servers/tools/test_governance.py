"""The tools of governed phases: golden documents of what they give, and the questions they ask."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from jsonschema import Draft202012Validator, ValidationError  # type: ignore[import-untyped]

from servers.tools.core_room import CoreRoom
from servers.tools.desk import Desk, as_json
from sidecar.kernel.governance import FORMS, ErrorType, GovernedPhase
from sidecar.servers.tools.governance import phase_outcome
from sidecar.systems.governance.policy.table import ACTIONS

pytestmark = pytest.mark.proves("governed phases")

RULE: Final = {"rule": "R001", "passed": True, "why": "only a review may follow"}
PAYLOADS: Final[dict[GovernedPhase, dict[str, Any]]] = {
    GovernedPhase.ANALYZE: {
        "verifiability": "NON-VERIFIABLE",
        "nfrs": {"performance": "under 1 s", "maintainability": "", "security": "", "compatibility": ""},
        "risks": ["the cache is stale"],
        "unknowns": ["how big files are"],
    },
    GovernedPhase.PLAN: {
        "tasks": [{"todo": "add sub", "done_when": "sub(3, 2) is 1", "verify_by": "run: pytest"}],
        "dependencies": [[1, 2]],
    },
    GovernedPhase.IMPLEMENT: {
        "artifacts": {
            "files": ["calc.py"],
            "diff": "--- a/calc.py\n+++ b/calc.py\n",
            "metadata": {"iteration": 1, "changes_count": 1},
        },
        "rules": [RULE],
    },
    GovernedPhase.REVIEW: {
        "result": "REJECTED",
        "issues": [{"task_ref": "1", "severity": "MINOR", "description": "the name says little"}],
        "quick_fix_trigger": "MINOR_FIX_NAMING",
        "rules": [RULE],
    },
    GovernedPhase.TEST: {
        "result": "EVIDENCE_UNAVAILABLE",
        "evidence": {
            "test_output": "$ pytest\npassed",
            "metrics": {"tests_executed": 3.0},
            "screenshots": [{"path": "a.png", "digest": "0" * 64}],
        },
        "failed_clauses": ["run: make check: it fails"],
        "rules": [RULE],
    },
    GovernedPhase.CONDUCT: {
        "decision": "ITERATE",
        "reason": "the review did not approve it",
        "next_iteration": 2,
        "deliverables": {"files": [], "audit_log": "supervisor audit show --lock gov-1"},
    },
}
"""One document per phase, as SYSTEMS.md section 5 says, with every field filled."""


def golden(phase: GovernedPhase, error: ErrorType | None = None) -> dict[str, Any]:
    """A whole answer of a phase."""
    told = {"type": error, "message": "why", "action": ACTIONS[error]} if error else None
    answer = {"context_lock_id": "gov-1", "section": FORMS[phase].section, "payload": PAYLOADS[phase]}
    return {**answer, **({"error": told} if told else {})}


def published(desk: Desk, phase: GovernedPhase) -> Draft202012Validator:
    (schema,) = (one.output_schema for one in desk.toolbox.all_offers() if one.name == f"phase_{phase}")
    return Draft202012Validator(schema)


@pytest.mark.parametrize("error", [None, *ErrorType], ids=str)
@pytest.mark.parametrize("phase", GovernedPhase)
def test_each_payload_and_each_error_fits_the_published_schema_and_our_struct(
    desk: Desk, phase: GovernedPhase, error: ErrorType | None
) -> None:
    document = golden(phase, error)
    published(desk, phase).validate(document)
    assert as_json(msgspec.convert(document, phase_outcome(phase))) == document
    published(desk, phase).validate({**document, "payload": None})


@pytest.mark.parametrize("phase", GovernedPhase)
@pytest.mark.parametrize(
    "wrong",
    [
        {"section": "[OTHER]"},
        {"payload": {}},
        {"error": {"type": "NO_SUCH_ERROR", "message": "", "action": "STOP"}},
        {"error": {"type": "CONFLICT", "message": "", "action": "SHRUG"}},
    ],
)
def test_what_is_no_answer_does_not_fit(desk: Desk, phase: GovernedPhase, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        published(desk, phase).validate({**golden(phase), **wrong})


ASKED: Final = {
    "yes": ((True, ""), "Your user answered yes; the work is analyzed now."),
    "no": ((False, "too vague"), "Your user answered no; the work is stopped now."),
    "nobody": (None, "in a shell: supervisor governance answer gov-"),
}


@pytest.mark.process
@pytest.mark.parametrize("case", ASKED)
async def test_a_person_is_asked_through_the_host_and_the_data_tells_the_answer(
    case: str, tmp_path: Path
) -> None:
    said, told = ASKED[case]
    asked: list[str] = []

    async def person(question: str) -> tuple[bool, str] | None:
        asked.append(question)
        return said

    room = CoreRoom(tmp_path)
    await room.meet()
    room.person = person
    room.workers.steps = [lambda _: PAYLOADS[GovernedPhase.ANALYZE]]
    problem = {"problem_statement": "sub is missing"}
    answer = await room.ask("phase_analyze", context_lock_id="new", input_data=problem)
    error = as_json(answer.data)["error"]
    assert (error["type"], error["action"]) == ("NON-VERIFIABLE", "HUMAN_INTERVENTION")
    assert error["message"].startswith(f"{asked[0]}\n\n")
    assert told in error["message"]
    assert told in answer.text
