"""What `supervisor doctor` finds of OpenCode: its version, our file, and whether it answers."""

from __future__ import annotations

import os
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sidecar.adapters.files import UnfitError, read_whole
from sidecar.adapters.opencode import plugin_folder
from sidecar.adapters.opencode.plugin_file import FILE_LIMIT, mine
from sidecar.adapters.paths import of_user
from sidecar.adapters.plugin import HostError
from sidecar.adapters.processes import Ending, Finished, find, run
from sidecar.cli.doctor_tools import offered
from sidecar.cli.findings import Host, Line, amiss, error, ok, version, warning
from sidecar.cli.install_opencode import OpenCodeFile, loaded

if TYPE_CHECKING:
    from collections.abc import Iterator

TESTED: Final = "1.18.33"
"""The version of OpenCode that the real-host tests run; an older one is a warning."""
GET: Final = "npm install -g opencode-ai"
INSTALL: Final = "supervisor install opencode"
PROBE: Final = ("run", "--command", "supervisor:retry")
"""A typed command that costs no model request; the host refuses it by itself where our file is not loaded."""
PROBE_SECONDS: Final = 60.0
NO_TRACE: Final = {"OPENCODE_DB": ":memory:"}
"""A probe's session is not to be among the user's."""


def program() -> str:
    """The `opencode` on PATH, "" where there is none."""
    return find("opencode", os.environ, str(Path.cwd()))


def installed() -> tuple[Path, ...]:
    """Our files that an OpenCode loads which is started here."""
    return loaded(os.environ, Path.cwd())


async def examine(*, needed: bool) -> Host:
    """Version, file, and what keeps either from working. `needed`: no other host has our plugin."""
    if not program():
        lines = [warning("OpenCode is not on PATH", GET)]
    else:
        said = await _ask("--version", seconds=20, folder=str(Path.cwd()))
        lines = [version("OpenCode", said.output, TESTED, "opencode upgrade")]
    ours = installed()
    if not ours:
        lines.append(amiss("the plugin is not installed in OpenCode", INSTALL, needed=needed))
    lines += [_current(path) for path in ours]
    if len(ours) > 1:
        lines.append(warning(f"there are {len(ours)} of them, and one is enough", _uninstall(ours[-1])))
    pure = plugin_folder.switched_on(os.environ, "OPENCODE_PURE")
    if pure:
        lines.append(warning("OpenCode loads no plugin while OPENCODE_PURE is set", "unset OPENCODE_PURE"))
    lines += _packages() if ours else []
    if not ours or not program() or pure:
        return Host(tuple(lines))
    runtime = of_user().recorded_runtime()
    tools = partial(offered, "OpenCode", (str(runtime), "mcp")) if runtime else None
    return Host(tuple(lines), probe, tools)


def _current(path: Path) -> Line:
    """Whether a file of ours is what this installation would write."""
    scope, is_ours = _scope(path), mine(path)
    runtime = of_user().recorded_runtime()
    remedy = f"{INSTALL} --scope project" if scope == "project" else INSTALL
    try:
        wanted = OpenCodeFile(os.environ, Path.cwd(), scope).text(runtime or Path("supervisor"))
        if read_whole(path, FILE_LIMIT) == wanted.encode():
            return ok(f"plugin {path} ({scope})")
    except HostError as trouble:
        return error(str(trouble), trouble.moves[0])
    except (OSError, UnfitError):
        return warning(f"{path} cannot be read", f"ls -l {path}")
    if is_ours is not None and is_ours.changed:
        return warning(f"{path} was changed by hand", remedy)
    return warning(f"{path} is not what this version of Supervisor installs", remedy)


def _scope(path: Path) -> str:
    return "user" if plugin_folder.user_folder(os.environ) in path.parents else "project"


def _uninstall(path: Path) -> str:
    """How a file goes away that is one too many; from another folder only by hand."""
    here = plugin_folder.project_folder(Path.cwd())
    return "supervisor uninstall opencode --scope project" if here in path.parents else f"rm {path}"


def _packages() -> Iterator[Line]:
    """What npm's packages, or our stand-in for them, do to a start."""
    for folder in dict.fromkeys(plugin_folder.folders(os.environ, Path.cwd())):
        others = plugin_folder.others(folder)
        if others and plugin_folder.stands_in(folder):
            yield warning(f"our stand-in for npm's packages hides them from {others[0]}", INSTALL)
        elif folder.is_dir() and os.access(folder, os.W_OK) and not (folder / "node_modules").exists():
            yield warning(
                f"OpenCode fetches packages into {folder} before it loads plugins; "
                "offline it waits more than a minute at each start",
                "start opencode once while online",
            )


async def probe() -> Line:
    """A real call: the host, our file in it, and the sidecar, at no model request."""
    everywhere = any(_scope(path) == "user" for path in installed())
    with tempfile.TemporaryDirectory(prefix="supervisor-probe-") as folder:
        said = await _ask(*PROBE, seconds=PROBE_SECONDS, folder=folder if everywhere else str(Path.cwd()))
    text = said.output.decode(errors="replace")
    if "budget of" in text:
        return ok("OpenCode answers: a typed command reached the sidecar, without a model request")
    shown = f"opencode {' '.join(PROBE)}"
    if said.ending is Ending.TIMED_OUT:
        return error("OpenCode did not answer the probe in time", shown)
    why = " ".join((text or said.errors.decode(errors="replace")).split())[:200]
    return error(f"OpenCode does not carry out our commands: {why or 'no answer'}", shown)


async def _ask(*arguments: str, seconds: float, folder: str) -> Finished:
    environment = {**os.environ, **NO_TRACE}
    return await run(
        [program(), *arguments], cwd=folder, environment=environment, seconds=seconds, separate=True
    )
