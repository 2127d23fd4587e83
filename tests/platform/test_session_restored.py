"""What happened to a session's files while the process that wrote them lives: restored, and told once."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from sidecar.platform.state import Incidents
from support.states import KEY, SESSION, UnversionedFiles, reasons

LATER = replace(SESSION, stalls=2)


def removed(state: Path) -> None:
    state.unlink()


def removed_with_everything(state: Path) -> None:
    shutil.rmtree(state.parent)


def forged(state: Path) -> None:
    state.write_text(state.read_text().replace('"stalls":2', '"stalls":0'))


def an_older_one(state: Path) -> None:
    state.write_bytes(state.with_name("older").read_bytes())


def forged_with_its_chain(state: Path) -> None:
    """As somebody does who knows how the files are made."""
    other = state.parent.parent / "forge"
    UnversionedFiles(other).save(replace(SESSION, stalls=0))
    for path in (other / "sessions").glob("claude-code-s1.*"):
        shutil.copy(path, state.with_name(path.name))


def a_link(state: Path) -> None:
    state.rename(state.with_name("away"))
    state.symlink_to("away")


def cut(state: Path) -> None:
    state.write_bytes(state.read_bytes()[:100])


@pytest.mark.parametrize(
    "harm",
    [removed, removed_with_everything, forged, an_older_one, forged_with_its_chain, a_link, cut],
    ids=lambda harm: harm.__name__,
)
def test_a_state_that_is_gone_or_forged_is_restored_and_told(
    tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    incidents = Incidents()
    store = UnversionedFiles(tmp_path, incidents)
    state = tmp_path / "sessions" / "claude-code-s1.json"
    store.save(SESSION)
    state.with_name("older").write_bytes(state.read_bytes())
    store.save(LATER)
    harm(state)
    assert store.load(KEY) == LATER
    (told,) = incidents.take(KEY)
    assert told.startswith("Supervisor: the state of this session: ")
    assert told.endswith("It is restored as Supervisor wrote it.")
    assert store.load(KEY) == LATER
    assert incidents.take(KEY) == ()
    store.save(replace(LATER, stalls=3))
    assert UnversionedFiles(tmp_path).load(KEY) == replace(LATER, stalls=3), (
        "another process believes it, too"
    )


def test_what_was_harmed_while_no_process_lived_is_set_aside_and_told(tmp_path: Path) -> None:
    UnversionedFiles(tmp_path, Incidents()).save(LATER)
    forged(tmp_path / "sessions" / "claude-code-s1.json")
    incidents = Incidents()
    assert UnversionedFiles(tmp_path, incidents).load(KEY) is None
    (told,) = incidents.take(KEY)
    assert told.endswith(
        "It was set aside, and nothing of it is in force. "
        "To set its goal again, type: /supervisor:goal and the condition"
    )
    assert len(reasons(tmp_path)) == 1


def test_what_a_user_deleted_stays_away(tmp_path: Path) -> None:
    incidents = Incidents()
    store = UnversionedFiles(tmp_path, incidents)
    store.save(LATER)
    store.forget(KEY)
    assert store.load(KEY) is None
    assert incidents.take(KEY) == ()
    assert json.dumps(reasons(tmp_path)) == "[]"
