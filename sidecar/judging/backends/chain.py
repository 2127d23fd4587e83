"""Chooses the backend named in the settings; `auto` takes the first available one and says why.

Rules of this file:

- The order of `auto`: the model of the session's own host (OpenCode), Claude Code's, the Anthropic API, an
  OpenAI-compatible service, none.
- Only the chosen backend is asked. If it fails, the failure is reported; no other backend is tried.
- The reason of a choice never contains a key.
"""

from __future__ import annotations

import asyncio
from functools import cache
from typing import TYPE_CHECKING, Final

from sidecar.judging.ports import ChosenBackend
from sidecar.kernel.events import JudgeAnswered, JudgeFailed
from sidecar.kernel.masking import build_secret_mask
from sidecar.platform.limits import call_slot
from sidecar.platform.ports import SystemClock

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from sidecar.judging.ports import Judge
    from sidecar.kernel.effects import JudgeCase
    from sidecar.kernel.masking import SecretMask
    from sidecar.kernel.settings import Settings
    from sidecar.platform.limits import CallSlots


PROGRAMS: Final = {"claude-cli": "claude"}
"""The program of a backend, where its name is another one: its calls at once count with those of workers."""
RULES = "rules"
"""The backend that asks no model."""


def build_judge(
    texts: Path,
    own: Mapping[str, str],
    secrets: Callable[[Mapping[str, str]], SecretMask] = build_secret_mask,
    slots: CallSlots | None = None,
) -> ChosenJudge:
    """Build the judge with all real backends, in the order of `auto`.

    `texts`: the folder of judge.md; `own`: the environment of this process; `secrets` builds the mask that
    removes secrets from the error messages of a service. `slots`: how many calls a team makes at once.
    """

    def judges() -> Mapping[str, Judge]:
        from sidecar.judging.backends.claude_cli import ClaudeCliJudge  # noqa: PLC0415 - not at start
        from sidecar.judging.backends.opencode import OpenCodeJudge  # noqa: PLC0415 - the same
        from sidecar.judging.backends.service import ServiceJudge  # noqa: PLC0415 - the same
        from sidecar.judging.backends.services import ANTHROPIC, OPENAI  # noqa: PLC0415 - the same

        services = {one.backend: ServiceJudge(one, texts, own, secrets) for one in (ANTHROPIC, OPENAI)}
        return {"opencode": OpenCodeJudge(texts), "claude-cli": ClaudeCliJudge(texts), **services}

    return ChosenJudge(judges, slots)


class ChosenJudge:
    """Implements `Judge` by asking the chosen judge, or none if only rules are wanted."""

    def __init__(
        self,
        judges: Callable[[], Mapping[str, Judge]],
        slots: CallSlots | None = None,
    ) -> None:
        """`judges` returns the judges by their name in the settings, in the order of `auto`.

        It is called at the first use.
        """
        self._judges, self._slots = cache(judges), slots

    def chosen(self, environment: Mapping[str, str], settings: Settings) -> ChosenBackend:
        """Return the backend that the settings name or the first available one, or why there is none."""
        wanted = settings.judge.backend
        if wanted == RULES:
            return ChosenBackend("", f"judge.backend = {RULES}")
        judges = self._judges().values() if wanted == "auto" else [self._judges()[wanted]]
        reasons: list[str] = []
        for judge in judges:
            chosen = judge.chosen(environment, settings)
            if chosen.backend:
                return ChosenBackend(chosen.backend, "; ".join([chosen.why, *reasons]))
            reasons.append(chosen.why)
        return ChosenBackend("", "; ".join(reasons))

    async def ask(
        self, case: JudgeCase, environment: Mapping[str, str], settings: Settings
    ) -> JudgeAnswered | JudgeFailed:
        """Return one verdict, or why there is none."""
        chosen = self.chosen(environment, settings)
        if not chosen.backend:
            return JudgeFailed(f"no judge model is configured ({chosen.why})")
        program = PROGRAMS.get(chosen.backend, chosen.backend)
        try:
            async with asyncio.timeout(settings.judge.seconds) as waiting:
                async with call_slot(self._slots, program, SystemClock()):
                    waiting.reschedule(None)
                    return await self._judges()[chosen.backend].ask(case, environment, settings)
        except TimeoutError:
            if not waiting.expired():
                raise
            return JudgeFailed(f"all calls of {program} that the team makes at once are taken")
