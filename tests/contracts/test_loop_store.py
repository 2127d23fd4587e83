"""What every LoopStore does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.evidence import FileBaseline
from sidecar.kernel.goal import Goal
from sidecar.kernel.loop import (
    GateResult,
    GateVerdict,
    Loop,
    LoopCheckpoint,
    LoopFailure,
    LoopState,
    LoopStatus,
    TaskProgress,
    Tier,
)
from sidecar.kernel.session import SessionKey
from sidecar.platform.ports import LoopStore, StaleSessionError
from sidecar.platform.session_store import LoopFiles
from support.memory_stores import MemoryLoops

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Opened = Callable[[], LoopStore]

KEY = SessionKey("claude-code", "7f0e0a52-0d57-4b8e-a8a1-3a6a3f7f1c11")
OTHER = SessionKey("opencode", "ses_6f2aB0c9dEfG")
LOOP = Loop(
    key=KEY,
    command='all "of" it\n🌱',
    status=LoopStatus.RUNNING,
    state=LoopState.AWAITING_QUALITY_GATES,
    tier=Tier.MEDIUM,
    task="T1",
    spent_cents=None,
    gates=(GateResult(id="tests", kind="tests", verdict=GateVerdict.FAIL, errors=("boom",), more=7),),
    failures=(LoopFailure(iteration=1, task="T1", model="haiku", files=("a.py",)),),
    checkpoints=(LoopCheckpoint(id="C1", at=1.5, loop=Loop(key=KEY), statuses=(("T1", "held"),)),),
    goals=(Goal(id="T1", condition="c", base=FileBaseline(tree="t", snapshot="s")),),
    parked=(TaskProgress(task="T2", tier=Tier.LARGE, iteration=3),),
    held=("T3",),
)


@pytest.fixture(params=("files", "memory"))
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    """Each call is a process that opens it."""
    store = MemoryLoops()
    return (lambda: store) if request.param == "memory" else (lambda: LoopFiles(tmp_path))


def test_what_was_saved_comes_back_whole_with_its_revision(opened: Opened) -> None:
    assert opened().load(KEY) is None
    saved = opened().save(LOOP)
    assert saved == replace(LOOP, revision=1)
    assert opened().load(KEY) == saved
    assert opened().load(OTHER) is None


def test_a_loop_that_was_saved_meanwhile_is_not_overwritten(opened: Opened) -> None:
    first = opened().save(LOOP)
    second = opened().save(replace(first, task="T2"))
    for stale in (LOOP, first):
        with pytest.raises(StaleSessionError):
            opened().save(stale)
    assert opened().load(KEY) == second


def test_a_forgotten_loop_is_gone_and_may_begin_again(opened: Opened) -> None:
    store = opened()
    store.save(LOOP)
    store.save(replace(LOOP, key=OTHER))
    store.forget(KEY)
    store.forget(KEY)
    assert opened().load(KEY) is None
    assert opened().load(OTHER) is not None
    assert store.save(LOOP).revision == 1


@pytest.mark.parametrize("name", ["", "..", "a/b", "\ud800", "x" * 129])
def test_a_hostile_name_is_refused(opened: Opened, name: str) -> None:
    key = SessionKey("opencode", name)
    for use in (opened().load, opened().forget, lambda key: opened().save(replace(LOOP, key=key))):
        with pytest.raises(BadInputError, match="names no session"):
            use(key)
