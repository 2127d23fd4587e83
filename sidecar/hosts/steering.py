"""The files of hosts by which they run our hooks and plugins, or others: an edit of them by an agent waits.

They stand in one file, as a start reads them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.hosts.shared import COPILOT, OPENCODE
from sidecar.kernel.session import Environment
from sidecar.platform.files import OWNER_FILE, UnusableFileError, read_whole, write_whole
from sidecar.platform.installation import HostError
from sidecar.platform.steering import SteeringKind, describe_edit

SETTINGS_LIMIT: Final = 4 << 20
"""Bytes of a host's settings."""
JsonSettings = dict[str, msgspec.Raw]


class HostSteering(Struct, frozen=True):
    """The files of a host by which it runs our hooks and plugin, or others: our readers have no part in it.

    `user` takes the sidecar's environment and returns the user's files by short names. `project` takes a
    project and a session's environment, of which it sees HOME, XDG_CONFIG_HOME and `variables`. `kinds`: how
    these files steer, by their name, by folder and name, or by short name.
    """

    user: Callable[[Environment], dict[str, Path]]
    project: Callable[[Path, Environment], tuple[Path, ...]]
    kinds: dict[str, SteeringKind]
    variables: tuple[str, ...] = ()


def decode_settings(text: bytes) -> JsonSettings:
    """Return the settings by name. Raises msgspec.DecodeError."""
    return msgspec.json.decode(text.strip() or b"{}", type=JsonSettings)


def encode_settings(settings: JsonSettings, before: bytes) -> bytes:
    """Return the settings as text that ends as it did `before`."""
    return msgspec.json.format(msgspec.json.encode(settings), indent=2) + b"\n" * before.endswith(b"\n")


def put_or_drop(table: JsonSettings, name: str, value: object) -> None:
    """Set the entry; an empty one goes."""
    if value:
        table[name] = msgspec.Raw(msgspec.json.encode(value))
    else:
        table.pop(name, None)


def read_settings(path: Path) -> bytes:
    """Return the settings, empty where there are none. Raises OSError and UnusableFileError."""
    with suppress(FileNotFoundError):
        return read_whole(path, SETTINGS_LIMIT)
    return b""


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


def _encode_part(part: Mapping[str, object]) -> str:
    return msgspec.json.encode(part, order="sorted").decode() if part else ""


# --- Claude Code --------------------------------------------------------------------------------------------


PLUGIN_IDS: Final = ("supervisor@supervisor", "supervisor-rubric@supervisor")
"""The host's names for our plugins. The second is optional: it claims the language server for Markdown."""
PLUGINS: Final = "enabledPlugins"
STEERING_SETTINGS: Final = ("disableAllHooks", "env", "hooks")
"""Settings by which our hooks do not run, or with other programs."""
CLAUDE_USER_SETTINGS: Final = "Claude Code's settings"
CLAUDE_SETTINGS: Final = ("settings.json", "settings.local.json")


def read_claude_steering(path: Path) -> str:
    """Return the part of the settings that steers.

    "" for none. Raises OSError, UnusableFileError and msgspec.DecodeError.
    """
    text = read_whole(path, SETTINGS_LIMIT, follow=True).strip()
    settings = msgspec.json.decode(text or b"{}", type=dict[str, Any])
    part = {name: settings[name] for name in STEERING_SETTINGS if settings.get(name)}
    plugins = settings.get(PLUGINS)
    if isinstance(plugins, dict) and (
        ours := {name: plugins[name] for name in PLUGIN_IDS if name in plugins}
    ):
        part[PLUGINS] = ours
    return _encode_part(part)


def restore_claude_settings(text: str, part: str) -> str:
    """Return settings with this part as it was, and the rest as it is. Raises msgspec.DecodeError.

    Which plugins are on stays, too: it may be the user who installs us or takes us out meanwhile.
    """
    settings, kept = decode_settings(text.encode()), msgspec.json.decode(part or "{}", type=dict)
    for name in STEERING_SETTINGS:
        put_or_drop(settings, name, kept.get(name))
    return encode_settings(settings, text.encode()).decode()


