"""Builds the case that the model judge sees of a stop.

What the agent says about itself cannot improve a verdict (law 2): its last message is shown as a claim. A
criterion that names files is left out if none of the changed files match; if the changed files are not known,
all criteria stay.
"""

from __future__ import annotations

from typing import Final

from sidecar.kernel.effects import Inquiry, JudgeCase
from sidecar.kernel.text import truncate_middle
from sidecar.rubric.conventions import applicable_rubric

MESSAGE_LIMIT: Final = 24_000
"""Characters of the last message that are used, half from each end; host readers keep 20,000."""


def build_case(inquiry: Inquiry, condition: str) -> JudgeCase:
    """Build the case of this stop; `condition` is "" if no goal is set."""
    turn, project_state = inquiry.turn, inquiry.project_state
    return JudgeCase(
        condition=condition,
        suspicion=inquiry.suspicion,
        prompts=turn.prompts,
        rubric=applicable_rubric(project_state.rubric, project_state.changed),
        evidence=inquiry.evidence,
        last_message=truncate_middle(turn.last_message, MESSAGE_LIMIT),
        proof=inquiry.proof,
        edits=project_state.edits,
        edits_unseen=project_state.unseen,
    )
