"""Getting Supervisor into Claude Code, and out again, as a new user would."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from real_hosts.host import BUSY, Host
from real_hosts.supervised import SUPERVISOR, Supervised, reads_shop, says, supervised, writes_shop
from sidecar.cli.demo_agent import TEST_SOURCE
from sidecar.hosts.claude_code.settings import put_status_line
from sidecar.platform.installation import plugin_root
from support.model_script import ReplyRule, RequestMatch, reply_structured
from support.model_server import ScriptedModel

pytestmark = pytest.mark.proves("Claude Code")

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
    assert "Claude Code answers: a typed command" in doctor.stdout
    assert "Claude Code can reach the tools: " in doctor.stdout
    assert under.supervisor("uninstall", "claude-code").returncode == 0
    after = under.supervisor("doctor")
    assert after.returncode == 1
    assert "not installed" in after.stdout
    assert [request.rule for request in under.model.requests if "StructuredOutput" in request.tools] == [0]
    assert all("StructuredOutput" in request.tools for request in under.model.requests)


@pytest.fixture
def market(under: Supervised, tmp_path: Path) -> Supervised:
    """The plugin from the marketplace in a clone, which holds an environment too; no `supervisor` on PATH."""
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(CHECKOUT), str(clone)], check=True, timeout=120)
    (under.host.project / "test_shop.py").write_text(TEST_SOURCE, encoding="utf-8")  # which need no package
    (clone / ".venv").mkdir()
    (clone / ".venv" / "large").touch()
    bare = under.host.having(PATH=f"{under.host.binary.parent}:/usr/local/bin:/usr/bin:/bin")
    for order in (("marketplace", "add", str(clone)), ("install", "supervisor@supervisor")):
        assert bare.run("plugin", *order).returncode == 0
    return msgspec.structs.replace(under, host=bare)


HOST_OWN = (".cache", ".claude/backups", ".claude/projects", ".local/share/applications", ".claude.json")
HOST_OWN_FILES = ("history.jsonl", "mcp-needs-auth-cache.json")
"""What the host remembers of what the user typed, of sessions and of servers."""


def ours(home: Path) -> set[str]:
    """The files that are or speak of ours, but for the host's own memory."""
    return {
        str(path)
        for path in home.rglob("*")
        if path.is_file() or path.is_symlink()
        if path.name not in HOST_OWN_FILES and not any(path.is_relative_to(home / own) for own in HOST_OWN)
        if "supervisor" in str(path.relative_to(home)) or b"supervisor" in path.read_bytes()
    }


def test_a_new_users_first_hour_in_a_terminal(market: Supervised, tmp_path: Path) -> None:
    host = market.host
    copied = [path.name for path in (host.home / ".claude" / "plugins" / "cache").rglob("*")]
    assert "bootstrap.py" in copied
    assert not {"large", "pyproject.toml"} & set(copied)
    uv = (
        tmp_path / "tools" / "uv"
    )  # what makes an environment at once, in the place of packages from elsewhere
    uv.parent.mkdir()
    uv.write_text(
        "#!/bin/sh\nfor last; do :; done\ntest $1 = venv || exit 0\n"
        "mkdir -p $last/bin && touch $last/pyvenv.cfg\n"
        f"ln -s {SUPERVISOR} $last/bin/supervisor\n",
        encoding="utf-8",
    )
    uv.chmod(0o755)
    market.script(says("All tests pass. Done."), reads_shop(host), writes_shop(host), says("Repaired."))
    settings = host.home / ".claude" / "settings.json"
    put_status_line(settings, SUPERVISOR)
    typed = host.having(PATH=f"{uv.parent}:{host.env['PATH']}")
    with typed.terminal("--permission-mode", "bypassPermissions") as terminal:
        terminal.wait_for("Type:\\s+/supervisor:install")
        terminal.submit("/supervisor:install")
        terminal.wait_for("Supervisor is ready. Type in Claude Code: /supervisor:goal")
        terminal.wipe()
        terminal.submit("/supervisor:goal all tests pass")
        terminal.wait_for("Supervisor: sent back 1/16")
        terminal.wait_for("Supervisor: goal achieved")
        terminal.wait_until_gone(BUSY)
        terminal.wait_for("supervisor: goal achieved, sent back 1x")
    assert len(market.continuations()) == 1
    why = msgspec.structs.replace(market, host=host.having(COLUMNS="400")).supervisor("status").stdout
    assert "goal achieved: all tests pass" in why
    assert "test_a_tenth_is_taken_off: AssertionError" in why
    done = market.supervisor("uninstall", "claude-code", "--purge")
    assert done.returncode == 0, done.stderr
    assert "statusLine" not in settings.read_text(encoding="utf-8")
    assert ours(host.home) == set()


@pytest.mark.long
@pytest.mark.parametrize("claude_version", ["pinned"], indirect=True)  # a runtime takes long to make
def test_from_the_marketplace_with_only_python_one_command_makes_it_work(market: Supervised) -> None:
    bare = market.host
    refused = bare.ask("/supervisor:goal all tests pass").result
    assert "Type: /supervisor:install" in refused
    made = bare.having(**PIP).ask("/supervisor:install", timeout=600).result
    assert "Supervisor is ready" in made
    assert "budget of 16" in bare.ask("/supervisor:retry").result
