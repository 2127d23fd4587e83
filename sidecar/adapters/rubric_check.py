"""What the judge's reader says of a rubric while it is written, and where in the text.

The reader itself is asked (sidecar/adapters/rubric.py); what is known here is only the where. A file is a
rubric by its place, never by its name alone: elsewhere a `rubric.md` grades essays, and a fault found in it
would send an agent to mend what is not broken.
"""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sidecar.adapters import rubric
from sidecar.adapters.rubrics.places import Place, RejectedError, places, resolved
from sidecar.model.flaw import Flaw

if TYPE_CHECKING:
    from sidecar.ports import Environment

NAME: Final = "rubric.md"

_BREAK: Final = re.compile(r"\r\n|\r|\n")
_MARK: Final = "\ufeff"


class RubricCheck:
    """Knows which files can come into force. `default` is the packaged rubric.md."""

    def __init__(self, default: Path, own: Environment) -> None:
        self._default = default
        self._own = own

    def flaws(self, path: str, text: str) -> tuple[Flaw, ...] | None:
        """All that is wrong, what the reader would say first first; None for a file that is no rubric.

        `text` is what an editor holds, saved or not. The file is looked at too, for what no text shows: that
        it is not UTF-8, or cannot be read at all. Never raises.
        """
        place = self._place(path)
        if place is None:
            return None
        if flaw := _too_big(text):
            return (flaw,)
        return (*_of_file(place, text), *_of_text(text))

    def _place(self, path: str) -> Place | None:
        file = Path(path)
        if file.name != NAME:
            return None
        known = places(str(file.parent.parent), self._own, self._default)
        return next((place for place in known if _real(place.path) == _real(file)), None)


def _real(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):
        return path


def _too_big(text: str) -> Flaw | None:
    limit = rubric.RUBRIC_LIMIT
    size = len(text.encode("utf-8", "replace"))
    if size <= limit:
        return None
    fits = text[:limit].encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")
    return Flaw("too-big", f"{size} bytes, more than {limit}", len(fits), len(text))


def _of_text(text: str) -> tuple[Flaw, ...]:
    """What the required sections lack. Where one is missing there is only the first line to point at."""
    clean = text.removeprefix(_MARK).encode("utf-8", "replace").decode()
    return tuple(
        Flaw("missing-section", lack.why, *_line(text, 0))
        if lack.line is None
        else Flaw("empty-section", lack.why, *_line(text, lack.line))
        for lack in rubric.lacks(clean)
    )


def _of_file(place: Place, text: str) -> tuple[Flaw, ...]:
    """What is wrong with the file itself. Its size is that of the text, and was judged by it."""
    try:
        path = resolved(place)
        if path.is_file() and path.stat().st_size > rubric.RUBRIC_LIMIT:
            return ()
        found: str | Exception = rubric.read(path)
    except FileNotFoundError:
        return ()  # not saved yet, or gone
    except (RejectedError, OSError) as error:
        found = error
    if isinstance(found, str):
        return ()
    if isinstance(found, RejectedError) and found.before is not None:
        return (_not_utf8(found, found.before, text),)
    return (Flaw("unusable", str(found), *_line(text, 0)),)


def _not_utf8(error: RejectedError, before: str, text: str) -> Flaw:
    """From the character in the place of the first wrong byte to the end of its line."""
    above = _BREAK.split(before)
    begin, end = _line(text, len(above) - 1)
    mark = 1 if not begin and text.startswith(_MARK) else 0
    return Flaw("not-utf-8", str(error), min(begin + mark + len(above[-1]), end), end)


def _line(text: str, number: int) -> tuple[int, int]:
    """Where the line of this number begins and ends, without its line end; the last one where it is less."""
    begin = 0
    for ending in islice(_BREAK.finditer(text), number):
        begin = ending.end()
    after = _BREAK.search(text, begin)
    return begin, after.start() if after else len(text)
