"""How a machine joined its team: kept whole, without the password, and never shared with a copy."""

from __future__ import annotations

import shutil
import stat
from pathlib import Path

import pytest

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.settings import ServiceSettings
from sidecar.platform.team.membership import (
    Membership,
    load_membership,
    login_person,
    machine_fingerprint,
    new_machine,
    open_team,
    parse_team_url,
    remove_membership,
    save_membership,
)

URL = "postgresql://ann-agents@db.example/team"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    return folder


def test_what_was_joined_is_kept_and_the_password_is_a_file_of_its_own(state: Path) -> None:
    joined = save_membership(state, Membership(url=URL, machine="m1", person="ann"), "hunter2")

    assert load_membership(state) == joined
    assert b"hunter2" not in (state / "team.json").read_bytes()
    assert {stat.S_IMODE(path.stat().st_mode) for path in state.iterdir()} == {0o600}
    with_password = open_team(joined)._database  # noqa: SLF001 - nothing shows a password
    assert with_password._password == "hunter2"  # type: ignore[attr-defined]  # noqa: SLF001 - the same

    remove_membership(state)
    assert load_membership(state) is None
    assert not list(state.iterdir())


def test_the_password_is_found_where_it_was_named(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEAM_PASSWORD", "hunter3")
    joined = save_membership(state, Membership(url=URL, key=ServiceSettings(key_env="TEAM_PASSWORD")))

    assert open_team(joined)._database._password == "hunter3"  # type: ignore[attr-defined]  # noqa: SLF001 - as above
    assert [path.name for path in state.iterdir()] == ["team.json"]


def test_a_damaged_file_is_set_aside_and_no_team_is_joined(state: Path) -> None:
    (state / "team.json").write_bytes(b"{")

    assert load_membership(state) is None
    assert (state / "team.json.corrupt-1").exists()


def test_a_copy_of_the_state_folder_is_another_machine(state: Path, tmp_path: Path) -> None:
    joined = new_machine(state, Membership(url=URL))
    copy = shutil.copytree(state, tmp_path / "copy")

    assert machine_fingerprint(state) == joined.fingerprint
    assert machine_fingerprint(copy) != joined.fingerprint
    assert new_machine(copy, joined).machine != joined.machine


@pytest.mark.parametrize(
    ("typed", "url", "login", "password"),
    [
        ("postgresql://ann@h/d", "postgresql://ann@h/d", "ann", ""),
        (
            "postgres://ann:a%2Fb@h:5433/d?a=b",
            "postgres://ann@h:5433/d?a=b",
            "ann",
            "a/b",
        ),
        ("postgresql://ann:p@ss@h/d", "postgresql://ann@h/d", "ann", "p@ss"),
        ("postgresql://a%40b:x@/d?host=/tmp/s", "postgresql://a%40b@/d?host=/tmp/s", "a@b", "x"),
        ("postgresql://ann:x@h1:1,h2:2/d", "postgresql://ann@h1:1,h2:2/d", "ann", "x"),
    ],
)
def test_a_url_is_taken_apart(typed: str, url: str, login: str, password: str) -> None:
    found = parse_team_url(typed)
    assert (found.url, found.login, found.password) == (url, login, password)


@pytest.mark.parametrize(
    "typed",
    [
        "secret",
        "mysql://ann:secret@h/d",
        "postgresql://h/d",
        "postgresql://ann:sec/ret@h/d",
        "postgresql://ann:12#secret@h/d",
        "postgresql://ann@h/d?password=secret",
        "postgresql://[ann:secret@h/d",
    ],
)
def test_a_url_that_cannot_be_used_is_not_repeated(typed: str) -> None:
    with pytest.raises(BadInputError, match="postgresql://LOGIN:PASSWORD@HOST/DATABASE") as refused:
        parse_team_url(typed)
    assert "secret" not in str(refused.value)
    assert "ret@" not in str(refused.value)


def test_the_agents_of_a_person_have_a_login_of_their_own() -> None:
    assert (login_person("ann-agents"), login_person("ann")) == ("ann", "ann")
