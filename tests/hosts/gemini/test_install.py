"""What is put into Gemini CLI and taken out again, and what doctor finds of it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from sidecar.hosts.gemini.install import GeminiInstaller, altered_extension
from sidecar.hosts.installing import FindingLevel, HostFindings, InstallOrder, Steps
from sidecar.platform.installation import HostError, plugin_root

VERSION = "#!/bin/sh\necho 0.61.0\n"


class Here:
    """A user's home with the host in it, and a project that is trusted."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "home" / "shop"
        self.gemini = self.home / ".gemini"
        for path in (self.project, self.gemini, folder / "bin"):
            path.mkdir(parents=True)
        self.write("trustedFolders.json", {str(self.project): "TRUST_FOLDER"})
        self.program = folder / "bin" / "gemini"
        self.says(VERSION)
        self.environment = {"GEMINI_CLI_HOME": str(self.home), "PATH": f"{self.program.parent}:/usr/bin:/bin"}
        self.prepared = 0

    def write(self, name: str, content: object) -> None:
        path = self.gemini / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content), encoding="utf-8")

    def says(self, script: str) -> None:
        self.program.write_text(script, encoding="utf-8")
        self.program.chmod(0o755)

    @property
    def installer(self) -> GeminiInstaller:
        return GeminiInstaller(self.environment, self.project)

    def put(self, scope: str = "user") -> list[str]:
        said: list[str] = []
        order = InstallOrder(scope=scope, runtime=Path("/bin/supervisor"), prepare=self.prepare)
        self.installer.put(order, Steps(print_only=False, say=said.append))
        return said

    def prepare(self) -> None:
        self.prepared += 1

    def take(self) -> list[str]:
        said: list[str] = []
        assert self.installer.take("user", Steps(print_only=False, say=said.append))
        return said

    def files(self) -> list[str]:
        return sorted(str(path.relative_to(self.gemini)) for path in self.gemini.rglob("*"))


@pytest.fixture
def here(tmp_path: Path) -> Here:
    return Here(tmp_path)


def test_one_file_names_our_folder_and_an_uninstall_leaves_nothing_behind(here: Here) -> None:
    before = here.files()
    for _ in range(2):
        here.put()
    assert (here.prepared, here.installer.scopes(), here.installer.present()) == (2, ("user",), True)
    link = json.loads(here.installer.link.read_text(encoding="utf-8"))
    assert link == {"source": str(plugin_root() / ".gemini-extension"), "type": "link"}
    assert json.loads(Path(link["source"], "gemini-extension.json").read_text())["name"] == "supervisor"
    here.take()
    assert (here.files(), here.installer.scopes()) == (before, ())
    assert "nothing of ours" in here.take()[0]


def test_the_hosts_own_switch_of_our_extension_goes_and_others_stay(here: Here) -> None:
    other = {"other": {"overrides": ["/x/*"]}}
    here.write("extensions/extension-enablement.json", {"supervisor": {"overrides": ["!/x/*"]}, **other})
    here.put()
    switches = here.gemini / "extensions" / "extension-enablement.json"
    assert json.loads(switches.read_text(encoding="utf-8")) == other
    here.take()
    assert switches.exists()


def test_a_project_gets_no_extension_and_a_folder_that_cannot_be_written_is_named(here: Here) -> None:
    with pytest.raises(HostError, match="for a user only"):
        here.put("project")
    (here.gemini / "extensions").write_text("", encoding="utf-8")
    with pytest.raises(HostError, match="cannot be written"):
        here.put()


def test_a_checkout_is_never_said_to_be_altered() -> None:
    assert altered_extension() == ""


async def examined(here: Here) -> HostFindings:
    return await here.installer.examine(needed=True)


@pytest.mark.process
async def test_doctor_tells_what_is_missing_and_else_offers_a_call_through_the_host(here: Here) -> None:
    found = await examined(here)
    assert [(line.level, line.remedy) for line in found.lines] == [
        (FindingLevel.OK, ""),
        (FindingLevel.ERROR, "supervisor install gemini"),
    ]
    assert found.probe is None
    here.put()
    found = await examined(here)
    assert {line.level for line in found.lines} == {FindingLevel.OK}
    assert found.probe is not None
    assert found.server[-1].endswith("hooks/mcp.py")
    here.says('#!/bin/sh\ntest "$GEMINI_CLI_TRUST_WORKSPACE" = true && echo "Supervisor: budget of 16" >&2\n')
    assert (await found.probe()).level is FindingLevel.OK


@pytest.mark.process
@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        (
            "extensions/extension-enablement.json",
            {"supervisor": {"overrides": ["!{home}/*"]}},
            "disabled here",
        ),
        ("extensions/supervisor/.gemini-extension-install.json", {"source": "/old"}, "another folder"),
        ("settings.json", {"hooksConfig": {"enabled": False}}, "no hook runs"),
        ("trustedFolders.json", {}, "`gemini -p` refuses"),
        ("trustedFolders.json", {"{home}/shop": "DO_NOT_TRUST"}, "`gemini -p` refuses"),
    ],
)
async def test_doctor_tells_what_keeps_it_from_working(
    name: str, content: Any, told: str, here: Here
) -> None:
    here.put()
    here.write(name, json.loads(json.dumps(content).replace("{home}", str(here.home))))
    (bad,) = [line for line in (await examined(here)).lines if line.level is not FindingLevel.OK]
    assert told in bad.what
    assert bad.remedy


@pytest.mark.process
@pytest.mark.parametrize(
    ("rules", "settings"),
    [
        ({"{home}": "TRUST_FOLDER"}, {}),
        ({"{home}/other": "TRUST_PARENT"}, {}),
        ({}, {"security": {"folderTrust": {"enabled": False}}}),
    ],
)
async def test_a_folder_below_a_trusted_one_is_trusted(rules: Any, settings: Any, here: Here) -> None:
    here.put()
    here.write(
        "trustedFolders.json", {name.replace("{home}", str(here.home)): rule for name, rule in rules.items()}
    )
    here.write("settings.json", settings)
    assert {line.level for line in (await examined(here)).lines} == {FindingLevel.OK}


@pytest.mark.process
async def test_doctor_warns_of_an_old_version_and_of_none(here: Here) -> None:
    here.put()
    here.says("#!/bin/sh\necho 0.20.0\n")
    assert "older than what is tested" in (await examined(here)).lines[0].what
    here.program.unlink()
    found = await examined(here)
    assert (found.lines[0].remedy, found.probe) == ("npm install -g @google/gemini-cli", None)


def test_each_hook_is_the_relay_itself_for_no_longer_than_the_host_waits() -> None:
    whole = json.loads(
        (plugin_root() / ".gemini-extension" / "hooks" / "hooks.json").read_text(encoding="utf-8")
    )
    for entries in whole["hooks"].values():
        ((hook,),) = [entry["hooks"] for entry in entries]
        words = shlex.split(hook["command"])
        assert words[0] == "exec", "the relay's parent says which process is the host"
        assert (words[1], words[-5], words[-1]) == ("python3", "${extensionPath}/../hooks/relay.py", "gemini")
        assert float(words[-3]) <= float(words[-2]) < hook["timeout"] / 1000
