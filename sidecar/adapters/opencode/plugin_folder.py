"""Where OpenCode's file goes: into a configuration folder of the host, which loads it from there by itself.

The laws of this file:

- No file of the user's is edited, and none is overwritten: what has our name and is not ours is moved aside.
- What is taken away is ours to the byte, or it is moved aside too. All of it may be done twice.
- A write that fails leaves what was there.

What it does not know: what is in the file; what is said to the user.
"""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sidecar.adapters.files import UnfitError, read_whole, write_whole
from sidecar.adapters.opencode.plugin_file import FILE_LIMIT, mine

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

NAME: Final = "supervisor.js"
PLUGINS: Final = ("plugin", "plugins")
"""The folders, inside of one of configuration, from which OpenCode loads plugins: all of both."""
TOOLS: Final = ("tool", "tools")
CONFIGS: Final = ("opencode.json", "opencode.jsonc", "config.json")
PACKAGES: Final = ("node_modules", "package.json", "package-lock.json", "bun.lock")
"""What npm and its like leave in a folder."""
STAND_IN: Final = (
    b'{"name":"supervisor-stand-in","lockfileVersion":3,'
    b'"packages":{"":{"dependencies":{"@opencode-ai/plugin":"*"}}}}\n'
)
"""A package-lock.json with which OpenCode fetches nothing. It looks for the name, and not for the version."""


# --- places -------------------------------------------------------------------------------------------------


def user_folder(environment: Mapping[str, str]) -> Path:
    """OpenCode's folder of the user, which it reads wherever it is started."""
    base = environment.get("XDG_CONFIG_HOME") or Path(environment.get("HOME") or Path.home(), ".config")
    return Path(base, "opencode").absolute()


def project_folder(project: Path) -> Path:
    """OpenCode's folder of a project."""
    return project.absolute() / ".opencode"


def folders(environment: Mapping[str, str], project: Path) -> Iterator[Path]:
    """All folders of configuration that an OpenCode reads which is started in `project`."""
    yield user_folder(environment)
    if not switched_on(environment, "OPENCODE_DISABLE_PROJECT_CONFIG"):
        for place in (project.absolute(), *project.absolute().parents):
            yield project_folder(place)
            if (place / ".git").exists():
                break
    yield project_folder(Path(environment.get("HOME") or Path.home()))
    if named := environment.get("OPENCODE_CONFIG_DIR"):
        yield Path(named).absolute()


def switched_on(environment: Mapping[str, str], name: str) -> bool:
    """Whether a switch of OpenCode's is on, as it reads them."""
    return environment.get(name, "").lower() in {"1", "true"}


def copies(folder: Path) -> tuple[Path, ...]:
    """Our files in a folder of configuration; more than one is too many."""
    return tuple(path for name in PLUGINS if mine(path := folder / name / NAME) is not None)


def target(folder: Path) -> Path:
    """Where our file is or belongs in a folder of configuration."""
    there = [name for name in PLUGINS if (folder / name).is_dir()]
    return next(iter(copies(folder)), folder / (*there, PLUGINS[0])[0] / NAME)


# --- the file -----------------------------------------------------------------------------------------------


def put(path: Path, text: str) -> str:
    """Write our file; what became of what was there. Raises OSError, and what was there is there still."""
    with suppress(OSError, UnfitError):
        if read_whole(path, FILE_LIMIT) == text.encode():
            return "unchanged"
    path.parent.mkdir(parents=True, exist_ok=True)
    was = mine(path)
    if not os.path.lexists(path) or (was and not was.changed):
        write_whole(path, text.encode())
        return f"renewed: it was of version {was.version}" if was else "written"
    aside = _move_aside(path)
    try:
        write_whole(path, text.encode())
    except OSError:
        aside.rename(path)
        raise
    return f"written: what was there is kept in {aside}"


def take(path: Path) -> str:
    """Take a file of ours away; what became of it. Raises OSError."""
    was = mine(path)
    if was is None:
        return "there is none of ours"
    if was.changed:
        return f"it was changed, so it is kept in {_move_aside(path)}"
    path.unlink()
    return "removed"


def _move_aside(path: Path) -> Path:
    names = (path.with_name(f"{path.name}.bak{f'.{number}' if number else ''}") for number in count())
    aside = next(name for name in names if not os.path.lexists(name))
    path.rename(aside)
    return aside


def tidy(folder: Path) -> None:
    """Remove the folders that are empty without our file."""
    for place in (*(folder / name for name in PLUGINS), folder):
        with suppress(OSError):
            place.rmdir()


# --- the stand-in -------------------------------------------------------------------------------------------


def stands_in(folder: Path) -> bool:
    """Whether our stand-in is in a folder of configuration, and nothing that somebody else made of it."""
    packages = folder / "node_modules"
    try:
        return read_whole(folder / "package-lock.json", len(STAND_IN)) == STAND_IN and not (
            os.path.lexists(packages) and (packages.is_symlink() or any(packages.iterdir()))
        )
    except (OSError, UnfitError):
        return False


def others(folder: Path) -> tuple[Path, ...]:
    """Plugins and tools of others in a folder of configuration: they may import from packages."""
    found = (path for name in (*PLUGINS, *TOOLS) for path in sorted((folder / name).glob("*.[tj]s")))
    return tuple(path for path in found if not (path.parent.name in PLUGINS and path.name == NAME))


def stand_in_is_due(folder: Path) -> bool:
    """Whether OpenCode would fetch packages into the folder that nobody there has asked for."""
    untouched = not any(os.path.lexists(folder / name) for name in PACKAGES)
    return untouched and not others(folder) and not any(_named_plugins(folder))


def stand_in(folder: Path) -> None:
    """Put it there, whole or not at all; raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "package-lock.json", STAND_IN)
    try:
        (folder / "node_modules").mkdir()
    except OSError:
        (folder / "package-lock.json").unlink()
        raise


def remove_stand_in(folder: Path) -> None:
    """Take it away, where it is ours; raises OSError."""
    if stands_in(folder):
        (folder / "package-lock.json").unlink()
        with suppress(FileNotFoundError):
            (folder / "node_modules").rmdir()


# --- plugins by name ----------------------------------------------------------------------------------------


def named(folder: Path, project: Path) -> tuple[Path, ...]:
    """Files of configuration whose list of plugins names our file."""
    places = (folder, project)
    return tuple(
        path for place in places for path, plugin in _named_plugins(place) if plugin.endswith(f"/{NAME}")
    )


def _named_plugins(folder: Path) -> Iterator[tuple[Path, str]]:
    """Each plugin that a file of configuration names. A file that cannot be read names none."""
    from sidecar.adapters.reading.settings_trees import json_settings  # noqa: PLC0415 - it loads grammars

    for path in (folder / name for name in CONFIGS):
        with suppress(OSError, UnfitError, ValueError, RecursionError):
            for setting in json_settings(read_whole(path, FILE_LIMIT, follow=True).decode()):
                if setting.key.lstrip(".").startswith("plugin["):
                    yield path, setting.value.strip("\"'")
