"""The agent of a real OpenCode is refused what only the user changes, and nothing else."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from real_hosts.install import missing
from real_hosts.opencode_host import OpenCode
from real_hosts.opencode_supervised import (
    SUPERVISOR,
    Supervised,
    agent,
    reads_shop,
    runs,
    says,
    supervised,
    writes_shop,
)
from sidecar.platform.installation import plugin_root
from support.model_script import ReplyRule, reply_with_calls
from support.model_server import ScriptedModel
from support.model_wire import ReplyToolCall

pytestmark = pytest.mark.proves("OpenCode")

SETTING = "max_attempts = 3\n"
CALLS = Path(__file__).with_name("opencode_calls.mjs")
DELETED = Path(__file__).with_name("opencode_deleted.mjs")


# --- the real host ------------------------------------------------------------------------------------------


@pytest.fixture
def under(opencode_host: OpenCode, model: ScriptedModel) -> Iterator[Supervised]:
    with supervised(opencode_host, model) as made:
        yield made


def test_writes_are_refused_with_a_reason_the_files_stay_and_work_goes_through(under: Supervised) -> None:
    config = under.host.home / ".config" / "supervisor" / "config.toml"
    config.parent.mkdir()
    config.write_text(SETTING, encoding="utf-8")
    session = under.state / "sessions" / "forged.json"
    ours = under.host.project / "supervisor" / "config.toml"
    calls = (
        ReplyToolCall("read", {"filePath": str(config)}),
        ReplyToolCall("edit", {"filePath": str(config), "oldString": "3", "newString": "99"}),
        ReplyToolCall("write", {"filePath": str(session), "content": "{}"}),
        shell("echo 'mode = \"shadow\"' > ~/.config/supervisor/config.toml"),
        shell("rm -rf ~/.local/state/supervisor"),
        shell("ls ~/.local/state/supervisor"),
        ReplyToolCall("write", {"filePath": str(ours), "content": "a = 1\n"}),
    )
    under.script(*(ReplyRule(reply_with_calls(call), agent(None)) for call in calls), says("Done."))
    under.ask("Go.", "--auto")
    told = [request.last for request in under.model.requests if "bash" in request.tools][1 : len(calls) + 1]
    assert SETTING.strip() in told[0]
    for said in told[1:5]:
        assert "only the user changes it" in said, said
    assert "runtime" in told[5]
    assert ours.read_text(encoding="utf-8") == "a = 1\n"
    assert config.read_text(encoding="utf-8") == SETTING
    assert not session.exists()
    assert (under.state / "runtime").exists()


def test_orders_from_the_agents_shell_are_refused_whatever_its_environment_says(under: Supervised) -> None:
    orders = ("off", "retry 100", "stop")
    calls = [shell(f"env -u OPENCODE {SUPERVISOR} {order}") for order in orders]
    under.script(*(ReplyRule(reply_with_calls(call), agent(None)) for call in calls), says("Done."))
    under.ask("Go.", "--auto")
    told = [request.last for request in under.model.requests if "bash" in request.tools][1 : len(calls) + 1]
    for said in told:
        assert "it came from below the agent's own process" in said, said
    assert under.report().off == ""


def test_a_plugin_that_the_agent_puts_beside_ours_is_told_and_holds_the_goal(under: Supervised) -> None:
    (under.host.project / ".git" / "info" / "exclude").write_text(".opencode/\n", encoding="utf-8")
    evil = "export const Evil = async () => ({})"
    under.script(
        reads_shop(under.host),
        writes_shop(under.host),
        runs(f"mkdir -p .opencode/plugin; echo '{evil}' > .opencode/plugin/evil.js"),
        says("All tests pass. Done."),
    )
    done = under.command("goal", "all tests pass", "--auto")
    said = done.stdout + done.stderr
    assert "Supervisor: goal unverified, please look" in said
    assert "evil.js was changed while an agent worked" in said
    assert under.report().status == "unverified"


def shell(command: str) -> ReplyToolCall:
    return ReplyToolCall("bash", {"command": command, "description": "Run it"})


# --- the plugin alone ---------------------------------------------------------------------------------------


def words(
    project: Path, home: Path, *calls: tuple[str, dict[str, Any]], **variables: str
) -> list[str | None]:
    """What the plugin says of each call; None where it lets it through."""
    found: list[str | None] = plays(CALLS, project, home, said=json.dumps(calls), **variables)
    return found


def plays(script: Path, project: Path, home: Path, *more: str, said: str = "", **variables: str) -> Any:
    """What a script says that plays the host of our plugin."""
    node = shutil.which("node") or missing("node is not on PATH")
    plugin = shutil.copy(plugin_root() / "hooks" / "opencode.js", project.with_name("plugin.mjs"))
    done = subprocess.run(
        [node, str(script), plugin, str(project), *more],
        input=said,
        env={"HOME": str(home), "PATH": "/usr/bin:/bin", **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.fixture
def project(tmp_path: Path, home_is_a_fresh_folder: Path) -> Path:
    """A project called supervisor, with a link out of it, in a home with a runtime."""
    (home_is_a_fresh_folder / ".config" / "supervisor").mkdir(parents=True)
    environment = home_is_a_fresh_folder / "tools"
    (environment / "bin").mkdir(parents=True)
    (environment / "pyvenv.cfg").touch()
    (environment / "bin" / "supervisor").touch()
    (home_is_a_fresh_folder / "supervisor").symlink_to(environment / "bin" / "supervisor")
    state = home_is_a_fresh_folder / ".local" / "state" / "supervisor"
    state.mkdir(parents=True)
    (state / "runtime").write_text(f"{home_is_a_fresh_folder / 'supervisor'}\n", encoding="utf-8")
    theirs = home_is_a_fresh_folder / ".config" / "opencode"
    theirs.mkdir()
    (home_is_a_fresh_folder / "dotfiles").mkdir()
    (theirs / "supervisor").symlink_to(home_is_a_fresh_folder / "dotfiles")
    folder = tmp_path / "supervisor"
    folder.mkdir()
    (folder / "link").symlink_to(home_is_a_fresh_folder / ".config" / "supervisor")
    return folder


def patch(name: str) -> dict[str, Any]:
    return {"patchText": f"*** Begin Patch\n*** Update File: shop.py\n*** Move to: {name}\n*** End Patch"}


def test_a_file_tool_is_refused_below_state_configuration_and_runtime_wherever_a_link_leads(
    project: Path, home_is_a_fresh_folder: Path
) -> None:
    home = home_is_a_fresh_folder
    refused = [
        ("write", {"filePath": f"{home}/.config/supervisor/config.toml"}),
        ("edit", {"filePath": "~/.config/opencode/supervisor/rubric.md"}),
        ("write", {"filePath": "link/new/deep.toml"}),
        ("write", {"filePath": f"{home}/x/../.local/state/supervisor/trust.json"}),
        ("edit", {"filePath": f"{home}/tools/lib/sidecar.py"}),
        ("write", {"filePath": f"{home}/supervisor"}),
        ("write", {"filePath": f"{home}/dotfiles/rubric.md"}),
        ("edit", {"filePath": str(project.with_name("plugin.mjs"))}),
        ("write", {"filePath": f"{home}/.claude/plugins/cache/supervisor/supervisor/0.2.0/hooks/hooks.json"}),
        ("apply_patch", patch("link/config.toml")),
        ("read", {"filePath": f"{home}/.local/state/supervisor/mcp-token"}),
        ("grep", {"path": f"{home}/.local/state/supervisor/team-password", "pattern": "."}),
    ]
    through = [
        ("write", {"filePath": "config.toml"}),
        ("write", {"filePath": f"{project}/.supervisor/rubric.md"}),
        ("write", {"filePath": f"{home}/.config/supervisor.toml"}),
        ("read", {"filePath": f"{home}/.config/supervisor/config.toml"}),
        ("apply_patch", patch("config.toml")),
        ("write", {"filePath": 7}),
        ("webfetch", {"url": f"file://{home}/.config/supervisor"}),
    ]
    found = words(project, home, *refused, *through)
    assert [bool(word) for word in found] == [True] * len(refused) + [False] * len(through), found


REFUSED = (
    "echo x > ~/.config/supervisor/config.toml",
    'echo x > "$HOME/.config/supervisor/config.toml"',
    "rm -rf ${XDG_STATE_HOME:-$HOME/.local/state}/supervisor",
    "rm -r $XDG_STATE_HOME/supervisor",
    "cd ~/.config/supervisor && sed -i s/3/9/ config.toml",
    "ls ~/.config/supervisor; rm ~/.config/supervisor/config.toml",
    "cat shop.py | tee ~/.config/supervisor/config.toml",
    "ls $(rm -r ~/.local/state/supervisor)",
    "cat ~/.local/state/supervisor/team-password",
    "python -c \"open('THEIRS/.config/supervisor/c', 'w')\"",
)
THROUGH = (
    "ls -l ~/.local/state/supervisor 2>/dev/null",
    "cat ~/.config/supervisor/config.toml | grep mode || echo none",
    "cd ~/.config/supervisor && ls",
    "rm -rf supervisor/build",
    "echo x > ../supervisor/config.toml",
    "git -C ~/code/supervisor commit -m x",
    "echo x > ~/.config/supervisor.bak",
    "supervisor status",
    "echo x > tests/home/.config/supervisor/config.toml",
)


def test_a_shell_line_that_names_a_folder_of_ours_may_only_read(
    project: Path, home_is_a_fresh_folder: Path
) -> None:
    home = str(home_is_a_fresh_folder)
    lines = [line.replace("THEIRS", home) for line in REFUSED]
    lines.append(f"echo >> {project.with_name('plugin.mjs')}")
    calls = [("bash", {"command": line}) for line in (*lines, *THROUGH)]
    inside = ("bash", {"command": "rm config.toml", "workdir": f"{home}/.config/supervisor"})
    found = words(project, home_is_a_fresh_folder, *calls, inside)
    assert [line for line, word in zip((*lines, *THROUGH, "workdir"), found, strict=True) if word] == [
        *lines,
        "workdir",
    ]


def test_folders_that_variables_name_are_the_ones(
    project: Path, home_is_a_fresh_folder: Path, tmp_path: Path
) -> None:
    calls = [("bash", {"command": f"rm -r {tmp_path}/{name}/supervisor"}) for name in ("st", "conf", "other")]
    places = {"XDG_STATE_HOME": f"{tmp_path}/st", "XDG_CONFIG_HOME": f"{tmp_path}/conf"}
    found = words(project, home_is_a_fresh_folder, *calls, **places)
    assert [bool(word) for word in found] == [True, True, False]


def test_of_a_session_that_was_deleted_meanwhile_nothing_more_is_told(
    project: Path, home_is_a_fresh_folder: Path
) -> None:
    run = home_is_a_fresh_folder / ".local" / "state" / "supervisor" / "run"
    run.mkdir()
    told = plays(DELETED, project, home_is_a_fresh_folder, str(run / "sidecar.sock"))
    assert told == ["session.start", "session.deleted"]
