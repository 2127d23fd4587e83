"""Parses the conventions of a criterion's text, makes the ids of criteria, and finds those that apply.

A convention is a line of its own: `Severity: note`, `Applies to: ...`, `Evidence: ...`. A line that is not
understood is prose: it stays in the text and is no error. Only the first line of a kind counts, a second one
is prose. Lines in code are text.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final, NamedTuple

from msgspec.structs import replace

from sidecar.kernel.rubric import CRITERION_SOURCES, Criterion, CriterionKey, Rubric, Severity

LISTED_PARTS: Final = 20
"""Globs, or sources of evidence, that a line may list."""
PART_LIMIT: Final = 200
"""Characters of one of them."""
LINE_LIMIT: Final = 1000
"""Characters of a line; a longer one is not examined."""
WHEN_LIMIT: Final = 300
"""Characters of a `When` hint; a longer one is prose."""

_LINE: Final = re.compile(
    r"\s{0,8}(?:[-*+]\s{1,4})?(?P<bold>\*\*|__)?(?P<key>severity|applies[- ]to|when|evidence)"
    r"(?:\s?:(?P=bold)|(?P=bold)\s?:)?(?(bold)|\s?:)(?:\s+|(?=`))(?P<value>\S.*)",
    re.IGNORECASE,
)
_CODE: Final = re.compile(r"`{1,2}\s?([^`]+?)\s?`{1,2}")
_BETWEEN: Final = re.compile(r"(?:and|or|[,;.&\s])*", re.IGNORECASE)
_APART: Final = re.compile(r"\s+(?:and|or)\s+|[,;\s]+(?![^{}]*\})")
_GLOB: Final = re.compile(r"(?=\S*[*?./\[{])[^\s;`]+")
_SOURCE: Final = re.compile(rf"(?:gate|rule):[^\s`,;]+|{'|'.join(CRITERION_SOURCES)}")


class ConventionLine(NamedTuple):
    """One understood line: its number, and the columns of its value and of each part of the value."""

    number: int
    key: CriterionKey
    value: tuple[int, int]
    parts: tuple[tuple[int, int], ...] = ()


class Conventions(NamedTuple):
    """The values of all conventions, the text without them, and where they were."""

    text: str
    severity: Severity = Severity.MUST
    applies_to: tuple[str, ...] = ()
    when: str = ""
    evidence: tuple[str, ...] = ()
    found: tuple[ConventionLine, ...] = ()


class _Value(NamedTuple):
    """The text after the colon, and the column at which it begins."""

    text: str
    column: int


@lru_cache(maxsize=1024)
def parse_conventions(text: str, code: frozenset[int] = frozenset()) -> Conventions:
    """Extract the conventions from a text. `code`: the numbers of its lines, from 0, that are not prose."""
    said, left = Conventions(""), list[str]()
    for number, line in enumerate(text.split("\n")):
        met = _LINE.fullmatch(line.rstrip()) if number not in code and len(line) <= LINE_LIMIT else None
        key = CriterionKey(met["key"].capitalize().replace("-", " ")) if met else None
        if met is None or key is None or any(one.key is key for one in said.found):
            left.append(line)
            continue
        then = _apply_convention(key, _Value(met["value"].strip(), met.start("value")), said, number)
        if then is None:
            left.append(line)
        else:
            said = then
    if not said.found:
        return said._replace(text=text)
    return said._replace(text=re.sub(r"\n{3,}", "\n\n", "\n".join(left)).strip())


def _apply_convention(key: CriterionKey, value: _Value, said: Conventions, number: int) -> Conventions | None:
    """Return the conventions with this line added, None if the line is prose."""
    parts = _value_parts(value.text, _GLOB if key is CriterionKey.APPLIES_TO else _SOURCE)
    named, word = tuple(value.text[begin:end] for begin, end in parts), value.text.strip("`*_. ").lower()
    if key is CriterionKey.SEVERITY and word in set(Severity):
        said, parts = said._replace(severity=Severity(word)), ()
    elif key is CriterionKey.WHEN and len(value.text) <= WHEN_LIMIT:
        said, parts = said._replace(when=value.text), ()
    elif key is CriterionKey.APPLIES_TO and named:
        said = said._replace(applies_to=named)
    elif key is CriterionKey.EVIDENCE and named:
        said = said._replace(evidence=named)
    else:
        return None
    moved = tuple((begin + value.column, end + value.column) for begin, end in parts)
    there = ConventionLine(number, key, (value.column, value.column + len(value.text)), moved)
    return said._replace(found=(*said.found, there))


def _value_parts(value: str, form: re.Pattern[str]) -> tuple[tuple[int, int], ...]:
    """Return the spans of the items that a value such as "`src/**`, `*.py`" lists.

    Returns nothing if words stand between them.
    """
    if "`" in value:
        found = [match.span(1) for match in _CODE.finditer(value)]
        plain = _BETWEEN.fullmatch(_CODE.sub(" ", value)) is not None
        plain = plain and (form is _GLOB or all(form.fullmatch(value[slice(*each)]) for each in found))
    else:
        found = list(_split_words(value))
        plain = all(form.fullmatch(value[slice(*each)]) for each in found)
    fit = found and len(found) <= LISTED_PARTS and all(0 < end - begin <= PART_LIMIT for begin, end in found)
    return tuple(found) if plain and fit else ()


def _split_words(value: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the words between commas, spaces, "and" and "or"."""
    begin = len(value) - len(value.lstrip(" ,;"))
    end = len(value.rstrip(" .,;"))
    for apart in _APART.finditer(value, begin, end):
        yield begin, apart.start()
        begin = apart.end()
    yield begin, end


