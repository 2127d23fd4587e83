"""Workers that do what a test wrote for them: in the folder that they are given, without a process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from sidecar.kernel.settings import Settings, resolve_model
from sidecar.workers.ports import WorkerPlace, WorkerRun, WorkerTask

A = TypeVar("A", bound=Struct)

Step = Callable[[Path], dict[str, Any]]
"""One run: it changes files in the folder, and returns the answer. It may raise WorkerError."""


class ScriptedWorkers:
    """Implements `Workers`: one step for each run, the last one again and again.

    Every model can run; `only` is what runs where it is set, whatever was asked for.
    """

    only = ""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = list(steps)
        self.tasks: list[WorkerTask[Any]] = []

    def models(
        self,
        wanted: Iterable[WorkerPlace],
        settings: Settings,
        *,
        limited: bool,  # noqa: ARG002 - the port's
    ) -> dict[str, str]:
        return {at.model: self.only or resolve_model(at.model, settings) for at in wanted}

    async def run(
        self,
        task: WorkerTask[A],
        settings: Settings,
        hear: Callable[[str], None],  # noqa: ARG002 - the port's
    ) -> WorkerRun[A]:
        step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        self.tasks.append(task)
        answer = msgspec.convert(step(Path(task.project)), task.answer)
        return WorkerRun(
            answer=answer,
            model=self.only or resolve_model(task.model, settings) or "self",
            tokens=100,
            cents=0.5,
        )


def writes(files: Mapping[str, str | None], **answer: Any) -> Step:
    """Write these files, None removes one; answer so, `status` "pass" unless given."""

    def step(folder: Path) -> dict[str, Any]:
        for path, text in files.items():
            if text is None:
                (folder / path).unlink()
            else:
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_text(text)
        return {"status": "pass", **answer}

    return step
