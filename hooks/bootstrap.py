"""Make the sidecar's runtime, for a plugin that came without one.

    python3 bootstrap.py [FOLDER]

FOLDER is made anew; without it $CLAUDE_PLUGIN_DATA/runtime is, or a folder in Supervisor's state. This needs
uv, or a Python from 3.11 on with venv and pip. The script itself runs on any Python from 3.8 on.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

OLDEST = (3, 11)
LIMIT_S = 600
"""Longest wait for one step, in seconds: it may have to fetch packages."""


class BootstrapError(Exception):
    """The runtime could not be made. The text says why, and what to do."""


def state_folder() -> Path:
    """Supervisor's state folder, as sidecar/platform/paths.py has it."""
    home = Path(os.environ.get("XDG_STATE_HOME", ""))
    return (home if home.is_absolute() else Path.home() / ".local" / "state") / "supervisor"


def target(arguments: list[str]) -> Path:
    """The folder of the runtime."""
    if arguments:
        return Path(arguments[0]).absolute()
    data = Path(os.environ.get("CLAUDE_PLUGIN_DATA", ""))
    return data / "runtime" if data.is_absolute() else state_folder() / "runtime-env"


def source(root: Path) -> str:
    """What to install: the package around the plugin, else the release of the plugin's own version."""
    if (root / "pyproject.toml").is_file():
        return str(root)
    manifest = json.loads((root / ".claude-plugin" / "plugin.json").read_text(encoding="utf-8"))
    return "supervisor-sidecar==" + str(manifest["version"])


def python() -> str:
    """The path of a Python that is new enough; raises BootstrapError."""
    if sys.version_info >= OLDEST:
        return sys.executable
    for name in ("python3.13", "python3.12", "python3.11"):
        found = shutil.which(name)
        if found and _answers(found):
            return found
    raise BootstrapError(
        "there is neither uv nor a Python from 3.11 on. Install one of them (https://docs.astral.sh/uv), "
        "then type this command again."
    )


def make(folder: Path, package: str) -> Path:
    """Make the runtime; the path of its `supervisor`. Raises BootstrapError."""
    clear(folder)
    uv = shutil.which("uv")
    binary = str(folder / "bin" / "python")
    if uv:
        run(uv, "venv", "--quiet", "--python", ">=3.11", str(folder))
        run(uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", binary, package)
    else:
        run(python(), "-I", "-m", "venv", str(folder))
        run(binary, "-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package)
    made = folder / "bin" / "supervisor"
    if not made.is_file():
        raise BootstrapError(f"{package} was installed, but there is no {made}")
    return made


def clear(folder: Path) -> None:
    """Remove an earlier runtime, and nothing else; raises BootstrapError."""
    if (folder / "pyvenv.cfg").is_file():
        shutil.rmtree(str(folder))
    elif folder.is_dir() and any(folder.iterdir()):
        raise BootstrapError(f"{folder} is not empty and no earlier runtime. Name another folder.")


def record(command: Path) -> None:
    """Let the hooks find it; raises OSError."""
    state = state_folder()
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = state / f".runtime.{os.getpid()}.tmp"
    fresh.write_bytes(os.fsencode(str(command)) + b"\n")
    fresh.replace(state / "runtime")


def run(*command: str) -> None:
    """Run one step, away from the project and its settings; raises BootstrapError."""
    try:
        subprocess.run(command, check=True, timeout=LIMIT_S, cwd="/")  # noqa: S603 - uv, or a Python
    except (OSError, subprocess.SubprocessError) as error:
        raise BootstrapError(f"this step failed: {error}") from error


def _answers(binary: str) -> bool:
    """Whether it is a Python, and not the shim of one that was never installed."""
    try:
        subprocess.run([binary, "-c", ""], capture_output=True, timeout=LIMIT_S, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return False
    return True


def main(arguments: list[str]) -> int:
    """Make it and say so; the exit code."""
    folder = target(arguments)
    os.umask(0o077)
    try:
        sys.stderr.write(f"Making Supervisor's runtime in {folder}\n")
        made = make(folder, source(Path(__file__).resolve().parent.parent))
        record(made)
    except (BootstrapError, OSError, ValueError, LookupError) as error:
        sys.stderr.write(f"Supervisor has no runtime yet: {error}\n")
        return 1
    sys.stdout.write("Supervisor is ready. Type in Claude Code: /supervisor:goal <condition>\n")
    sys.stdout.write("For a shell: " + str(made) + " status\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
