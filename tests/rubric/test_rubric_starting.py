"""A new rubric is there as a whole or not at all."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.rubric.reader import create_rubric_file


@pytest.fixture
def full_disk() -> Iterator[None]:
    """No file may grow beyond 10 bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    signal.signal(signal.SIGXFSZ, before)


@pytest.mark.usefixtures("full_disk")
def test_on_a_full_disk_nothing_is_left_and_what_was_there_stays(tmp_path: Path) -> None:
    place = tmp_path / "rubric.md"
    with pytest.raises(OSError, match="File too large"):
        create_rubric_file(place, "x" * 100)
    assert list(tmp_path.iterdir()) == []
    place.write_text("old")
    with pytest.raises(OSError, match="File too large"):
        create_rubric_file(place, "x" * 100, force=True)
    assert [file.name for file in tmp_path.iterdir()] == ["rubric.md"]
    assert place.read_text() == "old"


def test_nothing_is_written_over_and_with_force_what_was_there_is_put_beside(tmp_path: Path) -> None:
    place = tmp_path / ".supervisor" / "rubric.md"
    assert create_rubric_file(place, "one") is None
    with pytest.raises(FileExistsError):
        create_rubric_file(place, "two")
    assert create_rubric_file(place, "two", force=True) == place.with_name("rubric.md.bak")
    assert (place.read_text(), place.with_name("rubric.md.bak").read_text()) == ("two", "one")
