"""What `supervisor doctor` checks of Claude Code's hooks: are they switched off, did they run.

A probe cannot see either: it runs in a folder of its own, with a host that was started after the install.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from sidecar.cli.doctor_checks import DoctorFinding, error_finding
from sidecar.cli.hosts import CLAUDE_CODE
from sidecar.hosts.claude_code.user_settings import SETTINGS_LIMIT, user_folder, user_settings_file
from sidecar.kernel.session import SessionKey
from sidecar.platform.files import UnusableFileError, read_whole
from sidecar.platform.paths import user_paths
from sidecar.platform.session_documents import file_stem

if TYPE_CHECKING:
    from collections.abc import Iterator


MANAGED_SETTINGS: Final = Path("/etc/claude-code/managed-settings.json")
PROJECT_SETTINGS: Final = (".claude/settings.json", ".claude/settings.local.json")
TAIL_BYTES: Final = 1 << 16
"""Bytes of a transcript's end that are searched."""
TURN_ENDED: Final = b'"stop_reason":"end_turn"'


class _Switches(Struct, frozen=True, rename="camel"):
    disable_all_hooks: bool = False
    allow_managed_hooks_only: bool = False


def silent_hook_findings() -> tuple[DoctorFinding, ...]:
    """Why hooks do not run in the current folder; where no reason is found, that they did not."""
    return tuple(_switched_off()) or tuple(_unheard_session())


def _switched_off() -> Iterator[DoctorFinding]:
    places = (
        user_settings_file(os.environ),
        *(Path.cwd() / one for one in PROJECT_SETTINGS),
        MANAGED_SETTINGS,
    )
    for path in places:
        with suppress(OSError, UnusableFileError, msgspec.DecodeError):
            switches = msgspec.json.decode(read_whole(path, SETTINGS_LIMIT, follow=True), type=_Switches)
            only_managed = switches.allow_managed_hooks_only and path == MANAGED_SETTINGS
            if switches.disable_all_hooks or only_managed:
                name = "disableAllHooks" if switches.disable_all_hooks else "allowManagedHooksOnly"
                yield error_finding(
                    f"{name} in {path} keeps our hooks from running", f"set it to false: {path}"
                )


def _unheard_session() -> Iterator[DoctorFinding]:
    """The newest session here, if it ended a turn since the install and no hook of it was heard."""
    folders = user_paths()
    with suppress(OSError, ValueError):
        slug = re.sub(r"[^A-Za-z0-9]", "-", str(Path.cwd()))
        newest = max(
            (user_folder(os.environ) / "projects" / slug).glob("*.jsonl"),
            key=lambda path: path.stat().st_mtime,
        )
        key = SessionKey(CLAUDE_CODE, newest.stem)
        known = (folders.state / "sessions" / f"{file_stem(key)}.json").exists()
        if known or newest.stat().st_mtime < folders.runtime.stat().st_mtime:
            return
        with newest.open("rb") as transcript:
            transcript.seek(max(0, newest.stat().st_size - TAIL_BYTES))
            if TURN_ENDED in transcript.read():
                yield error_finding(
                    f"Claude Code worked here (session {newest.stem}) and no hook of ours ran",
                    "start claude anew here: hooks are read at its start, and --safe-mode runs none",
                )
