"""The plugin's files in a host, compared with those that an installer recorded."""

from __future__ import annotations

import base64
import hashlib
import shutil
from pathlib import Path

import pytest

from sidecar import __version__
from sidecar.hosts.claude_code import settings as plugin
from sidecar.hosts.opencode import plugin_file
from sidecar.platform import installation
from sidecar.platform.installation import altered_plugin_files, plugin_root

pytestmark = pytest.mark.proves("crashes and bad input")


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The plugin of a package that an installer wrote, in the place of the checkout."""
    packages = tmp_path / "site-packages"
    root, record = packages / "sidecar" / "_plugin", []
    for part in ("hooks", "commands", ".claude-plugin", "rubric"):
        shutil.copytree(
            plugin_root() / part, root / part, ignore=shutil.ignore_patterns("plugin", "__pycache__")
        )
    for path in (one for one in root.rglob("*") if one.is_file()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest()).rstrip(b"=").decode()
        record.append(f"{path.relative_to(packages)},sha256={digest},{path.stat().st_size}\n")
    record.sort()
    record.append("sidecar/_plugin/hooks/__pycache__/cold.cpython-311.pyc,,\n")
    noted = packages / f"supervisor_sidecar-{__version__}.dist-info" / "RECORD"
    noted.parent.mkdir()
    noted.write_text("".join(record), encoding="utf-8")
    monkeypatch.setattr(installation, "code_root", lambda: str(packages))
    monkeypatch.setattr(plugin, "plugin_root", lambda: root)
    return root


def append(path: Path) -> None:
    """Write into a file as a shell does."""
    with path.open("a", encoding="utf-8") as file:
        file.write(" \n")


def test_claude_code_is_told_of_altered_hooks_and_an_install_repairs_its_copy(
    installed: Path, tmp_path: Path
) -> None:
    config = {"CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}
    copy = plugin.cached_plugins(config) / "supervisor" / __version__
    shutil.copytree(installed, copy)
    loads = {**config, "CLAUDE_PLUGIN_ROOT": str(copy)}
    assert plugin.altered_plugin(loads) == ""
    append(copy / "hooks" / "relay.py")
    (copy / "hooks" / "cold.py").unlink()
    assert plugin.altered_plugin(loads) == (
        f"Supervisor: hooks/cold.py, hooks/relay.py of the plugin in {copy} is not what was installed. "
        "Type: supervisor install claude-code"
    )
    (copy.parents[1] / "supervisor-rubric" / __version__).mkdir(parents=True)  # has no such files
    plugin.repair_copies(config)
    assert plugin.altered_plugin(loads) == ""
    append(installed / "hooks" / "hooks.json")
    assert "uv tool install --reinstall" in plugin.altered_plugin({"CLAUDE_PLUGIN_ROOT": str(installed)})
    append(copy / "hooks" / "hooks.json")
    older = shutil.copytree(copy, copy.with_name("0.1.9"))
    for honest in (older, tmp_path / "checkout", Path()):
        assert plugin.altered_plugin({**config, "CLAUDE_PLUGIN_ROOT": str(honest)}) == ""


def test_opencode_is_told_of_an_altered_file(tmp_path: Path) -> None:
    environment = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "HOME": str(tmp_path)}
    path = tmp_path / "config" / "opencode" / "plugin" / "supervisor.js"
    offers = plugin_file.InstallationInfo("supervisor", __version__)
    assert plugin_file.altered_plugin(environment, tmp_path / "project") == ""
    plugin_file.write_plugin_file(path, plugin_file.bake_plugin_file(plugin_root(), offers))
    assert plugin_file.altered_plugin(environment, tmp_path / "project") == ""
    append(path)
    told = plugin_file.altered_plugin(environment, tmp_path / "project")
    assert told.startswith(f"Supervisor: {path} is not what was installed. Type: supervisor install opencode")


def test_a_checkout_was_not_installed() -> None:
    assert altered_plugin_files(plugin_root()) == ()
