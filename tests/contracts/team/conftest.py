from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.platform.team.store import TeamStore
from support.teams import TeamPlace, team_place


@pytest.fixture(params=["file", pytest.param("postgresql", marks=pytest.mark.process)])
def team(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TeamPlace]:
    on_server = request.param == "postgresql"
    with team_place(request.getfixturevalue("team_url") if on_server else tmp_path / "team.sqlite3") as place:
        yield place


@pytest.fixture
def store(team: TeamPlace) -> TeamStore:
    return team.member()


@pytest.fixture
def other(team: TeamPlace) -> TeamStore:
    return team.member("m2", "bob")
