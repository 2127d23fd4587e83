"""Sessions in files: written whole or not at all, for their owner alone."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.session import Session, SessionKey
from sidecar.platform import session_store
from sidecar.platform.files import read_whole
from support.disks import exhausted, files_of_at_most
from support.states import KEY, SESSION, UnversionedFiles, document, folder_in_its_place, half, reasons, saved

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def state(folder: Path) -> Path:
    return folder / "sessions" / "claude-code-s1.json"


def test_a_state_is_one_document_for_its_owner_alone(folder: Path, state: Path) -> None:
    saved(folder, SESSION, replace(SESSION, stalls=1))
    assert document(state).keys() == {"version", "serial", "previous", "digest", "session"}
    assert document(state)["version"] == 1
    assert document(state)["serial"] == 2
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in state.parent.iterdir()}
    assert modes == dict.fromkeys(("claude-code-s1.json", "claude-code-s1.chain", "README"), 0o600)
    assert stat.S_IMODE(state.parent.stat().st_mode) == 0o700


def test_each_document_names_the_digest_of_the_one_before(folder: Path, state: Path) -> None:
    store = saved(folder, SESSION)
    first = document(state)
    store.save(replace(SESSION, stalls=1))
    second = document(state)
    body = state.read_bytes().split(b'"session":', 1)[1].rstrip()[:-1]
    assert second["previous"] == first["digest"]
    assert second["digest"] == hashlib.sha256(b"1 2 " + first["digest"].encode() + b"\n" + body).hexdigest()


# --- what cannot be written ---


@pytest.mark.parametrize("room", [0, 10, 200])
def test_a_full_disk_is_an_error_and_the_old_state_holds(folder: Path, room: int) -> None:
    store = saved(folder, SESSION)
    with files_of_at_most(room), pytest.raises(OSError, match="File too large"):
        store.save(replace(SESSION, stalls=1, judged="x" * 500))
    assert store.load(KEY) == SESSION
    assert UnversionedFiles(folder).load(KEY) == SESSION
    assert reasons(folder) == ()
    store.save(replace(SESSION, stalls=2))
    assert UnversionedFiles(folder).load(KEY) == replace(SESSION, stalls=2)


@pytest.mark.parametrize(
    ("text", "error", "why"),
    [("\ud800", BadInputError, "no Unicode"), ("x" * 2_000_000, OSError, "a session state of")],
)
def test_what_could_not_be_read_again_is_not_written(
    folder: Path, text: str, error: type[Exception], why: str
) -> None:
    store = saved(folder, SESSION)
    with pytest.raises(error, match=why):
        store.save(replace(SESSION, judged=text))
    assert UnversionedFiles(folder).load(KEY) == SESSION


def test_too_many_open_files_set_nothing_aside(
    folder: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = saved(folder, SESSION)
    with monkeypatch.context() as patches:
        patches.setattr(os, "open", exhausted)
        with pytest.raises(OSError, match="too many open files"):
            store.load(KEY)
    assert (state.exists(), store.load(KEY), reasons(folder)) == (True, SESSION, ())


def test_a_state_folder_that_is_a_file_is_an_error(folder: Path) -> None:
    folder.write_bytes(b"")
    with pytest.raises(NotADirectoryError):
        UnversionedFiles(folder).load(KEY)
    with pytest.raises(NotADirectoryError):
        UnversionedFiles(folder).save(SESSION)
    with pytest.raises(NotADirectoryError):
        UnversionedFiles(folder).known()


# --- known ---


def test_only_usable_states_are_known(folder: Path, state: Path) -> None:
    saved(folder, SESSION, *(Session(key=SessionKey("opencode", f"s{n}"), seen_at=n) for n in range(4)))
    half(state.with_name("opencode-s0.json"))
    folder_in_its_place(state.with_name("opencode-s1.json"))
    shutil.copy(state, state.with_name("opencode-s9.json"))
    state.with_name("notes.json").write_text("{}")
    assert UnversionedFiles(folder).known() == (
        KEY,
        SessionKey("opencode", "s3"),
        SessionKey("opencode", "s2"),
    )


@pytest.mark.proves("seeing and asking back")
def test_of_many_states_only_one_that_changed_is_read_to_know_when_it_was_seen(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = UnversionedFiles(folder)
    keys = [SessionKey(KEY.host, f"s{number}") for number in range(3)]
    for number, key in enumerate(keys):
        store.save(replace(SESSION, key=key, seen_at=float(number)))
    assert store.known() == tuple(reversed(keys))
    read: list[str] = []

    def noted(path: Path, limit: int) -> bytes:
        read.append(path.name)
        return read_whole(path, limit)

    monkeypatch.setattr(session_store, "read_whole", noted)
    store.save(replace(SESSION, key=keys[0], seen_at=9.0))
    assert (store.known()[0], read) == (keys[0], [f"{KEY.host}-s0.json"])
    store.forget(keys[0])
    assert (keys[0] in store.known(), len(read)) == (False, 1)


def test_the_folder_explains_itself(folder: Path, state: Path) -> None:
    saved(folder, SESSION)
    assert "belongs to Supervisor" in (state.parent / "README").read_text()
