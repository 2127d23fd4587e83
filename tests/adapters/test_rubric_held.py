"""Edits of a rubric's file: the user's count at once, the agent's are held until the user accepts them."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from sidecar.adapters.rubric import RubricFiles
from sidecar.adapters.rubrics import kept
from sidecar.model.rubric import Rubric
from sidecar.ports import BadInputError, Writes

PATTERNS = "## Patterns\n\n- **DONE**: it is done\n\n## Antipatterns\n\n"
OLD = PATTERNS + "- **NO-PRINT**: a print is left\n"
NEW = PATTERNS + "- **TALK**: it is only said\n"
THIRD = PATTERNS + "- **NOISE**: too much\n"
NOTHING = Writes(lines=("pytest -q", "cat .supervisor/rubric.md"))
EDIT = Writes(paths=(".supervisor/rubric.md",))


class House:
    """A project with a rubric that was looked at, and a packaged one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = folder / "project"
        self.ours = self.project / ".supervisor" / "rubric.md"
        self.state = folder / "state" / "rubrics"
        self.default = folder / "default.md"
        self.environment = {"HOME": str(folder / "home")}
        self.ours.parent.mkdir(parents=True)
        self.default.write_text(THIRD)
        self.ours.write_text(OLD)

    def look(self, writes: Writes | None = NOTHING) -> Rubric:
        """Look as a sidecar that was just started does: nothing is remembered but what was kept."""
        return self.files.load(str(self.project), self.environment, writes)

    @property
    def files(self) -> RubricFiles:
        return RubricFiles(self.default, None, self.state)

    def accept(self, digest: str = "") -> str:
        return self.files.accept(str(self.project), self.environment, digest)


@pytest.fixture
def house(tmp_path: Path) -> House:
    made = House(tmp_path)
    assert antipattern(made.look(None)) == "NO-PRINT"
    return made


def antipattern(rubric: Rubric) -> str:
    (found,) = rubric.antipatterns
    return found.name


def by_rename(path: Path) -> None:
    path.with_name("draft").write_text(NEW)
    path.with_name("draft").replace(path)


def in_place(path: Path) -> None:
    with path.open("r+") as file:
        file.truncate()
        file.write(NEW)


def with_the_same_time(path: Path) -> None:
    before = path.stat()
    path.write_text(NEW)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("edit", [by_rename, in_place, with_the_same_time])
def test_an_edit_of_the_user_counts_at_the_next_look_and_is_told_once(
    house: House, edit: Callable[[Path], None]
) -> None:
    files = house.files
    edit(house.ours)
    rubric = files.load(str(house.project), house.environment, NOTHING)
    assert antipattern(rubric) == "TALK"
    assert rubric.held is None
    assert rubric.changed == f"{house.ours}: 1 antipattern gone (NO-PRINT); 1 antipattern added (TALK)"
    assert files.load(str(house.project), house.environment, NOTHING).changed == ""


@pytest.mark.parametrize(
    "writes", [EDIT, Writes(lines=("sed -i s/NO-PRINT/TALK/ .supervisor/rubric.md",)), Writes(unseen=True)]
)
def test_an_edit_of_the_agent_is_held_until_it_is_accepted(house: House, writes: Writes) -> None:
    house.ours.write_text(NEW)
    for look in (writes, NOTHING, writes, None):
        rubric = house.look(look)
        assert antipattern(rubric) == "NO-PRINT"
        assert rubric.origin == str(house.ours)
        assert rubric.held is not None
        assert rubric.held.path == str(house.ours)
        assert rubric.held.summary == "1 antipattern gone (NO-PRINT); 1 antipattern added (TALK)"
        assert rubric.changed == ""
    assert house.files.texts(str(house.project)) == (OLD, NEW)
    assert house.accept().startswith(f"in force now: {house.ours}: 1 antipattern gone")
    assert antipattern(house.look()) == "TALK"
    assert (house.look().held, house.look().changed) == (None, "")
    assert house.accept() == "nothing is held"
    assert house.files.texts(str(house.project)) is None


def test_an_edit_the_agent_takes_back_is_held_no_more(house: House) -> None:
    house.ours.write_text(NEW)
    assert house.look(EDIT).held
    house.ours.write_text(OLD)
    assert house.look(EDIT).held is None
    assert house.accept() == "nothing is held"


