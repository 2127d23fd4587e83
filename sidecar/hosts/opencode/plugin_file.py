"""Builds the one file that OpenCode gets: hooks/opencode.js with all it needs of this installation built in.

Rules of this file:

- It needs no other file: commands and the judge's prompt are in it, so it survives a moved checkout.
- Its first line says that it is ours and holds a digest of the rest. So our file differs from others', and
  one that a person changed from one that an older version of us wrote.
- The same installation builds the same bytes.

This file does not know where the plugin file goes and what is there already.
"""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct

from sidecar.hosts.opencode.link import JUDGE_AGENT
from sidecar.platform import formats
from sidecar.platform.files import UnusableFileError, read_whole, write_whole
from sidecar.platform.installation import HostError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


OWN_PYTHON: Final = {"PYTHONPATH": "", "PYTHONSAFEPATH": "1"}
"""Keeps a server that the host starts in a project from importing modules of the project."""
COMMAND_PREFIX: Final = "supervisor:"
"""Prefix of each command's name, as in Claude Code for those of the plugin `supervisor`."""
TEXT_LIMIT: Final = 64 * 1024
"""Bytes of a command or a prompt."""
FILE_LIMIT: Final = 1 << 20
"""Bytes of a plugin file; ours has about 30,000."""
DIGEST_DIGITS: Final = 16
"""Hexadecimal digits of the SHA-256 of what follows the first line."""

_SETUP = re.compile(r"^const SETUP = \{\}.*$", re.MULTILINE)
_FRONT = re.compile(r"---\n(?P<front>.*?)\n---\n(?P<body>.*)", re.DOTALL)
_HEAD = (
    "// Written by `supervisor install opencode`, version {version}, digest {digest}. Changes here get lost."
)
_MINE = re.compile(
    r"// Written by `supervisor install opencode`, version (?P<version>[^\s,]{1,64}), "
    r"digest (?P<digest>[0-9a-f]{16})\."
)


class InstallationInfo(Struct, frozen=True):
    """What this installation offers a host.

    `command` starts the runtime: an absolute path, or a name on PATH if others read the file too.
    """

    command: str
    version: str


class PluginFileInfo(Struct, frozen=True):
    """What a file of ours says about itself. `changed`: its content is not what was written."""

    version: str
    changed: bool


class _Front(Struct, frozen=True):
    description: str


# --- Building the file --------------------------------------------------------------------------------------


def bake_plugin_file(root: Path, offers: InstallationInfo) -> str:
    """Build the file for this installation of hooks/opencode.js below `root`, the plugin's folder.

    Raises HostError if the installation is incomplete.
    """
    return _bake(root / "hooks" / "opencode.js", _plugin_setup(root, offers), offers.version)


def _bake(place: Path, setup: dict[str, Any], version: str) -> str:
    source = _read_plugin_text(place, FILE_LIMIT)
    told = msgspec.json.format(msgspec.json.encode(setup), indent=2).decode()
    if len(_SETUP.findall(source)) != 1:
        raise _broken_install_error(f"{place} has no place for the commands")
    body = _SETUP.sub(lambda _: f"const SETUP = {told}", source)
    return _HEAD.format(version=version, digest=_body_digest(body)) + "\n" + body


def bake_status_file(root: Path, offers: InstallationInfo) -> str:
    """Build the plugin of the status line from the hooks/opencode-status.js of `root`. Raises HostError."""
    return _bake(root / "hooks" / "opencode-status.js", {"command": offers.command}, offers.version)


def _plugin_setup(root: Path, offers: InstallationInfo) -> dict[str, Any]:
    """Return what the plugin adds to the host's configuration, by section.

    `lsp` is kept apart: setting it where the user did not would switch on all of the host's own servers.
    """
    found = sorted((root / "commands").glob("*.md"))
    if not found:
        raise _broken_install_error(f"{root / 'commands'} holds no command")
    commands = {
        f"{COMMAND_PREFIX}{path.stem}": dict(
            zip(("description", "template"), _read_described_text(path), strict=True)
        )
        for path in found
    }
    description, prompt = _read_described_text(root / "rubric" / "opencode-judge.md")
    judge = {"mode": "subagent", "hidden": True, "description": description, "prompt": prompt}
    tools = {"type": "local", "command": [offers.command, "mcp"], "enabled": True}
    server = {"command": [offers.command, "lsp"], "extensions": [".md"], "env": OWN_PYTHON}
    return {
        "version": offers.version,
        "config": {
            "command": commands,
            "agent": {JUDGE_AGENT: {**judge, "permission": {"*": "deny"}}},
            "mcp": {"supervisor": {**tools, "environment": {**OWN_PYTHON, "CLAUDE_PROJECT_DIR": ""}}},
        },
        "lsp": {"supervisor-rubric": server},
    }


def _read_described_text(path: Path) -> tuple[str, str]:
    """Return the description at the head of a text, and the text."""
    parts = _FRONT.fullmatch(_read_plugin_text(path, TEXT_LIMIT))
    if parts is None:
        raise _broken_install_error(f"{path} does not begin with its description")
    try:
        return msgspec.yaml.decode(parts["front"], type=_Front).description, parts["body"].strip()
    except msgspec.DecodeError as error:
        raise _broken_install_error(f"{path} does not begin with its description: {error}") from None


def _read_plugin_text(path: Path, limit: int) -> str:
    try:
        return read_whole(path, limit, follow=True).decode()
    except (OSError, UnusableFileError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise _broken_install_error(f"{path} cannot be read: {why}") from None


def _broken_install_error(why: str) -> HostError:
    return HostError(why, "install the package whole: uv tool install supervisor-sidecar")


# --- Recognizing the file -----------------------------------------------------------------------------------


def identify_plugin_file(path: Path) -> PluginFileInfo | None:
    """Return what the file at `path` says about itself.

    Returns None if it is not ours, or not a plain file.
    """
    try:
        text = read_whole(path, FILE_LIMIT).decode()
    except (OSError, UnusableFileError, UnicodeDecodeError):
        return None
    head, _, body = text.partition("\n")
    found = _MINE.match(head)
    return PluginFileInfo(found["version"], found["digest"] != _body_digest(body)) if found else None


def altered_plugin(environment: Mapping[str, str], project: Path) -> str:
    """Tell of a file of ours that the host loads and that was changed since an install; "" for none."""
    folders = opencode_config_folders(environment, project)
    paths = (path for folder in folders for path in own_plugin_files(folder))
    altered = next((path for path in paths if (found := identify_plugin_file(path)) and found.changed), None)
    way = "Type: supervisor install opencode, with --scope project for a project's"
    return f"Supervisor: {altered} is not what was installed. {way}" if altered else ""


def _body_digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:DIGEST_DIGITS]


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
    names = (*PLUGIN_FOLDERS, *OPENCODE_TOOL_FOLDERS)
    found = (path for name in names for path in sorted((folder / name).glob("*.[tj]s")))
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
    """Remove the stand-in if it is ours, and folders that are empty then. Raises OSError."""
    if has_stand_in(folder):
        (folder / "package-lock.json").unlink()
        with suppress(FileNotFoundError):
            (folder / "node_modules").rmdir()
        remove_empty_folders(folder)


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
