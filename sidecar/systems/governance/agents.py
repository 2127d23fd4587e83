"""Asks a headless agent to do a phase's work, or takes the work of the calling agent; both by one schema."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from sidecar.evidence.tree.copies import WorkCopy
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.governance import Phase
from sidecar.kernel.instructions import parse_instructions
from sidecar.kernel.settings import Settings
from sidecar.kernel.text import fill_template
from sidecar.workers.policy import route_model
from sidecar.workers.ports import Workers, WorkerTask

CALLER: Final = "caller"

A = TypeVar("A", bound=Struct)

log = logging.getLogger(__name__)


class PhaseHead(Struct, frozen=True, kw_only=True):
    """The head of a phase's file in rubric/governance/."""

    name: Phase
    about: str
    tools: tuple[str, ...]
    model: str = ""


class PhaseAgents:
    """Does the work of phases. `prompts`: the folder of their files."""

    def __init__(self, workers: Workers, prompts: Path) -> None:
        self._workers, self._prompts = workers, prompts

    async def ask(
        self, phase: Phase, answer: type[A], values: Mapping[str, str], copy: WorkCopy, settings: Settings
    ) -> tuple[A, str]:
        """Return a worker's answer, and who it was. Raises WorkerError."""
        path = self._prompts / f"{phase}.md"
        head, text = parse_instructions(path.read_text(encoding="utf-8"), str(path), PhaseHead, "name")
        task = WorkerTask(
            prompt=fill_template(text, values),
            answer=answer,
            tools=head.tools,
            model=route_model("", f"governance_{phase}", settings, preset=head.model),
            project=copy.project,
            environment=copy.environment,
        )
        done = await self._workers.run(task, settings, log.debug)
        return done.answer, f"worker {done.model}"


def take_answer(phase: Phase, answer: type[A], given: dict[str, Any] | None) -> A:
    """Return the work of the calling agent. Raises BadInputError where it does not fit."""
    if given is None:
        schema = msgspec.json.encode(msgspec.json.schema(answer)).decode()
        raise BadInputError(
            f"no worker does this phase ([governance] workers = false): do the work of {phase} yourself and "
            f"pass it as input_data.answer, which fits this JSON schema: {schema}"
        )
    try:
        return msgspec.convert(given, answer)
    except msgspec.ValidationError as error:
        raise BadInputError(f"input_data.answer does not fit the phase {phase}: {error}") from None
