"""What all Switches do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sidecar.platform.ports import SwitchStore
from sidecar.platform.switches import SwitchFile
from support.memory_stores import MemorySwitches

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(params=("file", "memory"))
def switches(request: pytest.FixtureRequest, tmp_path: Path) -> SwitchStore:
    return MemorySwitches() if request.param == "memory" else SwitchFile(tmp_path / "state")


@pytest.fixture
def project(tmp_path: Path) -> str:
    (tmp_path / "work" / "project" / "part").mkdir(parents=True)
    return str(tmp_path / "work" / "project")


def test_it_is_on_at_first(switches: SwitchStore, project: str) -> None:
    assert switches.off(project) == ""


def test_off_for_the_user_is_off_everywhere(switches: SwitchStore, project: str) -> None:
    switches.turn(on=False, project=None)
    assert switches.off(project) == "off for you"
    assert switches.off("/somewhere/else") == "off for you"
    switches.turn(on=True, project=None)
    assert switches.off(project) == ""


def test_off_for_a_project_is_off_below_it_and_nowhere_else(switches: SwitchStore, project: str) -> None:
    switches.turn(on=False, project=project)
    assert switches.off(project) == "off for this project"
    assert switches.off(f"{project}/part") == "off for this project"
    assert switches.off(f"{project}-2") == ""
    assert switches.off(project.rsplit("/", 1)[0]) == ""
    switches.turn(on=True, project=project)
    assert switches.off(project) == ""


def test_switching_on_below_a_folder_that_is_off_leaves_the_folder_off(
    switches: SwitchStore, project: str
) -> None:
    switches.turn(on=False, project=project)
    switches.turn(on=True, project=f"{project}/part")
    assert switches.off(f"{project}/part") == ""
    assert switches.off(project) == "off for this project"
    switches.turn(on=False, project=f"{project}/part")
    assert switches.off(f"{project}/part") == "off for this project"
