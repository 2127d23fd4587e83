"""What Supervisor did not write last shows, and what a crash left behind is no trespass."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from sidecar.kernel.session import Session, SessionKey
from sidecar.platform import session_documents
from sidecar.platform import state as digest_chain
from sidecar.platform.state import Incidents
from support.disks import refuse
from support.states import KEY, SESSION, UnversionedFiles, folder_in_its_place, link, reasons, saved, to_bytes

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def state(folder: Path) -> Path:
    return folder / "sessions" / "claude-code-s1.json"


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_an_older_state_put_back_while_we_run_shows(folder: Path, state: Path, steps: int) -> None:
    store = saved(folder, SESSION)
    old = state.read_bytes()
    for stalls in range(steps):
        store.save(replace(SESSION, stalls=stalls))
    state.write_bytes(old)
    assert store.load(KEY) is None
    assert "edited-1" in reasons(folder)[0]


def test_a_state_of_another_session_shows(folder: Path, state: Path) -> None:
    other = state.with_name("claude-code-s2.json")
    saved(folder, Session(key=SessionKey("claude-code", "s2"), stalls=9))
    shutil.copy(other, state)
    shutil.copy(other.with_suffix(".chain"), state.with_suffix(".chain"))
    assert UnversionedFiles(folder).load(KEY) is None
    assert "it belongs to another session" in reasons(folder)[0]


@pytest.mark.parametrize("restarted", [False, True])
def test_a_state_that_was_removed_by_hand_is_noted_once(
    folder: Path, state: Path, *, restarted: bool
) -> None:
    store = saved(folder, SESSION, SESSION)
    state.unlink()
    for _ in range(2):
        store = UnversionedFiles(folder) if restarted else store
        assert store.load(KEY) is None
    assert reasons(folder) == ("claude-code-s1.json.edited-1: the state was removed, and not by Supervisor",)


def test_what_supervisor_forgot_is_not_noted_as_removed(folder: Path, state: Path) -> None:
    store = saved(folder, SESSION, SESSION)
    store.forget(KEY)
    assert UnversionedFiles(folder).load(KEY) is None
    assert reasons(folder) == ()
    assert [path.name for path in state.parent.iterdir()] == ["README"]


@pytest.mark.parametrize("damage", [link, folder_in_its_place, to_bytes(b"nothing of ours\n"), Path.unlink])
def test_a_chain_that_says_nothing_drops_no_goal_and_is_told_once(
    folder: Path, state: Path, damage: Callable[[Path], None]
) -> None:
    before = saved(folder, SESSION)
    damage(state.with_suffix(".chain"))
    assert before.load(KEY) == SESSION, "a process that remembers needs no chain"
    store = UnversionedFiles(folder, incidents := Incidents())
    assert (store.load(KEY), store.load(KEY)) == (SESSION, SESSION)
    (told,) = incidents.take(KEY)
    assert "was removed or damaged, and not by Supervisor. It holds as it is" in told
    store.save(replace(SESSION, stalls=1))
    assert UnversionedFiles(folder, incidents).load(KEY) == replace(SESSION, stalls=1)
    assert incidents.take(KEY) == ()


def test_a_process_that_died_between_chain_and_state_loses_nothing(
    folder: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = saved(folder, SESSION)
    monkeypatch.setattr(session_documents, "write_whole", refuse)
    with pytest.raises(OSError, match="read-only"):
        store.save(replace(SESSION, stalls=1))
    monkeypatch.undo()
    assert state.with_suffix(".chain").read_bytes().startswith(b"2 ")
    assert UnversionedFiles(folder).load(KEY) == SESSION


def test_the_last_line_counts_of_a_chain_that_an_older_supervisor_wrote(folder: Path, state: Path) -> None:
    saved(folder, SESSION)
    chain = state.with_suffix(".chain")
    chain.write_bytes(f"0 - {'a' * 64}\n".encode() + chain.read_bytes() + b"1 tor")
    assert UnversionedFiles(folder).load(KEY) == SESSION


def test_a_reader_in_another_process_never_takes_a_write_for_an_edit(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = saved(folder, SESSION)
    expects = digest_chain.DigestChain.expects
    writes = iter(range(1, 4))

    def write_in_between(self: digest_chain.DigestChain, digest: str) -> bool:
        if (stalls := next(writes, None)) is not None:
            monkeypatch.setattr(digest_chain.DigestChain, "expects", expects)
            writer.save(replace(SESSION, stalls=10 * stalls))
            writer.save(replace(SESSION, stalls=stalls))
            monkeypatch.setattr(digest_chain.DigestChain, "expects", write_in_between)
        return expects(self, digest)

    monkeypatch.setattr(digest_chain.DigestChain, "expects", write_in_between)
    assert UnversionedFiles(folder).load(KEY) == replace(SESSION, stalls=3)
    assert reasons(folder) == ()
