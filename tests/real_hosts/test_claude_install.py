"""Getting Supervisor into Claude Code, and out again, as a new user would."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from real_hosts.host import Host
from real_hosts.supervised import Supervised, supervised
from sidecar.cli.scripted.model_script import ReplyRule, RequestMatch, reply_structured
from sidecar.cli.scripted.model_server import ScriptedModel
from sidecar.platform.installation import plugin_root

CHECKOUT = Path(__file__).resolve().parent.parent.parent
PIP = {
    name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "REQUESTS_", "UV_"))
}
"""How this machine reaches its package index."""


@pytest.fixture
def under(host: Host, model: ScriptedModel) -> Iterator[Supervised]:
    with supervised(host, model, environment={}) as made:
        (made.state / "runtime").unlink()
        yield made


def test_the_plugin_is_valid_to_the_strictest_eye(under: Supervised) -> None:
    for root in (plugin_root(), CHECKOUT):
        done = under.host.run("plugin", "validate", "--strict", str(root))
        assert done.returncode == 0, done.stdout + done.stderr


def test_one_command_installs_it_doctor_sees_every_link_and_uninstall_leaves_nothing_behind(
    under: Supervised,
) -> None:
    before = under.supervisor("doctor")
    assert before.returncode == 1
    assert "type: supervisor install claude-code" in before.stdout
    for _ in range(2):
        installed = under.supervisor("install", "claude-code")
        assert installed.returncode == 0, installed.stderr
    met = {
        "verdict": "complete",
        "criteria": [{"criterion": "notes.txt", "evidence": ["E1"]}],
        "confidence": 1.0,
    }
    under.script(ReplyRule(reply_structured({"answer": met}), RequestMatch(has_tool="StructuredOutput")))
    doctor = under.supervisor("doctor")
    assert doctor.returncode == 0, doctor.stdout
    assert "the judge answers: complete" in doctor.stdout
    assert "hooks fire" in doctor.stdout
    assert "Claude Code can reach the tools: " in doctor.stdout
    assert "budget of 16" in under.host.ask("/supervisor:retry").result
    assert under.supervisor("uninstall", "claude-code").returncode == 0
    after = under.supervisor("doctor")
    assert after.returncode == 1
    assert "not installed" in after.stdout
    assert [request.rule for request in under.model.requests if "StructuredOutput" in request.tools] == [0]
    assert all("StructuredOutput" in request.tools for request in under.model.requests)


@pytest.mark.long
@pytest.mark.parametrize("claude_version", ["pinned"], indirect=True)  # a runtime takes long to make
def test_from_the_marketplace_with_only_python_the_line_it_greets_with_makes_it_work(
    under: Supervised, tmp_path: Path
) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(CHECKOUT), str(clone)], check=True, timeout=60)
    bare = under.host.having(PATH=f"{under.host.binary.parent}:/usr/local/bin:/usr/bin:/bin")
    for order in (("marketplace", "add", str(clone)), ("install", "supervisor@supervisor")):
        assert bare.run("plugin", *order).returncode == 0
    refused = bare.ask("/supervisor:goal all tests pass").result
    found = re.search(r"Type: ! (.+bootstrap\.py\S*)", refused)
    assert found is not None, refused
    made = subprocess.run(
        shlex.split(found[1]), cwd=under.host.project, env={**bare.env, **PIP},
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    assert "budget of 16" in bare.ask("/supervisor:retry").result


@pytest.mark.long
def test_the_demo_plays_through_the_real_host(under: Supervised) -> None:
    done = under.supervisor("demo", "--host", "claude")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test_a_tenth_is_taken_off" in done.stdout
    assert "goal achieved" in done.stdout
