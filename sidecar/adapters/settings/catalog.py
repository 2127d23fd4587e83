"""The checks that a project offers: detected, configured and of its forge; each with its approval.

A command of the project's own, named or detected, runs only once the user approved it (law 12). The user's
file approves by naming. What is only read from a forge needs no approval: the commands are ours.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from sidecar.adapters.forge.remote import Forge, asked
from sidecar.adapters.settings.gate_merge import merged, overstepped, settings_in_force, within
from sidecar.adapters.settings.gate_words import of_project
from sidecar.adapters.settings.trust_file import TrustFile, covers
from sidecar.adapters.settings.user_file import ConfigurationFile
from sidecar.model.gate import REMOTE, Catalog, Gate, Kind, Origin
from sidecar.model.settings import Gates
from sidecar.ports import Environment

GATE_LIMIT: Final = 100
"""Gates of one project, the configured ones first."""

Detect = Callable[[Path, Environment], tuple[Gate, ...]]


class ProjectCatalog:
    """Implements `GateCatalog`."""

    def __init__(
        self, user: Environment, trust: TrustFile, detect: Detect, forge: Forge | None = None
    ) -> None:
        """`user`: the environment that names the user's own folders. Without `forge`, no PR and no CI."""
        self._configuration = ConfigurationFile(user)
        self._trust = trust
        self._detect = detect
        self._forge = forge

    async def list(self, project: str, environment: Environment) -> Catalog:
        limits, user = self._configuration.read()
        own, wrong = within(of_project(project), limits)
        settings = settings_in_force(user, own)
        detected, failed = await self._detected(project, environment) if settings.detect else ((), ())
        found = merged(detected, user, own)
        configured, outside = _inside(project, found.configured)
        remote = await self._remote(project, environment, settings)
        required = [gate for gate in remote if gate.required]
        offered = [gate for gate in remote if not gate.required]
        gates = (*configured, *required, *found.others, *offered)
        surplus = [f"{len(gates)} gates; only the first {GATE_LIMIT} are looked at"] * (
            len(gates) > GATE_LIMIT
        )
        problems = (
            *user.problems,
            *own.problems,
            *overstepped(own),
            *wrong,
            *failed,
            *found.problems,
            *outside,
            *surplus,
        )
        fault = self._trust.fault()
        return Catalog(
            self._approved(project, gates[:GATE_LIMIT]), (*problems, fault) if fault else problems, settings
        )

    async def _detected(
        self, project: str, environment: Environment
    ) -> tuple[tuple[Gate, ...], tuple[str, ...]]:
        try:
            return await asyncio.to_thread(self._detect, Path(project), environment), ()
        except Exception as error:  # noqa: BLE001 - it reads what hostile projects wrote; a stop must not fail
            return (), (f"gates could not be detected: {type(error).__name__}: {error}"[:300],)

    async def _remote(self, project: str, environment: Environment, settings: Gates) -> tuple[Gate, ...]:
        """The gates of the forge, required where a setting asks for them."""
        if self._forge is None:
            return ()
        wanted = {Kind.PR: settings.pr, Kind.CI: settings.ci}
        gates = await self._forge.offer(project, environment)
        gates = gates or tuple(asked(kind) for kind, wish in wanted.items() if wish)
        return tuple(replace(gate, required=wanted[gate.kind]) for gate in gates)

    def _approved(self, project: str, gates: Iterable[Gate]) -> tuple[Gate, ...]:
        approvals = self._trust.approvals(project)
        return tuple(
            replace(
                gate,
                approved=gate.origin is Origin.USER
                or gate.kind in REMOTE
                or covers(approvals.get(gate.id), gate),
            )
            for gate in gates
        )


def _inside(project: str, gates: Iterable[Gate]) -> tuple[list[Gate], list[str]]:
    """The gates whose folder is really in the project, and the complaints about the others."""
    root = Path(os.path.realpath(project))
    kept, problems = [], []
    for gate in gates:
        if Path(os.path.realpath(Path(project, gate.folder))).is_relative_to(root):
            kept.append(gate)
        else:
            problems.append(
                f"gate {gate.id}: its folder {gate.folder} leads out of the project; it is left out"
            )
    return kept, problems
