"""The plugin's files: what the host is told to run, and what it may cost."""

from __future__ import annotations

import ast
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from msgspec import inspect

from hooks.relaying import EVENTS, RELAY, ROOT, FakeSidecar, Scene, answer, command, entries, run
from sidecar import __version__
from sidecar.hosts.claude_code.codec import HOST, OWN_TOOL
from sidecar.kernel.settings import Settings
from sidecar.platform import rpc
from support.table import often, over_table

pytestmark = pytest.mark.process

SCRIPTS = sorted((ROOT / "hooks").glob("*.py"))
COMMANDS = sorted((ROOT / "commands").glob("*.md"))


def manifest(name: str) -> Any:
    return json.loads((ROOT / ".claude-plugin" / name).read_text(encoding="utf-8"))


# --- the command line of a hook -----------------------------------------------------------------------------


@pytest.mark.parametrize("event", often(EVENTS, 3))
def test_a_plugin_that_is_gone_ends_in_silence_and_never_in_exit_code_2(
    scene: Scene, tmp_path: Path, event: str
) -> None:
    done = run(command(event, root=tmp_path), b"{}", scene.project)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize(
    "text", ["this is no Python", "import sys; sys.exit(2)", "raise KeyboardInterrupt", "\0"]
)
def test_a_broken_relay_ends_in_silence_and_never_in_exit_code_2(
    scene: Scene, tmp_path: Path, text: str
) -> None:
    (tmp_path / "hooks").mkdir()
    (tmp_path / "hooks" / "relay.py").write_text(text, encoding="utf-8")
    done = run(command("Stop", root=tmp_path), b"{}", scene.project)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_relay_without_its_second_file_ends_in_silence(scene: Scene, tmp_path: Path) -> None:
    (tmp_path / "hooks").mkdir()
    shutil.copy(RELAY, tmp_path / "hooks")
    done = run(command("Stop", root=tmp_path), b"{}", scene.project)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("arguments", [[], ["Stop"], ["Stop", "soon", "later"]])
def test_a_relay_with_wrong_arguments_ends_in_silence(scene: Scene, arguments: list[str]) -> None:
    done = run([*command("Stop")[:-4], *arguments], b"{}", scene.project)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_relay_that_is_run_by_hand_ends_in_silence_too(scene: Scene) -> None:
    done = run(["python3", str(RELAY)], b"{}", scene.project)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_host_that_no_longer_listens_is_no_error(scene: Scene) -> None:
    with FakeSidecar(scene.state, [answer(b"{}")]):
        line = ["/bin/sh", "-c", 'exec "$@" >&-', "sh", *command("Stop")]
        done = run(line, b"{}", scene.project)
    assert (done.returncode, done.stderr) == (0, b"")


def test_every_hook_runs_the_relay_by_the_same_command_line_with_its_own_event() -> None:
    lines = {event: [entry["command"], *entry["args"]] for event, entry in entries().items()}
    assert {(*line[:-4], line[-1]) for line in lines.values()} == {(*lines["Stop"][:-4], HOST)}
    assert {event: line[-4] for event, line in lines.items()} == {event: event for event in lines}
    assert lines["Stop"][:4] == ["python3", "-I", "-S", "-c"]


@over_table("event", EVENTS)
def test_each_limit_is_smaller_than_the_one_around_it(event: str) -> None:
    entry = entries()[event]
    silence, total = map(float, entry["args"][-3:-1])
    assert silence <= total < entry["timeout"]


def test_a_stop_is_waited_for_as_long_as_the_settings_allow_judging() -> None:
    info = inspect.type_info(Settings)
    assert isinstance(info, inspect.StructType)
    (judging,) = (field.type for field in info.fields if field.name == "stop_seconds")
    assert isinstance(judging, inspect.IntType)
    assert judging.le is not None
    assert judging.le < float(entries()["Stop"]["args"][-2])


def test_the_commands_are_the_ones_that_the_hook_listens_for() -> None:
    hooks = json.loads((ROOT / "hooks" / "expansion.json").read_text(encoding="utf-8"))["hooks"]
    matchers = [group["matcher"] for group in hooks["UserPromptExpansion"]]
    heard = [sum(bool(re.search(one, f"supervisor:{path.stem}")) for one in matchers) for path in COMMANDS]
    assert heard == [1] * len(COMMANDS)
    assert not any(re.search(one, f"supervisor:{name}") for one in matchers for name in ("goals", "installs"))


@pytest.mark.parametrize(
    ("tool", "ours"),
    [
        ("mcp__plugin_supervisor_supervisor__status", True),
        ("mcp__supervisor__task_add", True),
        ("mcp__plugin_supervisor_other__status", False),
        ("mcp__supervisor2__status", False),
        ("mcp__other__supervisor__status", False),
        ("Bash", False),
    ],
)
def test_the_host_tells_only_of_calls_of_our_own_tools(tool: str, ours: bool) -> None:  # noqa: FBT001 - a table
    hooks = json.loads((ROOT / "hooks" / "hooks.json").read_text(encoding="utf-8"))["hooks"]
    assert bool(re.fullmatch(hooks["PreToolUse"][0]["matcher"], tool)) is ours
    assert bool(OWN_TOOL.fullmatch(tool)) is ours


