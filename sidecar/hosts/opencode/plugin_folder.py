"""Installs our plugin file into a configuration folder of OpenCode, which loads it from there by itself.

Rules of this file:

- No file of the user's is edited or overwritten: a file with our name that is not ours is moved aside.
- Our file is deleted only if it is byte for byte what we wrote; otherwise it is moved aside too. Every step
  may be repeated.
- A write that fails leaves the old file in place.

This file knows neither the content of the plugin file nor the messages to the user.
"""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sidecar.hosts.opencode.plugin_file import FILE_LIMIT, identify_plugin_file
from sidecar.platform import formats
from sidecar.platform.files import UnusableFileError, read_whole, write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


PLUGIN_FILE_NAME: Final = "supervisor.js"
STATUS_FILE_NAME: Final = "supervisor-status.js"
TUI_FILE_NAME: Final = "tui.json"
TUI: Final = b'{\n  "plugin": ["./supervisor-status.js"]\n}\n'
"""The configuration of the terminal interface, where the user has none: it names our plugin there."""
PLUGIN_FOLDERS: Final = ("plugin", "plugins")
"""Subfolders of a configuration folder from which OpenCode loads plugins: from both."""
OPENCODE_TOOL_FOLDERS: Final = ("tool", "tools")
CONFIG_FILES: Final = ("opencode.json", "opencode.jsonc", "config.json")
PACKAGE_ENTRIES: Final = ("node_modules", "package.json", "package-lock.json", "bun.lock")
"""What npm and similar tools leave in a folder."""
STAND_IN: Final = (
    b'{"name":"supervisor-stand-in","lockfileVersion":3,'
    b'"packages":{"":{"dependencies":{"@opencode-ai/plugin":"*"}}}}\n'
)
"""A package-lock.json that keeps OpenCode from fetching packages.

OpenCode looks for the package's name in it, not for a version.
"""


# --- Folders and paths --------------------------------------------------------------------------------------


def opencode_user_folder(environment: Mapping[str, str]) -> Path:
    """Return the user's OpenCode folder, which OpenCode reads wherever it is started."""
    base = environment.get("XDG_CONFIG_HOME") or Path(environment.get("HOME") or Path.home(), ".config")
    return Path(base, "opencode").absolute()


def opencode_project_folder(project: Path) -> Path:
    """Return the OpenCode folder of a project."""
    return project.absolute() / ".opencode"


def opencode_config_folders(environment: Mapping[str, str], project: Path) -> Iterator[Path]:
    """Yield all configuration folders that an OpenCode started in `project` reads."""
    yield opencode_user_folder(environment)
    if not is_switched_on(environment, "OPENCODE_DISABLE_PROJECT_CONFIG"):
        for place in (project.absolute(), *project.absolute().parents):
            yield opencode_project_folder(place)
            if (place / ".git").exists():
                break
    yield opencode_project_folder(Path(environment.get("HOME") or Path.home()))
    if named := environment.get("OPENCODE_CONFIG_DIR"):
        yield Path(named).absolute()


def is_switched_on(environment: Mapping[str, str], name: str) -> bool:
    """Return whether a switch of OpenCode's is on, by its own rule."""
    return environment.get(name, "").lower() in {"1", "true"}


def own_plugin_files(folder: Path) -> tuple[Path, ...]:
    """Return our files in a configuration folder; there should be at most one."""
    return tuple(
        path
        for name in PLUGIN_FOLDERS
        if identify_plugin_file(path := folder / name / PLUGIN_FILE_NAME) is not None
    )


def plugin_file_path(folder: Path) -> Path:
    """Return where our file is or belongs in a configuration folder."""
    there = [name for name in PLUGIN_FOLDERS if (folder / name).is_dir()]
    return next(iter(own_plugin_files(folder)), folder / (*there, PLUGIN_FOLDERS[0])[0] / PLUGIN_FILE_NAME)


# --- The plugin file ----------------------------------------------------------------------------------------


def write_plugin_file(path: Path, text: str) -> str:
    """Write our file; return what happened to the old one.

    Raises OSError; the old file is then still there.
    """
    with suppress(OSError, UnusableFileError):
        if read_whole(path, FILE_LIMIT) == text.encode():
            return "unchanged"
    path.parent.mkdir(parents=True, exist_ok=True)
    was = identify_plugin_file(path)
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


