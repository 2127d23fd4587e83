"""A session file that was damaged is set aside with its reason, and the session goes on."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec
import pytest
from msgspec.structs import replace

from sidecar.kernel.session import Session
from sidecar.platform import state as digest_chain
from support.states import (
    KEY,
    SESSION,
    UnversionedFiles,
    big,
    by_a_clever_hand,
    by_hand,
    document,
    folder_in_its_place,
    half,
    link,
    pipe,
    reasons,
    saved,
    to_bytes,
    to_version,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def state(folder: Path) -> Path:
    return folder / "sessions" / "claude-code-s1.json"


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
        store = UnversionedFiles(folder)
    assert store.load(KEY) is None
    reason, why = expected
    aside = state.with_name(f"{state.name}.{reason}-1")
    assert (aside.lstat().st_ino, aside.lstat().st_size) == (before.st_ino, before.st_size)
    assert why in reasons(folder)[0]
    store.save(replace(SESSION, stalls=3))
    assert UnversionedFiles(folder).load(KEY) == replace(SESSION, stalls=3)
    assert len(reasons(folder)) == 1


@pytest.mark.parametrize(
    ("damage", "expected"), [(half, "corrupt"), (by_hand, "edited"), (link, "unreadable")]
)
def test_damage_done_between_load_and_save_is_not_overwritten(
    folder: Path, state: Path, damage: Callable[[Path], None], expected: str
) -> None:
    store = saved(folder, SESSION)
    store.load(KEY)
    damage(state)
    store.save(replace(SESSION, stalls=3))
    assert os.path.lexists(state.with_name(f"{state.name}.{expected}-1"))
    assert store.load(KEY) == replace(SESSION, stalls=3)


def test_a_document_that_does_not_fit_the_model_is_corrupt(folder: Path, state: Path) -> None:
    store = saved(folder, SESSION)
    body = (
        state.read_bytes().split(b'"session":', 1)[1].rstrip()[:-1].replace(b'"stalls":0', b'"stalls":"many"')
    )
    last = document(state)
    said = digest_chain.document_digest(1, 1, "-", body)
    state.write_bytes(msgspec.json.encode(last | {"digest": said, "session": msgspec.Raw(body)}))
    chain = state.with_suffix(".chain")
    chain.write_text(f"1 - {said}\n")
    store = UnversionedFiles(folder)
    assert store.load(KEY) is None
    assert "json.corrupt-1: Expected `int`, got `str` - at `$.stalls`" in reasons(folder)[0]


def test_a_field_that_the_model_does_not_know_is_no_damage(folder: Path, state: Path) -> None:

    class Tomorrow(Session, frozen=True, kw_only=True):
        mood: str = "calm"

    store = saved(folder, Tomorrow(key=KEY, stalls=2))
    assert b'"mood":"calm"' in state.read_bytes()
    assert UnversionedFiles(folder).load(KEY) == Session(key=KEY, stalls=2)
    assert store.load(KEY) == Session(key=KEY, stalls=2)
