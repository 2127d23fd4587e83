"""The relay where no sidecar answers: which runtime it starts, and what it says when there is none."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from hooks.conftest import Runtime
from hooks.relaying import EVENTS, PACKAGE_HOME, Scene, answer, command, path_of, run
from sidecar.platform.client import SidecarClient
from sidecar.platform.paths import Paths, user_paths
from support.table import often

pytestmark = pytest.mark.process

GOAL = b'{"prompt":"/supervisor:goal all tests pass"}'
PROMPT = b'{"prompt":"hello"}'
SETUP = "Supervisor has no runtime yet: Python packages, some 15 MB to fetch. Type: /supervisor:install"
SERVER = Path(__file__).with_name("hook_server.py")


def printed(scene: Scene, event: str, given: bytes = b"{}", **environment: str) -> Any:
    done = run(command(event), given, scene.project, **environment)
    assert (done.returncode, done.stderr) == (0, b"")
    return json.loads(done.stdout) if done.stdout else None


@pytest.fixture
def real_runtime(state: Path, tmp_path: Path) -> Any:
    """Record a runtime that serves; it is ended with the test."""
    state.mkdir(mode=0o700, parents=True)
    path = tmp_path / "supervisor"
    path.write_text(
        f"#!/bin/sh\nPYTHONPATH={PACKAGE_HOME} exec {sys.executable} {SERVER} $*\n", encoding="utf-8"
    )
    path.chmod(0o755)
    user_paths().record_runtime(path)
    yield path
    SidecarClient(user_paths()).stop()


# --- no runtime ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "given", "said"),
    [
        ("SessionStart", b"{}", {"systemMessage": SETUP}),
        ("UserPromptExpansion", GOAL, {"decision": "block", "reason": SETUP}),
        ("UserPromptSubmit", GOAL, {"decision": "block", "reason": SETUP}),
        ("UserPromptSubmit", b'{"prompt" : "/supervisor:retry"}', {"decision": "block", "reason": SETUP}),
        ("UserPromptSubmit", b'{"prompt":"/supervisor:goalpost"}', None),
        ("UserPromptSubmit", b'{"prompt":"say \\"prompt\\":\\"/supervisor:goal x\\""}', None),
        ("UserPromptSubmit", PROMPT, None),
        ("Stop", b"{}", None),
        ("StopFailure", b"{}", None),
        ("SessionEnd", b"{}", None),
    ],
)
def test_without_a_runtime_it_says_what_to_type_and_refuses_commands(
    scene: Scene, event: str, given: bytes, said: object
) -> None:
    assert printed(scene, event, given) == said


@pytest.mark.parametrize(
    ("event", "given", "form", "said"),
    [
        ("UserPromptSubmit", b'{"text": " !supervisor:goal it works"}', '{"stop": %s}', {"stop": SETUP}),
        ("UserPromptSubmit", b'{"text": "hello", "dir": 1}', '{"stop": %s}', None),
        ("SessionStart", b"[]", '{"show": %s}', {"show": SETUP}),
        ("SessionStart", b"{}", "{}", {}),
        ("SessionStart", b"{}", "warn", {"systemMessage": SETUP}),
    ],
)
def test_a_host_is_told_in_the_form_that_its_hook_names(
    scene: Scene, event: str, given: bytes, form: str, said: object
) -> None:
    done = run([*command(event), form], given, scene.project)
    assert json.loads(done.stdout or b"null") == said
    assert done.stderr == (SETUP.encode() if form == "warn" else b"")


# --- which runtime ------------------------------------------------------------------------------------------


def test_the_recorded_runtime_comes_before_all_others(
    scene: Scene, runtime: Runtime, tmp_path: Path, marks: Path
) -> None:
    user_paths().record_runtime(runtime(tmp_path / "recorded", "recorded"))
    named, found = runtime(tmp_path / "named", "named"), runtime(tmp_path / "found", "found")
    printed(scene, "Stop", SUPERVISOR_BIN=str(named), PATH=path_of(found.parent))
    assert set(marks.read_text().splitlines()) == {"recorded serve /"}


def test_the_plugins_own_runtime_comes_last(
    scene: Scene, runtime: Runtime, tmp_path: Path, marks: Path
) -> None:
    runtime(tmp_path / "data" / "runtime" / "bin", "own")
    printed(scene, "Stop", CLAUDE_PLUGIN_DATA=str(tmp_path / "data"))
    assert set(marks.read_text().splitlines()) == {"own serve /"}
    found = runtime(tmp_path / "found", "found")
    marks.unlink()
    printed(scene, "Stop", CLAUDE_PLUGIN_DATA=str(tmp_path / "data"), PATH=path_of(found.parent))
    assert set(marks.read_text().splitlines()) == {"found serve /"}


def test_another_command_of_this_name_is_not_run(scene: Scene, tmp_path: Path, marks: Path) -> None:
    foreign = tmp_path / "npm" / "supervisor"
    foreign.parent.mkdir()
    foreign.write_text(f"#!/bin/sh\necho foreign >> {marks}\n", encoding="utf-8")
    foreign.chmod(0o755)
    assert printed(scene, "SessionStart", PATH=path_of(foreign.parent)) == {"systemMessage": SETUP}
    assert not marks.exists()


@pytest.mark.parametrize("where", [".", "node_modules/.bin", "deep/er"])
def test_a_supervisor_inside_the_project_is_not_run(
    scene: Scene, runtime: Runtime, tmp_path: Path, marks: Path, where: str
) -> None:
    inside = runtime(scene.project / where, "inside")
    session = scene.project / "deep" / "er" / "still"
    session.mkdir(parents=True)
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "supervisor").symlink_to(inside)
    (tmp_path / "folder").symlink_to(inside.parent)
    folders = path_of(
        Path("node_modules/.bin"), Path(), inside.parent, tmp_path / "links", tmp_path / "folder"
    )
    setup = {"systemMessage": SETUP}
    assert printed(scene, "SessionStart", PATH=folders, CLAUDE_PROJECT_DIR=str(session)) == setup
    assert printed(scene, "SessionStart", PATH=folders, PWD=str(session)) == setup
    for field in ("cwd", "dir"):
        event = json.dumps({field: str(session), "list": [1], "n": 1}).encode()
        assert printed(scene, "SessionStart", event, PATH=folders) == setup
    assert not marks.exists()


# --- starting it --------------------------------------------------------------------------------------------


def test_the_runtime_knows_little_of_the_session_that_starts_it(scene: Scene, tmp_path: Path) -> None:
    path = tmp_path / "supervisor"
    path.write_text(f"#!/bin/sh\nenv > {tmp_path}/env\n", encoding="utf-8")
    path.chmod(0o755)
    secrets = {
        "ANTHROPIC_API_KEY": "k",
        "PYTHONPATH": "/p",
        "LD_PRELOAD": "",
        "MY_HOME": "/",
        "CLAUDECODE": "1",
    }
    kept = {
        "LC_ALL": "C.UTF-8",
        "XDG_CONFIG_HOME": "/c",
        "SUPERVISOR_DEBUG": "1",
        "TMPDIR": "/t",
        "USER": "u",
    }
    run(command("Stop"), b"{}", scene.project, SUPERVISOR_BIN=str(path), **secrets, **kept)
    names = {line.partition("=")[0] for line in (tmp_path / "env").read_text().splitlines()}
    assert names - {"PWD", "SHLVL", "_", "OLDPWD"} == {
        "HOME",
        "PATH",
        "XDG_STATE_HOME",
        "SUPERVISOR_BIN",
        *kept,
    }


@pytest.mark.usefixtures("real_runtime")
def test_a_session_that_begins_without_a_sidecar_gets_one_that_stays(scene: Scene) -> None:
    first = printed(scene, "SessionStart")
    assert first["systemMessage"].startswith("hook of ")
    assert printed(scene, "Stop") == first


@pytest.mark.usefixtures("real_runtime")
def test_a_sidecar_that_dies_over_an_event_is_replaced_and_asked_again(scene: Scene) -> None:
    pid = int(printed(scene, "SessionStart")["systemMessage"].split()[-1])
    said = printed(scene, "Stop", json.dumps({"die": pid}).encode())
    assert said["systemMessage"].startswith("hook of ")
    assert said["systemMessage"] != f"hook of {pid}"


@pytest.mark.parametrize("script", ["exit 0", "exit 3"])
def test_a_runtime_that_ends_at_once_is_said_at_a_stop(scene: Scene, tmp_path: Path, script: str) -> None:
    path = tmp_path / "supervisor"
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    said = printed(scene, "Stop", SUPERVISOR_BIN=str(path))["systemMessage"]
    assert said.startswith("Supervisor did not answer (")
    assert said.endswith("): this stop was not judged. Type: supervisor doctor")


def test_a_start_is_waited_for_no_longer_than_the_host_waits_for_the_hook(
    scene: Scene, tmp_path: Path
) -> None:
    path, ends = tmp_path / "supervisor", tmp_path / "ends"
    os.mkfifo(ends)
    path.write_text(f"#!/bin/sh\nread line < {ends}\n", encoding="utf-8")
    path.chmod(0o755)
    line = command("UserPromptSubmit", silence="3600", total="0.2")
    done = run(line, GOAL, scene.project, SUPERVISOR_BIN=str(path))
    assert json.loads(done.stdout)["decision"] == "block"
    waiting = os.open(ends, os.O_RDWR | os.O_NONBLOCK)
    os.write(waiting, b"\n\n")
    os.close(waiting)


def test_a_relay_that_is_newer_starts_its_own_runtime_and_prints_the_answer(
    scene: Scene, runtime: Runtime, tmp_path: Path, marks: Path
) -> None:
    Paths(scene.state, scene.state).record_runtime(runtime(tmp_path, "newer"))
    os.mkfifo(marks)
    reply = [b'{"jsonrpc":"2.0","method":"replace"}\n', answer(b'{"a":1}')]
    reading = os.open(marks, os.O_RDWR)
    assert scene.prints(reply) == {"a": 1}
    assert os.read(reading, 100) == b"newer serve /\n"
    os.close(reading)


@pytest.mark.parametrize("event", often(EVENTS, 3))
def test_a_state_folder_that_cannot_be_entered_never_ends_in_an_error(
    scene: Scene, tmp_path: Path, event: str
) -> None:
    (tmp_path / "file").write_text("")
    done = run(command(event), GOAL, scene.project, XDG_STATE_HOME=str(tmp_path / "file"))
    assert (done.returncode, done.stderr) == (0, b"")
    assert not done.stdout or json.loads(done.stdout)
