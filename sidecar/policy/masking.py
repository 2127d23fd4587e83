"""Takes the session's secrets out of what was recorded, before anything else sees it (law 10).

A secret is the value of an environment variable whose name says so. What the session's environment does not
hold is not recognised yet.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from msgspec.structs import replace

from sidecar.model.command import Run
from sidecar.model.effects import Case
from sidecar.model.gate import GateRun
from sidecar.model.turn import Turn

SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|COOKIE", re.IGNORECASE)
SHORTEST = 8
"""Characters of a value that can be told from ordinary words."""
MASK = "[masked]"

Mask = Callable[[str], str]


def masker(environment: Mapping[str, str]) -> Mask:
    """What takes the secrets of this environment out of a text."""
    values = {
        value for name, value in environment.items() if SECRET_NAME.search(name) and len(value) >= SHORTEST
    }
    if not values:
        return str
    pattern = re.compile("|".join(re.escape(value) for value in sorted(values, key=len, reverse=True)))
    return lambda text: pattern.sub(MASK, text)


def mask_turn(turn: Turn, mask: Mask) -> Turn:
    """The turn without secrets in what was said, run and returned."""
    return replace(
        turn,
        prompts=tuple(map(mask, turn.prompts)),
        last_message=mask(turn.last_message),
        todos=tuple(replace(todo, text=mask(todo.text)) for todo in turn.todos),
        planned=tuple(replace(task, text=mask(task.text)) for task in turn.planned),
        stuck=tuple(map(mask, turn.stuck)),
        native_goal=mask(turn.native_goal),
        calls=tuple(
            replace(
                call,
                command=mask(call.command),
                runs=tuple(_masked(run, mask) for run in call.runs),
                output=mask(call.output),
            )
            for call in turn.calls
        ),
    )


def _masked(run: Run, mask: Mask) -> Run:
    return replace(
        run,
        argv=tuple(map(mask, run.argv)),
        text=mask(run.text),
        assignments=tuple(map(mask, run.assignments)),
    )


def mask_case(case: Case, mask: Mask) -> Case:
    """The case without secrets, whatever way they came into it. The rubric stays: the user wrote it."""
    return replace(
        case,
        condition=mask(case.condition),
        suspicion=mask(case.suspicion),
        prompts=tuple(map(mask, case.prompts)),
        evidence=tuple(replace(one, fact=mask(one.fact), detail=mask(one.detail)) for one in case.evidence),
        last_message=mask(case.last_message),
        edits=tuple(replace(edit, hunks=mask(edit.hunks)) for edit in case.edits),
    )


def mask_run(run: GateRun, mask: Mask) -> GateRun:
    """The run without secrets in what was printed. Its command stays: the user or the project wrote it."""
    return replace(
        run,
        output=mask(run.output),
        failures=tuple(map(mask, run.failures)),
        failing=tuple(map(mask, run.failing)),
        reason=mask(run.reason),
    )
