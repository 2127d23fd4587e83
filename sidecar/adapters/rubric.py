"""The rubric in force: which file it comes from, what in its Markdown is a criterion, and whose edit counts.

A file serves as a whole or not at all. One that cannot is never silent: its path and the reason stand in
`Rubric.rejected`, and the next one by precedence serves. What the agent itself may have written is held until
the user accepts it (law 9, see sidecar/policy/rubrics.py); without a state folder every edit counts at once.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from markdown_it import MarkdownIt
from msgspec.structs import replace

from sidecar.adapters.files import UnfitError, read_whole, stamp
from sidecar.adapters.rubrics import conventions, ids
from sidecar.adapters.rubrics.holding import Found, Holding
from sidecar.adapters.rubrics.places import Place, RejectedError, places, resolved
from sidecar.model.rubric import Criterion, Rubric

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from markdown_it.token import Token

    from sidecar.policy.rubrics import Text
    from sidecar.ports import Environment, Writes

RUBRIC_LIMIT: Final = 8 * 1024
"""Bytes of a rubric: it goes to the judge at every stop."""
CACHED: Final = 64
"""Files whose content is remembered."""
READS: Final = 3
"""How often a file is read that is being written meanwhile."""
NAME_WORDS: Final = 6
"""Words that name a list item in which nothing is bold and no colon ends a name."""
REQUIRED: Final = ("Patterns", "Antipatterns")
"""Sections without which a text is no rubric."""
LAST_RESORT: Final = Rubric(
    patterns=tuple(
        Criterion(name, "", name.lower()) for name in ("DONE-AS-ASKED", "CHECKED-AFTER-LAST-EDIT", "WIRED-IN")
    ),
    antipatterns=tuple(
        Criterion(name, "", name.lower())
        for name in ("PERMISSION-SEEKING", "STOPPED-WITH-TODOS", "FALSE-COMPLETE")
    ),
    origin="built in: names only",
)
"""Where even the packaged file is broken: names that speak for themselves, and no more than that."""

_MARKDOWN = MarkdownIt("commonmark").disable("inline")
_BOLD = re.compile(r"(?P<mark>\*\*|__)(?P<name>.+?)(?P=mark)", re.DOTALL)
_LEAD = re.compile(r"(?P<name>[^\n:]{1,80}):(?=\s)")
_ITEM = re.compile(r"[-*+]\s+|\d{1,9}[.)]\s+")


class RubricFiles:
    """The Rubrics of project, user and package. `default` is the packaged rubric.md.

    `own` tells where the user's is when a caller speaks for no session, and so has no environment. `state` is
    the folder in which is kept what is in force; without one every edit counts at once.
    """

    def __init__(self, default: Path, own: Environment | None = None, state: Path | None = None) -> None:
        self._default = default
        self._own = own or {}
        self._holding = Holding(state, _again) if state is not None else None
        self._read: dict[Path, tuple[tuple[int, ...], str | RejectedError]] = {}

    def load(self, project: str, environment: Environment, writes: Writes | None = None) -> Rubric:
        serving = self._serving(project, environment)
        if self._holding is None or not Path(project).is_absolute():
            return next(serving).rubric
        return self._holding.look(project, self._order(project, environment), serving, writes)

    def accept(self, project: str, environment: Environment, digest: str = "") -> str:
        """See ports.Rubrics. Raises BadInputError where `digest` is given and what is held has another."""
        if self._holding is None:
            return "nothing is held"
        return self._holding.accept(project, self._order(project, environment), digest)

    def texts(self, project: str) -> tuple[str, str] | None:
        """The text in force and the one that is held, None where nothing is held."""
        return self._holding.texts(project) if self._holding is not None else None

    def _order(self, project: str, environment: Environment) -> tuple[str, ...]:
        return tuple(str(place.path) for place in places(project, environment or self._own, self._default))

    def _serving(self, project: str, environment: Environment) -> Iterator[Found]:
        """What can serve, the first by precedence first; the last resort after all."""
        rejected: list[str] = []
        for place in places(project, environment or self._own, self._default):
            try:
                text = self._text(place)
                rubric = parsed(text)
            except FileNotFoundError:
                if place.path == self._default:
                    rejected.append(f"{place.path}: the packaged rubric is missing; install Supervisor again")
            except (RejectedError, OSError) as error:
                rejected.append(f"{place.path}: {error}")
            else:
                yield Found(replace(rubric, origin=str(place.path), rejected=tuple(rejected)), text)
        yield Found(replace(LAST_RESORT, rejected=tuple(rejected)), "")

    def _text(self, place: Place) -> str:
        """Raises FileNotFoundError where there is nothing, else RejectedError and OSError."""
        path = resolved(place)
        now = stamp(path)
        known, found = self._read.pop(path, ((), ""))
        for _ in range(READS):
            if known == now:
                break
            known, found = now, read(path)
            now = stamp(path)
        self._read[path] = (known, found)
        if len(self._read) > CACHED:
            del self._read[next(iter(self._read))]
        if isinstance(found, RejectedError):
            raise RejectedError(str(found))
        return found


def sections(text: str) -> dict[str, str]:
    """The `##` sections of a Markdown text: heading -> what stands below it, down to the next `#` or `##`.

    Sections of one name are joined. Text stays as it is written; headings in code, lists and quotes are text.
    """
    return _joined(_second(text))


# --- texts --------------------------------------------------------------------------------------------------


def read(path: Path) -> str | RejectedError:
    """The text of a rubric file, or why it cannot be one. Raises OSError."""
    try:
        return read_whole(path, RUBRIC_LIMIT).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return RejectedError(f"not UTF-8 at byte {error.start}", error.object[: error.start].decode())
    except UnfitError as unfit:
        return RejectedError(str(unfit))


def _again(text: Text) -> Rubric | None:
    """The rubric of a text that was kept, None where it cannot serve any more."""
    try:
        rubric = parsed(text.text) if text.text else LAST_RESORT
    except RejectedError:
        return None
    return replace(rubric, origin=text.origin)


class Lack(NamedTuple):
    """A required section that is not there, or holds no criterion; `line`, from 0, is where it begins."""

    section: str
    line: int | None = None

    @property
    def why(self) -> str:
        if self.line is None:
            return f"the section `## {self.section}` is missing"
        return f"the section `## {self.section}` has no criterion: no `###` heading and no list item"


def lacks(text: str) -> tuple[Lack, ...]:
    """All that a Markdown text lacks to be a rubric; for the first of it `parsed` rejects the text."""
    second = _second(text)
    found = _joined(second)
    return tuple(
        Lack(name, next((each.line for each, _ in second if _is(each.title, name)), None))
        for name in REQUIRED
        if not _section(found, name)
    )


@lru_cache(maxsize=CACHED)
def parsed(text: str) -> Rubric:
    """The rubric that a Markdown text is, without an origin; raises RejectedError."""
    found = sections(text)
    patterns, antipatterns = (_section(found, name) for name in REQUIRED)
    if not patterns or not antipatterns:
        raise RejectedError(lacks(text)[0].why)
    all_of = [*patterns, *antipatterns, *_section(found, "Legitimate stops")]
    named = zip(all_of, ids.unique([(one.name, one.id) for one in all_of]), strict=True)
    criteria = [replace(one, id=name) for one, name in named]
    first, second = len(patterns), len(patterns) + len(antipatterns)
    return Rubric(
        patterns=tuple(criteria[:first]),
        antipatterns=tuple(criteria[first:second]),
        legitimate=tuple(criteria[second:]),
        origin="",
    )


def _section(found: dict[str, str], name: str) -> list[Criterion]:
    bodies = [body for title, body in found.items() if _is(title, name)]
    return [criterion for body in bodies for criterion in _criteria(body)]


def _is(title: str, name: str) -> bool:
    return title.casefold() == name.casefold()


# --- Markdown -----------------------------------------------------------------------------------------------


class _Heading(NamedTuple):
    tag: str
    title: str
    line: int


def _second(text: str) -> list[tuple[_Heading, str]]:
    """Its `##` headings with what stands below each."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    heads = _split(_MARKDOWN.parse(text), text.split("\n"), ("h1", "h2"))
    return [(heading, body) for heading, body in heads if heading.tag == "h2"]


