"""The plugin in its host: found, put in, taken out; beside a claude that keeps simple books."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import sidecar
from sidecar.hosts.claude_code.install import ClaudeCodeInstaller, InstalledPlugin
from sidecar.platform import installation
from sidecar.platform.installation import HostError

pytestmark = pytest.mark.process

BOOKS = """\
#!/bin/sh
echo "$@" >> "$HOME/asked"
case "$*" in
  "plugin list --json") cat "$HOME/installed" ;;
  "plugin marketplace list --json") cat "$HOME/known" ;;
  "plugin fails") echo "some output"; echo "  the reason" >&2; exit 3 ;;
  *) echo "Working..."; echo "Done $1" ;;
esac
"""


@pytest.fixture
def claude(tmp_path: Path, home_is_a_fresh_folder: Path) -> Path:
    path = tmp_path / "bin" / "claude"
    path.parent.mkdir()
    path.write_text(BOOKS, encoding="utf-8")
    path.chmod(0o755)
    (home_is_a_fresh_folder / "installed").write_text(
        '[{"id":"supervisor@supervisor","version":"0.1.0","scope":"user","enabled":true},'
        '{"id":"other@supervisor","scope":"user"},'
        '{"id":"supervisor@supervisor","scope":"project","projectPath":"/p"}]',
        encoding="utf-8",
    )
    (home_is_a_fresh_folder / "known").write_text('[{"name":"supervisor","path":"/x"}]', encoding="utf-8")
    return path


@pytest.fixture
def host(claude: Path, tmp_path: Path) -> ClaudeCodeInstaller:
    return ClaudeCodeInstaller({**os.environ, "PATH": f"{claude.parent}:/bin"}, tmp_path / "..")


def test_the_plugins_folder_is_whole() -> None:
    root = installation.plugin_root()
    for name in (
        ".claude-plugin/plugin.json",
        "hooks/hooks.json",
        "hooks/relay.py",
        "commands/goal.md",
    ):
        assert (root / name).is_file()


def test_the_plugin_inside_the_package_serves_where_there_is_no_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sidecar, "__file__", str(tmp_path / "sidecar" / "__init__.py"))
    with pytest.raises(HostError, match="neither beside") as caught:
        installation.plugin_root()
    assert caught.value.moves
    inside = tmp_path / "sidecar" / "_plugin"
    for name in (".claude-plugin/plugin.json", "hooks/hooks.json"):
        (inside / name).parent.mkdir(parents=True)
        (inside / name).touch()
    assert installation.plugin_root() == inside


def test_a_step_that_fails_has_the_hosts_reason_and_the_line_to_try(
    host: ClaudeCodeInstaller, claude: Path
) -> None:
    with pytest.raises(HostError, match=r"^claude plugin fails failed: the reason$") as caught:
        host.program.last_line("plugin", "fails")
    assert caught.value.moves == (f"try it yourself: {claude} plugin fails",)


def test_our_installations_are_told_from_those_of_others(host: ClaudeCodeInstaller) -> None:
    assert host.installed() == (
        InstalledPlugin("supervisor@supervisor", "user"),
        InstalledPlugin("supervisor@supervisor", "project", "/p"),
    )
    assert host.known()


@pytest.mark.parametrize("books", ["", "no list", '[{"name":1}]'])
def test_a_list_that_is_none_is_an_error(
    host: ClaudeCodeInstaller, home_is_a_fresh_folder: Path, books: str
) -> None:
    (home_is_a_fresh_folder / "known").write_text(books, encoding="utf-8")
    with pytest.raises(HostError, match="no list"):
        host.known()


def test_a_claude_inside_the_project_is_not_run(claude: Path, tmp_path: Path) -> None:
    project = claude.parent.parent
    with pytest.raises(HostError, match="not on PATH") as caught:
        ClaudeCodeInstaller({"PATH": str(claude.parent), "HOME": str(tmp_path.parent)}, project).installed()
    assert caught.value.moves


def test_a_package_that_cannot_be_compiled_is_told_and_one_that_is_not_installed_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "package_with_a_fault"
    broken.mkdir()
    (broken / "__init__.py").write_text("def (", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(installation, "COMPILED", ("no_such_package", broken.name))
    assert installation.compiled_packages() == installation.compile_packages() == (broken.name,)
