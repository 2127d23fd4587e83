"""The rubric in force: which file it comes from, and what in its Markdown is a criterion.

A file serves as a whole or not at all. One that cannot is never silent: its path and the reason stand in
`Rubric.rejected`, and the next one by precedence serves.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from markdown_it import MarkdownIt
from msgspec.structs import replace

from sidecar.adapters.files import UnfitError, read_whole, stamp
from sidecar.adapters.settings.user_file import user_folder
from sidecar.model.rubric import Criterion, Rubric

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from markdown_it.token import Token

    from sidecar.ports import Environment, Writes

RUBRIC_LIMIT: Final = 8 * 1024
"""Bytes of a rubric: it goes to the judge at every stop."""
CACHED: Final = 64
"""Files whose content is remembered."""
NAME_WORDS: Final = 6
"""Words that name a list item in which nothing is bold and no colon ends a name."""
LAST_RESORT: Final = Rubric(
    patterns=tuple(Criterion(name, "") for name in ("DONE-AS-ASKED", "CHECKED-AFTER-LAST-EDIT", "WIRED-IN")),
    antipatterns=tuple(
        Criterion(name, "") for name in ("PERMISSION-SEEKING", "STOPPED-WITH-TODOS", "FALSE-COMPLETE")
    ),
    origin="built in: names only",
)
"""Where even the packaged file is broken: names that speak for themselves, and no more than that."""

_MARKDOWN = MarkdownIt("commonmark").disable("inline")
_BOLD = re.compile(r"(?P<mark>\*\*|__)(?P<name>.+?)(?P=mark)", re.DOTALL)
_LEAD = re.compile(r"(?P<name>[^\n:]{1,80}):(?=\s)")
_ITEM = re.compile(r"[-*+]\s+|\d{1,9}[.)]\s+")


class _RejectedError(Exception):
    """This file cannot serve, and why."""


class _Place(NamedTuple):
    """Where a rubric may be. `within`: a file of a project must not be a link that leads out of it."""

    path: Path
    within: Path | None = None


class _Criteria(NamedTuple):
    patterns: tuple[Criterion, ...]
    antipatterns: tuple[Criterion, ...]


class RubricFiles:
    """The Rubrics of project, user and package. `default` is the packaged rubric.md.

    `own` tells where the user's is when a caller speaks for no session, and so has no environment.
    """

    def __init__(self, default: Path, own: Environment | None = None) -> None:
        self._default = default
        self._own = own or {}
        self._read: dict[Path, tuple[tuple[int, ...], _Criteria | _RejectedError]] = {}

    def accept(self, project: str, environment: Environment) -> str:  # noqa: ARG002 - the port's
        return "nothing is held"

    def load(self, project: str, environment: Environment, writes: Writes | None = None) -> Rubric:  # noqa: ARG002 - the port's
        rejected: list[str] = []
        for place in _places(project, environment or self._own, self._default):
            try:
                criteria = self._criteria(place)
            except FileNotFoundError:
                if place.path == self._default:
                    rejected.append(f"{place.path}: the packaged rubric is missing; install Supervisor again")
            except (_RejectedError, OSError) as error:
                rejected.append(f"{place.path}: {error}")
            else:
                return Rubric(
                    patterns=criteria.patterns,
                    antipatterns=criteria.antipatterns,
                    origin=str(place.path),
                    rejected=tuple(rejected),
                )
        return replace(LAST_RESORT, rejected=tuple(rejected))

    def _criteria(self, place: _Place) -> _Criteria:
        """Raises FileNotFoundError where there is nothing, else _RejectedError and OSError."""
        path = _resolved(place)
        now = stamp(path)
        known, found = self._read.get(path, ((), None))
        if found is None or known != now:
            found = _parsed(path)
            self._read.pop(path, None)
            self._read[path] = (now, found)
            if len(self._read) > CACHED:
                del self._read[next(iter(self._read))]
        if isinstance(found, _RejectedError):
            raise _RejectedError(str(found))
        return found


def sections(text: str) -> dict[str, str]:
    """The `##` sections of a Markdown text: heading -> what stands below it, down to the next `#` or `##`.

    Sections of one name are joined. Text stays as it is written; headings in code, lists and quotes are text.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    found: dict[str, list[str]] = {}
    for heading, body in _split(_MARKDOWN.parse(text), text.split("\n"), ("h1", "h2")):
        if heading.tag == "h2":
            found.setdefault(heading.title, []).append(body)
    return {title: "\n\n".join(bodies).strip() for title, bodies in found.items()}


# --- files --------------------------------------------------------------------------------------------------


def _places(project: str, environment: Environment, default: Path) -> Iterator[_Place]:
    root = Path(project)
    if root.is_absolute():
        yield _Place(root / ".supervisor" / "rubric.md", root)
        yield _Place(root / ".reflection" / "rubric.md", root)
    if folder := user_folder(environment):
        yield _Place(folder / "rubric.md")
    home = Path(environment.get("HOME", ""))
    if home.is_absolute():
        yield _Place(home / ".config" / "opencode" / "supervisor" / "rubric.md")
    yield _Place(default)


def _resolved(place: _Place) -> Path:
    try:
        path = place.path.resolve(strict=True)
        within = place.within.resolve() if place.within else None
    except FileNotFoundError:
        if place.path.is_symlink():
            raise _RejectedError("a link that leads nowhere") from None
        raise
    except NotADirectoryError as error:
        raise FileNotFoundError(str(error)) from error
    except RuntimeError as error:  # an OSError since Python 3.13, which says the same
        raise _RejectedError("too many levels of symbolic links") from error
    except ValueError as error:
        raise _RejectedError(f"no possible path: {error}") from error
    if within and not path.is_relative_to(within):
        raise _RejectedError("a link that leads out of the project")
    return path


def _parsed(path: Path) -> _Criteria | _RejectedError:
    try:
        found = sections(read_whole(path, RUBRIC_LIMIT).decode("utf-8-sig"))
        return _Criteria(_required(found, "Patterns"), _required(found, "Antipatterns"))
    except UnicodeDecodeError as error:
        return _RejectedError(f"not UTF-8 at byte {error.start}")
    except UnfitError as unfit:
        return _RejectedError(str(unfit))
    except _RejectedError as rejected:
        return rejected


def _required(found: dict[str, str], name: str) -> tuple[Criterion, ...]:
    bodies = [body for title, body in found.items() if title.casefold() == name.casefold()]
    if not bodies:
        raise _RejectedError(f"the section `## {name}` is missing")
    criteria = tuple(criterion for body in bodies for criterion in _criteria(body))
    if not criteria:
        raise _RejectedError(f"the section `## {name}` has no criterion: no `###` heading and no list item")
    return criteria


# --- Markdown -----------------------------------------------------------------------------------------------


class _Heading(NamedTuple):
    tag: str
    title: str


def _split(tokens: list[Token], lines: list[str], tags: Iterable[str]) -> Iterator[tuple[_Heading, str]]:
    """Headings of these tags, each with the lines between it and the next one."""
    wanted = frozenset(tags)
    heads = [
        (_Heading(token.tag, tokens[number + 1].content.strip()), token.map)
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
                yield Criterion(_name(text), text)
    for heading, text in _split(tokens, lines, ("h3",)):
        if heading.title:
            yield Criterion(heading.title, text.strip())


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
