"""Installing and uninstalling, beside a claude that keeps simple books."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sidecar import cli
from sidecar.cli import config
from sidecar.hosts.claude_code import settings as plugin
from sidecar.hosts.installers import INSTALLERS
from sidecar.platform import installation
from sidecar.platform.client import SidecarClient, StopOutcome
from sidecar.platform.paths import user_paths

pytestmark = pytest.mark.process

BOOKS = """\
#!/bin/sh
echo "$*" >> "$HOME/asked"
case "$*" in
  "plugin list --json") cat "$HOME/installed" ;;
  "plugin marketplace list --json") cat "$HOME/known" ;;
  *) echo "the host did it" ;;
esac
"""


class Host:
    """A claude on PATH, and the `supervisor` that asks it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.claude = home / "bin" / "claude"
        self.claude.parent.mkdir()
        self.claude.write_text(BOOKS, encoding="utf-8")
        self.claude.chmod(0o755)
        self.keeps("[]", "[]")

    def keeps(self, installed: str, known: str) -> None:
        (self.home / "installed").write_text(installed, encoding="utf-8")
        (self.home / "known").write_text(known, encoding="utf-8")

    @property
    def asked(self) -> list[str]:
        """What it was asked to change."""
        asked = self.home / "asked"
        lines = asked.read_text(encoding="utf-8").splitlines() if asked.exists() else []
        return [line for line in lines if not line.endswith("--json")]


