"""Getting Supervisor into a real OpenCode, and out again, as a new user would."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from real_hosts.opencode_host import OpenCode
from real_hosts.opencode_supervised import Supervised, lay_out
from sidecar import cli
from support.model_server import ScriptedModel

pytestmark = pytest.mark.proves("OpenCode")

ASKED_LIMIT_S: Final = 120.0
"""Longest time, in seconds, until a host that wants packages asks for them."""
COMMANDS: Final = {"supervisor:goal", "supervisor:retry", "supervisor:rubric"}


@pytest.fixture
def under(opencode_host: OpenCode, model: ScriptedModel) -> Iterator[Supervised]:
    """A user with a project and an OpenCode, who knows nothing of Supervisor yet."""
    lay_out(opencode_host.project)
    path = os.pathsep.join((str(opencode_host.binary.parent), opencode_host.env["PATH"]))
    under = Supervised(opencode_host.having(PATH=path), model)
    try:
        yield under
    finally:
        under.supervisor("stop")


def typed(under: Supervised, *arguments: str) -> str:
    """What `supervisor ARGUMENTS` says, which must succeed."""
    done = under.supervisor(*arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def configuration(host: OpenCode) -> dict[str, Any]:
    """The host's own resolved configuration, after plugins added theirs."""
    done = host.run("debug", "config")
    assert done.returncode == 0, done
    found: dict[str, Any] = msgspec.json.decode(done.stdout)
    return found


def tree(*folders: Path) -> dict[str, bytes | None]:
    """Everything below the folders, to the byte."""
    return {
        str(path): path.read_bytes() if path.is_file() else None
        for folder in folders
        for path in folder.rglob("*")
    }


def test_one_command_installs_it_doctor_sees_every_link_and_uninstall_leaves_no_byte(
    under: Supervised,
) -> None:
    assert COMMANDS.isdisjoint(configuration(under.host).get("command", {}))  # the host writes files at first
    places = (under.host.config, under.host.project)
    before, at_first = tree(*places), under.supervisor("doctor")
    assert at_first.returncode == 1
    assert "type: supervisor install opencode" in at_first.stdout
    assert "written" in typed(under, "install", "opencode")
    assert "unchanged" in typed(under, "install", "opencode")
    assert "OpenCode answers: a typed command reached the sidecar" in typed(under, "doctor")
    now = configuration(under.host)
    assert set(now["command"]) >= COMMANDS
    assert now["agent"]["supervisor-judge"]["permission"] == {"*": "deny"}
    assert ("supervisor" in now.get("mcp", {})) == ("mcp" in cli.VERBS)
    for _ in range(2):
        typed(under, "uninstall", "opencode")
        assert tree(*places) == before
    assert COMMANDS.isdisjoint(configuration(under.host).get("command", {}))
    assert under.model.requests == ()


@pytest.mark.long
def test_what_the_user_has_under_our_names_wins(under: Supervised) -> None:
    mine = {"type": "local", "command": ["true"], "enabled": False}
    under.host.configure(command={"supervisor:retry": {"template": "Mine."}}, mcp={"supervisor": mine})
    typed(under, "install", "opencode")
    now = configuration(under.host)
    assert now["command"]["supervisor:retry"]["template"] == "Mine."
    assert now["mcp"]["supervisor"] == mine
    assert "$ARGUMENTS" in now["command"]["supervisor:goal"]["template"]


@pytest.mark.long
def test_a_project_alone_may_have_it(under: Supervised) -> None:
    typed(under, "install", "opencode", "--scope", "project")
    assert "budget of 3" in under.command("retry", "3").stdout
    elsewhere = under.host.home.parent / "elsewhere"
    elsewhere.mkdir()
    assert COMMANDS.isdisjoint(configuration(under.host.at(elsewhere)).get("command", {}))


def test_it_switches_on_no_language_server_that_the_user_did_not(under: Supervised) -> None:
    typed(under, "install", "opencode")
    (under.host.project / "notes.md").write_text("# Notes\n", encoding="utf-8")
    done = under.host.run("--print-logs", "debug", "lsp", "diagnostics", "notes.md")
    assert "all LSPs are disabled" in done.stderr, done


# --- npm ----------------------------------------------------------------------------------------------------


@contextmanager
def registry() -> Iterator[tuple[socket.socket, str]]:
    """A registry of packages that takes calls and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener, f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def bare(under: Supervised) -> Supervised:
    """The same, as after its own installation: without any package."""
    (under.host.config / "node_modules").rmdir()
    (under.host.config / "package-lock.json").unlink()
    return under


def asks_for_packages(host: OpenCode) -> bool:
    """Whether a start calls the registry before it has loaded its plugins."""
    with (
        registry() as (listener, url),
        host.having(npm_config_registry=url).started("debug", "config") as process,
    ):
        listener.settimeout(ASKED_LIMIT_S)
        try:
            listener.accept()[0].close()
        except TimeoutError:
            return process.wait(ASKED_LIMIT_S) != 0
        return True


@pytest.mark.long
def test_with_the_stand_in_a_start_asks_nobody_for_packages(bare: Supervised) -> None:
    assert "stand-in" in typed(bare, "install", "opencode")
    with registry() as (listener, url):
        now = configuration(bare.host.having(npm_config_registry=url))
        listener.settimeout(0)
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert set(now["command"]) >= COMMANDS
    typed(bare, "uninstall", "opencode")
    assert not (bare.host.config / "package-lock.json").exists()
    assert not (bare.host.config / "node_modules").exists()


@pytest.mark.long
def test_a_later_plugin_gets_its_packages_after_installing_again(bare: Supervised) -> None:
    typed(bare, "install", "opencode")
    later = bare.host.config / "plugin" / "later.ts"
    later.write_text(
        'import { tool } from "@opencode-ai/plugin"\nexport const L = async () => ({ tool })\n', "utf-8"
    )
    assert "type: supervisor install opencode" in typed(bare, "doctor", "--no-probe")
    assert "later.ts may need them" in typed(bare, "install", "opencode")
    assert asks_for_packages(bare.host)
