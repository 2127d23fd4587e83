"""Which edits of steering files count, on a real disk: those at rest at once, others once accepted."""

from __future__ import annotations

import json
import stat
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from sidecar.kernel.session import SessionKey
from sidecar.platform import files, held_edits
from sidecar.platform.held_edits import COPIES, STATE_FILE, UNREADABLE, HeldEdits
from sidecar.platform.state import Incidents
from sidecar.platform.steering import Kept, SteeringKind, settle_edit, text_digest

pytestmark = pytest.mark.proves("crashes and bad input")

OLD, NEW, THIRD = "mode = 1\n", "mode = 2\n", "mode = 3\n"
SEEN_NEW, SEEN_THIRD = text_digest(NEW), text_digest(THIRD)
CALM, HELD, BROKEN = Kept(OLD), Kept(OLD, SEEN_NEW, held=True), Kept(OLD, SEEN_NEW)
KINDS = {
    "served.md": SteeringKind(
        must_serve=True, faults=lambda path: ["it is broken"] if "broken" in path.read_text() else []
    ),
    "undone": SteeringKind(restore=lambda _, force: force),
    "of/part.json": SteeringKind(
        read=lambda path: json.dumps(json.loads(path.read_text()).get("ours")),
        restore=lambda now, force: json.dumps(json.loads(now) | {"ours": json.loads(force)}),
    ),
}


@pytest.mark.parametrize(
    ("before", "now", "at_rest", "usable", "after"),
    [
        (CALM, OLD, False, False, CALM),
        (CALM, NEW, True, True, Kept(NEW)),
        (CALM, NEW, True, False, BROKEN),
        (CALM, NEW, False, True, HELD),
        (HELD, NEW, True, True, HELD),
        (HELD, THIRD, True, True, Kept(OLD, SEEN_THIRD, held=True)),
        (HELD, OLD, False, True, CALM),
        (BROKEN, NEW, False, True, BROKEN),
        (BROKEN, THIRD, True, True, Kept(THIRD)),
        (BROKEN, THIRD, False, True, Kept(OLD, SEEN_THIRD, held=True)),
        (BROKEN, OLD, True, True, CALM),
    ],
)
def test_what_follows_from_a_look(
    before: Kept,
    now: str,
    after: Kept,
    *,
    at_rest: bool,
    usable: bool,
) -> None:
    assert settle_edit(before, now, at_rest=lambda: at_rest, usable=lambda: usable) == after


