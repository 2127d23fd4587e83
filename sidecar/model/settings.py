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


GATE_SECONDS = Annotated[int, Meta(ge=1, le=800)]


class Gates(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How gates are chosen and run.

    `seconds`: deadline of one required gate; `advisory_seconds`: of one that only advises. `detect`: whether
    signs in the project name gates. `without_goal`: whether configured required gates run at stops with no
    goal set. `pr`, `ci`: whether the pull request and its checks are looked at (through gh or glab).
    """

    seconds: GATE_SECONDS = 600
    advisory_seconds: GATE_SECONDS = 120
    detect: bool = True
    without_goal: bool = False
    pr: bool = False
    ci: bool = False


class OwnGate(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A gate that a configuration file names or changes: `[gate.ID]`.

    Where ID is that of a detected gate, what is given here replaces its values. `least`: least coverage in
    percent. `enabled = false` takes a gate away.
    """

    command: Annotated[str, Meta(min_length=1, max_length=4000)] | None = None
    kind: Literal["tests", "build", "types", "lint", "security", "coverage", "check"] | None = None
    folder: Annotated[str, Meta(max_length=1000)] | None = None
    required: bool | None = None
    seconds: GATE_SECONDS | None = None
    counts: bool | None = None
    alone: bool | None = None
    least: Annotated[float, Meta(ge=0, le=100)] | None = None
    enabled: bool = True


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
    gate: dict[str, OwnGate] = {}
