"""`npm test` and its like: the script of package.json that a line runs."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from sidecar.adapters.reports.line import Call

PACKAGE_LIMIT: Final = 1 << 20
"""Bytes of a package.json that are read."""
MANAGERS: Final = ("npm", "pnpm", "yarn", "bun")
SHORT: Final = {"t": "test", "tst": "test"}
"""What npm and pnpm call `test` besides."""


class Script(Struct, frozen=True):
    """A script's own line, the words that the caller adds to it, and what must stand before flags of ours."""

    text: str
    more: tuple[str, ...] = ()
    before_flags: str = ""


class _Package(Struct, frozen=True):
    scripts: dict[str, object] = {}


def script_of(call: Call, folder: Path) -> Script | None:
    """The script that this call runs; None where it runs none. `bun test` is bun's own."""
    if call.name not in MANAGERS or not call.arguments:
        return None
    words = list(call.arguments)
    explicit = words[0] in ("run", "run-script")
    if explicit:
        words = words[1:]
    if not words or words[0].startswith("-"):
        return None
    name, more = words[0], tuple(words[1:])
    if not explicit and (call.name == "bun" or (call.name == "npm" and name not in ("test", *SHORT))):
        return None
    text = _scripts(folder).get(SHORT.get(name, name) if not explicit else name)
    if not isinstance(text, str) or not text.strip():
        return None
    return _handed_on(call.name, text, more)


def _handed_on(manager: str, text: str, more: tuple[str, ...]) -> Script | None:
    """What stands before `--` is for npm itself; the others hand every flag on."""
    if manager != "npm":
        return Script(text, more)
    if "--" in more:
        return Script(text, more[more.index("--") + 1 :])
    return None if any(word.startswith("-") for word in more) else Script(text, more, " --")


def _scripts(folder: Path) -> dict[str, object]:
    try:
        with (folder / "package.json").open("rb") as file:
            return msgspec.json.decode(file.read(PACKAGE_LIMIT), type=_Package).scripts
    except (OSError, msgspec.DecodeError, RecursionError, ValueError):
        return {}
