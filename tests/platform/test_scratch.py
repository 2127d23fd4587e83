"""Temporary folders vanish, those of a killed process too."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from sidecar.platform.files import scratch_folder
from support.loops import run


@pytest.mark.process
def test_a_folder_vanishes_and_so_do_those_of_dead_processes_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    line = [sys.executable, "-c", "import os; print(os.getpid())"]
    gone = subprocess.run(line, capture_output=True, check=True)
    others = [f"supervisor-copy-{os.getpid()}-x", "supervisor-copy-mine", "supervisor-gate-9-x", "copy-1-x"]
    for name in (f"supervisor-copy-{int(gone.stdout)}-x", *others):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()

    async def scene() -> None:
        async with scratch_folder("copy") as folder:
            (folder / "file").touch()
            assert folder.parent == tmp_path

    run(scene())
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(others)
