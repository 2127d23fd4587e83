"""Installing into OpenCode and uninstalling: one file, none of the user's touched, twice as good as once."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from sidecar import cli
from sidecar.hosts.opencode.plugin_file import identify_plugin_file
from sidecar.platform import installation
from sidecar.platform.paths import user_paths

CLAUDE = """\
#!/bin/sh
case "$*" in
  "plugin list --json") cat "$HOME/installed" ;;
  "plugin marketplace list --json") echo "[]" ;;
esac
"""


class Here:
    """A user's home and project."""

    def __init__(self, home: Path, project: Path) -> None:
        self.home = home
        self.project = project
        self.user = home / ".config" / "opencode"
        self.shared = project / ".opencode"
        self.file = self.user / "plugin" / "supervisor.js"

    def tree(self) -> dict[str, bytes | str]:
        """All that is in the folders of configuration and the project, to the byte."""
        places = [*(self.home / ".config").rglob("*"), *self.project.rglob("*")]
        return {
            str(path): "link" if path.is_symlink() else path.read_bytes() if path.is_file() else "folder"
            for path in places
        }

    def has_claude(self, installed: str) -> None:
        """A claude on PATH that lists these plugins."""
        (self.home / "installed").write_text(installed, encoding="utf-8")
        claude = self.home / "bin" / "claude"
        claude.write_text(CLAUDE, encoding="utf-8")
        claude.chmod(0o755)