@pytest.fixture
def host(home_is_a_fresh_folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Host:
    host = Host(home_is_a_fresh_folder)
    monkeypatch.setenv("PATH", f"{host.claude.parent}:/bin")
    monkeypatch.setattr(installation, "COMPILED", ("sidecar",))
    monkeypatch.chdir(tmp_path)
    return host


@pytest.fixture
def command(home_is_a_fresh_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The `supervisor` that runs."""
    path = home_is_a_fresh_folder / "venv" / "supervisor"
    path.parent.mkdir()
    path.touch(mode=0o755)
    monkeypatch.setattr(sys, "argv", [str(path)])
    return path


USER = '{"id":"supervisor@supervisor","scope":"user"}'
ADD = f"plugin marketplace add {installation.plugin_root()}"
KNOWN = '[{"name":"supervisor"}]'


@pytest.mark.proves("the loop")
@pytest.mark.parametrize("scope", ["user", "project"])
def test_installing_records_the_runtime_and_asks_the_host_to_do_the_rest(
    host: Host, command: Path, capsys: pytest.CaptureFixture[str], scope: str
) -> None:
    for _ in range(2):
        assert cli.run_command(["install", "claude-code", "--scope", scope]) == 0
    assert user_paths().recorded_runtime() == command
    assert host.asked == [ADD, f"plugin install supervisor@supervisor --scope {scope}"] * 2
    said = capsys.readouterr().out
    for line in (
        f"record {command} in ",
        f"claude {host.asked[0]}",
        f"claude {host.asked[1]}",
        "the host did it",
    ):
        assert line in said


@pytest.mark.usefixtures("host", "command")
def test_installed_in_shadow_mode_it_says_so_and_the_rest_of_the_settings_stays(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = config.config_path()
    place.parent.mkdir(parents=True)
    place.write_text("max_attempts = 3\n", encoding="utf-8")
    typed = ["install", "claude-code", "--shadow"]
    assert cli.run_command([*typed, "--print-only"]) == 0
    assert "until you type: supervisor on" in capsys.readouterr().out
    assert place.read_text(encoding="utf-8") == "max_attempts = 3\n"
    assert cli.run_command(typed) == 0
    assert place.read_text(encoding="utf-8") == 'mode = "shadow"\nmax_attempts = 3\n'
    monkeypatch.setenv("CLAUDECODE", "1")
    assert cli.run_command(typed) == 1
    assert "only the user may do this" in capsys.readouterr().err


@pytest.mark.usefixtures("command")
def test_without_the_host_nothing_is_half_done(host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    host.claude.unlink()
    assert cli.run_command(["install", "claude-code", "--shadow"]) == 1
    assert "  - add its folder to PATH\n" in capsys.readouterr().err
    assert (user_paths().recorded_runtime(), config.config_path().exists()) == (None, False)


@pytest.mark.usefixtures("host")
def test_a_sidecar_without_a_command_that_a_host_could_start_is_not_installed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "__main__.py")])
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path))
    assert cli.run_command(["install", "claude-code"]) == 1
    assert "there is no `supervisor` command" in capsys.readouterr().err


@pytest.mark.usefixtures("command")
def test_the_second_plugin_is_installed_only_where_it_is_wanted(host: Host) -> None:
    assert cli.run_command(["install", "claude-code", "--with-rubric-editor"]) == 0
    assert host.asked == [
        ADD,
        "plugin install supervisor@supervisor --scope user",
        "plugin install supervisor-rubric@supervisor --scope user",
    ]


def test_uninstalling_takes_out_both_plugins_and_then_the_marketplace(host: Host, command: Path) -> None:
    user_paths().record_runtime(command)
    host.keeps(f'[{{"id":"supervisor-rubric@supervisor","scope":"user"}},{USER}]', KNOWN)
    assert cli.run_command(["uninstall", "claude-code"]) == 0
    assert host.asked == [
        "plugin uninstall supervisor@supervisor --scope user",
        "plugin uninstall supervisor-rubric@supervisor --scope user",
        "plugin marketplace remove supervisor",
    ]
    assert user_paths().recorded_runtime() is None


def test_uninstalling_undoes_it_and_names_what_stays(
    host: Host, command: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    user_paths().record_runtime(command)
    host.keeps(f"[{USER}]", KNOWN)
    assert cli.run_command(["uninstall", "claude-code"]) == 0
    assert host.asked == [
        "plugin uninstall supervisor@supervisor --scope user",
        "plugin marketplace remove supervisor",
    ]
    assert user_paths().recorded_runtime() is None
    said = capsys.readouterr().out
    assert f"stays in {user_paths().state}" in said
    assert "To remove both: supervisor uninstall claude-code --purge" in said


def test_a_purge_removes_state_and_settings_with_the_last_host_alone_and_is_the_users(
    host: Host, command: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("a sidecar of any code is ended, and asked nothing")

    for asking in ("call", "greet"):
        monkeypatch.setattr(SidecarClient, asking, never)
    monkeypatch.setattr(config.CommandLineFiles, "vouch", lambda *_: None)  # greets once the sidecar is gone
    both = f'[{USER},{{"id":"supervisor@supervisor","scope":"project","projectPath":"/p"}}]'
    for installed, agent, left in ((both, "", True), (f"[{USER}]", "1", True), (f"[{USER}]", "", False)):
        user_paths().record_runtime(command)
        user_paths().config.mkdir(parents=True, exist_ok=True)
        host.keeps(installed, KNOWN)
        monkeypatch.setenv("CLAUDECODE", agent)
        assert cli.run_command(["uninstall", "claude-code", "--purge"]) == bool(agent)
        assert [user_paths().state.exists(), user_paths().config.exists()] == [left, left]


def test_an_upgrade_renews_the_plugin_wherever_it_is_and_nowhere_else(
    host: Host, command: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run_command(["upgrade"]) == 1
    assert "".join(f"  - supervisor install {host}\n" for host in INSTALLERS) in capsys.readouterr().err
    assert cli.run_command(["install", "opencode"]) == 0
    file = user_paths().config.parent / "opencode" / "plugin" / "supervisor.js"
    file.write_text(file.read_text(encoding="utf-8").replace(str(command), "/elsewhere"), encoding="utf-8")
    host.keeps(f'[{USER},{{"id":"supervisor@supervisor","scope":"project","projectPath":"/p"}}]', KNOWN)
    assert cli.run_command(["upgrade", "--print-only"]) == 0
    assert host.asked == []
    assert cli.run_command(["upgrade"]) == 0
    assert host.asked == [ADD, "plugin update supervisor@supervisor --scope user"]
    assert f"  the sidecar: {StopOutcome.ABSENT}\n" in capsys.readouterr().out
    assert str(command) in file.read_text(encoding="utf-8")
    assert user_paths().recorded_runtime() == command


# --- what the agent is denied -------------------------------------------------------------------------------


def settings_of(host: Host, text: str = '{\n  "model": "opus",\n  "n": 1.0,\n  "none": {}\n}\n') -> Path:
    path = host.home / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.usefixtures("command")
def test_a_runtime_at_another_place_takes_the_place_of_the_old_one(host: Host) -> None:
    settings = settings_of(host, '{"permissions": {"deny": ["Bash(rm *)"], "allow": []}}')
    user_paths().record_runtime(host.home / "old" / "supervisor")
    user_paths().config.mkdir(parents=True)
    rules = plugin.deny_rules(user_paths(), host.home / "old" / "supervisor")
    plugin.replace_deny_rules(settings, (), rules)
    assert cli.run_command(["install", "claude-code"]) == 0
    text = settings.read_text(encoding="utf-8")
    assert ("~/old/supervisor" in text, "~/venv/supervisor" in text, "Bash(rm *)" in text) == (
        False,
        True,
        True,
    )
