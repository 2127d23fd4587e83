"""The log file: discreet, bounded, for its owner alone."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from servers.bench import SECRET
from sidecar.servers import serve
from sidecar.servers import serve as log


@pytest.fixture(autouse=True)
def logging_is_put_back() -> Iterator[None]:
    root = logging.getLogger()
    before = root.level, list(root.handlers), logging.raiseExceptions
    yield
    for handler in set(root.handlers) - set(before[1]):
        with suppress(OSError):
            handler.close()
    root.setLevel(before[0])
    root.handlers[:] = before[1]
    logging.raiseExceptions = before[2]


def look_up(word: str) -> None:
    raise KeyError(word)


def fail(word: str) -> None:
    try:
        look_up(word)
    except KeyError:
        try:
            Path("/nowhere/at/all").read_text(encoding="utf-8")
        except OSError as error:
            raise ValueError(word) from error


def test_an_exception_leaves_its_type_and_place_and_not_its_words(tmp_path: Path) -> None:
    serve.log_to_file(tmp_path / "log")
    try:
        fail(SECRET)
    except ValueError:
        logging.getLogger("sidecar").exception("it broke")
    text = (tmp_path / "log").read_text(encoding="utf-8")
    assert "ValueError" in text
    assert f"{__file__}:" in text
    assert "No such file or directory: '/nowhere/at/all'" in text
    assert SECRET not in text


def test_a_log_that_grows_is_set_aside_and_the_oldest_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "SIZE", 100)
    serve.log_to_file(tmp_path / "log")
    for _ in range(20):
        logging.getLogger("sidecar").info("x" * 40)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log", "log.1", "log.2", "log.3"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk that is always full")
def test_a_log_that_cannot_be_written_is_no_reason_to_fail(capsys: pytest.CaptureFixture[str]) -> None:
    serve.log_to_file(Path("/dev/full"))
    logging.getLogger().info("into nothing")
    assert capsys.readouterr().err == ""
