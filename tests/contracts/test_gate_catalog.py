"""What every GateCatalog does."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.evidence.gates.approvals import TrustFile
from sidecar.evidence.gates.catalog import ProjectCatalog
from sidecar.evidence.ports import GateCatalog
from sidecar.kernel.gate import Gate, GateOrigin, Kind
from sidecar.kernel.session import Environment
from support.scripted_ports import ScriptedCatalog

TESTS = Gate(
    id="tests", command="pytest", why="pytest.ini", kind=Kind.TESTS, origin=GateOrigin.DETECTED, counts=True
)
LINT = Gate(id="lint", command="ruff check", why="ruff.toml", kind=Kind.LINT, origin=GateOrigin.DETECTED)


def detect(_project: Path, _environment: Environment) -> tuple[Gate, ...]:
    return TESTS, LINT


@pytest.fixture(params=("real", "scripted"))
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> GateCatalog:
    if request.param == "scripted":
        return ScriptedCatalog((TESTS, LINT))
    return ProjectCatalog({"XDG_CONFIG_HOME": str(tmp_path)}, TrustFile(tmp_path / "state"), detect)


async def test_every_gate_is_offered_once_with_its_reason(catalog: GateCatalog, tmp_path: Path) -> None:
    offered = await catalog.list(str(tmp_path), {})
    assert [(gate.id, gate.why) for gate in offered.gates] == [("tests", "pytest.ini"), ("lint", "ruff.toml")]
    assert offered.problems == ()


async def test_nothing_is_approved_that_nobody_approved(catalog: GateCatalog, tmp_path: Path) -> None:
    offered = await catalog.list(str(tmp_path), {})
    assert [gate.approved for gate in offered.gates] == [False, False]


async def test_a_project_that_is_not_there_raises_nothing(catalog: GateCatalog, tmp_path: Path) -> None:
    offered = await catalog.list(str(tmp_path / "nowhere"), {})
    assert offered.settings.detect
