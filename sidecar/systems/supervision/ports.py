"""The ports that the use cases of supervision share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from sidecar.evidence.ports import EvidenceServices
from sidecar.hosts.ports import Transcripts
from sidecar.judging.ports import Judge
from sidecar.kernel.effects import Feedback
from sidecar.kernel.session import SessionKey
from sidecar.rubric.policy import RubricStore


class AgentMessages(Protocol):
    """Wording of every text that the agent's model reads."""

    def continuation(self, feedback: Feedback) -> str:
        """Put a continuation into words, under 9,000 characters."""

    def goal_context(self, condition: str, checks: tuple[str, ...], budget: int) -> str:
        """Return the context that the agent gets with the goal command."""


class OtherSystems:
    """What supervision asks of the tools and systems beside it, which it does not know; here are none."""

    def may_call_unasked(self, tool: str) -> bool | None:  # noqa: ARG002 - for those that there are
        """Whether a tool may be called without asking the user; None for a name that no tool of ours has."""
        return None

    def question(self, key: SessionKey) -> str:  # noqa: ARG002 - the same
        """Return what a person is asked by the work of a session, "" for nothing. Never raises."""
        return ""

    def forget(self, key: SessionKey, project: str) -> None:
        """Remove what is stored of a session. `project`: "" where unknown. Raises BadInputError, OSError."""


@dataclass(frozen=True, kw_only=True)
class Services(EvidenceServices):
    """One adapter per port: those of the lower packages, and what supervision adds."""

    judge: Judge
    messages: AgentMessages
    rubrics: RubricStore
    transcripts: Transcripts
