"""Which model is meant: settings name it as its service does, or by a tier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import astuple

from sidecar.model.settings import Tiers

if TYPE_CHECKING:
    from sidecar.model.settings import Service, Settings

ALIASES: Final = frozenset(astuple(Tiers()))
"""Names that Claude Code alone knows."""


def of_host(settings: Settings) -> str:
    """The model that the host is told to ask."""
    return _resolved(settings.judge.model, settings.tiers)


def of_service(service: Service, settings: Settings) -> str:
    """The service's own setting, else judge.model; "" where neither is a name that a service can know."""
    named = _resolved(service.model or settings.judge.model, settings.tiers)
    return "" if named in ALIASES and named != service.model else named


def _resolved(name: str, tiers: Tiers) -> str:
    return str(getattr(tiers, name)) if name in tiers.__struct_fields__ else name
