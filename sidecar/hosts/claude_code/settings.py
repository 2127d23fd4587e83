"""What of ours is in the user's folder of Claude Code: copies of the plugin, permission rules, a status line.

A plugin can bring no rules and no status line, so these stand in the settings, the rest of which stays.

What this file knows of the host, each point seen in 2.1.197 and 2.1.330:

- `Edit(FOLDER/**)` refuses the tools Edit, Write and NotebookEdit below the folder, and shell lines whose
  redirections and known file commands (cp, mv, rm, sed -i, ...) write there. `Read(FILE)` refuses to read.
- The rules hold in every permission mode, and no process is started for them.
- The `if` of a hook is no substitute: it does not see where a command's output goes, and it holds for every
  line with a loop or a `$(...)` in it, so each of these would cost a process.
"""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from sidecar import __version__
from sidecar.hosts.steering import (
    JsonSettings,
    change_settings,
    decode_settings,
    encode_settings,
    put_or_drop,
    read_settings,
)
from sidecar.platform.files import UnusableFileError, write_whole
from sidecar.platform.installation import REINSTALL, altered_notice, altered_plugin_files, plugin_root
from sidecar.platform.paths import SECRET_FILES

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sidecar.platform.paths import Paths


def user_settings_file(environment: Mapping[str, str]) -> Path:
    """The user's settings; where they are a link, the file that it leads to."""
    return (user_folder(environment) / "settings.json").resolve()


def user_folder(environment: Mapping[str, str]) -> Path:
    """The user's folder of settings and transcripts."""
    return Path(environment.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")


def cached_plugins(environment: Mapping[str, str]) -> Path:
    """Where the host keeps its copies of our plugins, which it leaves for some days after an uninstall."""
    return user_folder(environment) / "plugins" / "cache" / "supervisor"


def altered_plugin(environment: Mapping[str, str]) -> str:
    """Tell of files of the plugin that the host loads and that are not those installed; "" for none."""
    root = Path(environment.get("CLAUDE_PLUGIN_ROOT", ""))
    copied = root.name == __version__ and root.is_relative_to(cached_plugins(environment))
    altered = altered_plugin_files(root) if copied or root == plugin_root() else ()
    return altered_notice(root, altered, "supervisor install claude-code" if copied else REINSTALL)


def repair_copies(environment: Mapping[str, str]) -> None:
    """Replace such files of the host's copy of the plugin, which it makes but once. Raises OSError."""
    for root in cached_plugins(environment).glob(f"supervisor/{__version__}"):
        for name in altered_plugin_files(root):
            write_whole(root / name, (plugin_root() / name).read_bytes())


def deny_rules(folders: Paths, runtime: Path | None) -> tuple[str, ...]:
    """The rules for state, configuration, plugins, and the command `runtime` with its environment."""
    opencode = Path.home() / ".config" / "opencode"
    own = (folders.state, folders.config, opencode / "supervisor", cached_plugins(os.environ))
    edits = [f"{one}/**" for folder in own for one in dict.fromkeys((folder, folder.resolve()))]
    edits.append(str(opencode / "plugin*" / "supervisor.js"))
    if runtime is not None:
        environment = runtime.resolve().parent.parent
        known = (environment / "pyvenv.cfg").is_file()
        edits += [f"{environment}/**"] if known else []
        edits += [] if known and runtime.is_relative_to(environment) else [str(runtime)]
    reads = (f"Read({_rule_path(str(folders.state / name))})" for name in SECRET_FILES)
    return (*(f"Edit({_rule_path(path)})" for path in edits), *reads)


def missing_deny_rules(path: Path, rules: Sequence[str]) -> tuple[str, ...]:
    """The rules that the settings lack; all of them where the settings cannot be read."""
    with suppress(OSError, UnusableFileError, msgspec.DecodeError):
        return tuple(rule for rule in rules if rule not in _listed_rules(read_settings(path))[2])
    return tuple(rules)


def replace_deny_rules(path: Path, old: Collection[str], new: Sequence[str]) -> None:
    """Take the rules `old` out of the settings, and put `new` in. Raises HostError if that fails."""
    by_hand = (f"add to permissions.deny there: {msgspec.json.encode(rule).decode()}" for rule in new)
    change_settings(path, lambda text: edit_deny_rules(text, old, new), by_hand)


def edit_deny_rules(text: bytes, old: Collection[str], new: Sequence[str]) -> bytes:
    """Return the settings without the rules `old` and with `new`. Raises msgspec.DecodeError."""
    settings, permissions, listed = _listed_rules(text)
    wanted = [rule for rule in listed if rule not in old or rule in new]
    wanted += [rule for rule in new if rule not in wanted]
    if wanted == listed:
        return text
    put_or_drop(permissions, "deny", wanted)
    put_or_drop(settings, "permissions", permissions)
    return encode_settings(settings, text)


def _listed_rules(text: bytes) -> tuple[JsonSettings, JsonSettings, list[str]]:
    """Return the settings, the permissions in them, and the deny rules in these."""
    settings = decode_settings(text)
    permissions = decode_settings(bytes(settings.get("permissions", b"")))
    return settings, permissions, msgspec.json.decode(permissions.get("deny", b"[]"), type=list[str])


def _rule_path(path: str) -> str:
    """A path as rules write it: `~/...` in the home, else `//...` from the root."""
    home = f"{Path.home()}/"
    return f"~/{path.removeprefix(home)}" if path.startswith(home) else f"/{path}"


VERB: Final = "status-line"
NAME: Final = "statusLine"
REFRESH: Final = "refreshInterval"
REFRESH_S: Final = 5
"""Seconds: by itself the host asks after messages only, and not after what a stop leads to."""


class _StatusLine(Struct, frozen=True):
    command: str = ""


def put_status_line(path: Path, supervisor: Path | None) -> None:
    """Put our part into the settings, or take it out where `supervisor` is None. Raises HostError."""
    by_hand = f'add there: "{NAME}": {{"type": "command", "command": "{supervisor} {VERB}"}}'
    change_settings(path, lambda text: edit_status_line(text, supervisor), (by_hand,) if supervisor else ())


def edit_status_line(text: bytes, supervisor: Path | None) -> bytes:
    """Return the settings with our part or without; another status line stays. Raises msgspec.DecodeError."""
    settings = decode_settings(text)
    entry = decode_settings(bytes(settings.get(NAME, b"")))
    there = msgspec.json.decode(settings.get(NAME, b"{}"), type=_StatusLine).command
    others = _without_ours(there)
    wanted = others
    if supervisor is not None:
        beside = ("--beside", others) if others else ()
        wanted = shlex.join((str(supervisor), VERB, *beside))
    if wanted == there:
        return text
    if supervisor is not None:
        entry.setdefault(REFRESH, msgspec.Raw(b"%d" % REFRESH_S))
    elif bytes(entry.get(REFRESH, b"")) == b"%d" % REFRESH_S:
        del entry[REFRESH]
    put_or_drop(entry, "command", wanted)
    put_or_drop(entry, "type", "command")
    put_or_drop(settings, NAME, entry if wanted else None)
    return encode_settings(settings, text)


def _without_ours(command: str) -> str:
    """Return the status line that ours stands behind; "" where there is none."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    if words[1:2] != [VERB]:
        return command
    return words[3] if words[2:3] == ["--beside"] else ""
