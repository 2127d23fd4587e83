from __future__ import annotations

import pytest

from support.fakes import Fakes


@pytest.fixture
def fakes() -> Fakes:
    return Fakes()
