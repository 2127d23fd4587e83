"""Chooses the backend that the settings name; `auto` takes the first that is there, and says why.

The laws of this file:

- The order of `auto`: the model of the session's own host, Claude Code's, the Anthropic API, a service that
  speaks as OpenAI's, nobody.
- What is chosen is asked. If it fails, that is told; no other one is asked in its place.
- No key is in what is said of a choice.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from sidecar.model.events import Judged, JudgeFailed
from sidecar.policy.masking import masker
from sidecar.ports import Chosen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from sidecar.model.effects import Case
    from sidecar.model.settings import Settings
    from sidecar.ports import Judge, Mask

RULES = "rules"
"""The backend that asks nobody."""


def build_judge(
    texts: Path, own: Mapping[str, str], secrets: Callable[[Mapping[str, str]], Mask] = masker
) -> ChosenJudge:
    """The judge with all real backends, in the order of `auto`.

    `texts`: the folder of judge.md; `own`: the environment of this process; `secrets` makes what takes
    secrets out of a service's complaint.
    """

    def judges() -> Mapping[str, Judge]:
        from sidecar.adapters.judges.anthropic import AnthropicDialect  # noqa: PLC0415 - not at start
        from sidecar.adapters.judges.claude_cli import ClaudeCliJudge  # noqa: PLC0415 - the same
        from sidecar.adapters.judges.openai import OpenAiDialect  # noqa: PLC0415 - the same
        from sidecar.adapters.judges.opencode import OpenCodeJudge  # noqa: PLC0415 - the same
        from sidecar.adapters.judges.service import ServiceJudge  # noqa: PLC0415 - the same

        dialects = (AnthropicDialect(), OpenAiDialect())
        services = {dialect.backend: ServiceJudge(dialect, texts, own, secrets) for dialect in dialects}
        return {"opencode": OpenCodeJudge(texts), "claude-cli": ClaudeCliJudge(texts), **services}

    return ChosenJudge(judges)


class ChosenJudge:
    """Implements `Judge` by asking another one, or nobody where rules alone are wanted."""

    def __init__(self, judges: Callable[[], Mapping[str, Judge]]) -> None:
        """`judges`: by the name that settings call them, in the order of `auto`; made at the first use."""
        self._judges = cache(judges)

    def chosen(self, environment: Mapping[str, str], settings: Settings) -> Chosen:
        """The one that the settings name, or the first that is there; else why none is."""
        wanted = settings.judge.backend
        if wanted == RULES:
            return Chosen("", f"judge.backend = {RULES}")
        judges = self._judges().values() if wanted == "auto" else [self._judges()[wanted]]
        reasons: list[str] = []
        for judge in judges:
            chosen = judge.chosen(environment, settings)
            if chosen.backend:
                return Chosen(chosen.backend, "; ".join([chosen.why, *reasons]))
            reasons.append(chosen.why)
        return Chosen("", "; ".join(reasons))

    async def ask(
        self, case: Case, environment: Mapping[str, str], settings: Settings
    ) -> Judged | JudgeFailed:
        """One verdict, or why there is none."""
        chosen = self.chosen(environment, settings)
        if not chosen.backend:
            return JudgeFailed(f"no judge model is configured ({chosen.why})")
        return await self._judges()[chosen.backend].ask(case, environment, settings)
