"""Journals in files: beside the states, written whole or not at all, and what is not ours is set aside."""

from __future__ import annotations

import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from sidecar.kernel.journal import Journal, NoteKind, TaskStatus
from sidecar.systems.iteration.policy import journal as rules
from support.disks import files_of_at_most
from support.states import (
    KEY,
    UnversionedJournals,
    big,
    by_a_clever_hand,
    by_hand,
    document,
    folder_in_its_place,
    half,
    link,
    pipe,
    reasons,
    to_bytes,
    to_version,
)

pytestmark = pytest.mark.proves("crashes and bad input")

JOURNAL, _ = rules.add_tasks(Journal(), [("see that the tests pass", TaskStatus.REMAINING)])
WRITER = """
import sys
from pathlib import Path
from sidecar.platform.session_store import JournalFiles
from sidecar.systems.iteration.journals import SessionJournals
from sidecar.kernel.journal import NoteKind
from sidecar.kernel.session import SessionKey
from sidecar.systems.iteration.policy import journal

journals = SessionJournals(JournalFiles(Path(sys.argv[1])))
for number in range(500):
    journals.change(
        SessionKey("claude-code", "s1"),
        lambda now: journal.add_note(now, NoteKind.TIP, f"note {number} " + "x" * 1000, 0.0),
    )
    print(number, flush=True)
"""
"""Writes notes until it is killed, and says so after each."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def path(folder: Path) -> Path:
    return folder / "sessions" / "claude-code-s1.journal.json"


def written(folder: Path, *journals: Journal) -> UnversionedJournals:
    store = UnversionedJournals(folder)
    for journal in journals:
        store.save(KEY, journal)
    return store


def test_a_journal_is_one_document_for_its_owner_alone(folder: Path, path: Path) -> None:
    written(folder, Journal(), JOURNAL)
    assert (document(path)["version"], document(path)["serial"]) == (1, 2)
    modes = {one.name: stat.S_IMODE(one.stat().st_mode) for one in path.parent.iterdir()}
    assert modes == dict.fromkeys((path.name, "claude-code-s1.journal.chain", "README"), 0o600)


# --- what cannot be written ---


@pytest.mark.parametrize("room", [0, 10, 200])
def test_a_full_disk_is_an_error_and_the_old_journal_holds(folder: Path, room: int) -> None:
    store = written(folder, JOURNAL)
    longer, _ = rules.add_note(JOURNAL, NoteKind.TIP, "x" * 500, 0.0)
    with files_of_at_most(room), pytest.raises(OSError, match="File too large"):
        store.save(KEY, longer)
    assert store.load(KEY) == JOURNAL
    assert UnversionedJournals(folder).load(KEY) == JOURNAL
    assert reasons(folder) == ()
    store.save(KEY, longer)
    assert UnversionedJournals(folder).load(KEY) == longer


# --- what was damaged ---


DAMAGES = {
    "half of it": (half, "corrupt", "truncated"),
    "nothing": (to_bytes(b""), "corrupt", "truncated"),
    "not UTF-8": (to_bytes(b"\xff\xfe{}"), "corrupt", ""),
    "nested deep": (to_bytes(b'{"x": ' + b"[" * 100_000), "corrupt", "recursion"),
    "a newer one": (to_version(2), "future-version", "version 2; this Supervisor knows 1"),
    "by hand": (by_hand, "edited", "does not belong to what it says"),
    "by a clever hand": (by_a_clever_hand, "edited", "not what Supervisor wrote last"),
    "10 MB": (big, "unreadable", "10000000 bytes"),
    "a link": (link, "unreadable", "a symbolic link"),
    "a folder": (folder_in_its_place, "unreadable", "a folder"),
    "a pipe": (pipe, "unreadable", "no plain file"),
    "removed": (Path.unlink, "edited", "the journal was removed, and not by Supervisor"),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("restarted", [False, True])
def test_a_damaged_journal_is_set_aside_with_its_reason_and_a_new_one_begins(
    folder: Path, path: Path, damage: str, *, restarted: bool
) -> None:
    hurt, reason, why = DAMAGES[damage]
    store = written(folder, Journal(), JOURNAL)
    hurt(path)
    if restarted:
        store = UnversionedJournals(folder)
    assert store.load(KEY) is None
    (said,) = reasons(folder)
    assert said.startswith(f"{path.name}.{reason}-1: ")
    assert why in said
    store.save(KEY, replace(JOURNAL, iteration=3))
    assert UnversionedJournals(folder).load(KEY) == replace(JOURNAL, iteration=3)
    assert len(reasons(folder)) == 1


@pytest.mark.process
@pytest.mark.parametrize("after", [1, 7, 40])
def test_a_writer_killed_in_the_middle_loses_nothing_that_it_said_was_kept(
    folder: Path, path: Path, after: int
) -> None:
    command = [sys.executable, "-c", WRITER, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        told = [int(next(writer.stdout)) for _ in range(after)]
        writer.send_signal(signal.SIGKILL)
        told += [int(line) for line in writer.stdout if line.endswith("\n")]
    kept = UnversionedJournals(folder).load(KEY)
    assert kept is not None
    numbers = [int(note.content.split()[1]) for note in kept.notes]
    assert numbers == list(range(len(numbers)))
    assert len(told) <= len(numbers) <= len(told) + 1
    assert reasons(folder) == ()
    written(folder, kept)
    assert list(path.parent.glob(".*.tmp")) == []
