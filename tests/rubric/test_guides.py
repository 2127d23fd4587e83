"""The files that guide us, as they are: read whoever wrote them, and never raised about."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sidecar.rubric import files as settling
from sidecar.rubric import reader
from sidecar.rubric.files import is_being_written
from sidecar.rubric.reader import GuideFiles

RUBRIC = "## Patterns\n- **DONE**: it is\n## Antipatterns\n- **OLD**: x\n"
LONG_AGO = 1_000_000_000


@pytest.fixture(autouse=True)
def _what_is_young_stays_so_however_slow_this_machine_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settling, "YOUNG_S", 3600.0)


@pytest.fixture
def files(tmp_path: Path) -> GuideFiles:
    (tmp_path / "default.md").write_text(RUBRIC)
    return GuideFiles(tmp_path / "default.md", {"HOME": str(tmp_path)})


def test_every_place_of_a_rubric_and_of_a_configuration_is_named(files: GuideFiles, tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert files.paths("/p", {"HOME": str(home)}) == (
        "/p/.supervisor/rubric.md",
        "/p/.reflection/rubric.md",
        f"{home}/.config/supervisor/rubric.md",
        f"{home}/.config/opencode/supervisor/rubric.md",
        f"{tmp_path}/default.md",
        f"{tmp_path}/.config/supervisor/config.toml",
        "/p/.supervisor/config.toml",
    )


def test_a_configuration_is_its_values_by_name_and_what_is_wrong_with_them(
    files: GuideFiles, tmp_path: Path
) -> None:
    project = tmp_path / "p"
    (project / ".supervisor").mkdir(parents=True)
    (project / ".supervisor" / "config.toml").write_text('mode = "on"\n[gate.lint]\ncommand = "ruff"\n')
    user, own = files.settings(str(project))
    assert (user.values, user.problems) == ({}, ())
    assert own.values == {"mode": "'on'", "gate.lint.command": "'ruff'"}
    assert [line for line in own.problems if "mode" in line] == list(own.problems)


@pytest.mark.parametrize("text", [b"\xff", b"= 1", b"a" * 100_000, b"[" * 5000, b"a." * 5000 + b"b = 1"])
def test_a_configuration_that_cannot_be_read_says_nothing_but_why(
    files: GuideFiles, tmp_path: Path, text: bytes
) -> None:
    (tmp_path / ".supervisor").mkdir()
    (tmp_path / ".supervisor" / "config.toml").write_bytes(text)
    _, own = files.settings(str(tmp_path))
    assert own.values == {}
    assert len(own.problems) == 1


def test_who_has_no_home_has_no_configuration_of_the_user(tmp_path: Path) -> None:
    homeless = GuideFiles(tmp_path / "default.md", {})
    assert len(homeless.settings("/p")) == 1
    assert homeless.paths("/p", {})[-1] == "/p/.supervisor/config.toml"


def test_of_very_many_settings_only_so_many_are_compared(
    files: GuideFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "VALUES", 10)
    (tmp_path / ".supervisor").mkdir()
    lines = "".join(f"k{number} = 1\n" for number in range(50))
    (tmp_path / ".supervisor" / "config.toml").write_text(lines)
    assert len(files.settings(str(tmp_path))[1].values) == 10


def test_while_a_rubric_is_being_written_nothing_is_said_of_it(files: GuideFiles, tmp_path: Path) -> None:
    file = tmp_path / ".supervisor" / "rubric.md"
    file.parent.mkdir()
    file.touch()
    assert files.rubric(str(tmp_path), {}) is None
    file.write_text(RUBRIC)
    rubric = files.rubric(str(tmp_path), {})
    assert rubric is not None
    assert rubric.origin == str(file)


class TestUnsettled:
    def test_empty_is_unsettled_while_it_is_young(self, tmp_path: Path) -> None:
        file = tmp_path / "rubric.md"
        file.touch()
        assert is_being_written(file)
        os.utime(file, (LONG_AGO, LONG_AGO))
        assert not is_being_written(file)
        os.utime(file, (4 * LONG_AGO, 4 * LONG_AGO))
        assert not is_being_written(file), "a clock of another machine says nothing"
        file.write_text("x")
        assert not is_being_written(file)

    def test_gone_is_unsettled_only_with_a_backup_beside_it(self, tmp_path: Path) -> None:
        file = tmp_path / "folder" / "rubric.md"
        assert not is_being_written(file)
        file.parent.mkdir()
        assert not is_being_written(file)
        file.touch()
        file.rename(file.with_name("rubric.md~"))
        assert is_being_written(file)
        os.utime(file.parent, (LONG_AGO, LONG_AGO))
        assert not is_being_written(file)

    def test_a_backup_is_not_looked_for_without_end(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(settling, "BESIDE", 0)
        (tmp_path / "rubric.md~").touch()
        assert not is_being_written(tmp_path / "rubric.md")

    def test_what_cannot_be_is_settled(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        for odd in (tmp_path / "a\0b", tmp_path / "file" / "rubric.md", tmp_path / ("x" * 300)):
            assert not is_being_written(odd)
