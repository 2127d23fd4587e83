"""What a test of a real host asks for: `host` and the `model` it speaks to, once for each tested version.

`opencode_host` is the other host, of one version. A module whose tests share a server makes it with the
binary, `opencode`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from real_hosts.host import Host
from real_hosts.install import (
    PINNED,
    InstallError,
    claude_binary,
    hosts_folder,
    missing,
    newest_version,
    opencode_binary,
)
from real_hosts.opencode_host import OpenCode
from real_hosts.opencode_server import Desk, Server
from real_hosts.opencode_supervised import Supervised, supervised
from support.model_server import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session", params=("pinned", pytest.param("newest", marks=pytest.mark.long)))
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


@pytest.fixture(scope="session")
def opencode() -> Path:
    """The path of OpenCode's binary; looked up before any test replaces the home."""
    try:
        return opencode_binary(hosts_folder())
    except InstallError as error:
        missing(str(error))


@pytest.fixture
def opencode_host(opencode: Path, model: ScriptedModel, tmp_path: Path) -> OpenCode:
    """An OpenCode in a clean room, which asks `model`."""
    folder = tmp_path / "opencode"
    folder.mkdir()
    return OpenCode.prepare(opencode, folder, model.url)


@pytest.fixture(scope="session")
def home(opencode: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Supervised]:
    """The home that the scenarios at one server share, with a model of its own."""
    with ScriptedModel() as scripted:
        shared = OpenCode.prepare(opencode, tmp_path_factory.mktemp("opencode"), scripted.url)
        shared.configure(agent={"careful": {"mode": "primary", "description": "Looks twice."}})
        with supervised(shared, scripted) as under:
            yield under


@pytest.fixture(scope="session")
def server(home: Supervised) -> Iterator[Server]:
    """The server that they share. Their modules are of one group of xdist, so that there is only one."""
    with home.host.serve() as running:
        yield running


@pytest.fixture
def shop(home: Supervised, tmp_path: Path) -> Supervised:
    """A project of this scenario alone, at the shared server."""
    return home.at(tmp_path / "shop")


@pytest.fixture
def desk(server: Server, shop: Supervised) -> Desk:
    """The shared server, asked about that project."""
    return server.at(shop.host.project)