def test_the_plugins_own_server_is_started_as_the_hooks_are_and_called_as_the_hosts_know_it() -> None:
    (name,) = (servers := json.loads((ROOT / ".mcp.json").read_text(encoding="utf-8"))["mcpServers"])
    assert name == "supervisor"
    line = [servers[name]["command"], *servers[name]["args"]]
    assert line[:3] == command("Stop")[:3]
    assert Path(line[3].replace("${CLAUDE_PLUGIN_ROOT}", str(ROOT))).is_file()


def test_what_an_older_host_may_not_know_is_in_files_of_its_own() -> None:
    known = json.loads((ROOT / "hooks" / "hooks.json").read_text(encoding="utf-8"))["hooks"]
    assert set(known) == {"SessionStart", "UserPromptSubmit", "PreToolUse", "Stop", "SessionEnd"}
    newer = [f"./hooks/{name}.json" for name in ("changed", "expansion", "failure")]
    assert manifest("plugin.json")["hooks"] == newer


# --- the scripts --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_a_script_is_grammar_that_python_3_8_knows(path: Path) -> None:
    ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))


def test_the_relay_is_short() -> None:
    assert len(RELAY.read_text(encoding="utf-8").splitlines()) < 90


def test_the_way_through_a_sidecar_that_answers_imports_next_to_nothing(scene: Scene) -> None:
    line = command("Stop")
    with FakeSidecar(scene.state, [answer(b"{}")]):
        done = run([line[0], "-X", "importtime", *line[1:]], b"{}", scene.project)
    imported = {row.rpartition(b"|")[2].strip().decode() for row in done.stderr.splitlines()}
    assert {"_socket", "_json"} <= imported
    assert not imported & {
        "json",
        "os",
        "pathlib",
        "re",
        "runpy",
        "selectors",
        "socket",
        "subprocess",
        "typing",
    }


def test_the_way_to_a_runtime_imports_next_to_nothing(tmp_path: Path) -> None:
    tmp_path.joinpath("runtime").write_text("/bin/true\n", encoding="utf-8")
    code = f"import sys; sys.path.append({str(RELAY.parent)!r}); import cold; "
    start = f"cold.start({bytes(tmp_path)!r}, b'', 9)"
    done = run([command("Stop")[0], "-I", "-S", "-X", "importtime", "-c", code + start], b"", tmp_path)
    imported = {row.rpartition(b"|")[2].strip().decode() for row in done.stderr.splitlines()}
    assert {"cold", "select"} <= imported
    assert not imported & {"contextlib", "json", "pathlib", "re", "subprocess"}


def test_the_relay_and_the_sidecar_agree_on_the_bytes_of_the_line(scene: Scene) -> None:
    source = RELAY.read_text(encoding="utf-8")
    for said in (rpc.encode_result(1, b""), rpc.encode_call("", None)):
        start = said.decode().rstrip('"}\n') + ('"' if b"method" in said else "")
        assert repr(start) in source
    message = rpc.parse_message(scene.asks(b'{"session_id":"s"}'))
    assert (message.id, message.method) == (1, "hook")


def test_all_names_of_the_version_are_one() -> None:
    (copies,) = re.findall(r"^copies=\((.*)\)$", (ROOT / ".ci" / "release").read_text(), re.MULTILINE)
    for copy in copies.split():
        found = re.findall(r'version"?\s*[=:]\s*"([^"]*)"', (ROOT / copy).read_text(), re.IGNORECASE)
        assert found == [__version__], copy
    assert len(copies.split()) > 4


# --- what the host shows ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["cold.py", "opencode.js"])
def test_what_a_plugin_says_by_itself_is_one_line_with_what_to_type(name: str) -> None:
    source = (ROOT / "hooks" / name).read_text(encoding="utf-8")
    texts = re.findall(r'["`]Supervisor (?:did|has|could) .*?["`]', source)
    assert len(texts) > 1
    assert [text for text in texts if not re.search(r"\bType\b", text) or "\\n" in text] == []


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: path.stem)
def test_a_command_says_what_it_does_and_is_the_users_alone(path: Path) -> None:
    _, front, body = path.read_text(encoding="utf-8").split("---\n", 2)
    assert re.search(r"^description: \S", front, re.MULTILINE)
    assert path.stem in ("accept", "install") or re.search(r"^argument-hint: '.+'$", front, re.MULTILINE)
    assert "disable-model-invocation: true\n" in front
    assert body.strip()


def test_the_goal_reaches_the_model_as_it_was_typed() -> None:
    assert "<goal>\n$ARGUMENTS\n</goal>" in (ROOT / "commands" / "goal.md").read_text(encoding="utf-8")


def test_a_marketplace_offers_the_plugin_and_a_checkouts_no_more_than_the_plugin() -> None:
    checkout, wheel = manifest("marketplace.json"), manifest("marketplace-wheel.json")
    offered = ROOT / checkout["plugins"][0]["source"]
    assert (wheel["plugins"][0]["source"], wheel["plugins"][0]["name"]) == (
        "./",
        manifest("plugin.json")["name"],
    )
    wheel["plugins"][0]["source"] = checkout["plugins"][0]["source"]
    assert checkout == wheel
    links = {path for path in offered.rglob("*") if path.is_symlink()}
    assert {path.relative_to(offered).as_posix(): path.resolve() for path in links} == {
        name: ROOT / name
        for name in (".claude-plugin/plugin.json", ".mcp.json", ".plugin", "commands", "hooks")
    }