def _joined(found: Iterable[tuple[_Heading, str]]) -> dict[str, str]:
    bodies: dict[str, list[str]] = {}
    for heading, body in found:
        bodies.setdefault(heading.title, []).append(body)
    return {title: "\n\n".join(each).strip() for title, each in bodies.items()}


def _split(tokens: list[Token], lines: list[str], tags: Iterable[str]) -> Iterator[tuple[_Heading, str]]:
    """Headings of these tags, each with the lines between it and the next one."""
    wanted = frozenset(tags)
    heads = [
        (_Heading(token.tag, tokens[number + 1].content.strip(), token.map[0]), token.map)
        for number, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0 and token.tag in wanted and token.map
    ]
    ends = [*(span[0] for _, span in heads[1:]), len(lines)]
    for (heading, span), end in zip(heads, ends, strict=False):  # no heading: one end too many
        yield heading, "\n".join(lines[span[1] : end]).strip("\n")


def _criteria(body: str) -> Iterator[Criterion]:
    """Every list item above the first `###` heading, then every `###` heading with what stands below it."""
    tokens = _MARKDOWN.parse(body)
    lines = body.split("\n")
    starts = [token.map[0] for token in tokens if token.tag == "h3" and token.level == 0 and token.map]
    above = min(starts, default=len(lines))
    for token in tokens:
        if token.type == "list_item_open" and token.level == 1 and token.map and token.map[0] < above:
            text = _dedented(lines[token.map[0] : min(token.map[1], above)])
            if text:
                yield _item(text)
    for heading, text in _split(tokens, lines, ("h3",)):
        name, own = ids.chosen(heading.title)
        if name:
            yield _criterion(name, own, text.strip(), 0)


def _item(text: str) -> Criterion:
    """The criterion of a list item; its first line is its name, and may end in an id."""
    first, *rest = text.split("\n")
    first, own = ids.chosen(first)
    text = "\n".join([first, *rest])
    return _criterion(_name(text), own, text, 1)


def _criterion(name: str, own: str, text: str, begin: int) -> Criterion:
    """`begin`: the line from which on conventions may stand."""
    code = {
        line
        for token in _MARKDOWN.parse(text)
        if token.type in {"fence", "code_block", "html_block"} and token.map
        for line in range(*token.map)
    }
    said = conventions.read(text, code | set(range(begin)))
    return Criterion(name, said.text, own, said.severity, said.applies_to, said.when)


def _dedented(lines: list[str]) -> str:
    """The item's text without its marker and without the indentation that the marker asks for."""
    first = lines[0].lstrip(" ")
    marker = _ITEM.match(first)
    width = len(lines[0]) - len(first) + (marker.end() if marker else len(first))
    rest = [line[min(width, len(line) - len(line.lstrip(" "))) :] for line in lines[1:]]
    return "\n".join([lines[0][width:], *rest]).strip()


def _name(text: str) -> str:
    if bold := _BOLD.match(text):
        return " ".join(bold["name"].split()).rstrip(":.") or text[:1]
    if lead := _LEAD.match(text):
        return lead["name"].strip()
    return " ".join(text.split()[:NAME_WORDS]).rstrip(".,;:") or text[:1]
