"""What a test of a real host asks for: `host` and the `model` it speaks to, once for each tested version."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hosts.host import Host
from hosts.install import PINNED, InstallError, claude_binary, hosts_folder, missing, newest_version
from sidecar.adapters.scripted.model_server import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session", params=("pinned", "newest"))
def claude_version(request: pytest.FixtureRequest) -> str:
    """A version of Claude Code to test with."""
    if request.param == "pinned":
        return PINNED
    try:
        return newest_version()
    except InstallError as error:
        missing(str(error))


@pytest.fixture(scope="session")
def claude(claude_version: str) -> Path:
    """The path of that version's binary; looked up before any test replaces the home."""
    try:
        return claude_binary(claude_version, hosts_folder())
    except InstallError as error:
        missing(str(error))


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """A model that has no script yet: `model.add(Rule(...))`."""
    with ScriptedModel() as scripted:
        yield scripted


@pytest.fixture
def host(claude: Path, claude_version: str, model: ScriptedModel, tmp_path: Path) -> Host:
    """A Claude Code in a clean room, which asks `model`."""
    folder = tmp_path / "claude"
    folder.mkdir()
    return Host.prepare(claude, claude_version, folder, model.url)
