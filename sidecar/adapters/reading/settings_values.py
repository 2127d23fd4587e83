"""What every reader of settings needs: bounded values, and lists of lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sidecar.model.inspection import Setting

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

DEPTH: Final = 60
"""Levels of nesting that are read; people stay below 20, and each level makes its keys longer."""
SETTINGS_LIMIT: Final = 20_000
"""Values of one file that are read."""
VALUE_LIMIT: Final = 2_000
"""Characters of a value that are kept."""
KEY_LIMIT: Final = 500
"""Characters of a key that are kept."""


def setting(key: str, value: str, line: int) -> Setting:
    """One value in one line, bounded."""
    return Setting(
        key=key[:KEY_LIMIT], value=" ".join(value[: 2 * VALUE_LIMIT].split())[:VALUE_LIMIT], line=line
    )


def many_lines(key: str, lines: Iterable[str], first: int) -> Iterator[Setting]:
    """A text of several lines as a list of them, without blank and comment lines, continued ones joined."""
    for at, (line, text) in enumerate(logical(lines, first)):
        yield setting(f"{key}[{at}]", text, line)


def logical(
    lines: Iterable[str], first: int = 1, comment: tuple[str, ...] = ("#",)
) -> Iterator[tuple[int, str]]:
    """Lines with their numbers. One that ends in a backslash goes on; blanks and comments do not count."""
    begun, held = 0, list[str]()
    for number, raw in enumerate(lines, start=first):
        text = raw.strip()
        if not held and (not text or text.startswith(comment)):
            continue
        begun = begun if held else number
        if text.endswith("\\"):
            held.append(text[:-1].strip())
            continue
        yield begun, " ".join([*held, text])
        held = []
    if held:
        yield begun, " ".join(held)
