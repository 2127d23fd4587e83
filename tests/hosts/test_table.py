"""What the table of hosts names is there: a module is imported only when its host speaks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from sidecar.kernel.events import SessionOrigin, SessionStarted
from sidecar.kernel.session import SessionKey
from sidecar.wiring.hosts import HOSTS, altered_plugin, build_toasts

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", HOSTS)
def test_a_host_has_its_codec_its_record_and_its_plugin(name: str, tmp_path: Path) -> None:
    clock = SimpleNamespace(pause=None, now=None)
    services: Any = SimpleNamespace(clock=clock, workspace=None, store=None)
    key, environment = SessionKey(name, "s"), {"HOME": str(tmp_path)}
    event = SessionStarted(
        key=key, project=str(tmp_path), environment=environment, origin=SessionOrigin.STARTUP
    )

    assert callable(HOSTS[name].codec().decode)
    assert callable(HOSTS[name].record(services).read)
    assert altered_plugin(name, event) == ""


def test_toasts_can_be_shown() -> None:
    assert callable(build_toasts().remember)
