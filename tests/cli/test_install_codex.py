"""Installing into Codex and uninstalling: a plugin, consent to its hooks, and nothing that is left behind."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Final

import pytest

from sidecar import __version__, cli
from sidecar.hosts.codex.install import PLUGIN_ID, CodexInstaller, altered_plugin, cached_plugin
from sidecar.hosts.installing import FindingLevel
from sidecar.hosts.steering import CODEX_STEERING
from sidecar.platform import installation
from sidecar.platform.paths import user_paths

pytestmark = pytest.mark.process

CODEX: Final = """#!{python}
import hashlib, json, os, pathlib, shutil, sys

home = pathlib.Path(os.environ["HOME"])
codex, kept = home / ".codex", home / "kept"
know = json.loads(kept.read_text()) if kept.exists() else {{"trust": {{}}}}
copy = codex / "plugins/cache/supervisor-codex/supervisor/{version}"


def save():
    kept.write_text(json.dumps(know))
    lines = ["# the user's own"]
    lines += ['[plugins."{plugin}"]', "enabled = true"] if know.get("plugin") else []
    for key, digest in know["trust"].items():
        lines += ['[hooks.state."%s"]' % key, 'trusted_hash = "%s"' % digest]
    (codex / "config.toml").write_text("\\n".join(lines) + "\\n")


def hooks():
    parts = [path.read_bytes() for path in sorted(copy.rglob("*")) if path.is_file()]
    digest = hashlib.sha256(b"".join(parts)).hexdigest()
    for event in ("stop", "sessionStart") if know.get("plugin") else ():
        key = "{plugin}:.codex-plugin/hooks.json:%s:0:0" % event
        there = know["trust"].get(key)
        status = "untrusted" if there is None else "trusted" if there == digest else "modified"
        yield {{"key": key, "eventName": event, "currentHash": digest, "trustStatus": status}}


def answer(method, params):
    if method == "hooks/list":
        another = {{"key": "x", "currentHash": "", "trustStatus": "untrusted"}}
        return {{"data": [{{"cwd": params["cwds"][0], "hooks": [*hooks(), another]}}]}}
    if method == "config/batchWrite":
        for edit in params["edits"]:
            if edit["value"] is None:
                gone = edit["keyPath"].removeprefix("hooks.state").strip('."')
                know["trust"] = {{key: one for key, one in know["trust"].items() if gone not in ("", key)}}
            else:
                know["trust"].update({{key: one["trusted_hash"] for key, one in edit["value"].items()}})
        save()
    return {{}}


match sys.argv[1:]:
    case ["--version"]:
        print("codex-cli 0.171.0")
    case ["plugin", "marketplace", "add", folder]:
        know["folder"] = folder
        save()
    case ["plugin", "add", "{plugin}"]:
        shutil.copytree(pathlib.Path(know["folder"], "plugin"), copy, dirs_exist_ok=True)
        know["plugin"] = True
        save()
    case ["plugin", "remove", "{plugin}"]:
        know["plugin"] = False
        shutil.rmtree(copy.parent)
        save()
    case ["plugin", "marketplace", "remove", "supervisor-codex"]:
        save()
    case ["app-server"]:
        for line in sys.stdin:
            asked = json.loads(line)
            print(json.dumps({{"method": "told/between"}}), flush=True)
            if "id" in asked and (home / "refuses").exists():
                print(json.dumps({{"id": asked["id"], "error": {{"message": "not now"}}}}), flush=True)
            elif "id" in asked:
                result = answer(asked["method"], asked["params"])
                print(json.dumps({{"id": asked["id"], "result": result}}), flush=True)
