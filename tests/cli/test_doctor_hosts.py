"""What `supervisor doctor` finds of hosts, beside a claude and an opencode that say as they are told."""

from __future__ import annotations

import errno
import os
import re
import socket
import sys
from pathlib import Path

import pytest

from sidecar import __version__, cli
from sidecar.cli import doctor
from sidecar.hosts.claude_code import settings as plugin
from sidecar.hosts.claude_code.settings import user_settings_file
from sidecar.hosts.installers import INSTALLERS
from sidecar.hosts.installing import DoctorFinding, FindingLevel
from sidecar.hosts.opencode.install import OpenCodeInstaller
from sidecar.kernel.events import JudgeFailed
from sidecar.platform import installation
from sidecar.platform.event_log import LOG_FILE
from sidecar.platform.git import GET_GIT
from sidecar.platform.paths import user_paths
from support.cases import complete
from support.scripted_ports import ScriptedJudge

pytestmark = pytest.mark.process

CLAUDE = """\
#!/bin/sh
case "$1" in
  --version) echo "2.1.330 (Claude Code)" ;;
  plugin) cat "$HOME/listed" ;;
esac
"""
OPENCODE = """\
#!/bin/sh
case "$1" in
  --version) echo "${OPENCODE_IS:-1.18.33}" ;;
  run)
    { echo "$*"; pwd; echo "$OPENCODE_DB"; } >> "$HOME/asked"
    eval "$OPENCODE_SAYS" ;;
esac
"""
SERVER = '{"supervisor":{"command":"python3","args":["-S","${CLAUDE_PLUGIN_ROOT}/hooks/mcp.py"]}}'
OURS = (
    f'[{{"id":"supervisor@supervisor","enabled":true,"version":"{__version__}","installPath":"/kept",'
    f'"mcpServers":{SERVER}}}]'
)


class Here:
    """A user's home and project, and which hosts are on PATH."""

    def __init__(self, home: Path, project: Path) -> None:
        self.home = home
        self.project = project
        self.user = home / ".config" / "opencode"

    def has(self, name: str, script: str) -> None:
        (self.home / "bin" / name).write_text(script, encoding="utf-8")
        (self.home / "bin" / name).chmod(0o755)

    def has_claude(self, listed: str = "[]") -> None:
        self.has("claude", CLAUDE)
        (self.home / "listed").write_text(listed, encoding="utf-8")
        folders = user_paths()
        rules = plugin.deny_rules(folders, folders.recorded_runtime())
        plugin.replace_deny_rules(user_settings_file({}), (), rules)

    def has_opencode(self) -> None:
        self.has("opencode", OPENCODE)

    def asked(self) -> list[str]:
        """The one probe: its arguments, its folder, its database."""
        return (self.home / "asked").read_text(encoding="utf-8").splitlines()


