"""The demo's story, through the real OpenCode."""

from __future__ import annotations

import pytest

from real_hosts.opencode_host import OpenCode
from real_hosts.opencode_supervised import supervised
from sidecar.cli.scripted.model_server import ScriptedModel


@pytest.mark.long
def test_the_demo_plays_through_the_real_opencode(opencode_host: OpenCode, model: ScriptedModel) -> None:
    with supervised(opencode_host, model) as under:
        done = under.supervisor("demo", "--host", "opencode")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("what the agent is told") == 2
    assert "goal achieved" in done.stdout
    assert model.requests == ()
