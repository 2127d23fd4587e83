"""The ports that the use cases of supervision share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from sidecar.evidence.ports import EvidenceServices
from sidecar.hosts.ports import Transcripts
from sidecar.judging.ports import Judge
from sidecar.kernel.effects import Feedback
from sidecar.platform.services import PlatformServices
from sidecar.rubric.ports import RubricStore


class AgentMessages(Protocol):
    """Wording of every text that the agent's model reads."""

    def continuation(self, feedback: Feedback) -> str:
        """Put a continuation into words, under 9,000 characters."""

    def goal_context(self, condition: str, checks: tuple[str, ...], budget: int) -> str:
        """Return the context that the agent gets with the goal command."""


@dataclass(frozen=True, kw_only=True)
class Services(PlatformServices, EvidenceServices):
    """One adapter per port: those of the lower packages, and what supervision adds."""

    judge: Judge
    messages: AgentMessages
    rubrics: RubricStore
    transcripts: Transcripts
