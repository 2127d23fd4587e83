"""Which model a worker runs on. A name is one of `[models]`, a tier, a name of the backend, or "self"."""

from __future__ import annotations

from sidecar.kernel.settings import ALIASES, Settings, resolve_model
from sidecar.workers.ports import SELF


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
