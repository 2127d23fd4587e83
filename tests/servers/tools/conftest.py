from __future__ import annotations

import pytest

from servers.tools.desk import Desk


@pytest.fixture
async def desk() -> Desk:
    desk = Desk()
    await desk.meet()
    return desk