def name_status_file(folder: Path) -> str:
    """Have the terminal interface load the status line; return what to do by hand, "" for nothing.

    Raises OSError. A file of the user's is not edited.
    """
    place = folder / TUI_FILE_NAME
    try:
        named = STATUS_FILE_NAME in place.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        write_whole(place, TUI)
        return ""
    return "" if named else f'name it in {place}: "plugin": ["./{STATUS_FILE_NAME}"]'


def forget_status_file(folder: Path) -> str:
    """Take back what `name_status_file` wrote; return what to do by hand, "" for nothing. Raises OSError."""
    place = folder / TUI_FILE_NAME
    try:
        text = place.read_bytes()
    except FileNotFoundError:
        return ""
    if text == TUI:
        place.unlink()
        return ""
    return f"take {STATUS_FILE_NAME} out of {place}" if STATUS_FILE_NAME.encode() in text else ""


def remove_plugin_file(path: Path) -> str:
    """Remove our file; return what happened to it. Raises OSError."""
    was = identify_plugin_file(path)
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


def remove_empty_folders(folder: Path) -> None:
    """Remove the folders that are empty without our file."""
    for place in (*(folder / name for name in PLUGIN_FOLDERS), folder):
        with suppress(OSError):
            place.rmdir()


# --- The stand-in for package-lock.json ---------------------------------------------------------------------


def has_stand_in(folder: Path) -> bool:
    """Return whether a configuration folder has our stand-in, and no packages that others installed."""
    packages = folder / "node_modules"
    try:
        return read_whole(folder / "package-lock.json", len(STAND_IN)) == STAND_IN and not (
            os.path.lexists(packages) and (packages.is_symlink() or any(packages.iterdir()))
        )
    except (OSError, UnusableFileError):
        return False


def foreign_plugins(folder: Path) -> tuple[Path, ...]:
    """Return plugins and tools of others in a configuration folder; they may import packages."""
    found = (
        path
        for name in (*PLUGIN_FOLDERS, *OPENCODE_TOOL_FOLDERS)
        for path in sorted((folder / name).glob("*.[tj]s"))
    )
    return tuple(
        path for path in found if not (path.parent.name in PLUGIN_FOLDERS and path.name == PLUGIN_FILE_NAME)
    )


def needs_stand_in(folder: Path) -> bool:
    """Return whether OpenCode would fetch packages into the folder that nobody there asked for."""
    untouched = not any(os.path.lexists(folder / name) for name in PACKAGE_ENTRIES)
    return untouched and not foreign_plugins(folder) and not any(_named_plugins(folder))


def write_stand_in(folder: Path) -> None:
    """Write the stand-in, whole or not at all. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "package-lock.json", STAND_IN)
    try:
        (folder / "node_modules").mkdir()
    except OSError:
        (folder / "package-lock.json").unlink()
        raise


def remove_stand_in(folder: Path) -> None:
    """Remove the stand-in if it is ours. Raises OSError."""
    if has_stand_in(folder):
        (folder / "package-lock.json").unlink()
        with suppress(FileNotFoundError):
            (folder / "node_modules").rmdir()


# --- Plugins named in configuration files -------------------------------------------------------------------


def configs_naming_plugin(folder: Path, project: Path) -> tuple[Path, ...]:
    """Return the configuration files whose list of plugins names our file."""
    places = (folder, project)
    return tuple(
        path
        for place in places
        for path, plugin in _named_plugins(place)
        if plugin.endswith(f"/{PLUGIN_FILE_NAME}")
    )


def _named_plugins(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield each plugin that a configuration file names, alone or with options.

    A broken file names none.
    """
    for path in (folder / name for name in CONFIG_FILES):
        with suppress(OSError, UnusableFileError, ValueError):
            text = read_whole(path, FILE_LIMIT, follow=True).decode()
            listed = formats.parse_jsonc_table(text).get("plugin")
            for plugin in listed if isinstance(listed, list) else ():
                for name in formats.string_items(plugin)[:1]:
                    yield path, name
