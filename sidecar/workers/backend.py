"""What the backends share: their interface, the cost of a run, its model, and validating an answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec
from msgspec import Struct

from sidecar.kernel.decoding import InvalidAnswerError, last_json_object, strict_schema
from sidecar.kernel.settings import (
    ALIASES,
    ModelPrice,
    Settings,
    TokenUsage,
    priced_cents,
    resolve_model,
)
from sidecar.workers.ports import SELF, A, WorkerError, WorkerFailure, WorkerPlace, WorkerRun, WorkerTask


class WorkerCost(Struct):
    """What a run on a model has cost so far, also if it fails. `calls` is 0 until something was asked.

    `told` is what the host reckons, in cents; the user's `prices` win. `meanwhile` is as in WorkerRan.
    """

    model: str
    prices: dict[str, ModelPrice]
    calls: int = 0
    usage: TokenUsage = TokenUsage()
    told: float | None = None
    meanwhile: tuple[str, ...] = ()

    @property
    def cents(self) -> float | None:
        return priced_cents(self.model, self.usage, self.told, self.prices)


class Backend(Protocol):
    """One way to run a worker."""

    def absence(self, at: WorkerPlace, settings: Settings) -> str:
        """Return why this backend cannot be used, in one clause; "" if it can."""

    def model(self, at: WorkerPlace, settings: Settings) -> str:
        """Return the model that a worker would run on, "self" for the host's own."""

    def tells_cost(self, settings: Settings) -> bool:
        """Whether a worker says itself what it cost."""

    async def run(
        self, task: WorkerTask[A], settings: Settings, cost: WorkerCost, hear: Callable[[str], None]
    ) -> WorkerRun[A]:
        """Run once, within `task.seconds`; what it took goes into `cost`. Raises WorkerError."""


def schema_text(kind: type[Struct]) -> str:
    """Return the JSON schema of an answer, on one line."""
    return msgspec.json.encode(strict_schema(kind)).decode()


def find_answer(text: str, output: str) -> str:
    """Return the JSON object at the end of an agent's last message. Raises WorkerError."""
    try:
        found = last_json_object(text)
    except InvalidAnswerError as error:
        said = f"the worker's answer is not valid: {error}"
        raise WorkerError(WorkerFailure.INVALID, said, output) from None
    if not found:
        said = "the worker gave no answer in JSON: read what it said, and ask again or name another model"
        raise WorkerError(WorkerFailure.UNPARSABLE, said, output)
    return found


def validate_answer(answer: str, kind: type[A], output: str) -> A:
    """Convert the answer strictly. Raises WorkerError, which says where it does not fit."""
    try:
        return msgspec.json.decode(answer, type=kind)
    except msgspec.ValidationError as error:
        said = f"the worker's answer does not fit its schema: {error}; ask again or name another model"
        raise WorkerError(WorkerFailure.INVALID, said, output) from None
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        said = f"the worker's answer is no JSON: {error}; ask again or name another model"
        raise WorkerError(WorkerFailure.UNPARSABLE, said, output) from None


# --- which model a worker runs on: one of `[models]`, a tier, a name of the backend, or "self" --------------


def route_model(asked: str, skill: str, settings: Settings, *, preset: str = "") -> str:
    """Return the first name given: the caller's, the user's for the skill, the skill's own, the default.

    `preset` is what the skill's file says.
    """
    return asked or settings.workers.models.get(skill, "") or preset or settings.workers.model


def claude_model(name: str, settings: Settings) -> str:
    """Return what `claude --model` is given, "" for the host's own model."""
    return "" if name in {"", SELF} else resolve_model(name, settings)


def opencode_model(name: str, settings: Settings, own: str) -> str:
    """Return what `opencode --model` is given, "" for the user's default.

    `own` is the session's model, "" if unknown. A tier for which the settings name no other model than one of
    Claude Code stands for the host's own.
    """
    named = claude_model(name, settings)
    return own if not named or (named in ALIASES and named != name) else named


def gateway_model(name: str, settings: Settings) -> str:
    """Return the model that a gateway is asked for, "" if no name is known to it."""
    return opencode_model(name, settings, settings.workers.gateway_model)
