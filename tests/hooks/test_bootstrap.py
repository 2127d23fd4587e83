"""The script that makes a runtime: with uv or with a Python, and never half."""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hooks.relaying import LIMIT_S, ROOT
from sidecar import __version__
from sidecar.platform.paths import user_paths

pytestmark = pytest.mark.process

SCRIPT = ROOT / "hooks" / "bootstrap.py"


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """The only folder on PATH, beside /bin."""
    folder = tmp_path / "tools"
    folder.mkdir()
    return folder


def fake_uv(tools: Path, *, makes_runtime: bool = True) -> Path:
    """A uv that writes down what it is told and makes what a real one would."""
    told = tools / "told"
    lines = ["#!/bin/sh", f'echo "$PWD $*" >> {told}', "for last; do :; done", 'test "$1" = venv || exit 0']
    if makes_runtime:
        lines += ['mkdir -p "$last/bin"', 'touch "$last/pyvenv.cfg" "$last/bin/supervisor"']
    (tools / "uv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tools / "uv").chmod(0o755)
    return told


def bootstrap(
    tools: Path, *arguments: str, script: Path = SCRIPT, **environment: str
) -> subprocess.CompletedProcess[str]:
    named = {name: os.environ[name] for name in ("HOME", "XDG_STATE_HOME")}
    return subprocess.run(
        [sys.executable, str(script), *arguments],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        env={"PATH": f"{tools}:/bin", **named, **environment},
    )


def test_uv_makes_it_from_the_package_around_the_plugin_and_it_is_recorded(tools: Path) -> None:
    told = fake_uv(tools)
    done = bootstrap(tools)
    made = user_paths().state / "runtime-env"
    assert (done.returncode, done.stdout.count("\n"), done.stderr.count(" of 3)\n")) == (0, 3, 3)
    assert "/supervisor:goal" in done.stdout
    assert user_paths().recorded_runtime() == made / "bin" / "supervisor"
    assert told.read_text(encoding="utf-8").splitlines() == [
        f"/ venv --quiet --python >=3.11 {made}",
        f"/ pip install --python {made}/bin/python --quiet {ROOT}",
    ]
    assert stat.S_IMODE(user_paths().state.stat().st_mode) == 0o700


def test_an_earlier_runtime_is_made_anew(tools: Path, tmp_path: Path) -> None:
    fake_uv(tools)
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "pyvenv.cfg").touch()
    (tmp_path / "env" / "old").touch()
    assert bootstrap(tools, str(tmp_path / "env")).returncode == 0
    assert sorted(path.name for path in (tmp_path / "env").iterdir()) == ["bin", "pyvenv.cfg"]


def test_a_folder_of_something_else_is_left_alone(tools: Path, tmp_path: Path) -> None:
    fake_uv(tools)
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter").touch()
    done = bootstrap(tools, str(tmp_path / "thesis"))
    assert (done.returncode, "is not empty" in done.stderr) == (1, True)
    assert (tmp_path / "thesis" / "chapter").exists()


def test_where_making_it_anew_fails_the_earlier_runtime_stays(tools: Path, tmp_path: Path) -> None:
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "pyvenv.cfg").touch()
    (tmp_path / "env" / "old").touch()
    fake_uv(tools, makes_runtime=False)
    assert bootstrap(tools, str(tmp_path / "env")).returncode == 1
    assert sorted(path.name for path in (tmp_path / "env").iterdir()) == ["old", "pyvenv.cfg"]
    assert not (tmp_path / "env.old").exists()


def test_a_plugin_that_a_host_copied_takes_the_package_of_its_marketplace_else_the_release(
    tools: Path, tmp_path: Path
) -> None:
    told = fake_uv(tools)
    root = tmp_path / "plugins" / "cache" / "market" / "supervisor" / "0.1.0"
    for name in ("hooks/bootstrap.py", ".claude-plugin/plugin.json"):
        (root / name).parent.mkdir(parents=True)
        (root / name).write_bytes((ROOT / name).read_bytes())
    assert bootstrap(tools, script=root / "hooks" / "bootstrap.py").returncode == 0
    assert told.read_text(encoding="utf-8").rstrip().endswith(f" supervisor-sidecar=={__version__}")
    clone = tmp_path / "plugins" / "marketplaces" / "market"
    clone.mkdir(parents=True)
    (clone / "pyproject.toml").touch()
    assert bootstrap(tools, script=root / "hooks" / "bootstrap.py").returncode == 0
    assert told.read_text(encoding="utf-8").rstrip().endswith(f" {clone}")


