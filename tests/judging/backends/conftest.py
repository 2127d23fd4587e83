"""A scripted model to be asked, and no waiting between tries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import stamina

from support.model_server import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def no_wait_between_tries() -> Iterator[None]:
    with stamina.set_testing(testing=True, attempts=3, cap=True):
        yield


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as model:
        yield model