# --- Short ids of criteria: made from their names, or chosen by the author with `{#id}` ---------------------
# An id stays as long as the name does. It is unique within a rubric: if two names give the same id, the later
# one is numbered. An id that the author chose takes precedence over one that is made.


CRITERION_ID_LIMIT: Final = 40
"""Characters of an id."""
RESERVED_IDS: Final = frozenset({"goal", "request"})
"""The ids by which a judge refers to the goal and the request."""

_CHOSEN: Final = re.compile(r"\s{0,8}\{#(?P<id>[^\W_][\w.:-]{0,39})\}")


def split_chosen_id(heading: str) -> tuple[str, str]:
    """Return a heading without the `{#id}` at its end, and that id; "" if it has none."""
    at = heading.rstrip().rfind("{#")
    while at > 0 and heading[at - 1].isspace():
        at -= 1
    found = _CHOSEN.fullmatch(heading.rstrip(), at) if at > 0 else None
    return (heading[:at], found["id"]) if found else (heading, "")


def unique_ids(wanted: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Return an id for each (name, chosen id), in their order."""
    taken = dict.fromkeys(RESERVED_IDS, 1)
    found = [_reserve_free_id(choice, taken) if choice else "" for _, choice in wanted]
    return tuple(
        each or _reserve_free_id(criterion_slug(name), taken)
        for each, (name, _) in zip(found, wanted, strict=True)
    )


@lru_cache(maxsize=1024)
def criterion_slug(name: str) -> str:
    """Return a name in lower-case letters and digits of its own script, words joined with "-"."""
    words = "".join(map(_slug_letter, unicodedata.normalize("NFKC", name[:500]).casefold()))
    made = "-".join(words.split())[:CRITERION_ID_LIMIT].strip("-")
    return made or f"c-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def _slug_letter(char: str) -> str:
    """Remove accents from Latin letters, keep the marks of others; anything else separates words."""
    base = unicodedata.normalize("NFKD", char)[0]
    kept = base if base.isascii() else char
    return kept if unicodedata.category(kept)[0] in "LNM" else " "


def _reserve_free_id(wanted: str, taken: dict[str, int]) -> str:
    """Return the id, with the next number if it is taken.

    `taken`: the highest number given to each id so far.
    """
    found, number = wanted, taken.get(wanted.casefold(), 0)
    while found.casefold() in taken:
        number += 1
        found = f"{wanted[: CRITERION_ID_LIMIT - len(str(number)) - 1]}-{number}"
    taken[found.casefold()] = 1
    taken[wanted.casefold()] = max(number, 1)
    return found


# --- Globs of `Applies to`: which criteria apply to the changed paths ---------------------------------------


PATHS_LIMIT: Final = 2_000
"""Changed files above which every criterion applies, because so many files match most globs."""
BRACES_LIMIT: Final = 64
"""Globs to which one with braces may expand."""

GlobParts = tuple[str, ...]


def applicable_rubric(rubric: Rubric, changed: tuple[str, ...] | None) -> Rubric:
    """Return the rubric with only those criteria that apply to the changed files.

    `changed` is None if it is not known which files changed: then all apply.
    """
    if changed is None or len(changed) > PATHS_LIMIT:
        return rubric
    paths = tuple(tuple(path.split("/")) for path in changed)
    return replace(
        rubric,
        patterns=_applicable_criteria(rubric.patterns, paths),
        antipatterns=_applicable_criteria(rubric.antipatterns, paths),
        legitimate=_applicable_criteria(rubric.legitimate, paths),
    )


def glob_matches_path(glob: str, path: str) -> bool:
    """Return whether a glob matches this path of a project, by the rules of .gitignore.

    `*` and `?` stop at `/`, `**` does not. A glob without a `/` before its end matches a name at any depth;
    any other is anchored. A folder matches all that is in it. `{a,b}` works as in shells.
    """
    return any(_glob_parts_match(parts, tuple(path.split("/"))) for parts in _expand_glob(glob))


def _applicable_criteria(
    criteria: tuple[Criterion, ...], paths: tuple[GlobParts, ...]
) -> tuple[Criterion, ...]:
    return tuple(
        one
        for one in criteria
        if not one.applies_to or any(_globs_select_path(one.applies_to, path) for path in paths)
    )


def _globs_select_path(globs: tuple[str, ...], path: GlobParts) -> bool:
    """Return whether a file is selected and not excluded again by a later glob with `!`."""
    meant = all(glob.startswith("!") for glob in globs)
    for glob in globs:
        if any(_glob_parts_match(parts, path) for parts in _expand_glob(glob.removeprefix("!"))):
            meant = not glob.startswith("!")
    return meant


@lru_cache(maxsize=512)
def _expand_glob(glob: str) -> tuple[GlobParts, ...]:
    """Expand a glob and split the results into parts; `**` precedes one that matches at any depth."""
    return tuple(_split_glob(one) for one in _expand_braces(glob.strip()))


def _split_glob(glob: str) -> GlobParts:
    anchored = "/" in glob.rstrip("/")
    parts = [part for part in glob.removeprefix("./").split("/") if part]
    return tuple(parts) if anchored else ("**", *parts)


def _expand_braces(glob: str) -> tuple[str, ...]:
    """Return every choice of `{a,b}`, in order; inner braces are expanded first."""
    done: list[str] = []
    waiting = [glob]
    while waiting and len(done) + len(waiting) <= BRACES_LIMIT:
        one = waiting.pop(0)
        end = one.find("}")
        start = one.rfind("{", 0, end) if end >= 0 else -1
        if start < 0 or "," not in one[start:end]:
            done.append(one)
            continue
        waiting += [one[:start] + choice + one[end + 1 :] for choice in one[start + 1 : end].split(",")]
    return (*done, *waiting)


def _glob_parts_match(glob: GlobParts, path: GlobParts) -> bool:
    """Return whether the parts of a glob match a path or a folder above it."""
    reached = {0}  # how many parts of the path may be matched so far
    for part in glob:
        if part == "**" and reached:
            reached = set(range(min(reached), len(path) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(path) and fnmatchcase(path[at], part)}
    return any(reached)