class House:
    """Some files of the user, a project's, and who decides about them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.state, self.project = folder, folder / "state", folder / "project"
        self.own, self.file = folder / "config.toml", self.project / "steers.toml"
        self.notes = folder / "notes"
        for place in (self.state, self.project / "of", self.notes):
            place.mkdir(parents=True)
        self.own.write_text(OLD)
        self.file.write_text(OLD)
        (self.notes / "a.md").write_text(OLD)
        self.restart()

    def restart(self) -> None:
        """Begin a new process while nobody works."""
        self.at_rest, self.incidents = True, Incidents()
        self.edits = self.reader()
        self.edits.decide(lambda: self.at_rest)
        self.edits.watch(str(self.project), {})

    def reader(self) -> HeldEdits:
        """What a process beside the one that decides has."""
        own = {"config.toml": self.own, "notes/*.md": self.notes / "*.md"}
        return HeldEdits(self.state, own, self.places, KINDS, self.incidents)

    def places(self, project: str, _: Mapping[str, str]) -> tuple[Path, ...]:
        names = ("steers.toml", "served.md", "undone", "of/part.json")
        return tuple(Path(project, name) for name in names)

    def in_force(self, path: Path) -> str | None:
        found = self.edits.path_in_force(path)
        return found.read_text() if found.exists() else None

    def settled(self) -> dict[str, bool]:
        return {Path(edit.path).name: edit.waits for edit in self.edits.settle()}

    def told(self) -> str:
        return "\n".join(self.incidents.take(SessionKey("h", "s")))


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


@pytest.mark.parametrize("looked", [True, False], ids=["settled", "asked for"])
def test_an_edit_at_rest_counts_and_one_at_work_waits_whoever_looks(house: House, *, looked: bool) -> None:
    house.file.write_text(NEW)
    assert not looked or house.settled() == {"steers.toml": False}
    assert house.in_force(house.file) == NEW
    house.at_rest = False
    house.file.write_text(OLD)
    assert not looked or house.settled() == {"steers.toml": True}
    assert house.in_force(house.file) == NEW
    house.at_rest = True
    assert house.settled() == ({} if looked else {"steers.toml": True})
    (held,) = house.edits.held(str(house.project))
    assert (held.before, held.now, held.summary) == (NEW, OLD, "mode: 2 -> 1")
    assert house.edits.held("/elsewhere") == ()
    (accepted,) = house.edits.accept(str(house.project), [held.digest])
    assert accepted.path == str(house.file)
    assert (house.in_force(house.file), house.edits.held(str(house.project))) == (OLD, ())


def test_a_file_that_is_made_or_removed_at_work_is_as_it_was(house: House) -> None:
    made, new = house.project / "served.md", house.notes / "new.md"
    house.at_rest = False
    made.write_text(NEW)
    new.write_text(NEW)
    house.file.unlink()
    (house.notes / "a.md").unlink()
    assert house.settled() == {"steers.toml": True, "served.md": True, "new.md": True, "a.md": True}
    house.restart()
    assert [house.in_force(path) for path in (made, new)] == [None, None]
    assert [house.in_force(path) for path in (house.file, house.notes / "a.md")] == [OLD, OLD]
    house.at_rest = True
    (house.notes / "mine.md").write_text(NEW)
    assert house.settled() == {"mine.md": False}


def test_a_file_in_which_an_edit_waits_waits_as_a_whole(house: House) -> None:
    house.at_rest = False
    house.file.write_text(NEW)
    house.settled()
    house.at_rest = True
    house.file.write_text(NEW + "more = 1\n")
    assert house.settled() == {"steers.toml": True}
    assert house.in_force(house.file) == OLD
    house.file.write_text(OLD)
    assert (house.settled(), house.edits.held("")) == ({}, ())


def test_what_cannot_serve_leaves_in_force_what_was_and_may_be_mended_at_rest(house: House) -> None:
    file = house.project / "served.md"
    file.write_text(OLD)
    house.settled()
    file.write_text("broken")
    (edit,) = house.edits.settle()
    assert (edit.waits, edit.serves, edit.faults) == (False, False, ("it is broken",))
    house.at_rest = False
    assert (house.settled(), house.in_force(file), house.edits.held(str(house.project))) == ({}, OLD, ())
    house.at_rest = True
    file.write_text(NEW)
    assert house.settled() == {"served.md": False}
    assert house.in_force(file) == NEW


def test_what_waits_when_read_by_others_is_as_the_one_who_decides_says(house: House) -> None:
    house.at_rest = False
    house.file.write_text(NEW)
    house.own.write_text(NEW)
    house.edits.settle()
    beside = house.reader()
    assert beside.path_in_force(house.file).read_text() == OLD
    assert len(beside.held(str(house.project))) == 2
    assert beside.settle() == ()
    house.edits.vouch(house.file)
    assert beside.path_in_force(house.file) == house.file
    assert [edit.path for edit in beside.held(str(house.project))] == [str(house.own)]


def test_an_edit_of_what_others_read_is_undone_in_its_part(house: House) -> None:
    undone, part = house.project / "undone", house.project / "of" / "part.json"
    undone.write_text(OLD)
    part.write_text('{"ours": 1, "theirs": 1}')
    house.settled()
    house.at_rest = False
    undone.write_text(NEW)
    part.write_text('{"ours": 2, "theirs": 2}')
    assert house.settled() == {}
    assert (undone.read_text(), json.loads(part.read_text())) == (OLD, {"ours": 1, "theirs": 2})
    assert house.told().count("It is restored.") == 2
    part.write_text('{"ours": 1, "theirs": 3}')
    assert (house.settled(), house.told()) == ({}, "")


@pytest.mark.parametrize("harm", ["removed", "changed"])
def test_a_state_that_others_altered_is_restored_and_told(house: House, harm: str) -> None:
    house.at_rest = False
    house.file.write_text(NEW)
    house.settled()
    kept = house.state / STATE_FILE
    before = kept.read_bytes()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    if harm == "removed":
        kept.unlink()
    else:
        kept.write_bytes(before.replace(b"mode = 1", b"mode = 9"))
    assert house.settled() == {}
    assert (harm in house.told(), kept.read_bytes()) == (True, before)
    (house.state / COPIES).joinpath(house.edits.path_in_force(house.file)).write_text("forged")
    assert house.in_force(house.file) == OLD
    assert (house.settled(), house.told()) == ({}, "")


def test_what_is_no_readable_file_is_an_edit_as_any_other(house: House) -> None:
    house.at_rest = False
    house.file.unlink()
    house.file.symlink_to("nowhere")
    assert house.settled() == {"steers.toml": True}
    (held,) = house.edits.held(str(house.project))
    assert (held.now, house.in_force(house.file)) == (UNREADABLE, OLD)


def test_a_second_edit_within_the_same_tick_of_the_file_system_is_seen(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    tick = (time.time_ns(), time.time_ns())
    monkeypatch.setattr(files, "stamp_or_empty", lambda _: tick)
    house.file.write_text(NEW)
    assert house.settled() == {"steers.toml": False}
    house.at_rest = False
    house.file.write_text(THIRD)
    assert house.settled() == {"steers.toml": True}


def test_where_nothing_changed_nothing_is_read(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "FRESH_NS", 0)
    house.settled()
    monkeypatch.setattr(HeldEdits, "_read", lambda *_: pytest.fail("a file was read"))
    monkeypatch.setattr(HeldEdits, "_write", lambda *_: pytest.fail("the state was written"))
    assert house.settled() == {}
    assert house.edits.path_in_force(house.own) == house.own


def test_the_user_s_own_files_are_theirs_wherever_they_are(house: House) -> None:
    house.own = house.folder / "elsewhere.toml"
    house.own.write_text(NEW)
    house.restart()
    house.at_rest = False
    assert house.settled() == {"elsewhere.toml": True}
    assert house.in_force(house.own) == OLD


def test_what_is_remembered_is_bounded_and_nothing_that_waits_is_forgotten(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held_edits, "MAX_FILES", 20)
    house.at_rest = False
    house.file.write_text(NEW)
    house.settled()
    for number in range(20):
        house.edits.watch(f"/p{number}", {})
    assert len(json.loads((house.state / STATE_FILE).read_bytes())["files"]) == 20
    assert [edit.now for edit in house.edits.held(str(house.project))] == [NEW]
    house.edits.watch("/p0", {})
    assert "/p0/undone" in json.loads((house.state / STATE_FILE).read_bytes())["files"]


def test_an_acceptance_that_cannot_be_kept_changes_nothing(house: House) -> None:
    house.at_rest = False
    house.file.write_text(NEW)
    house.settled()
    (held,) = house.edits.held(str(house.project))
    house.state.rename(house.folder / "moved")
    house.state.write_text("in the way")
    with pytest.raises(OSError, match="not a folder"):
        house.edits.accept(str(house.project), [held.digest])
    assert len(house.edits.held(str(house.project))) == 1


@pytest.mark.parametrize("content", [b"{", b"\xff", b'{"version":2}', b'{"files":{"a":7}}'])
def test_a_damaged_state_is_set_aside_and_what_the_files_say_counts(house: House, content: bytes) -> None:
    (house.state / STATE_FILE).write_bytes(content)
    house.restart()
    assert house.in_force(house.file) == OLD
    assert len(list(house.state.glob(f"{STATE_FILE}.*.why"))) == 1


def older(place: Path, subject: object, force: tuple[object, str], held: tuple[object, str] | None) -> None:
    place.parent.mkdir(exist_ok=True)
    texts = [one and {"origin": str(one[0]), "text": one[1]} for one in (force, held)]
    state = {"force": texts[0], "held": texts[1], "unsure": held is not None}
    place.write_text(json.dumps({"version": 1, "project": str(subject), "standing": state}))


def test_what_earlier_versions_kept_is_carried_over_once(house: House) -> None:
    (house.state / STATE_FILE).unlink()
    made, removed = house.project / "served.md", house.folder / "gone" / "served.md"
    made.write_text(NEW)
    house.own.write_text(NEW)
    house.file.write_text(NEW)
    default = house.folder / "rubric" / "rubric.md"
    states = house.state / "steering", house.state / "rubrics"
    older(states[0] / "1.json", "/was/steering/config.toml", ("/was/config.toml", OLD), ("/was/x", NEW))
    older(states[0] / "2.json", house.file, (house.file, OLD), None)
    older(states[1] / "1.json", house.project, (default, THIRD), (made, NEW))
    older(states[1] / "2.json", removed.parent, (removed, OLD), (default, THIRD))
    (states[1] / "3.json").write_bytes(b"{")
    older(states[1] / "0.json", house.folder / "other", (made, NEW), None)
    assert house.reader().path_in_force(house.own).read_text() == OLD, "also beside the one who decides"
    house.restart()
    house.edits.watch(str(removed.parent), {})
    house.edits.settle()
    assert (house.in_force(house.own), house.in_force(made), house.in_force(removed)) == (OLD, None, OLD)
    assert house.in_force(house.file) == NEW, "nobody was at work, and nothing was held"
    assert len(house.edits.held(str(house.project))) == 2
    assert str(removed) in [edit.path for edit in house.edits.held(str(removed.parent))]
    assert not any(folder.exists() for folder in states)
