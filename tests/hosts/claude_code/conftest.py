"""A transcript that grows, for every test here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hosts.claude_code.writing import Transcript

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def transcript(tmp_path: Path) -> Transcript:
    return Transcript(tmp_path / "t.jsonl")
