"""The demo's story, through the real OpenCode."""

from __future__ import annotations

from hosts.opencode_host import OpenCode
from hosts.opencode_supervised import supervised
from sidecar.adapters.scripted.model_server import ScriptedModel


def test_the_demo_plays_through_the_real_opencode(opencode_host: OpenCode, model: ScriptedModel) -> None:
    with supervised(opencode_host, model) as under:
        done = under.supervisor("demo", "--host", "opencode")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("what the agent is told") == 2
    assert "goal achieved" in done.stdout
    assert model.requests == ()
