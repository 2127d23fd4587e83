"""The tests run on the built wheel, and the wheel holds what an installed Supervisor needs."""

import os
from importlib import metadata
from pathlib import Path, PurePosixPath

import pytest

import sidecar

CHECKOUT = Path(__file__).parents[2]
PLUGIN_FOLDERS = (
    ".claude-plugin/rubric",
    ".codex-plugin",
    ".gemini-extension",
    "commands",
    "hooks",
    "rubric",
)
PLUGIN_FILES = {
    ".mcp.json": ".mcp.json",
    ".claude-plugin/plugin.json": ".claude-plugin/plugin.json",
    ".claude-plugin/marketplace.json": ".claude-plugin/marketplace-wheel.json",
}

runs_on_the_wheel = pytest.mark.skipif(
    not os.environ.get("TOX_ENV_NAME", "").startswith(("fast", "process")),
    reason="only `tox` installs the wheel",
)


def files_under(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


@runs_on_the_wheel
def test_the_package_under_test_is_the_installed_one() -> None:
    assert "site-packages" in Path(sidecar.__file__).parts


@runs_on_the_wheel
def test_the_wheel_installs_one_package_and_one_command() -> None:
    wheel = metadata.distribution("supervisor-sidecar")
    paths = [PurePosixPath(path) for path in wheel.files or []]

    roots = {path.parts[0] for path in paths if path.parts[0] != ".."}
    commands = {path.name for path in paths if path.parts[0] == ".."}
    assert roots == {"sidecar", f"supervisor_sidecar-{sidecar.__version__}.dist-info"}
    assert commands == {"supervisor"}


@runs_on_the_wheel
def test_the_wheel_holds_every_file_of_the_package_and_no_other() -> None:
    installed = files_under(Path(sidecar.__file__).parent)

    assert {
        name: content for name, content in installed.items() if not name.startswith("_plugin/")
    } == files_under(CHECKOUT / "sidecar")


@runs_on_the_wheel
@pytest.mark.parametrize("folder", PLUGIN_FOLDERS)
def test_the_wheel_carries_the_plugin(folder: str) -> None:
    carried = files_under(Path(sidecar.__file__).parent / "_plugin" / folder)

    assert carried == files_under(CHECKOUT / folder)
    assert carried != {}


@runs_on_the_wheel
@pytest.mark.parametrize("name", PLUGIN_FILES)
def test_the_wheel_carries_what_else_the_plugin_needs(name: str) -> None:
    carried = Path(sidecar.__file__).parent / "_plugin" / name
    assert carried.read_bytes() == (CHECKOUT / PLUGIN_FILES[name]).read_bytes()


def test_every_markdown_file_in_commands_is_a_command() -> None:
    strangers = [path.name for path in (CHECKOUT / "commands").iterdir() if path.suffix != ".md"]

    assert strangers == []


@runs_on_the_wheel
def test_the_wheel_carries_the_labelled_corpus() -> None:
    carried = files_under(Path(sidecar.__file__).parent / "_plugin" / "corpus")

    assert carried == files_under(CHECKOUT / "benchmarks" / "judge" / "corpus")
    assert carried != {}
