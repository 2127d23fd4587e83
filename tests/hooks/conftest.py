"""The state folder, a project, and runtimes that leave a mark."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hooks.relaying import Scene

Runtime = Callable[[Path, str], Path]


@pytest.fixture
def state() -> Path:
    return Path(os.environ["XDG_STATE_HOME"]) / "supervisor"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    return folder


@pytest.fixture
def scene(state: Path, project: Path) -> Scene:
    return Scene(state, project)


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    """The file in which runtimes write that they were started."""
    return tmp_path / "marks"


@pytest.fixture
def runtime(marks: Path) -> Runtime:
    """Make a `supervisor` that writes its mark and its arguments, and ends."""

    def make(folder: Path, mark: str) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "supervisor"
        path.write_text(
            f"#!/bin/sh\n# the sidecar of a test\necho {mark} $* $PWD >> {marks}\n", encoding="utf-8"
        )
        path.chmod(0o755)
        return path

    return make
