"""A project that offers the checks that it is told to offer."""

from __future__ import annotations

from sidecar.model.gate import Catalog, Gate
from sidecar.model.settings import Gates
from sidecar.ports import Environment


class ScriptedCatalog:
    """A `GateCatalog` that looks at nothing. Its attributes may be set anew between two stops."""

    def __init__(self, gates: tuple[Gate, ...] = (), problems: tuple[str, ...] = ()) -> None:
        self.gates = gates
        self.problems = problems
        self.settings = Gates()

    async def list(self, project: str, environment: Environment) -> Catalog:  # noqa: ARG002 - the port's
        return Catalog(self.gates, self.problems, self.settings)
