"""Which text counts: keeps what is in force from look to look; policy says what follows from a change.

Every method takes `order`, the paths at which the project's rubric may be, the first by precedence first.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from sidecar.adapters.rubrics.kept import KeptRubrics
from sidecar.adapters.rubrics.settling import unsettled
from sidecar.adapters.rubrics.touched import may_have_written
from sidecar.model.rubric import Held, Rubric
from sidecar.policy.rubrics import Hand, Standing, Text, accepted, settled, summary
from sidecar.ports import BadInputError, Writes

if TYPE_CHECKING:
    from collections.abc import Iterator

log = logging.getLogger(__name__)


class Found(NamedTuple):
    """What serves now, as the files are. `text` is its file's."""

    rubric: Rubric
    text: str

    @property
    def known(self) -> Text:
        """The same, as it is kept."""
        return Text(self.rubric.origin, self.text)


class Holding:
    """Lives in `folder`. `parse` makes a rubric of a text that could serve once; None where it cannot now."""

    def __init__(self, folder: Path, parse: Callable[[Text], Rubric | None]) -> None:
        self._kept = KeptRubrics(folder)
        self._parse = parse

    def look(
        self, project: str, order: Sequence[str], serving: Iterator[Found], writes: Writes | None
    ) -> Rubric:
        """The rubric in force. `serving`: what serves now, then what would without it, at least one."""
        now = next(serving)
        kept = self._kept.read(project)
        before = kept or _first_sight(now, serving, writes, project)
        after = settled(before, now.known, _hand(before, now.known, writes, project))
        if after != kept:
            try:
                self._kept.write(project, after)
            except OSError as error:
                log.warning("%s: what is in force could not be kept: %s", project, error)
        return self._rubric(order, now, before, after)

    def accept(self, project: str, order: Sequence[str], digest: str) -> str:
        """Put what is held in force. Raises OSError; BadInputError where another digest is wanted."""
        standing = self._kept.read(project)
        held = self._held(order, standing) if standing else None
        if standing is None or held is None:
            return "nothing is held"
        if digest not in ("", held.digest):
            raise BadInputError("what is held has changed since it was shown; look at it again")
        self._kept.write(project, accepted(standing))
        return f"in force now: {held.path}: {held.summary}"

    def texts(self, project: str) -> tuple[str, str] | None:
        """The text in force and the one that is held, None where nothing is."""
        standing = self._kept.read(project)
        return (standing.force.text, standing.held.text) if standing and standing.held else None

    def _rubric(self, order: Sequence[str], now: Found, before: Standing, after: Standing) -> Rubric:
        rubric = now.rubric
        if after.force != now.known and (kept := self._parse(after.force)) is not None:
            rubric = replace(kept, rejected=rubric.rejected)
        if after.held is not None:
            return replace(rubric, held=self._held(order, after))
        if after.force.text == before.force.text:
            return rubric
        was = self._parse(before.force) or rubric
        path = _blamed(order, before.force, after.force)
        return replace(rubric, changed=f"{path}: {summary(was, rubric)}")

    def _held(self, order: Sequence[str], standing: Standing) -> Held | None:
        force, held = standing.force, standing.held
        if held is None:
            return None
        was, would = self._parse(force), self._parse(held)
        said = summary(was, would) if was and would else "it cannot be compared"
        seen = hashlib.sha256(f"{held.origin}\0{held.text}".encode("utf-8", "surrogatepass")).hexdigest()
        return Held(path=_blamed(order, force, held), digest=seen[:16], summary=said)


def _hand(before: Standing, now: Text, writes: Writes | None, project: str) -> Hand:
    """Whose edit a difference is. One that is just being saved is nobody's yet: the next look sees it."""
    if writes is None or now in (before.force, before.held):
        return Hand.UNKNOWN
    files = [Path(text.origin) for text in (before.force, now) if text.text]
    if may_have_written(writes, files, project):
        return Hand.AGENT
    return Hand.UNKNOWN if unsettled(Path(before.force.origin)) else Hand.USER


def _first_sight(now: Found, serving: Iterator[Found], writes: Writes | None, project: str) -> Standing:
    """Nothing was kept: what is there counts, unless the agent is known to have just written it."""
    if writes is None or not now.text:
        return Standing(now.known)
    named = replace(writes, unseen=False)
    then = next(serving, None) if may_have_written(named, [Path(now.rubric.origin)], project) else None
    return Standing(then.known, now.known) if then is not None else Standing(now.known)


def _blamed(order: Sequence[str], before: Text, after: Text) -> str:
    """The file by which `after` serves instead of `before`: new, changed, or gone."""
    ranks = {path: rank for rank, path in enumerate(order)}
    return min(before.origin, after.origin, key=lambda path: ranks.get(path, len(ranks)))