def test_a_later_edit_of_the_agent_is_held_in_the_place_of_the_first(house: House) -> None:
    house.ours.write_text(NEW)
    first = house.look(EDIT).held
    house.ours.write_text(THIRD)
    second = house.look(EDIT).held
    assert first is not None
    assert second is not None
    assert first.digest != second.digest
    assert antipattern(house.look()) == "NO-PRINT"


def test_what_is_accepted_is_what_was_shown(house: House) -> None:
    house.ours.write_text(NEW)
    shown = house.look(EDIT).held
    assert shown is not None
    house.ours.write_text(THIRD)
    house.look(EDIT)
    with pytest.raises(BadInputError, match="changed since it was shown"):
        house.accept(shown.digest)
    assert antipattern(house.look()) == "NO-PRINT"
    house.ours.write_text(NEW)
    house.look(EDIT)
    house.ours.write_text(THIRD)  # nobody looked since
    house.accept(shown.digest)
    rubric = house.look(EDIT)
    assert antipattern(rubric) == "TALK"
    assert rubric.held is not None


def test_an_edit_of_the_user_on_top_of_a_held_one_counts_whole(house: House) -> None:
    house.ours.write_text(NEW)
    house.look(EDIT)
    house.ours.write_text(NEW + "\nA word of the user.\n")
    rubric = house.look(NOTHING)
    assert antipattern(rubric) == "TALK"
    assert rubric.held is None
    assert "1 antipattern gone (NO-PRINT)" in rubric.changed


def test_a_look_that_knows_of_nobodys_doings_decides_nothing(house: House) -> None:
    house.ours.write_text(NEW)
    rubric = house.look(None)
    assert (antipattern(rubric), rubric.held, rubric.changed) == ("NO-PRINT", None, "")
    assert antipattern(house.look(NOTHING)) == "TALK"


# --- made and removed ---


def test_a_rubric_that_the_agent_makes_is_held_and_the_next_by_precedence_stays(house: House) -> None:
    house.ours.unlink()
    assert antipattern(house.look(NOTHING)) == "NOISE"
    house.ours.write_text(NEW)
    rubric = house.look(EDIT)
    assert (antipattern(rubric), rubric.origin) == ("NOISE", str(house.default))
    assert rubric.held is not None
    assert rubric.held.path == str(house.ours)
    house.accept()
    assert house.look().origin == str(house.ours)


@pytest.mark.parametrize("line", ["rm .supervisor/rubric.md", "git stash", "git checkout -q other"])
def test_a_rubric_that_the_agent_removes_stays_in_force(house: House, line: str) -> None:
    house.ours.unlink()
    rubric = house.look(Writes(lines=(line,)))
    assert (antipattern(rubric), rubric.origin) == ("NO-PRINT", str(house.ours))
    assert rubric.held is not None
    assert rubric.held.path == str(house.ours)
    assert "1 antipattern added (NOISE)" in rubric.held.summary
    house.accept()
    assert house.look().origin == str(house.default)


def test_a_rubric_that_the_agent_breaks_stays_in_force_and_the_fault_is_told(house: House) -> None:
    house.ours.write_bytes(b"\xff" * 10)
    rubric = house.look(EDIT)
    assert antipattern(rubric) == "NO-PRINT"
    assert rubric.held is not None
    assert rubric.rejected == (f"{house.ours}: not UTF-8 at byte 0",)


def test_an_earlier_place_that_the_agent_fills_is_held(house: House) -> None:
    house.ours.rename(house.folder / "away")
    other = house.project / ".reflection" / "rubric.md"
    other.parent.mkdir()
    other.write_text(OLD)
    assert house.look(NOTHING).origin == str(other)
    house.ours.write_text(NEW)
    assert house.look(Writes(paths=(str(house.ours),))).origin == str(other)


def test_the_users_own_rubric_is_held_as_well(house: House) -> None:
    house.ours.unlink()
    own = Path(house.environment["HOME"]) / ".config" / "supervisor" / "rubric.md"
    own.parent.mkdir(parents=True)
    own.write_text(OLD)
    assert house.look(NOTHING).origin == str(own)
    own.write_text(NEW)
    assert antipattern(house.look(Writes(paths=(str(own),)))) == "NO-PRINT"