@pytest.fixture
def here(home_is_a_fresh_folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Here:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    monkeypatch.chdir(project)
    for folder in ("bin", "venv"):
        (home_is_a_fresh_folder / folder).mkdir()
    command = home_is_a_fresh_folder / "venv" / "supervisor"
    command.touch(mode=0o755)
    monkeypatch.setattr(sys, "argv", [str(command)])
    monkeypatch.setattr(installation, "COMPILED", ("sidecar",))
    monkeypatch.setenv("PATH", f"{home_is_a_fresh_folder / 'bin'}:/bin")
    return Here(home_is_a_fresh_folder, project)


def install(*arguments: str) -> None:
    assert cli.run_command(["install", "opencode", *arguments]) == 0


async def found() -> list[DoctorFinding]:
    return [line for host in await doctor.examine_hosts() for line in host.lines]


async def errors() -> list[str]:
    return [line.what for line in await found() if line.level is FindingLevel.ERROR]


async def warnings() -> dict[str, str]:
    return {line.what: line.remedy for line in await found() if line.level is FindingLevel.WARNING}


# --- this machine -------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("here")
async def test_a_lost_log_a_full_disk_and_a_missing_git_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    user_paths().prepare()
    (user_paths().state / f"{LOG_FILE}.corrupt-1").touch()
    (_, lost) = await doctor.check_state()
    assert "what it told of stops, tasks and cost is gone" in lost.what
    assert lost.remedy == f"rm {user_paths().state}/{LOG_FILE}.*"
    monkeypatch.setattr(doctor, "find_program", lambda *_: "")
    (git,) = await doctor.check_git()
    assert (git.level, git.remedy) == (FindingLevel.ERROR, GET_GIT)
    for closes, said in ((True, "cannot write there"), (False, "it is compared")):
        monkeypatch.setattr(doctor, "can_close_folders", lambda closes=closes: closes)
        assert said in doctor.check_workers().what

    def full(**_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    with pytest.raises(OSError, match="No space") as told:
        await doctor.check_state()
    assert doctor.unusable_path_error(told.value).remedy.startswith("df -h ")


# --- which hosts --------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("here")
async def test_no_host_is_one_warning_that_names_all() -> None:
    (line,) = await found()
    assert line.level is FindingLevel.WARNING
    *titles, last = (kind.title for kind in INSTALLERS.values())
    assert line.what == f"neither {', '.join(titles)} nor {last} is on PATH"
    assert "claude-code" in line.remedy
    assert "opencode-ai" in line.remedy


async def test_who_has_only_opencode_hears_nothing_of_claude_code(here: Here) -> None:
    here.has_opencode()
    assert await errors() == ["the plugin is not installed in OpenCode"]
    install()
    assert [line.level for line in await found()] == [FindingLevel.OK, FindingLevel.OK]
    assert not any("laude" in f"{line.what}{line.remedy}" for line in await found())


@pytest.mark.parametrize(("enabled", "named"), [("true", 1), ("false", 0)])
async def test_the_second_plugin_is_named_where_it_is_on(here: Here, enabled: str, named: int) -> None:
    second = f'{{"id":"supervisor-rubric@supervisor","enabled":{enabled},"version":"{__version__}"}}'
    here.has_claude(f"{OURS[:-1]},{second}]")
    lines = [line for line in await found() if "the language server for .md files" in line.what]
    assert [line.level for line in lines] == [FindingLevel.OK] * named
    here.has_claude(f"[{second}]")
    assert await errors() == ["the plugin is not installed in Claude Code"], "it is no Supervisor by itself"


async def test_hooks_that_are_switched_off_or_did_not_run_here_are_an_error(here: Here) -> None:
    here.has_claude(OURS)
    user_paths().record_runtime(Path("/bin/true"))
    os.utime(user_paths().runtime, (1000, 1000))
    projects = here.home / ".claude" / "projects" / re.sub(r"\W|_", "-", str(here.project))
    state = user_paths().state / "sessions" / "claude-code-s1.json"
    for folder in (projects, state.parent, here.project / ".claude"):
        folder.mkdir(parents=True)
    answer = '{"type":"assistant","timestamp":"2026-11-29T04:32:10Z","message":{"stop_reason":"%s"}}\n'
    (projects / "s1.jsonl").write_text(answer % "tool_use", encoding="utf-8")
    assert await errors() == []
    (projects / "s1.jsonl").write_text(answer % "end_turn", encoding="utf-8")
    assert await errors() == ["Claude Code worked here (session s1) and no hook of ours ran"]
    off = here.project / ".claude" / "settings.local.json"
    off.write_text('{"disableAllHooks": true}', encoding="utf-8")
    assert await errors() == [f"disableAllHooks in {off} keeps our hooks from running"]
    off.write_text("garbage", encoding="utf-8")
    os.utime(projects / "s1.jsonl", (999, 999))
    assert await errors() == []  # it was before the install
    os.utime(projects / "s1.jsonl", (1001, 1001))
    state.touch()
    assert await errors() == []


async def test_a_plugin_of_another_version_is_a_warning(here: Here) -> None:
    here.has_claude(OURS.replace(__version__, "0.0.9"))
    said = f"the plugin is of version 0.0.9, this is {__version__}"
    assert (await warnings())[said] == "supervisor upgrade"


async def test_what_to_install_is_named_for_the_host_that_is_there(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "greet_sidecar", lambda: None)
    here.has_opencode()
    (line, *_) = await doctor._check_runtime()  # noqa: SLF001 - one check of many
    assert line.remedy == "supervisor install opencode"
    here.has_claude()
    (line, *_) = await doctor._check_runtime()  # noqa: SLF001 - the same
    assert line.remedy == "supervisor install claude-code"
    install()
    user_paths().forget_runtime()
    (line, *_) = await doctor._check_runtime()  # noqa: SLF001 - the same
    assert line.remedy == "supervisor install opencode"


async def test_the_judge_is_asked_and_a_backend_that_gives_no_verdict_is_a_warning() -> None:
    judge = ScriptedJudge()
    judge.script(complete())
    answered = await doctor.probe_judge(judge)
    assert answered is not None
    assert (answered.level, answered.what) == (FindingLevel.OK, "the judge answers: complete, 0 tokens")
    judge.script(JudgeFailed("the key was refused (401)"))
    refused = await doctor.probe_judge(judge)
    assert refused is not None
    assert refused.level is FindingLevel.WARNING
    assert refused.what.endswith("the key was refused (401)")


async def test_a_named_judge_that_is_not_reached_is_an_error_also_where_no_host_is_installed(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        place = f"127.0.0.1:{closed.getsockname()[1]}"
    settings = here.home / ".config" / "supervisor" / "config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    service = f'[judge.openai]\nendpoint = "http://{place}/v1"\nmodel = "m"\n'
    settings.write_text(f'[judge]\nbackend = "openai"\n{service}', encoding="utf-8")

    async def fine() -> list[DoctorFinding]:
        return []

    for check in ("_check_sidecar", "_check_sidecar_report"):
        monkeypatch.setattr(doctor, check, fine)
    report = doctor._FindingsReport(quiet=True)  # noqa: SLF001 - all checks together
    assert await doctor._run_checks(report, probe=True) == 1  # noqa: SLF001 - the same
    assert report.findings[0].what.startswith("no runtime is recorded")
    last = report.findings[-1]
    assert (last.level, place in last.what) == (FindingLevel.ERROR, True)
    assert last.remedy.endswith("supervisor config edit")


# --- OpenCode -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "level"),
    [("1.18.33", FindingLevel.OK), ("2.0.0", FindingLevel.OK), ("1.9.40", FindingLevel.WARNING)],
)
async def test_an_older_version_is_a_warning(
    here: Here, monkeypatch: pytest.MonkeyPatch, number: str, level: FindingLevel
) -> None:
    here.has_opencode()
    monkeypatch.setenv("OPENCODE_IS", number)
    line = (await found())[0]
    assert line.level is level
    assert number in line.what


async def test_a_host_that_loads_no_plugins_is_told_and_not_tried(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    here.has_opencode()
    install()
    monkeypatch.setenv("OPENCODE_PURE", "true")
    assert list((await warnings()).values()) == ["unset OPENCODE_PURE"]
    assert [host.probe for host in await doctor.examine_hosts()] == [None]


async def test_a_folder_that_will_wait_for_npm_is_told(here: Here) -> None:
    here.has_opencode()
    install()
    (here.project / ".opencode").mkdir()
    (told,) = await warnings()
    assert told.startswith(f"OpenCode fetches packages into {here.project / '.opencode'} ")
    (here.project / ".opencode" / "node_modules").mkdir()
    assert await warnings() == {}


async def test_a_stand_in_that_hides_packages_from_a_later_plugin_is_told(here: Here) -> None:
    here.has_opencode()
    install()
    (here.user / "plugin" / "later.ts").touch()
    (told,) = (await warnings()).items()
    assert told[0].startswith("our stand-in for npm's packages hides them from ")
    assert told[1] == "supervisor install opencode"


# --- the probe ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scope", ["user", "project"])
async def test_a_probe_leaves_no_session_and_runs_where_the_file_is_loaded(
    here: Here, monkeypatch: pytest.MonkeyPatch, scope: str
) -> None:
    here.has_opencode()
    install("--scope", scope)
    monkeypatch.setenv("OPENCODE_SAYS", "echo 'Supervisor: budget of 16 continuations.'")
    (host,) = await doctor.examine_hosts()
    assert host.probe is not None
    assert (await host.probe()).level is FindingLevel.OK
    words, folder, database = here.asked()
    assert words == "run --command supervisor:retry"
    assert (folder == str(here.project)) == (scope == "project")
    assert database == ":memory:"


@pytest.mark.parametrize(
    ("says", "what"),
    [
        ("echo 'Command not found' >&2; exit 1", "does not carry out our commands: Command not found"),
        ("true", "does not carry out our commands: no answer"),
        ("head -c 100000 /dev/zero | tr '\\0' x", "does not carry out our commands: xxx"),
    ],
)
async def test_a_probe_that_fails_says_why_shortly(
    here: Here, monkeypatch: pytest.MonkeyPatch, says: str, what: str
) -> None:
    here.has_opencode()
    install()
    monkeypatch.setenv("OPENCODE_SAYS", says)
    line = await OpenCodeInstaller(os.environ, here.project).probe()
    assert line.level is FindingLevel.ERROR
    assert what in line.what
    assert len(line.what) < 300
    assert line.remedy == "opencode run --command supervisor:retry"
