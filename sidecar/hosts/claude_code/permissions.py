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
from typing import TYPE_CHECKING, Final

import msgspec

from sidecar.platform.files import OWNER_FILE, UnusableFileError, read_whole, write_whole
from sidecar.platform.installation import HostError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sidecar.platform.paths import Paths


SETTINGS_LIMIT: Final = 4 << 20
"""Bytes of the user's settings."""


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
        return tuple(rule for rule in rules if rule not in _listed_rules(_read_settings(path))[2])
    return tuple(rules)


def user_settings_file(environment: Mapping[str, str]) -> Path:
    """The user's settings; where they are a link, the file that it leads to."""
    return (user_folder(environment) / "settings.json").resolve()


def user_folder(environment: Mapping[str, str]) -> Path:
    """The user's folder of settings and transcripts."""
    return Path(environment.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")


def cached_plugins(environment: Mapping[str, str]) -> Path:
    """Where the host keeps its copies of our plugins, which it leaves for some days after an uninstall."""
    return user_folder(environment) / "plugins" / "cache" / "supervisor"


def replace_deny_rules(path: Path, old: Collection[str], new: Sequence[str]) -> None:
    """Take the rules `old` out of the settings, and put `new` in. Raises HostError if that fails."""
    try:
        text = _read_settings(path)
        changed = edit_deny_rules(text, old, new)
        if changed == text:
            return
        mode = path.stat().st_mode if path.exists() else OWNER_FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, changed)
        path.chmod(mode)
    except (OSError, UnusableFileError, msgspec.DecodeError) as error:
        raise HostError(
            f"{path} was left as it is: {error}",
            *(f"add to permissions.deny there: {msgspec.json.encode(rule).decode()}" for rule in new),
        ) from None


def edit_deny_rules(text: bytes, old: Collection[str], new: Sequence[str]) -> bytes:
    """Return the settings without the rules `old` and with `new`. Raises msgspec.DecodeError."""
    settings, permissions, listed = _listed_rules(text)
    wanted = [rule for rule in listed if rule not in old or rule in new]
    wanted += [rule for rule in new if rule not in wanted]
    if wanted == listed:
        return text
    _put_or_drop(permissions, "deny", wanted)
    _put_or_drop(settings, "permissions", permissions)
    return msgspec.json.format(msgspec.json.encode(settings), indent=2) + b"\n" * text.endswith(b"\n")


def _listed_rules(text: bytes) -> tuple[dict[str, msgspec.Raw], dict[str, msgspec.Raw], list[str]]:
    """Return the settings, the permissions in them, and the deny rules in these."""
    settings = msgspec.json.decode(text.strip() or b"{}", type=dict[str, msgspec.Raw])
    permissions = msgspec.json.decode(settings.get("permissions", b"{}"), type=dict[str, msgspec.Raw])
    return settings, permissions, msgspec.json.decode(permissions.get("deny", b"[]"), type=list[str])


def _put_or_drop(table: dict[str, msgspec.Raw], name: str, value: object) -> None:
    """Set the entry; an empty one goes."""
    if value:
        table[name] = msgspec.Raw(msgspec.json.encode(value))
    else:
        table.pop(name, None)


def _read_settings(path: Path) -> bytes:
    with suppress(FileNotFoundError):
        return read_whole(path, SETTINGS_LIMIT)
    return b""


def _rule_path(path: str) -> str:
    """A path as rules write it: `~/...` in the home, else `//...` from the root."""
    home = f"{Path.home()}/"
    return f"~/{path.removeprefix(home)}" if path.startswith(home) else f"/{path}"
