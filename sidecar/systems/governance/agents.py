"""Asks a headless agent to do a phase's work, or takes the work of the calling agent; both by one schema."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from sidecar.evidence.tree.checkout import WorkCopy
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.governance import GovernedPhase, WrittenAnswer
from sidecar.kernel.instructions import PromptHead, parse_instructions
from sidecar.kernel.text import fill_template
from sidecar.platform.apply import ApplyError, ChangeApplier
from sidecar.platform.files import UnusableFileError
from sidecar.platform.installation import plugin_root
from sidecar.systems.governance.ports import GovernanceServices
from sidecar.workers.files import OutsideError, write_files
from sidecar.workers.policy import route_model
from sidecar.workers.ports import WorkerTask

CALLER: Final = "caller"

A = TypeVar("A", bound=Struct)

log = logging.getLogger(__name__)


async def ask_worker(
    services: GovernanceServices,
    phase: GovernedPhase,
    answer: type[A],
    values: Mapping[str, str],
    copy: WorkCopy,
) -> tuple[A, str]:
    """Return a worker's answer, and who it was. Raises WorkerError."""
    settings, _ = services.shared.configuration.load()
    path = plugin_root() / "rubric" / "governance" / f"{phase}.md"
    head, text = parse_instructions(path.read_text(encoding="utf-8"), str(path), PromptHead, "name")
    task = WorkerTask(
        prompt=fill_template(text, values),
        answer=answer,
        tools=head.tools,
        model=route_model("", f"governance_{phase}", settings, preset=head.model),
        project=copy.project,
        environment=copy.environment,
    )
    done = await services.workers.run(task, settings, log.debug)
    return done.answer, f"worker {done.model}"


def take_answer(phase: GovernedPhase, answer: type[A], given: dict[str, Any] | None) -> A:
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


def write_answer(answer: WrittenAnswer, copy: WorkCopy, applier: ChangeApplier) -> None:
    """Write into a copy what the calling agent made. Raises BadInputError where a file may not be written."""
    try:
        write_files(applier, copy.project, ((one.path, one.content) for one in answer.files))
    except (OutsideError, ApplyError, OSError, UnusableFileError) as error:
        raise BadInputError(f"input_data.answer cannot be written: {error}") from None