def _claude_user_files(environment: Environment) -> dict[str, Path]:  # noqa: ARG001 - the sidecar's own home
    return {CLAUDE_USER_SETTINGS: Path.home().joinpath(".claude", "settings.json").resolve()}


def _claude_project_files(project: Path, environment: Environment) -> tuple[Path, ...]:
    claude = environment.get("CLAUDE_CONFIG_DIR", "")
    named = [Path(claude, "settings.json").resolve()] if claude else []
    return (*(project / ".claude" / name for name in CLAUDE_SETTINGS), *named)


CLAUDE_KIND: Final = SteeringKind(
    read=read_claude_steering, describe=partial(describe_edit, values=False), live=True
)
CLAUDE_STEERING: Final = HostSteering(
    _claude_user_files,
    _claude_project_files,
    {
        CLAUDE_USER_SETTINGS: replace(CLAUDE_KIND, restore=restore_claude_settings),
        **dict.fromkeys(CLAUDE_SETTINGS, CLAUDE_KIND),
    },
    ("CLAUDE_CONFIG_DIR",),
)


# --- OpenCode -----------------------------------------------------------------------------------------------


OPENCODE_SETTINGS: Final = ("opencode.json", "opencode.jsonc")
OPENCODE_PLUGINS: Final = ("plugin/*.js", "plugin/*.ts", "plugins/*.js", "plugins/*.ts")


def read_opencode_steering(path: Path) -> str:
    """Return the plugins that a configuration file names, "" for none.

    Raises OSError, UnusableFileError and msgspec.DecodeError.
    """
    from sidecar.platform.formats import parse_jsonc_table  # noqa: PLC0415 - few have one

    listed = parse_jsonc_table(read_whole(path, SETTINGS_LIMIT, follow=True).decode()).get("plugin")
    return msgspec.json.encode(listed).decode() if listed else ""


def _opencode_user_files(environment: Environment) -> dict[str, Path]:
    folder = Path(environment.get("XDG_CONFIG_HOME") or Path.home() / ".config", OPENCODE)
    return {f"{OPENCODE}/{name}": folder / name for name in (*OPENCODE_SETTINGS, *OPENCODE_PLUGINS)}


def _opencode_project_files(project: Path, environment: Environment) -> tuple[Path, ...]:  # noqa: ARG001 - see above
    inside = (project / ".opencode" / name for name in (*OPENCODE_SETTINGS, *OPENCODE_PLUGINS))
    return (*(project / name for name in OPENCODE_SETTINGS), *inside)


OPENCODE_STEERING: Final = HostSteering(
    _opencode_user_files,
    _opencode_project_files,
    {
        **dict.fromkeys(OPENCODE_SETTINGS, SteeringKind(read=read_opencode_steering, live=True)),
        **dict.fromkeys(("*.js", "*.ts"), SteeringKind(live=True)),
    },
)


# --- Codex --------------------------------------------------------------------------------------------------


CODEX_SETTINGS: Final = ("config.toml", "hooks.json")
CODEX_PARTS: Final = ("features", "hooks", "marketplaces", "plugins")
"""Tables of config.toml that decide which hooks run."""


def read_codex_steering(path: Path) -> str:
    """Return the part of config.toml that steers, "" for none. Raises OSError and UnusableFileError."""
    from sidecar.platform.formats import parse_toml_table  # noqa: PLC0415 - few have one

    settings = parse_toml_table(read_whole(path, SETTINGS_LIMIT, follow=True).decode("utf-8", "replace"))
    return _encode_part({name: settings[name] for name in CODEX_PARTS if name in settings})


def _codex_user_files(environment: Environment) -> dict[str, Path]:  # noqa: ARG001 - the sidecar's own home
    return {f"Codex's {name}": Path.home() / ".codex" / name for name in CODEX_SETTINGS}


