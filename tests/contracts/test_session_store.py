"""What every SessionStore does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.goal import Goal, GoalSpending, GoalStatus
from sidecar.kernel.session import Continuation, ProgressSnapshot, Session, SessionKey
from sidecar.platform.ports import SessionStore, StaleSessionError
from sidecar.platform.session_store import SessionFiles
from support.memory_stores import MemorySessionStore

if TYPE_CHECKING:
    from collections.abc import Callable

KEY = SessionKey("claude-code", "7f0e0a52-0d57-4b8e-a8a1-3a6a3f7f1c11")
OTHER = SessionKey("opencode", "ses_6f2aB0c9dEfG")
SESSION = Session(
    key=KEY,
    project="/home/me/projet café",
    goal=Goal(
        id="g1",
        condition='all tests pass "whole"\n\u2028 and 🌱',
        checks=("pytest -q",),
        status=GoalStatus.PAUSED,
        set_at=1_750_000_000.25,
        max_seconds=60,
        spent=GoalSpending(continuations=3, tokens=12, seconds=0.1, judge_cents=0.3),
        asked_to_run=("tests",),
    ),
    retry=5,
    pending=Continuation(id="ab12cd", said_at=1_750_000_001.5, for_goal=True),
    serial=4,
    movement=ProgressSnapshot(tree="t", failing=("a", "b")),
    active_since=1_750_000_002.0,
    seen_at=1_750_000_003.0,
)


class Kept(Protocol):
    """What outlives a process: each call is a process that opens it."""

    def __call__(self) -> SessionStore: ...


@pytest.fixture(scope="module", params=("files", "memory"))
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Kept]:
    """Makes a new, empty place for sessions."""

    def make() -> Kept:
        if request.param == "memory":
            store = MemorySessionStore()
            return lambda: store
        folder = tmp_path_factory.mktemp("state")
        return lambda: SessionFiles(folder)

    return make


@pytest.fixture
def kept(opened: Callable[[], Kept]) -> Kept:
    return opened()


def test_a_session_never_saved_is_unknown(kept: Kept) -> None:
    assert kept().load(KEY) is None
    assert kept().known() == ()


def test_what_was_saved_comes_back_whole(kept: Kept) -> None:
    assert kept().save(SESSION) == kept().load(KEY) == replace(SESSION, revision=1)


def test_the_last_save_counts_and_each_has_the_next_revision(kept: Kept) -> None:
    store, session = kept(), SESSION
    for stalls in range(5):
        session = store.save(replace(session, stalls=stalls))
    assert kept().load(KEY) == session == replace(SESSION, stalls=4, revision=5)


@pytest.mark.parametrize("revision", [0, 1, 3])
def test_a_state_that_is_not_the_stored_one_any_more_is_refused(kept: Kept, revision: int) -> None:
    store = kept()
    newest = store.save(replace(store.save(SESSION), stalls=1))
    with pytest.raises(StaleSessionError, match=f"revision 2, expected {revision}"):
        kept().save(replace(SESSION, stalls=2, revision=revision))
    assert kept().load(KEY) == newest
    assert store.save(newest).revision == 3


def test_a_state_that_nobody_stored_or_that_was_forgotten_has_no_revision(kept: Kept) -> None:
    store = kept()
    with pytest.raises(StaleSessionError, match="revision 0, expected 1"):
        store.save(replace(SESSION, revision=1))
    saved = store.save(SESSION)
    store.forget(KEY)
    with pytest.raises(StaleSessionError):
        store.save(saved)
    assert store.load(KEY) is None


def test_sessions_do_not_mix(kept: Kept) -> None:
    store = kept()
    session, other = store.save(SESSION), store.save(Session(key=OTHER, stalls=1))
    assert store.load(KEY) == session
    assert store.load(OTHER) == other


def test_a_forgotten_session_is_unknown_and_may_begin_again(kept: Kept) -> None:
    store = kept()
    store.save(SESSION)
    store.save(Session(key=OTHER))
    store.forget(KEY)
    assert store.load(KEY) is None
    assert kept().load(KEY) is None
    assert store.known() == (OTHER,)
    store.save(Session(key=KEY, stalls=2))
    assert kept().load(KEY) == Session(key=KEY, stalls=2, revision=1)


def test_the_session_seen_last_is_known_first(kept: Kept) -> None:
    store = kept()
    for number, seen_at in enumerate((20.0, 40.0, 10.0, 30.0)):
        store.save(Session(key=SessionKey("opencode", f"s{number}"), seen_at=seen_at))
    assert [key.id for key in kept().known()] == ["s1", "s3", "s0", "s2"]


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "a/b",
        "../../etc/passwd",
        "a\\b",
        "a.b",
        "a\n",
        "a\x00",
        " a",
        "é",
        "\u0661",
        "\ud800",
        "x" * 129,
        "x" * 100_000,
    ],
)
def test_a_hostile_name_is_refused_and_hardly_shown(kept: Kept, name: str) -> None:
    store = kept()
    for key in (SessionKey("opencode", name), SessionKey(name, "s1")):
        for use in (store.load, store.forget, lambda key: store.save(Session(key=key))):
            with pytest.raises(BadInputError) as refused:
                use(key)
            assert len(str(refused.value)) < 130
            assert str(refused.value).isprintable()
    assert store.known() == ()


def test_host_and_id_that_make_too_long_a_file_name_are_refused(kept: Kept) -> None:
    with pytest.raises(BadInputError, match="256 characters together"):
        kept().load(SessionKey("h" * 127, "x" * 128))


names = st.sampled_from(["a", "b", "c-d", "E_5"])
steps = st.one_of(
    st.tuples(st.just("save"), names, st.integers(0, 9)),
    st.tuples(st.just("forget"), names, st.just(0)),
    st.tuples(st.just("new process"), names, st.just(0)),
)


@given(history=st.lists(steps, max_size=30))
def test_any_history_leaves_what_was_saved_last(
    opened: Callable[[], Kept], history: list[tuple[str, str, int]]
) -> None:
    kept = opened()
    store = kept()
    expected: dict[str, Session] = {}
    for step, name, stalls in history:
        key = SessionKey("opencode", name)
        if step == "save":
            revision = expected[name].revision if name in expected else 0
            expected[name] = store.save(Session(key=key, stalls=stalls, revision=revision))
        elif step == "forget":
            expected.pop(name, None)
            store.forget(key)
        else:
            store = kept()
        for known in ("a", "b", "c-d", "E_5"):
            assert store.load(SessionKey("opencode", known)) == expected.get(known)
    assert {key.id for key in store.known()} == expected.keys()
