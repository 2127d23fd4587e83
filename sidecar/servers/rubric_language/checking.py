"""Finds the flaws of a rubric while it is written, with their positions in the text.

The text is read by the judge's own reader (sidecar/rubric/outline.py); sidecar/rubric/advice adds advice. The
location makes a file a rubric, never its name alone: elsewhere a `rubric.md` may grade essays, and reporting
flaws in it would send an agent to fix what is not broken.
"""

from __future__ import annotations

import asyncio
import re
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from sidecar.kernel.rubric import Flaw, RubricContext, RubricOutline
from sidecar.platform.data import load_data
from sidecar.platform.files import stamp_or_empty
from sidecar.rubric import reader
from sidecar.rubric.advice.advise import advise
from sidecar.rubric.advice.form import mend
from sidecar.rubric.advice.wording import AdviceWording
from sidecar.rubric.files import RejectedRubricError, RubricPlace, resolve_place, rubric_places
from sidecar.rubric.markdown import MARKDOWN_BOM
from sidecar.rubric.outline import parse_outline
from sidecar.rubric.policy import new_rubric_text
from sidecar.servers.rubric_language import surroundings

if TYPE_CHECKING:
    from sidecar.kernel.session import Environment


RUBRIC_FILE_NAME: Final = "rubric.md"

_BREAK: Final = re.compile(r"\r\n|\r|\n")


class RubricCheck:
    """Checks files that can take effect as rubrics.

    `default` is the packaged rubric.md, `own` the environment, `state` Supervisor's state folder,
    without which nothing is known about projects.
    """

    def __init__(self, default: Path, own: Environment, state: Path | None = None) -> None:
        self._default = default
        self._own = own
        self._state = state
        self._around: dict[str, RubricContext] = {}
        self._places: dict[str, RubricPlace | None] = {}
        self._sound: dict[Path, tuple[int, ...]] = {}
        self._wording = load_data("rubric_advice", AdviceWording)

    def flaws(self, path: str, text: str) -> tuple[Flaw, ...] | None:
        """Return all flaws, those that make the reader fail first; None if the file is not a rubric.

        `text` is the editor's content, saved or not. The file is checked as well for what a text cannot show:
        that it is not UTF-8 or cannot be read. Never raises.
        """
        place = self._place(path)
        if place is None:
            return None
        if flaw := _too_big_flaw(text):
            return (flaw,)
        return (*self._of_file(place, text), *self.of_text(text, self.around(path)))

    def of_text(self, text: str, around: RubricContext) -> tuple[Flaw, ...]:
        """Return all flaws of a text, independent of where it will be saved."""
        if flaw := _too_big_flaw(text):
            return (flaw,)
        read = parse_outline(_replace_unencodable(text))
        errors = (replace(flaw, fixes=mend(read, flaw, self._wording)) for flaw in _section_flaws(text))
        return (*errors, *advise(read, self._wording, around))

    def outline(self, path: str, text: str) -> RubricOutline | None:
        """Return the parsed rubric, empty for a text that is too big; None if the file is not a rubric."""
        if self._place(path) is None:
            return None
        return RubricOutline(text) if _too_big_flaw(text) else parse_outline(_replace_unencodable(text))

    def around(self, path: str) -> RubricContext:
        """Return what the rubric at `path` can refer to, as far as it is known; see `refresh`."""
        return self._around.get(self.project(path)) or surroundings.default_surroundings()

    def refresh(self, path: str) -> bool:
        """Read the rubric's project; return whether something changed. Takes some tenths of a second."""
        project = self.project(path)
        if not project or self._state is None:
            return False
        seen = asyncio.run(surroundings.find_surroundings(project, self._own, self._state))
        before, self._around[project] = self._around.get(project), seen
        return seen != before

    def project(self, path: str) -> str:
        """Return the project whose own rubric is at `path`; "" for other files and for the user's rubric."""
        place = self._place(path)
        return str(place.within) if place is not None and place.within is not None else ""

    def beginning(self, path: str) -> str:
        """Return the text that `supervisor rubric init` would write for a new rubric. Raises OSError."""
        return new_rubric_text(self._default.read_text(encoding="utf-8"), Path(self.project(path)).name)

    def _of_file(self, place: RubricPlace, text: str) -> tuple[Flaw, ...]:
        """Return the flaws of the file itself, which is read again only after it changed."""
        now = stamp_or_empty(place.path)
        if now and self._sound.get(place.path) == now:
            return ()
        flaws = _file_flaws(place, text)
        if not flaws:
            self._sound[place.path] = now
        return flaws

    def _place(self, path: str) -> RubricPlace | None:
        """Return where this file can take effect; cached, as it is needed at every keystroke."""
        if path not in self._places:
            file = Path(path)
            known = (
                rubric_places(str(file.parent.parent), self._own, self._default)
                if file.name == RUBRIC_FILE_NAME
                else ()
            )
            self._places[path] = next(
                (each for each in known if _resolve_or_same(each.path) == _resolve_or_same(file)), None
            )
        return self._places[path]


def _resolve_or_same(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):
        return path


def _too_big_flaw(text: str) -> Flaw | None:
    limit = reader.RUBRIC_LIMIT
    size = len(text.encode("utf-8", "replace"))
    if size <= limit:
        return None
    fits = text[:limit].encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")
    return Flaw("too-big", f"{size} bytes, more than {limit}", len(fits), len(text))


def _replace_unencodable(text: str) -> str:
    """Return the text as a UTF-8 file could contain it."""
    return text.encode("utf-8", "replace").decode()


def _section_flaws(text: str) -> tuple[Flaw, ...]:
    """Return the flaws of required sections. A missing section is reported on the first line."""
    return tuple(
        Flaw("missing-section", lack.why, *_line_span(text, 0))
        if lack.place is None
        else Flaw("empty-section", lack.why, lack.place.begin, lack.place.end)
        for lack in reader.missing_sections(_replace_unencodable(text))
    )


def _file_flaws(place: RubricPlace, text: str) -> tuple[Flaw, ...]:
    """Return the flaws of the file itself, except its size, which is checked on the text."""
    try:
        path = resolve_place(place)
        if path.is_file() and path.stat().st_size > reader.RUBRIC_LIMIT:
            return ()
        found: str | Exception = reader.read_rubric_text(path)
    except FileNotFoundError:
        return ()  # not saved yet, or gone
    except (RejectedRubricError, OSError) as error:
        found = error
    if isinstance(found, str):
        return ()
    if isinstance(found, RejectedRubricError) and found.before is not None:
        return (_not_utf8_flaw(found, found.before, text),)
    return (Flaw("unusable", str(found), *_line_span(text, 0)),)


def _not_utf8_flaw(error: RejectedRubricError, before: str, text: str) -> Flaw:
    """Return a flaw from the character at the first invalid byte to the end of its line."""
    above = _BREAK.split(before)
    begin, end = _line_span(text, len(above) - 1)
    mark = 1 if not begin and text.startswith(MARKDOWN_BOM) else 0
    return Flaw("not-utf-8", str(error), min(begin + mark + len(above[-1]), end), end)


def _line_span(text: str, number: int) -> tuple[int, int]:
    """Return the start and end of the line with this number, or of the last one, without its line end."""
    begin = 0
    for ending in islice(_BREAK.finditer(text), number):
        begin = ending.end()
    after = _BREAK.search(text, begin)
    return begin, after.start() if after else len(text)
