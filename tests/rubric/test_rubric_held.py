"""Edits of a rubric's file: the user's count at once, the agent's are held until the user accepts them."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from sidecar.kernel.rubric import AgentWrites, Rubric
from sidecar.rubric.reader import RubricFiles

PATTERNS = "## Patterns\n\n- **DONE**: it is done\n\n## Antipatterns\n\n"
OLD = PATTERNS + "- **NO-PRINT**: a print is left\n"
NEW = PATTERNS + "- **TALK**: it is only said\n"
THIRD = PATTERNS + "- **NOISE**: too much\n"
NOTHING = AgentWrites(lines=("cat .supervisor/rubric.md",))
EDIT = AgentWrites(paths=(".supervisor/rubric.md",))


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

    def look(self, writes: AgentWrites | None = NOTHING) -> Rubric:
        """Look as a sidecar that was just started does: nothing is remembered but what was kept."""
        return self.files.load(str(self.project), self.environment, writes)

    @property
    def files(self) -> RubricFiles:
        return RubricFiles(self.default, None, self.state)

    def accept(self) -> str:
        return self.files.accept(str(self.project), self.environment)


@pytest.fixture
def services(tmp_path: Path) -> House:
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
    services: House, edit: Callable[[Path], None]
) -> None:
    files = services.files
    edit(services.ours)
    rubric = files.load(str(services.project), services.environment, NOTHING)
    assert antipattern(rubric) == "TALK"
    assert rubric.held is None
    assert rubric.changed == f"{services.ours}: 1 antipattern gone (NO-PRINT); 1 antipattern added (TALK)"
    assert files.load(str(services.project), services.environment, NOTHING).changed == ""


@pytest.mark.parametrize(
    "writes",
    [EDIT, AgentWrites(lines=("sed -i s/NO-PRINT/TALK/ .supervisor/rubric.md",)), AgentWrites(unseen=True)],
)
def test_an_edit_of_the_agent_is_held_until_it_is_accepted(services: House, writes: AgentWrites) -> None:
    services.ours.write_text(NEW)
    for look in (writes, NOTHING, writes, None):
        rubric = services.look(look)
        assert antipattern(rubric) == "NO-PRINT"
        assert rubric.origin == str(services.ours)
        assert rubric.held is not None
        assert rubric.held.path == str(services.ours)
        assert rubric.held.summary == "1 antipattern gone (NO-PRINT); 1 antipattern added (TALK)"
        assert rubric.changed == ""
    assert services.accept().startswith(f"in force now: {services.ours}: 1 antipattern gone")
    assert antipattern(services.look()) == "TALK"
    assert (services.look().held, services.look().changed) == (None, "")
    assert services.accept() == "nothing is held"


def test_what_is_accepted_is_what_was_shown(services: House) -> None:
    services.ours.write_text(NEW)
    services.look(EDIT)
    services.ours.write_text(THIRD)  # nobody looked since
    services.accept()
    rubric = services.look(EDIT)
    assert antipattern(rubric) == "TALK"
    assert rubric.held is not None


def test_a_look_that_knows_of_nobodys_doings_decides_nothing(services: House) -> None:
    services.ours.write_text(NEW)
    rubric = services.look(None)
    assert (antipattern(rubric), rubric.held, rubric.changed) == ("NO-PRINT", None, "")
    assert antipattern(services.look(NOTHING)) == "TALK"


# --- made and removed ---


def test_a_rubric_that_the_agent_makes_is_held_and_the_next_by_precedence_stays(services: House) -> None:
    services.ours.unlink()
    assert antipattern(services.look(NOTHING)) == "NOISE"
    services.ours.write_text(NEW)
    rubric = services.look(EDIT)
    assert (antipattern(rubric), rubric.origin) == ("NOISE", str(services.default))
    assert rubric.held is not None
    assert rubric.held.path == str(services.ours)
    services.accept()
    assert services.look().origin == str(services.ours)


@pytest.mark.parametrize("line", ["rm .supervisor/rubric.md", "git stash", "git checkout -q other"])
def test_a_rubric_that_the_agent_removes_stays_in_force(services: House, line: str) -> None:
    services.ours.unlink()
    rubric = services.look(AgentWrites(lines=(line,)))
    assert (antipattern(rubric), rubric.origin, rubric.broken) == ("NO-PRINT", str(services.ours), False)
    assert rubric.held is not None
    assert rubric.held.path == str(services.ours)
    assert "1 antipattern added (NOISE)" in rubric.held.summary
    services.accept()
    assert services.look().origin == str(services.default)


def test_a_rubric_that_the_agent_breaks_stays_in_force_and_the_fault_is_told(services: House) -> None:
    services.ours.write_bytes(b"\xff" * 10)
    rubric = services.look(EDIT)
    assert (antipattern(rubric), rubric.broken) == ("NO-PRINT", True)
    assert rubric.held is not None
    assert rubric.rejected == (f"{services.ours}: not UTF-8 at byte 0",)


# --- what is kept ---


def test_what_is_kept_is_its_owners_alone_and_of_each_project(services: House) -> None:
    (file,) = services.state.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(services.state.stat().st_mode) == 0o700
    other = services.folder / "other"
    (other / ".supervisor").mkdir(parents=True)
    (other / ".supervisor" / "rubric.md").write_text(NEW)
    services.files.load(str(other), services.environment, EDIT)
    assert services.look().held is None
    assert len(list(services.state.iterdir())) == 2


def test_nothing_is_written_while_nothing_changes(services: House) -> None:
    (file,) = services.state.iterdir()
    before = file.stat()
    services.look(NOTHING)
    services.look(EDIT)
    services.look(None)
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
    services: House, content: bytes, fault: str
) -> None:
    (file,) = services.state.iterdir()
    file.write_bytes(content)
    assert antipattern(services.look(NOTHING)) == "NO-PRINT"
    assert file.exists()
    assert [
        path.name for path in services.state.iterdir() if fault in path.name and path.suffix != ".why"
    ] == [f"{file.name}.{fault}-1"]


def test_where_nothing_can_be_kept_the_file_counts_and_nothing_is_held(services: House) -> None:
    services.state = services.folder / "file" / "rubrics"
    services.state.parent.write_text("in the way")
    assert antipattern(services.look(NOTHING)) == "NO-PRINT"
    assert services.accept() == "nothing is held"


def test_a_kept_text_that_cannot_serve_any_more_gives_way_to_the_file(services: House) -> None:
    (file,) = services.state.iterdir()
    file.write_text(file.read_text().replace("## Patterns", "## Habits"))
    services.ours.write_text(NEW)
    rubric = services.look(EDIT)
    assert antipattern(rubric) == "TALK"
    assert rubric.held is not None
    assert rubric.held.summary == "it cannot be compared"


@pytest.mark.parametrize("project", ["", "relative", "/\x00", "/\udcff", "/" + "x" * 5000])
def test_a_project_without_a_usable_path_has_the_rubric_of_all(services: House, project: str) -> None:
    for writes in (None, NOTHING, EDIT):
        assert services.files.load(project, services.environment, writes).origin == str(services.default)
    assert services.files.accept(project, services.environment) == "nothing is held"
