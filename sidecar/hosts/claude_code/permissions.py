"""The rules by which Claude Code itself keeps its agent from writing to Supervisor's own files.

They stand in the user's settings, under `permissions.deny`: a plugin can bring none. What this file knows of
the host, each point seen in 2.1.197 and 2.1.330:

- `Edit(FOLDER/**)` refuses the tools Edit, Write and NotebookEdit below the folder, and shell lines whose
  redirections and known file commands (cp, mv, rm, sed -i, ...) write there. `Read(FILE)` refuses to read.
- The rules hold in every permission mode, and no process is started for them.
- The `if` of a hook is no substitute: it does not see where a command's output goes, and it holds for every
  line with a loop or a `$(...)` in it, so each of these would cost a process.

The rest of the user's settings stays as it is.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from sidecar.hosts.claude_code.user_settings import (
    Settings,
    change_settings,
    decode_settings,
    encode_settings,
    put_or_drop,
    read_settings,
)
from sidecar.platform.files import UnusableFileError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from sidecar.platform.paths import Paths


def deny_rules(folders: Paths, runtime: Path | None) -> tuple[str, ...]:
    """The rules for state, configuration and the `supervisor` command `runtime` with its environment."""
    own = (folders.state, folders.config, Path.home() / ".config" / "opencode" / "supervisor")
    edits = [f"{one}/**" for folder in own for one in dict.fromkeys((folder, folder.resolve()))]
    if runtime is not None:
        environment = runtime.resolve().parent.parent
        known = (environment / "pyvenv.cfg").is_file()
        edits += [f"{environment}/**"] if known else []
        edits += [] if known and runtime.is_relative_to(environment) else [str(runtime)]
    reads = str(folders.state / "mcp-token")
    return (*(f"Edit({_rule_path(path)})" for path in edits), f"Read({_rule_path(reads)})")


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


def _listed_rules(text: bytes) -> tuple[Settings, Settings, list[str]]:
    """Return the settings, the permissions in them, and the deny rules in these."""
    settings = decode_settings(text)
    permissions = decode_settings(bytes(settings.get("permissions", b"")))
    return settings, permissions, msgspec.json.decode(permissions.get("deny", b"[]"), type=list[str])


def _rule_path(path: str) -> str:
    """A path as rules write it: `~/...` in the home, else `//...` from the root."""
    home = f"{Path.home()}/"
    return f"~/{path.removeprefix(home)}" if path.startswith(home) else f"/{path}"
