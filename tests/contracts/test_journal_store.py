"""What every JournalStore does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.journal import Author, Journal, JournalSummary, Note, NoteKind, Priority, Task, TaskStatus
from sidecar.kernel.session import SessionKey
from sidecar.platform.ports import JournalStore, StaleSessionError
from sidecar.platform.session_store import JournalFiles
from support.memory_stores import MemoryJournals

if TYPE_CHECKING:
    from collections.abc import Callable

KEY = SessionKey("claude-code", "7f0e0a52-0d57-4b8e-a8a1-3a6a3f7f1c11")
OTHER = SessionKey("opencode", "ses_6f2aB0c9dEfG")
JOURNAL = Journal(
    tasks=(
        Task(
            id="T1", content='all tests "whole"\n\u2028 and 🌱', status=TaskStatus.BLOCKED, depends_on=("T2",)
        ),
        Task(id="T2", content="café", priority=Priority.BACKLOG, by=Author.USER),
    ),
    notes=(Note(id="N3", kind=NoteKind.STUCK, content="no network", at=1_750_000_000.25),),
    summaries=(JournalSummary(iteration=2, content="began", at=1_750_000_001.5),),
    serial=3,
    iteration=2,
    closed_at=1_750_000_002.125,
)


class Kept(Protocol):
    """What outlives a process: each call is a process that opens it."""

    def __call__(self) -> JournalStore: ...


@pytest.fixture(scope="module", params=("files", "memory"))
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Kept]:
    """Makes a new, empty place for journals."""

    def make() -> Kept:
        if request.param == "memory":
            store = MemoryJournals()
            return lambda: store
        folder = tmp_path_factory.mktemp("state")
        return lambda: JournalFiles(folder)

    return make


@pytest.fixture
def kept(opened: Callable[[], Kept]) -> Kept:
    return opened()


def serial(number: int, revision: int = 0) -> Journal:
    return Journal(serial=number, revision=revision)


def test_a_session_in_which_nothing_was_written_has_no_journal(kept: Kept) -> None:
    assert kept().load(KEY) is None


def test_what_was_saved_comes_back_whole(kept: Kept) -> None:
    saved = kept().save(KEY, JOURNAL)
    assert saved == replace(JOURNAL, revision=1)
    assert kept().load(KEY) == saved


def test_journals_of_sessions_do_not_mix(kept: Kept) -> None:
    store = kept()
    store.save(KEY, JOURNAL)
    store.save(OTHER, serial(1))
    assert store.load(KEY) == replace(JOURNAL, revision=1)
    assert store.load(OTHER) == serial(1, 1)


@pytest.mark.proves("runs and the journal")
def test_a_journal_that_was_saved_meanwhile_is_not_overwritten(kept: Kept) -> None:
    first = kept().save(KEY, JOURNAL)
    second = kept().save(KEY, replace(first, iteration=3))
    for stale in (JOURNAL, first):
        with pytest.raises(StaleSessionError):
            kept().save(KEY, stale)
    assert kept().load(KEY) == second


def test_a_forgotten_journal_is_gone_and_may_begin_again(kept: Kept) -> None:
    store = kept()
    store.save(KEY, JOURNAL)
    store.save(OTHER, serial(1))
    store.forget(KEY)
    assert store.load(KEY) is None
    assert kept().load(KEY) is None
    assert store.load(OTHER) == serial(1, 1)
    store.save(KEY, serial(2))
    assert kept().load(KEY) == serial(2, 1)


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "../../x", "a.b", "a\n", "a\x00", "\ud800", "x" * 129]
)
def test_a_hostile_name_is_refused(kept: Kept, name: str) -> None:
    store = kept()
    for key in (SessionKey("opencode", name), SessionKey(name, "s1")):
        for use in (store.load, store.forget, lambda key: store.save(key, JOURNAL)):
            with pytest.raises(BadInputError, match="names no session"):
                use(key)


names = st.sampled_from(["a", "b", "a-journal"])
steps = st.tuples(st.sampled_from(["save", "save", "forget", "new process"]), names, st.integers(0, 9))


@given(history=st.lists(steps, max_size=20))
def test_any_history_leaves_what_was_saved_last(
    opened: Callable[[], Kept], history: list[tuple[str, str, int]]
) -> None:
    kept = opened()
    store = kept()
    expected: dict[str, Journal] = {}
    for step, name, number in history:
        key = SessionKey("opencode", name)
        if step == "save":
            before = store.load(key)
            expected[name] = store.save(key, serial(number, before.revision if before else 0))
            assert expected[name].serial == number
        elif step == "forget":
            expected.pop(name, None)
            store.forget(key)
        else:
            store = kept()
        for known in ("a", "b", "a-journal"):
            assert store.load(SessionKey("opencode", known)) == expected.get(known)
