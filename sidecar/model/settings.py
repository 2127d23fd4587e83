"""The user's settings, with the defaults of the design."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

BUDGET = Annotated[int, Meta(ge=1, le=100)]


class Judge(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who judges what rules and gates cannot decide. `auto`: the first backend that works."""

    backend: Literal["auto", "claude-cli", "rules"] = "auto"
    model: str = "sonnet"
    seconds: Annotated[int, Meta(ge=5, le=600)] = 120


class Gates(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`seconds`: deadline of one gate."""

    seconds: Annotated[int, Meta(ge=1, le=800)] = 600


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Contents of the user's config.toml.

    `mode` "shadow" judges and records but never continues. `max_attempts` is the budget of continuations.
    Tokens are uncached input plus output; seconds are those the agent was active. `stop_seconds` bounds the
    judging of one stop: smaller than the hook timeout in hooks/hooks.json (900), greater than one gate.
    """

    mode: Literal["on", "shadow"] = "on"
    max_attempts: BUDGET = 16
    goal_max_tokens: Annotated[int, Meta(ge=1)] = 400_000
    goal_max_seconds: Annotated[int, Meta(ge=1)] = 1800
    resume_paused: bool = False
    stop_seconds: Annotated[int, Meta(ge=1, le=870)] = 840
    idle_minutes: Annotated[int, Meta(ge=1)] = 60
    judge: Judge = Judge()
    gates: Gates = Gates()
