"""The gates of a project for a command that a person typed and during which agents work."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from sidecar.evidence.gates.trust import gate_digest
from sidecar.evidence.ports import GateCatalog
from sidecar.kernel.gate import AvailableGates, Gate, GateOrigin, Kind
from sidecar.kernel.session import Environment


class TypedCatalog:
    """Implements `GateCatalog` for one project: detected tests count as approved by who typed the command.

    That holds for the gates of then alone. What comes or changes later is not approved, and what is gone
    stays: the agents at work meanwhile must not choose what judges them.
    """

    def __init__(self, catalog: GateCatalog, typed: Iterable[Gate]) -> None:
        """`typed`: the gates that there were when the command was typed."""
        self._catalog = catalog
        self._first = {gate.id: _approve_tests(gate) for gate in typed}

    async def list(self, project: str, environment: Environment) -> AvailableGates:
        found = await self._catalog.list(project, environment)
        may = {gate_digest(gate) for gate in self._first.values() if gate.approved}
        now = {gate.id: replace(gate, approved=gate_digest(gate) in may) for gate in found.gates}
        return replace(found, gates=tuple((self._first | now).values()))

    def approve(self, project: str, gates: Iterable[Gate]) -> None:
        self._catalog.approve(project, gates)


def _approve_tests(gate: Gate) -> Gate:
    typed = gate.kind is Kind.TESTS and gate.origin is GateOrigin.DETECTED
    return replace(gate, approved=gate.approved or typed)