def _codex_project_files(project: Path, environment: Environment) -> tuple[Path, ...]:  # noqa: ARG001 - see above
    return tuple(project / ".codex" / name for name in CODEX_SETTINGS)


CODEX_KIND: Final = SteeringKind(
    read=read_codex_steering, describe=partial(describe_edit, values=False), live=True
)
CODEX_STEERING: Final = HostSteering(
    _codex_user_files,
    _codex_project_files,
    {
        **dict.fromkeys(("Codex's config.toml", ".codex/config.toml"), CODEX_KIND),
        **dict.fromkeys(("Codex's hooks.json", ".codex/hooks.json"), SteeringKind(live=True)),
    },
)


# --- Copilot CLI --------------------------------------------------------------------------------------------


COPILOT_HOOKS: Final = "hooks/*.json"
"""All of these run, beside those of the settings and of plugins."""


def copilot_user_folder(environment: Environment) -> Path:
    """The user's folder of settings and sessions."""
    return Path(environment.get("COPILOT_HOME") or Path(environment.get("HOME") or Path.home(), ".copilot"))


def _copilot_user_files(environment: Environment) -> dict[str, Path]:
    folder = copilot_user_folder(environment)
    return {f"{COPILOT}/{name}": folder / name for name in ("settings.json", COPILOT_HOOKS)}


def _copilot_project_files(project: Path, environment: Environment) -> tuple[Path, ...]:
    named = copilot_user_folder(environment) / "settings.json" if environment.get("COPILOT_HOME") else None
    places = (".github/copilot/settings.json", f".github/{COPILOT_HOOKS}")
    return (*(project / place for place in places), *filter(None, (named,)))


COPILOT_STEERING: Final = HostSteering(_copilot_user_files, _copilot_project_files, {}, ("COPILOT_HOME",))
"""Its settings have the names that Claude Code's have, and are of the same kind."""


# --- Gemini CLI ---------------------------------------------------------------------------------------------


GEMINI_FOLDER: Final = ".gemini"
GEMINI_HOME: Final = "GEMINI_CLI_HOME"
"""Names the folder in which the host's own folder is, in the place of the home."""
GEMINI_NAMES: Final = ("admin", "extensions", "hooks", "hooksConfig")
"""Settings by which our hooks do not run, or others do."""
GEMINI_SETTINGS: Final = f"{GEMINI_FOLDER}/settings.json"
GEMINI_EXTENSIONS: Final = ("extension-enablement.json", "supervisor/.gemini-extension-install.json")
"""Which extensions are on, and where ours is."""


def gemini_folder(environment: Environment) -> Path:
    """Return the user's folder of the host: settings, extensions, chats."""
    return Path(environment.get(GEMINI_HOME) or Path.home(), GEMINI_FOLDER)


def read_gemini_steering(path: Path) -> str:
    """Return the part of the settings that steers, "" for none.

    Raises OSError, UnusableFileError and msgspec.DecodeError.
    """
    settings = decode_settings(read_whole(path, SETTINGS_LIMIT, follow=True))
    return _encode_part({name: settings[name] for name in GEMINI_NAMES if name in settings})


def _gemini_user_files(environment: Environment) -> dict[str, Path]:
    folder = gemini_folder(environment)
    ours = {f"gemini/{name}": folder / "extensions" / name for name in GEMINI_EXTENSIONS}
    return {"gemini/settings.json": folder / "settings.json", **ours}


def _gemini_project_files(project: Path, environment: Environment) -> tuple[Path, ...]:  # noqa: ARG001 - see above
    return (project / GEMINI_SETTINGS,)


GEMINI_STEERING: Final = HostSteering(
    _gemini_user_files,
    _gemini_project_files,
    {
        GEMINI_SETTINGS: SteeringKind(
            read=read_gemini_steering, describe=partial(describe_edit, values=False), live=True
        ),
        **dict.fromkeys((name.rpartition("/")[2] for name in GEMINI_EXTENSIONS), SteeringKind(live=True)),
    },
    (GEMINI_HOME,),
)
