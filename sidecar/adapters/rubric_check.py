"""What is to be said of a rubric while it is written, and where in the text.

The judge's own reader is asked (sidecar/adapters/rubrics/outlines.py), and policy gives advice on what it
reads. A file is a rubric by its place, never by its name alone: elsewhere a `rubric.md` grades essays, and a
fault found in it would send an agent to mend what is not broken.
"""

from __future__ import annotations

import asyncio
import re
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from sidecar.adapters import rubric
from sidecar.adapters.files import stamp
from sidecar.adapters.rubrics import surroundings
from sidecar.adapters.rubrics.markdown import MARK
from sidecar.adapters.rubrics.outlines import outline
from sidecar.adapters.rubrics.places import Place, RejectedError, places, resolved
from sidecar.model.flaw import Flaw, Surroundings
from sidecar.model.outline import Outline
from sidecar.policy.advice import advise, mend
from sidecar.policy.rubric_words import started

if TYPE_CHECKING:
    from sidecar.ports import Environment

NAME: Final = "rubric.md"

_BREAK: Final = re.compile(r"\r\n|\r|\n")


class RubricCheck:
    """Knows which files can come into force. `default` is the packaged rubric.md, `own` the environment.

    `state`: the folder of what Supervisor remembers; without it nothing is known of projects.
    """

    def __init__(self, default: Path, own: Environment, state: Path | None = None) -> None:
        self._default = default
        self._own = own
        self._state = state
        self._around: dict[str, Surroundings] = {}
        self._places: dict[str, Place | None] = {}
        self._sound: dict[Path, tuple[int, ...]] = {}

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
        return (*self._of_file(place, text), *self.of_text(text, self.around(path)))

    def of_text(self, text: str, around: Surroundings) -> tuple[Flaw, ...]:
        """All that is wrong with a text, wherever it will be saved."""
        if flaw := _too_big(text):
            return (flaw,)
        read = outline(_clean(text))
        errors = (replace(flaw, fixes=mend(read, flaw)) for flaw in _of_text(text))
        return (*errors, *advise(read, around))

    def outline(self, path: str, text: str) -> Outline | None:
        """What the reader makes of it, nothing of a text too big; None for a file that is no rubric."""
        if self._place(path) is None:
            return None
        return Outline(text) if _too_big(text) else outline(_clean(text))

    def around(self, path: str) -> Surroundings:
        """What the rubric at `path` can name, as far as it is known; see `refresh`."""
        return self._around.get(self.project(path)) or surroundings.unknown()

    def refresh(self, path: str) -> bool:
        """Look at the project of the rubric at `path`; whether something is new. Some tenths of a second."""
        project = self.project(path)
        if not project or self._state is None:
            return False
        seen = asyncio.run(surroundings.around(project, self._own, self._state))
        before, self._around[project] = self._around.get(project), seen
        return seen != before

    def project(self, path: str) -> str:
        """The project whose own rubric is at `path`, "" where it is nobody's or the user's."""
        place = self._place(path)
        return str(place.within) if place is not None and place.within is not None else ""

    def beginning(self, path: str) -> str:
        """What a new rubric at `path` begins with, as `supervisor rubric init` makes it. Raises OSError."""
        return started(self._default.read_text(encoding="utf-8"), Path(self.project(path)).name)

    def _of_file(self, place: Place, text: str) -> tuple[Flaw, ...]:
        """What is wrong with the file itself, which is read again when it is another."""
        now = _stamp(place.path)
        if now and self._sound.get(place.path) == now:
            return ()
        flaws = _of_file(place, text)
        if not flaws:
            self._sound[place.path] = now
        return flaws

    def _place(self, path: str) -> Place | None:
        """Where this file can come into force; found out once, for it is asked at every keystroke."""
        if path not in self._places:
            file = Path(path)
            known = places(str(file.parent.parent), self._own, self._default) if file.name == NAME else ()
            self._places[path] = next((each for each in known if _real(each.path) == _real(file)), None)
        return self._places[path]


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


def _clean(text: str) -> str:
    """The text as a file in UTF-8 could have it."""
    return text.encode("utf-8", "replace").decode()


def _of_text(text: str) -> tuple[Flaw, ...]:
    """What the required sections lack. Where one is missing there is only the first line to point at."""
    return tuple(
        Flaw("missing-section", lack.why, *_line(text, 0))
        if lack.place is None
        else Flaw("empty-section", lack.why, lack.place.begin, lack.place.end)
        for lack in rubric.lacks(_clean(text))
    )


def _stamp(path: Path) -> tuple[int, ...]:
    """What changes when the file does, () where there is none."""
    try:
        return stamp(path)
    except (OSError, ValueError):
        return ()


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
    mark = 1 if not begin and text.startswith(MARK) else 0
    return Flaw("not-utf-8", str(error), min(begin + mark + len(above[-1]), end), end)


def _line(text: str, number: int) -> tuple[int, int]:
    """Where the line of this number begins and ends, without its line end; the last one where it is less."""
    begin = 0
    for ending in islice(_BREAK.finditer(text), number):
        begin = ending.end()
    after = _BREAK.search(text, begin)
    return begin, after.start() if after else len(text)