def test_a_step_that_fails_is_told_and_nothing_is_recorded(tools: Path) -> None:
    (tools / "uv").write_text("#!/bin/sh\nexit 7\n", encoding="utf-8")
    (tools / "uv").chmod(0o755)
    done = bootstrap(tools)
    assert done.returncode == 1
    assert "Supervisor has no runtime yet: this step failed: " in done.stderr
    assert "Traceback" not in done.stderr
    assert user_paths().recorded_runtime() is None


def test_as_a_hook_it_makes_one_where_none_of_this_version_is_recorded_and_always_answers_with_0(
    tools: Path, tmp_path: Path
) -> None:
    recorded, told = tmp_path / "supervisor", tools / "told"
    for version, made in ((__version__, False), ("0.0.9", True)):
        told.unlink(missing_ok=True)
        fake_uv(tools)
        recorded.write_text(f"#!/bin/sh\necho supervisor, version {version}\n", encoding="utf-8")
        recorded.chmod(0o755)
        user_paths().record_runtime(recorded)
        done = bootstrap(tools, "--hook")
        said = json.loads(done.stdout)
        assert (done.returncode, said["decision"], told.exists()) == (0, "block", made)
        assert said["reason"].startswith("Supervisor is ready. Type in Claude Code: /supervisor:goal")
        assert f"For a shell: {user_paths().recorded_runtime()} status" in said["reason"]
    (tools / "uv").write_text("#!/bin/sh\nexit 7\n", encoding="utf-8")
    user_paths().forget_runtime()
    with (user_paths().state / "bootstrap.lock").open("w") as lock:
        for why in ("Supervisor has no runtime yet: this step failed", "is being made by another session"):
            done = bootstrap(tools, "--hook")
            assert done.returncode == 0
            assert why in json.loads(done.stdout)["reason"]
            fcntl.flock(lock, fcntl.LOCK_EX)


@pytest.fixture
def module(tools: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script as a module, with a PATH of its own."""
    monkeypatch.setenv("PATH", str(tools))
    spec = importlib.util.spec_from_file_location("bootstrap", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def test_without_uv_this_python_makes_it_apart_from_what_surrounds_it(
    module: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[tuple[str, ...]] = []
    monkeypatch.setattr(module, "run", lambda *step: steps.append(step))
    made = str(tmp_path / "env" / "bin" / "python")
    for able, first, second in (
        (
            True,
            (sys.executable, "-I", "-m", "venv", "--without-pip"),
            (sys.executable, "-I", "-m", "pip", "--python", made),
        ),
        (False, (sys.executable, "-I", "-m", "venv"), (made, "-I", "-m", "pip", "install")),
    ):
        monkeypatch.setattr(module, "_answers", lambda *_, able=able: able)
        steps.clear()
        with pytest.raises(module.BootstrapError, match="there is no"):
            module.make(tmp_path / "env", "/package")
        assert [step[: len(part)] for step, part in zip(steps, (first, second), strict=True)] == [
            first,
            second,
        ]


def test_an_old_python_finds_a_newer_one_and_passes_over_a_shim_of_none(
    module: Any, tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "OLDEST", (99,))
    for name, code in (("python3.13", 127), ("python3.12", 0)):
        (tools / name).write_text(f"#!/bin/sh\nexit {code}\n", encoding="utf-8")
        (tools / name).chmod(0o755)
    assert module.python() == str(tools / "python3.12")


def test_without_any_it_says_what_to_install(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "OLDEST", (99,))
    with pytest.raises(module.BootstrapError, match=r"neither uv nor a Python from 3\.11 on"):
        module.python()
