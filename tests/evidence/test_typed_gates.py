"""The gates of a typed command, while agents change the files that name them."""

from __future__ import annotations

from msgspec.structs import replace

from sidecar.evidence.gates.approvals import TypedCatalog
from sidecar.kernel.gate import AvailableGates, Gate, GateOrigin, Kind
from support.scripted_ports import ScriptedCatalog

TESTS = Gate(id="tests", command="pytest", why="", kind=Kind.TESTS, origin=GateOrigin.DETECTED)
LINT = replace(TESTS, id="lint", kind=Kind.LINT)
OWN = replace(TESTS, id="own", origin=GateOrigin.PROJECT)
AGREED = replace(LINT, id="agreed", approved=True)


async def test_what_agents_add_change_or_remove_meanwhile_is_not_theirs_to_choose() -> None:
    catalog = ScriptedCatalog()
    typed = TypedCatalog(catalog, (TESTS, LINT, OWN, AGREED))

    async def approved(*gates: Gate) -> dict[str, bool]:
        catalog.gates = gates
        found: AvailableGates = await typed.list("/p", {})
        return {f"{gate.id} {gate.command}": gate.approved for gate in found.gates}

    assert await approved(TESTS, LINT, OWN, AGREED) == {
        "tests pytest": True,
        "lint pytest": False,
        "own pytest": False,
        "agreed pytest": True,
    }
    assert not any(gate.changed for gate in (await typed.list("/p", {})).gates if gate.approved)
    changed = replace(TESTS, command="true", approved=True)
    added = replace(TESTS, id="tests:web", approved=True)
    assert await approved(changed, added) == {
        "tests true": False,
        "lint pytest": False,
        "own pytest": False,
        "agreed pytest": True,
        "tests:web pytest": False,
    }
    late = {gate.id: gate.changed for gate in (await typed.list("/p", {})).gates}
    assert (late["tests"], late["tests:web"]) == (True, False)