"""


@pytest.fixture
def home(home_is_a_fresh_folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    home = home_is_a_fresh_folder
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text("# the user's own\n", encoding="utf-8")
    command, codex = home / "bin" / "supervisor", home / "bin" / "codex"
    command.parent.mkdir()
    command.write_text("#!/bin/sh\n", encoding="utf-8")
    text = CODEX.format(python=sys.executable, plugin=PLUGIN_ID, version=__version__)
    codex.write_text(text, encoding="utf-8")
    for path in (command, codex):
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}:/bin")
    monkeypatch.setattr(sys, "argv", [str(command)])
    monkeypatch.setattr(installation, "COMPILED", ("sidecar",))
    monkeypatch.chdir(tmp_path)
    return home


def examined() -> list[tuple[FindingLevel, str, str]]:
    found = asyncio.run(CodexInstaller(os.environ, Path.cwd()).examine(needed=True))
    return [(line.level, line.what, line.remedy) for line in found.lines]


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("others", [{}, {"another@place:hooks.json:stop:0:0": "sha256:1"}])
def test_an_install_with_consent_trusts_the_hooks_and_an_uninstall_leaves_nothing(
    home: Path, capsys: pytest.CaptureFixture[str], others: dict[str, str]
) -> None:
    (home / "kept").write_text(json.dumps({"trust": others}), encoding="utf-8")
    own = [f'[hooks.state."{key}"]\ntrusted_hash = "{digest}"\n' for key, digest in others.items()]
    (home / ".codex" / "config.toml").write_text("".join(("# the user's own\n", *own)), encoding="utf-8")
    before = files(home / ".codex")
    assert cli.run_command(["install", "codex", "--yes"]) == 0
    said = capsys.readouterr().out
    assert "trusted by you, as Codex lists them: stop, sessionStart" in said
    assert said.rstrip().endswith("type: $supervisor:goal all tests pass")
    copies = files(cached_plugin({}) / "supervisor")
    assert {name.partition("/")[2] for name in copies} >= {"hooks/relay.py", ".codex-plugin/hooks.json"}
    assert cli.run_command(["uninstall", "codex", "--purge"]) == 0
    assert files(home / ".codex") == before
    assert not user_paths().state.exists()
    assert not cached_plugin({}).exists()


def test_what_the_user_does_not_trust_is_told_by_install_and_doctor_with_what_to_type(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run_command(["install", "codex"]) != 0  # no terminal to answer from
    said = capsys.readouterr()
    assert "Codex runs none of its hooks until you trust them\n  - start codex, type /hooks" in said.err
    assert "Done." not in said.out
    *_, (level, what, remedy) = examined()
    assert (level, what) == (
        FindingLevel.ERROR,
        "Codex runs no hook of ours, and says nothing: stop is untrusted, sessionStart is untrusted",
    )
    assert remedy == "supervisor install codex; or start codex, type /hooks, and press t"
    assert cli.run_command(["install", "codex", "--yes"]) == 0
    assert [level for level, *_ in examined()] == [FindingLevel.OK] * 3
    copy = cached_plugin({}) / "supervisor" / __version__
    (copy / "hooks" / "relay.py").write_text("# changed", encoding="utf-8")
    found = examined()
    assert [level for level, *_ in found] == [FindingLevel.OK, FindingLevel.WARNING, FindingLevel.ERROR]
    assert "stop is modified" in found[-1][1]
    assert "hooks/relay.py of the plugin" in altered_plugin({"PLUGIN_ROOT": str(copy)})
    assert altered_plugin({"PLUGIN_ROOT": str(home)}) == ""
    assert cli.run_command(["upgrade"]) == 0
    assert [level for level, *_ in examined()] == [FindingLevel.OK] * 3


def test_what_cannot_be_done_says_what_to_do(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "refuses").touch()
    assert cli.run_command(["install", "codex", "--yes"]) != 0
    said = capsys.readouterr().err
    assert "`codex app-server` refused initialize: not now" in said
    assert "type /hooks" in said
    assert (examined())[-1][0] is FindingLevel.ERROR
    assert cli.run_command(["install", "codex", "--scope", "project"]) != 0
    assert "for a user only" in capsys.readouterr().err


def test_only_saying_what_would_be_done_does_nothing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = files(home)
    assert cli.run_command(["install", "codex", "--print-only"]) == 0
    assert "codex plugin add supervisor@supervisor-codex" in capsys.readouterr().out
    assert cli.run_command(["uninstall", "codex", "--print-only"]) == 0
    assert files(home) == before


def test_an_edit_of_what_runs_hooks_steers_and_another_setting_does_not(tmp_path: Path) -> None:
    kind = CODEX_STEERING.kinds[".codex/config.toml"]
    path = tmp_path / "config.toml"
    path.write_text('model = "x"\n', encoding="utf-8")
    assert kind.read(path) == ""
    path.write_text('model = "y"\n[plugins."a@b"]\nenabled = false\n[hooks]\nStop = []\n', encoding="utf-8")
    assert kind.read(path) == '{"hooks":{"Stop":[]},"plugins":{"a@b":{"enabled":false}}}'