@pytest.fixture
def here(home_is_a_fresh_folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Here:
    (home_is_a_fresh_folder / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{home_is_a_fresh_folder / 'bin'}:/bin")
    monkeypatch.setattr(installation, "COMPILED", ("sidecar",))
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    monkeypatch.chdir(project)
    return Here(home_is_a_fresh_folder, project)


@pytest.fixture(autouse=True)
def command(home_is_a_fresh_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The `supervisor` that runs."""
    path = home_is_a_fresh_folder / "venv" / "supervisor"
    path.parent.mkdir()
    path.touch(mode=0o755)
    monkeypatch.setattr(sys, "argv", [str(path)])
    return path


def install(*arguments: str) -> int:
    return cli.run_command(["install", "opencode", *arguments])


def uninstall(*arguments: str) -> int:
    return cli.run_command(["uninstall", "opencode", *arguments])


@pytest.mark.proves("the loop")
def test_one_command_writes_the_file_the_stand_in_and_the_runtime(
    here: Here, command: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert install() == 0
    found = identify_plugin_file(here.file)
    assert found is not None
    assert not found.changed
    text = here.file.read_text(encoding="utf-8")
    assert "const SETUP = {}" not in text
    if "mcp" in cli.VERBS:
        assert re.search(rf'"{re.escape(str(command))}",\s+"mcp"', text)
    assert user_paths().recorded_runtime() == command
    assert sorted(path.name for path in here.user.iterdir()) == [
        "node_modules",
        "package-lock.json",
        "plugin",
    ]
    said = capsys.readouterr().out
    assert f"write {here.file}\n  written\nput a stand-in for npm's packages into {here.user}: " in said
    assert re.findall("note: .*", said) == ["note: opencode is not on PATH here"]
    assert said.endswith("Done. Start opencode in a project and type: /supervisor:goal all tests pass\n")


def test_the_second_time_nothing_changes_and_it_says_so(
    here: Here, capsys: pytest.CaptureFixture[str]
) -> None:
    install()
    before = here.tree()
    capsys.readouterr()
    assert install() == 0
    assert here.tree() == before
    said = capsys.readouterr().out
    assert "  unchanged\n" in said
    assert "stand-in" not in said


@pytest.mark.parametrize("scope", ["user", "project"])
def test_uninstalling_leaves_the_tree_as_it_was_to_the_byte_and_may_be_done_twice(
    here: Here, scope: str
) -> None:
    here.user.mkdir()
    (here.user / "opencode.jsonc").write_text('{ // mine\n "theme": "x", }', encoding="utf-8")
    (here.user / ".gitignore").write_text("node_modules", encoding="utf-8")
    before = here.tree()
    assert install("--scope", scope) == 0
    assert here.tree() != before
    for _ in range(2):
        assert uninstall("--scope", scope) == 0
        assert here.tree() == before
    assert user_paths().recorded_runtime() is None


def test_a_project_gets_a_file_that_names_nobodys_home(here: Here, command: Path) -> None:
    assert install("--scope", "project") == 0
    text = (here.shared / "plugin" / "supervisor.js").read_text(encoding="utf-8")
    assert str(command) not in text
    assert str(here.home) not in text
    if "mcp" in cli.VERBS:
        assert re.search(r'"supervisor",\s+"mcp"', text)
    assert not here.file.exists()
    assert (here.shared / "package-lock.json").exists()
    assert (here.user / "package-lock.json").exists()  # the host waits for this folder too


def test_the_users_stand_in_outlives_a_projects_file_while_the_users_file_needs_it(here: Here) -> None:
    install()
    before = here.tree()
    install("--scope", "project")
    uninstall("--scope", "project")
    assert here.tree() == before


def test_another_file_of_that_name_is_kept_and_stays_after_uninstalling(
    here: Here, capsys: pytest.CaptureFixture[str]
) -> None:
    here.file.parent.mkdir(parents=True)
    here.file.write_text("theirs", encoding="utf-8")
    assert install() == 0
    aside = here.file.with_name("supervisor.js.bak")
    assert f"written: what was there is kept in {aside}" in capsys.readouterr().out
    assert uninstall() == 0
    assert [path.name for path in here.file.parent.iterdir()] == ["supervisor.js.bak"]
    assert aside.read_text(encoding="utf-8") == "theirs"


def test_a_file_that_is_not_ours_is_not_uninstalled(here: Here, capsys: pytest.CaptureFixture[str]) -> None:
    here.file.parent.mkdir(parents=True)
    here.file.write_text("theirs", encoding="utf-8")
    before = here.tree()
    assert uninstall() == 0
    assert here.tree() == before
    assert f"no file of ours is in {here.user}" in capsys.readouterr().out


def test_a_later_plugin_that_may_need_packages_gets_them_by_installing_again(
    here: Here, capsys: pytest.CaptureFixture[str]
) -> None:
    install()
    (here.user / "plugin" / "later.ts").write_text(
        'import { tool } from "@opencode-ai/plugin"', encoding="utf-8"
    )
    capsys.readouterr()
    assert install() == 0
    assert "later.ts may need them" in capsys.readouterr().out
    assert sorted(path.name for path in here.user.iterdir()) == ["plugin"]
    assert install() == 0
    assert sorted(path.name for path in here.user.iterdir()) == ["plugin"]


def test_what_makes_a_second_copy_or_keeps_it_from_loading_is_said(
    here: Here, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (here.project / "opencode.json").write_text(
        json.dumps({"plugin": [f"file://{here.file}"]}), encoding="utf-8"
    )
    install("--scope", "project")
    monkeypatch.setenv("OPENCODE_PURE", "1")
    capsys.readouterr()
    install()
    said = capsys.readouterr().out
    assert f"note: {here.shared / 'plugin' / 'supervisor.js'} is there too" in said
    assert f"note: {here.project / 'opencode.json'} names a supervisor.js" in said
    assert "note: OPENCODE_PURE is set" in said
    assert "note: opencode is not on PATH here" in said


@pytest.mark.process
@pytest.mark.parametrize("listed", ['[{"id":"supervisor@supervisor","scope":"user"}]', "garbage"])
def test_claude_code_keeps_the_runtime_also_where_it_does_not_tell(
    here: Here, capsys: pytest.CaptureFixture[str], listed: str
) -> None:
    here.has_claude(listed)
    install()
    assert uninstall() == 0
    assert user_paths().recorded_runtime() is not None
    assert "Claude Code needs the sidecar" in capsys.readouterr().out


def test_a_file_where_the_folder_belongs_is_a_plain_refusal_with_what_to_type(
    here: Here, capsys: pytest.CaptureFixture[str]
) -> None:
    here.user.write_text("in the way", encoding="utf-8")
    assert install() == 1
    told = capsys.readouterr().err
    assert f"supervisor: {here.user} cannot be written: " in told
    assert f"  - look at it: ls -ld {here.user}\n" in told
    assert here.user.read_text(encoding="utf-8") == "in the way"


# --- the status line ---


@pytest.mark.proves("seeing and asking back")
@pytest.mark.parametrize(
    ("there", "noted"),
    [(None, False), ('{"theme": "one"}\n', True), ('{"plugin": ["./supervisor-status.js"]}', True)],
)
def test_the_status_line_comes_when_it_is_wanted_is_renewed_and_goes_without_an_edit(
    here: Here, command: Path, capsys: pytest.CaptureFixture[str], there: str | None, *, noted: bool
) -> None:
    tui, status = here.user / "tui.json", here.user / "supervisor-status.js"
    assert install() == 0
    assert not status.exists()
    if there:
        tui.write_text(there, encoding="utf-8")
    assert install("--status-line") == 0
    first, text = status.read_text(encoding="utf-8"), tui.read_text(encoding="utf-8")
    assert f'const SETUP = {{\n  "command": "{command}"\n}}' in first
    assert (text == there) if there else json.loads(text) == {"plugin": ["./supervisor-status.js"]}
    status.write_text(first.replace("version ", "version 0.0."), encoding="utf-8")
    assert install() == 0
    assert status.read_text(encoding="utf-8") == first
    assert uninstall() == 0
    said = capsys.readouterr().out
    assert ("  name it in" in said or "  take supervisor-status.js out of" in said) is noted
    assert (status.exists(), tui.read_text(encoding="utf-8") if tui.exists() else None) == (False, there)
