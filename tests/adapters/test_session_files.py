"""Sessions in files: whatever happens to them, nothing is lost, and an edit by hand shows."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import resource
import shutil
import stat
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from msgspec.structs import replace

from sidecar.adapters import digest_chain
from sidecar.adapters.record_files import RecordFiles
from sidecar.adapters.session_files import SessionFiles
from sidecar.model.goal import Goal
from sidecar.model.session import Session, SessionKey
from sidecar.ports import BadInputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

KEY = SessionKey("claude-code", "s1")
SESSION = Session(key=KEY, goal=Goal(id="g1", condition="tests pass"), seen_at=5.0)


@contextlib.contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def refuse(*_: object, **__: object) -> None:
    raise OSError(errno.EROFS, "read-only file system")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def state(folder: Path) -> Path:
    return folder / "sessions" / "claude-code-s1.json"


def saved(folder: Path, *sessions: Session) -> SessionFiles:
    store = SessionFiles(folder)
    for session in sessions:
        store.save(session)
    return store


def document(state: Path) -> dict[str, Any]:
    read: dict[str, Any] = msgspec.json.decode(state.read_bytes())
    return read


def reasons(folder: Path) -> tuple[str, ...]:
    return RecordFiles(folder).set_aside(KEY)


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


# --- what is damaged is set aside and the session goes on ---


def half(state: Path) -> None:
    state.write_bytes(state.read_bytes()[: state.stat().st_size // 2])


def big(state: Path) -> None:
    state.write_bytes(b"[" * 10_000_000)


def link(state: Path) -> None:
    real = state.with_name("elsewhere")
    state.rename(real)
    state.symlink_to(real)


def folder_in_its_place(state: Path) -> None:
    state.unlink()
    state.mkdir()
    (state / "something").write_bytes(b"x")


def pipe(state: Path) -> None:
    state.unlink()
    os.mkfifo(state)


def to_version(version: object) -> Callable[[Path], None]:
    def damage(state: Path) -> None:
        state.write_bytes(msgspec.json.encode(document(state) | {"version": version}))

    return damage


def to_bytes(content: bytes) -> Callable[[Path], None]:
    def damage(state: Path) -> None:
        state.write_bytes(content)

    return damage


def by_hand(state: Path) -> None:
    state.write_bytes(state.read_bytes().replace(b"tests pass", b"tests exist"))


def by_a_clever_hand(state: Path) -> None:
    """Change the condition and reckon the digest anew, as `_document` does."""
    old = document(state)
    body = state.read_bytes().split(b'"session":', 1)[1].rstrip()[:-1].replace(b"tests pass", b"tests exist")
    said = digest_chain.digest(1, old["serial"], old["previous"], body)
    state.write_bytes(msgspec.json.encode(old | {"digest": said, "session": msgspec.Raw(body)}))


damages = pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (half, ("corrupt", "truncated")),
        (to_bytes(b""), ("corrupt", "truncated")),
        (to_bytes(b"\x00" * 500), ("corrupt", "malformed")),
        (to_bytes(b"\xff\xfe{}"), ("corrupt", "")),
        (to_bytes(b"{}"), ("corrupt", "missing required field `version`")),
        (to_bytes(b"[" * 100_000), ("corrupt", "Expected `object`")),
        (to_bytes(b'{"x": ' + b"[" * 100_000), ("corrupt", "recursion")),
        (to_bytes(b'{"version": 1}'), ("corrupt", "missing required field")),
        (to_version(0), ("corrupt", "no version 0")),
        (to_version("1"), ("corrupt", "Expected `int`")),
        (to_version(2), ("future-version", "version 2; this Supervisor knows 1")),
        (by_hand, ("edited", "does not belong to what it says")),
        (by_a_clever_hand, ("edited", "not what Supervisor wrote last")),
        (big, ("unreadable", "10000000 bytes")),
        (link, ("unreadable", "a symbolic link")),
        (folder_in_its_place, ("unreadable", "a folder")),
        (pipe, ("unreadable", "no plain file")),
    ],
)


@damages
@pytest.mark.parametrize("restarted", [False, True])
def test_a_damaged_state_is_set_aside_with_its_reason_and_the_session_goes_on(
    folder: Path, state: Path, damage: Callable[[Path], None], expected: tuple[str, str], *, restarted: bool
) -> None:
    store = saved(folder, replace(SESSION, stalls=7), SESSION)
    damage(state)
    before = state.lstat()
    if restarted:
        store = SessionFiles(folder)
    assert store.load(KEY) is None
    reason, why = expected
    aside = state.with_name(f"{state.name}.{reason}-1")
    assert (aside.lstat().st_ino, aside.lstat().st_size) == (before.st_ino, before.st_size)
    assert why in reasons(folder)[0]
    store.save(replace(SESSION, stalls=3))
    assert SessionFiles(folder).load(KEY) == replace(SESSION, stalls=3)
    assert len(reasons(folder)) == 1


@damages
def test_damage_done_between_load_and_save_is_not_overwritten(
    folder: Path, state: Path, damage: Callable[[Path], None], expected: tuple[str, str]
) -> None:
    store = saved(folder, SESSION)
    store.load(KEY)
    damage(state)
    store.save(replace(SESSION, stalls=3))
    reason, why = expected
    assert os.path.lexists(state.with_name(f"{state.name}.{reason}-1"))
    assert why in reasons(folder)[0]
    assert store.load(KEY) == replace(SESSION, stalls=3)


def test_every_damaged_state_is_kept(folder: Path, state: Path) -> None:
    store = saved(folder, SESSION)
    for damage in (half, by_hand, half, to_version(9)):
        damage(state)
        assert store.load(KEY) is None
        store.save(SESSION)
    assert [line.split(": ")[0] for line in reasons(folder)] == [
        "claude-code-s1.json.corrupt-1",
        "claude-code-s1.json.edited-2",
        "claude-code-s1.json.corrupt-3",
        "claude-code-s1.json.future-version-4",
    ]


def test_a_document_that_does_not_fit_the_model_is_corrupt(folder: Path, state: Path) -> None:
    store = saved(folder, SESSION)
    body = (
        state.read_bytes().split(b'"session":', 1)[1].rstrip()[:-1].replace(b'"stalls":0', b'"stalls":"many"')
    )
    last = document(state)
    said = digest_chain.digest(1, 1, "-", body)
    state.write_bytes(msgspec.json.encode(last | {"digest": said, "session": msgspec.Raw(body)}))
    chain = state.with_suffix(".chain")
    chain.write_text(f"1 - {said}\n")
    store = SessionFiles(folder)
    assert store.load(KEY) is None
    assert "json.corrupt-1: Expected `int`, got `str` - at `$.stalls`" in reasons(folder)[0]


def test_a_field_that_the_model_does_not_know_is_no_damage(folder: Path, state: Path) -> None:

    class Tomorrow(Session, frozen=True, kw_only=True):
        mood: str = "calm"

    store = saved(folder, Tomorrow(key=KEY, stalls=2))
    assert b'"mood":"calm"' in state.read_bytes()
    assert SessionFiles(folder).load(KEY) == Session(key=KEY, stalls=2)
    assert store.load(KEY) == Session(key=KEY, stalls=2)


# --- what was written earlier, elsewhere or not at all ---


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_an_older_state_put_back_while_we_run_shows(folder: Path, state: Path, steps: int) -> None:
    store = saved(folder, SESSION)
    old = state.read_bytes()
    for stalls in range(steps):
        store.save(replace(SESSION, stalls=stalls))
    state.write_bytes(old)
    assert store.load(KEY) is None
    assert "edited-1" in reasons(folder)[0]


def test_an_older_state_put_back_while_we_were_away_shows(folder: Path, state: Path) -> None:
    store = saved(folder, SESSION)
    old = state.read_bytes()
    for stalls in range(2):
        store.save(replace(SESSION, stalls=stalls))
    state.write_bytes(old)
    assert SessionFiles(folder).load(KEY) is None
    assert "edited-1" in reasons(folder)[0]


def test_a_state_of_another_session_shows(folder: Path, state: Path) -> None:
    other = state.with_name("claude-code-s2.json")
    saved(folder, Session(key=SessionKey("claude-code", "s2"), stalls=9))
    shutil.copy(other, state)
    shutil.copy(other.with_suffix(".chain"), state.with_suffix(".chain"))
    assert SessionFiles(folder).load(KEY) is None
    assert "it belongs to another session" in reasons(folder)[0]


def test_a_state_without_its_chain_shows_unless_we_remember(folder: Path, state: Path) -> None:
    store = saved(folder, SESSION)
    state.with_suffix(".chain").unlink()
    assert store.load(KEY) == SESSION
    assert SessionFiles(folder).load(KEY) is None
    assert "not what Supervisor wrote last" in reasons(folder)[0]


@pytest.mark.parametrize("restarted", [False, True])
def test_a_state_that_was_removed_by_hand_is_noted_once(
    folder: Path, state: Path, *, restarted: bool
) -> None:
    store = saved(folder, SESSION, SESSION)
    state.unlink()
    for _ in range(2):
        store = SessionFiles(folder) if restarted else store
        assert store.load(KEY) is None
    assert reasons(folder) == ("claude-code-s1.json.edited-1: the state was removed, and not by Supervisor",)


def test_state_and_chain_removed_by_hand_show_to_the_process_that_remembers(
    folder: Path, state: Path
) -> None:
    store = saved(folder, SESSION)
    shutil.rmtree(state.parent)
    state.parent.mkdir()
    assert store.load(KEY) is None
    assert "removed" in reasons(folder)[0]


def test_what_supervisor_forgot_is_not_noted_as_removed(folder: Path, state: Path) -> None:
    store = saved(folder, SESSION, SESSION)
    store.forget(KEY)
    assert SessionFiles(folder).load(KEY) is None
    assert reasons(folder) == ()
    assert [path.name for path in state.parent.iterdir()] == ["README"]


@pytest.mark.parametrize("damage", [link, folder_in_its_place])
def test_a_chain_that_is_no_plain_file_is_set_aside_too(
    folder: Path, state: Path, damage: Callable[[Path], None]
) -> None:
    store = saved(folder, SESSION)
    damage(state.with_suffix(".chain"))
    store.save(replace(SESSION, stalls=1))
    assert "claude-code-s1.chain.unreadable-1" in reasons(folder)[0]
    assert SessionFiles(folder).load(KEY) == replace(SESSION, stalls=1)


@pytest.mark.parametrize("damage", [link, folder_in_its_place, to_bytes(b"nothing of ours\n")])
def test_a_chain_that_says_nothing_vouches_for_nothing_after_a_restart(
    folder: Path, state: Path, damage: Callable[[Path], None]
) -> None:
    saved(folder, SESSION)
    damage(state.with_suffix(".chain"))
    store = SessionFiles(folder)
    assert store.load(KEY) is None
    assert "claude-code-s1.json.edited-" in reasons(folder)[-1]
    store.save(replace(SESSION, stalls=1))
    assert SessionFiles(folder).load(KEY) == replace(SESSION, stalls=1)


def test_a_torn_line_in_the_chain_does_no_harm(folder: Path, state: Path) -> None:
    saved(folder, SESSION)
    with state.with_suffix(".chain").open("ab") as chain:
        chain.write(b"2 0123")
    store = SessionFiles(folder)
    assert store.load(KEY) == SESSION
    store.save(replace(SESSION, stalls=1))
    assert SessionFiles(folder).load(KEY) == replace(SESSION, stalls=1)


def test_a_process_that_died_between_chain_and_state_loses_nothing(
    folder: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = saved(folder, SESSION)
    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="read-only"):
        store.save(replace(SESSION, stalls=1))
    monkeypatch.undo()
    assert len(state.with_suffix(".chain").read_bytes().splitlines()) == 2
    assert SessionFiles(folder).load(KEY) == SESSION


@pytest.mark.parametrize("restarted", [False, True])
def test_any_number_of_failed_saves_loses_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, restarted: bool
) -> None:
    saved(folder, SESSION)
    monkeypatch.setattr(os, "replace", refuse)
    store = SessionFiles(folder)
    for stalls in range(3):
        store = SessionFiles(folder) if restarted else store
        with pytest.raises(OSError, match="read-only"):
            store.save(replace(SESSION, stalls=stalls))
    monkeypatch.undo()
    assert SessionFiles(folder).load(KEY) == SESSION
    assert reasons(folder) == ()


def test_a_process_that_died_before_its_first_state_is_no_removal(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.joinpath("sessions").mkdir(parents=True)
    (folder / "sessions" / "README").touch()
    store = SessionFiles(folder)
    monkeypatch.setattr("sidecar.adapters.session_files.explain", lambda *_: None)
    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="read-only"):
        store.save(SESSION)
    monkeypatch.undo()
    assert SessionFiles(folder).load(KEY) is None
    assert reasons(folder) == ()


def test_the_chain_stays_short_and_holds(folder: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digest_chain, "LIMIT", 1000)
    monkeypatch.setattr(digest_chain, "KEPT", 4)
    store = SessionFiles(folder)
    for stalls in range(50):
        store.save(replace(SESSION, stalls=stalls))
        assert state.with_suffix(".chain").stat().st_size <= 1000
        assert SessionFiles(folder).load(KEY) == replace(SESSION, stalls=stalls)


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
    assert SessionFiles(folder).load(KEY) == replace(SESSION, stalls=3)
    assert reasons(folder) == ()


# --- what cannot be written ---


@pytest.mark.parametrize("room", [0, 10, 200])
def test_a_full_disk_is_an_error_and_the_old_state_holds(folder: Path, room: int) -> None:
    store = saved(folder, SESSION)
    with files_of_at_most(room), pytest.raises(OSError, match="File too large"):
        store.save(replace(SESSION, stalls=1, judged="x" * 500))
    assert store.load(KEY) == SESSION
    assert SessionFiles(folder).load(KEY) == SESSION
    assert reasons(folder) == ()
    store.save(replace(SESSION, stalls=2))
    assert SessionFiles(folder).load(KEY) == replace(SESSION, stalls=2)


def test_a_read_only_folder_is_an_error_and_the_old_state_holds(folder: Path, state: Path) -> None:
    store = saved(folder, SESSION)
    state.parent.chmod(0o500)
    if os.access(state.parent, os.W_OK):
        pytest.skip("this user may write everywhere")
    with pytest.raises(PermissionError):
        store.save(replace(SESSION, stalls=1))
    assert store.load(KEY) == SESSION
    state.parent.chmod(0o700)


@pytest.mark.parametrize("fault", ["rename", "replace"])
def test_a_read_only_disk_is_an_error_and_nothing_is_lost(
    folder: Path, state: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    store = saved(folder, SESSION)
    if fault == "rename":
        half(state)
    before = state.read_bytes()
    monkeypatch.setattr(os, fault, refuse)
    with pytest.raises(OSError, match="read-only"):
        store.save(replace(SESSION, stalls=1))
    monkeypatch.undo()
    assert state.read_bytes() == before


def test_a_state_folder_that_is_a_file_is_an_error(folder: Path) -> None:
    folder.write_bytes(b"")
    with pytest.raises(NotADirectoryError):
        SessionFiles(folder).load(KEY)
    with pytest.raises(NotADirectoryError):
        SessionFiles(folder).save(SESSION)
    with pytest.raises(NotADirectoryError):
        SessionFiles(folder).known()


def test_too_many_open_files_set_nothing_aside(
    folder: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exhausted(*_: object) -> int:
        raise OSError(errno.EMFILE, "too many open files")

    store = saved(folder, SESSION)
    monkeypatch.setattr(os, "open", exhausted)
    with pytest.raises(OSError, match="too many open files"):
        store.load(KEY)
    monkeypatch.undo()
    assert state.exists()
    assert store.load(KEY) == SESSION


def test_a_state_too_big_to_be_read_again_is_not_written(folder: Path) -> None:
    store = saved(folder, SESSION)
    with pytest.raises(OSError, match="a session state of"):
        store.save(replace(SESSION, judged="x" * 2_000_000))
    assert store.load(KEY) == SESSION


def test_text_that_no_file_can_hold_is_bad_input(folder: Path) -> None:
    store = saved(folder, SESSION)
    with pytest.raises(BadInputError, match="no Unicode"):
        store.save(replace(SESSION, judged="\ud800"))
    assert store.load(KEY) == SESSION


# --- known ---


def test_only_usable_states_are_known(folder: Path, state: Path) -> None:
    saved(folder, SESSION, *(Session(key=SessionKey("opencode", f"s{n}"), seen_at=n) for n in range(4)))
    half(state.with_name("opencode-s0.json"))
    folder_in_its_place(state.with_name("opencode-s1.json"))
    shutil.copy(state, state.with_name("opencode-s9.json"))
    state.with_name("notes.json").write_text("{}")
    assert SessionFiles(folder).known() == (KEY, SessionKey("opencode", "s3"), SessionKey("opencode", "s2"))


def test_the_folder_explains_itself(folder: Path, state: Path) -> None:
    saved(folder, SESSION)
    assert "belongs to Supervisor" in (state.parent / "README").read_text()
