"""The user's settings of Claude Code, which no plugin can set. What we do not change stays as it is."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from sidecar.platform.files import OWNER_FILE, UnusableFileError, read_whole, write_whole
from sidecar.platform.installation import HostError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


SETTINGS_LIMIT: Final = 4 << 20
"""Bytes of the user's settings."""

Settings = dict[str, msgspec.Raw]


def user_settings_file(environment: Mapping[str, str]) -> Path:
    """The user's settings; where they are a link, the file that it leads to."""
    return (user_folder(environment) / "settings.json").resolve()


def user_folder(environment: Mapping[str, str]) -> Path:
    """The user's folder of settings and transcripts."""
    return Path(environment.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")


def cached_plugins(environment: Mapping[str, str]) -> Path:
    """Where the host keeps its copies of our plugins, which it leaves for some days after an uninstall."""
    return user_folder(environment) / "plugins" / "cache" / "supervisor"


def read_settings(path: Path) -> bytes:
    """Return the settings, empty where there are none. Raises OSError and UnusableFileError."""
    with suppress(FileNotFoundError):
        return read_whole(path, SETTINGS_LIMIT)
    return b""


def decode_settings(text: bytes) -> Settings:
    """Return the settings by name. Raises msgspec.DecodeError."""
    return msgspec.json.decode(text.strip() or b"{}", type=Settings)


def encode_settings(settings: Settings, before: bytes) -> bytes:
    """Return the settings as text that ends as it did `before`."""
    return msgspec.json.format(msgspec.json.encode(settings), indent=2) + b"\n" * before.endswith(b"\n")


def put_or_drop(table: Settings, name: str, value: object) -> None:
    """Set the entry; an empty one goes."""
    if value:
        table[name] = msgspec.Raw(msgspec.json.encode(value))
    else:
        table.pop(name, None)


def change_settings(path: Path, change: Callable[[bytes], bytes], moves: Iterable[str]) -> None:
    """Change the settings. Raises HostError with `moves`, what to do by hand, if that fails."""
    try:
        text = read_settings(path)
        changed = change(text)
        if changed == text:
            return
        mode = path.stat().st_mode if path.exists() else OWNER_FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, changed)
        path.chmod(mode)
    except (OSError, UnusableFileError, msgspec.DecodeError) as error:
        raise HostError(f"{path} was left as it is: {error}", *moves) from None
