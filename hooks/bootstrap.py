"""Make the sidecar's runtime, for a plugin that came without one.

    python3 bootstrap.py [--hook] [FOLDER]

FOLDER is made anew; without it $CLAUDE_PLUGIN_DATA/runtime is, or a folder in Supervisor's state. This needs
uv, or a Python from 3.11 on with venv and pip. The script itself runs on any Python from 3.8 on.

With --hook it is the hook of /supervisor:install: it answers as hooks do, and makes nothing where the runtime
that is recorded has the plugin's version. Nothing is fetched before the user typed that command.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

OLDEST = (3, 11)
LIMIT_S = 600
"""Longest wait for one step, in seconds: it may have to fetch packages."""
COMPILE = "from sidecar.platform.installation import compile_packages as c; c()"
"""Only what a start imports is compiled: that takes less time and half of the space."""


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
    """What to install: the package around the plugin, else the release of the plugin's own version.

    Claude Code copies a plugin to plugins/cache/MARKETPLACE/PLUGIN/VERSION without the package around it.
    That is in its clone of the marketplace.
    """
    places = [root]
    if len(root.parents) > 3 and root.parents[2].name == "cache":  # noqa: PLR2004 - as the docstring counts
        places.append(root.parents[3] / "marketplaces" / root.parents[1].name)
    for place in places:
        if (place / "pyproject.toml").is_file():
            return str(place)
    return "supervisor-sidecar==" + version(root)


def version(root: Path) -> str:
    """The plugin's version."""
    manifest = json.loads((root / ".claude-plugin" / "plugin.json").read_text(encoding="utf-8"))
    return str(manifest["version"])


def current(root: Path) -> Path | None:
    """The runtime that is recorded, if it works and has the plugin's version."""
    try:
        command = Path(os.fsdecode((state_folder() / "runtime").read_bytes()).strip())
        said = subprocess.run([str(command), "--version"], capture_output=True, timeout=LIMIT_S, check=True)  # noqa: S603 - the user's own
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return command if said.stdout.split()[-1:] == [version(root).encode()] else None


def python() -> str:
    """The path of a Python that is new enough; raises BootstrapError."""
    if sys.version_info >= OLDEST:
        return sys.executable
    for name in ("python3.13", "python3.12", "python3.11"):
        found = shutil.which(name)
        if found and _answers(found, "-c", ""):
            return found
    raise BootstrapError(
        "there is neither uv nor a Python from 3.11 on. Install one of them (https://docs.astral.sh/uv), "
        "then type this command again."
    )


def renew(folder: Path, package: str) -> Path:
    """Make the runtime, and keep an earlier one until that is done. Raises BootstrapError, OSError."""
    aside = folder.with_name(folder.name + ".old")
    clear(aside)
    if (folder / "pyvenv.cfg").is_file():
        _answers(str(folder / "bin" / "supervisor"), "stop")  # what it would import next moves away
        folder.rename(aside)
    try:
        clear(folder)
        made = make(folder, package)
    except (BootstrapError, OSError):
        if aside.is_dir():
            shutil.rmtree(str(folder), ignore_errors=True)
            aside.rename(folder)
        raise
    clear(aside)
    return made


def make(folder: Path, package: str) -> Path:
    """Make the runtime; the path of its `supervisor`. Raises BootstrapError."""
    uv, binary = shutil.which("uv"), str(folder / "bin" / "python")
    install: tuple[str, ...]
    tell(f"Making Supervisor's runtime in {folder}: a Python environment (1 of 3)")
    if uv:
        run(uv, "venv", "--quiet", "--python", ">=3.11", str(folder))
        install = (uv, "pip", "install", "--python", binary)
    else:
        base = python()
        install = (base, "-I", "-m", "pip", "--python", binary, "install", "--no-compile")
        lean = _answers(*install[:5], base, "--version")  # this Python's pip is new enough to serve another
        run(base, "-I", "-m", "venv", *(["--without-pip"] if lean else []), str(folder))
        install = install if lean else (binary, "-I", "-m", "pip", "install", "--no-compile")
    tell("the packages, some 15 MB to fetch (2 of 3)")
    run(*install, *([] if sys.stderr.isatty() else ["--quiet"]), package)
    made = folder / "bin" / "supervisor"
    if not made.is_file():
        raise BootstrapError(f"{package} was installed, but there is no {made}")
    tell("compiling what a start needs (3 of 3)")
    _answers(binary, "-I", "-c", COMPILE)
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
        subprocess.run(  # noqa: S603 - uv, or a Python
            command,
            check=True,
            timeout=LIMIT_S,
            cwd="/",
            stdout=sys.stderr,
            stderr=None if sys.stderr.isatty() else subprocess.PIPE,
        )
    except (OSError, subprocess.SubprocessError) as error:
        said = (getattr(error, "stderr", None) or b"").decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise BootstrapError(f"this step failed: {' '.join(command)}: {said or error}") from error


def tell(step: str) -> None:
    """Say what is being done."""
    sys.stderr.write(step + "\n")
    sys.stderr.flush()


def _answers(*command: str) -> bool:
    """Whether a command works: a Python may be the shim of one that was never installed."""
    try:
        subprocess.run(command, capture_output=True, timeout=LIMIT_S, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return False
    return True


def main(arguments: list[str]) -> int:
    """Make it and say so; the exit code."""
    hook = arguments[:1] == ["--hook"]
    folder, root = target(arguments[hook:]), Path(__file__).resolve().parent.parent
    os.umask(0o077)
    try:
        state_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
        with (state_folder() / "bootstrap.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            made = current(root) if hook else None
            if made is None:
                made = renew(folder, source(root))
                record(made)
    except BlockingIOError:
        return answer(
            hook, 1, "Supervisor's runtime is being made by another session. Wait, then type this again."
        )
    except (BootstrapError, OSError, ValueError, LookupError) as error:
        return answer(hook, 1, f"Supervisor has no runtime yet: {error}")
    return answer(
        hook,
        0,
        "Supervisor is ready. Type in Claude Code: /supervisor:goal <condition>\n"
        f"For a shell: {made} status\nThe agent's tools come with the next session.",
    )


def answer(hook: bool, code: int, said: str) -> int:  # noqa: FBT001 - who asks
    """Say how it ended, to a host or to a terminal; the exit code, in which a host would read an order."""
    if hook:
        sys.stdout.write(json.dumps({"decision": "block", "reason": said}))
        return 0
    (sys.stderr if code else sys.stdout).write(said + "\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