def test_a_first_look_at_a_file_that_the_agent_just_wrote_holds_it(house: House, tmp_path: Path) -> None:
    house.state = tmp_path / "another"
    rubric = house.look(EDIT)
    assert (antipattern(rubric), rubric.origin) == ("NOISE", str(house.default))
    assert rubric.held is not None
    house.state = tmp_path / "third"
    assert house.look(Writes(unseen=True)).origin == str(house.ours)


# --- what is kept ---


def test_what_is_kept_is_its_owners_alone_and_of_each_project(house: House) -> None:
    (file,) = house.state.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(house.state.stat().st_mode) == 0o700
    other = house.folder / "other"
    (other / ".supervisor").mkdir(parents=True)
    (other / ".supervisor" / "rubric.md").write_text(NEW)
    house.files.load(str(other), house.environment, EDIT)
    assert house.look().held is None
    assert len(list(house.state.iterdir())) == 2


def test_nothing_is_written_while_nothing_changes(house: House) -> None:
    (file,) = house.state.iterdir()
    before = file.stat()
    house.look(NOTHING)
    house.look(EDIT)
    house.look(None)
    assert file.stat() == before


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "corrupt"),
        (b"{", "corrupt"),
        (b"[" * 5000, "corrupt"),
        (b"\xff", "corrupt"),
        (b'{"standing":{"force":7}}', "corrupt"),
        (b'{"version":2}', "future-version"),
        (b"x" * 300_000, "unreadable"),
    ],
)
def test_a_damaged_file_is_set_aside_and_the_project_is_looked_at_anew(
    house: House, content: bytes, fault: str
) -> None:
    (file,) = house.state.iterdir()
    file.write_bytes(content)
    assert antipattern(house.look(NOTHING)) == "NO-PRINT"
    assert file.exists()
    assert [path.name for path in house.state.iterdir() if fault in path.name and path.suffix != ".why"] == [
        f"{file.name}.{fault}-1"
    ]


def test_where_nothing_can_be_kept_the_file_counts_and_nothing_is_held(house: House) -> None:
    house.state = house.folder / "file" / "rubrics"
    house.state.parent.write_text("in the way")
    assert antipattern(house.look(NOTHING)) == "NO-PRINT"
    assert house.accept() == "nothing is held"


def test_a_kept_text_that_cannot_serve_any_more_gives_way_to_the_file(house: House) -> None:
    (file,) = house.state.iterdir()
    file.write_text(file.read_text().replace("## Patterns", "## Habits"))
    house.ours.write_text(NEW)
    rubric = house.look(EDIT)
    assert antipattern(rubric) == "TALK"
    assert rubric.held is not None
    assert rubric.held.summary == "it cannot be compared"


@pytest.mark.parametrize("project", ["", "relative", "/\x00", "/\udcff", "/" + "x" * 5000])
def test_a_project_without_a_usable_path_has_the_rubric_of_all(house: House, project: str) -> None:
    for writes in (None, NOTHING, EDIT):
        assert house.files.load(project, house.environment, writes).origin == str(house.default)
    assert house.files.accept(project, house.environment) == "nothing is held"


def test_projects_are_remembered_up_to_a_bound_and_held_ones_longest(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "FILES", 5)
    monkeypatch.setattr(kept, "DROPPED", 3)
    house.ours.write_text(NEW)
    assert house.look(EDIT).held
    for number in range(20):
        folder = house.folder / f"p{number}"
        folder.mkdir()
        house.files.load(str(folder), house.environment, NOTHING)
    assert len(list(house.state.glob("*.json"))) <= 6
    assert house.look(NOTHING).held


def test_without_a_folder_for_it_every_edit_counts_at_once(house: House) -> None:
    files = RubricFiles(house.default)
    house.ours.write_text(NEW)
    assert antipattern(files.load(str(house.project), house.environment, EDIT)) == "TALK"
    assert files.accept(str(house.project), house.environment) == "nothing is held"
    assert files.texts(str(house.project)) is None
