"""The changed files for a reader: counted, and of the most telling ones the lines themselves.

In the order of telling.py; of two alike, the file with the most changed lines first. Lock files, generated
and minified files are only named. Everything is bounded: what both versions have in common at their ends is
cut off before anything is compared, and only what is left and small is aligned line by line. What is not
aligned shows more than was changed, never less.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.model.inspection import Changes, Edit, FileChange
from sidecar.policy.telling import is_code, telling, unwritten

HUNKS_LIMIT: Final = 2_000
"""Characters of the hunks of one file."""
SHOWN: Final = 12
"""Files of which lines are shown; a case has room for about five in full."""
NAMED: Final = 200
"""Files that are named at all; the rest is one number."""
TEXT_LIMIT: Final = 1_000_000
"""Characters of a version above which its lines are not looked at."""
CORE_LIMIT: Final = 60_000
"""Characters between the common ends, of both versions, above which lines are only counted."""
LINES_LIMIT: Final = 600
"""Lines between the common ends, of both versions, above which they are not aligned."""
PAIRS_LIMIT: Final = 4_000
"""Pairs of equal lines above which they are not aligned: their number is what aligning costs."""
LINE_LIMIT: Final = 300
"""Characters of a line that are shown."""
MINIFIED: Final = 1_500
"""Characters of a line that no person writes, in files that hold code."""
CONTEXT: Final = 2
"""Unchanged lines that are shown beside changed ones."""

Lines = list[str]


class _Core(Struct, frozen=True):
    """What is left of both versions between their common ends: whole lines.

    `line` is the number of its first line; `lead` and `tail` are the common lines beside it.
    """

    before: str
    after: str
    line: int
    lead: Lines
    tail: Lines


class _Rough(Struct, frozen=True):
    """A file that was counted, and not yet shown."""

    edit: Edit
    core: _Core | None = None


def edits(changes: Changes, mask: Callable[[str], str] = str) -> tuple[Edit, ...]:
    """The changed files, the most telling first. `mask` takes secrets out of what is shown."""
    counted = sorted(map(_counted, changes.files), key=_telling)
    return tuple(_shown(counted, mask))


def _shown(counted: list[_Rough], mask: Callable[[str], str]) -> Iterator[Edit]:
    room = SHOWN
    for rough in counted[:NAMED]:
        if rough.core is None:
            yield rough.edit
        elif room <= 0:
            yield replace(rough.edit, told=f"only the first {SHOWN} files are shown")
        else:
            room -= 1
            yield _with_hunks(rough.edit, rough.core, mask)
    if (more := len(counted) - NAMED) > 0:
        yield Edit(path="", told=f"{more} more files changed")


def _telling(rough: _Rough) -> tuple[bool, int, int, str]:
    edit = rough.edit
    return (rough.core is None, telling(edit.path), -(edit.added + edit.removed), edit.path)


def _counted(file: FileChange) -> _Rough:
    edit = Edit(path=file.path, old_path=file.old_path)
    if file.unread or (file.before is None and file.after is None):
        return _Rough(replace(edit, told=file.unread or "its content is no text, or is not known"))
    before, after = file.before or "", file.after or ""
    if max(len(before), len(after)) > TEXT_LIMIT:
        return _Rough(replace(edit, told=f"too big: {len(before)} characters before, {len(after)} now"))
    if before == after:
        return _Rough(replace(edit, told="moved, its text is the same" if file.old_path else _same(file)))
    if before.rstrip("\n") == after.rstrip("\n"):
        return _Rough(replace(edit, told="only blank lines at its end changed"))
    core = _core(before, after)
    added, removed = _counts(core)
    edit = replace(edit, added=added, removed=removed)
    why = _why_not(file, core)
    return _Rough(replace(edit, told=why)) if why else _Rough(edit, core)


def _same(file: FileChange) -> str:
    if file.before is None:
        return "a new empty file"
    return "an empty file is gone" if file.after is None else "its text is the same"


def _why_not(file: FileChange, core: _Core) -> str:
    """Why the lines of a file are not shown, "" where they are."""
    if why := unwritten(file.path, file.after or file.before or ""):
        return why
    if len(core.before) + len(core.after) > CORE_LIMIT and file.before is not None and file.after is not None:
        return "too much changed to be shown"
    if is_code(file.path) and _longest(core.before, core.after) > MINIFIED:
        return "a minified file"
    return ""


def _longest(*texts: str) -> int:
    """Characters of the longest line, in the first part of each."""
    return max(max(map(len, text[:CORE_LIMIT].split("\n"))) for text in texts)


# --- what differs ---


def _core(before: str, after: str) -> _Core:
    """Both texts without the lines that they begin and end with alike."""
    head = before.rfind("\n", 0, _common(before, after, len(before), len(after))) + 1
    # A line that one text ends with and the other goes on after is no common line, so look for its end.
    tail = _common_end(before, after, head)
    shared = before[len(before) - tail :]
    cut = (
        0 if not tail or (_at_line(before, tail) and _at_line(after, tail)) else shared.find("\n") + 1 or tail
    )
    tail -= cut
    return _Core(
        before[head : len(before) - tail],
        after[head : len(after) - tail],
        line=before.count("\n", 0, head) + 1,
        lead=_lines(before[max(0, head - CONTEXT * LINE_LIMIT * 2) : head])[-CONTEXT:],
        tail=_lines(before[len(before) - tail :][: CONTEXT * LINE_LIMIT * 2])[:CONTEXT],
    )


def _at_line(text: str, tail: int) -> bool:
    """Whether the last `tail` characters begin with a line."""
    at = len(text) - tail
    return at == 0 or text[at - 1] == "\n"


def _common(before: str, after: str, end: int, other: int) -> int:
    """How many characters both begin with alike, found by halving."""
    low, high = 0, min(end, other)
    while low < high:
        middle = (low + high + 1) // 2
        if before[low:middle] == after[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_end(before: str, after: str, head: int) -> int:
    """How many characters both end with alike, without the first `head`."""
    low, high = 0, min(len(before), len(after)) - head
    while low < high:
        middle = (low + high + 1) // 2
        one, other = len(before), len(after)
        if before[one - middle : one - low] == after[other - middle : other - low]:
            low = middle
        else:
            high = middle - 1
    return low


def _counts(core: _Core) -> tuple[int, int]:
    """Lines that only the later version has, and only the earlier; a line that moved counts as neither.

    Where there is too much of them, all between the common ends.
    """
    if not core.before or not core.after or len(core.before) + len(core.after) > CORE_LIMIT:
        return _number(core.after), _number(core.before)
    gone, come = Counter(_lines(core.before)), Counter(_lines(core.after))
    shared = sum(min(count, come[line]) for line, count in gone.items() if line in come)
    return come.total() - shared, gone.total() - shared


def _number(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n") if text else 0)


def _lines(text: str) -> Lines:
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


# --- the lines themselves ---


def _with_hunks(edit: Edit, core: _Core, mask: Callable[[str], str]) -> Edit:
    text = mask("\n".join(_unified(core)))
    lines = [line if len(line) <= LINE_LIMIT else f"{line[: LINE_LIMIT - 1]}…" for line in text.split("\n")]
    kept, used = 0, 0
    for line in lines:
        used += len(line) + 1
        if used > HUNKS_LIMIT - 40:
            break
        kept += 1
    left = len(lines) - kept
    shown = "\n".join([*lines[:kept], f"... {left} more lines"] if left else lines)
    return replace(edit, hunks=shown)


def _unified(core: _Core) -> Iterator[str]:
    """The hunks without a file's head, at most a few more lines than are ever shown."""
    before = [*core.lead, *_lines(core.before[:CORE_LIMIT]), *core.tail]
    after = [*core.lead, *_lines(core.after[:CORE_LIMIT]), *core.tail]
    start, room = core.line - len(core.lead), HUNKS_LIMIT * 2
    for group in _groups(before, after, core):
        first, last = group[0], group[-1]
        old, new = last[2] - first[1], last[4] - first[3]
        yield f"@@ -{start + first[1]},{old} +{start + first[3]},{new} @@"
        for tag, low, high, other_low, other_high in group:
            if tag == "equal":
                yield from (f" {line}" for line in before[low:high])
                continue
            yield from (f"-{line}" for line in before[low:high][:room])
            yield from (f"+{line}" for line in after[other_low:other_high][:room])
        room -= sum(high - low + 1 for _, low, high, _, _ in group)
        if room <= 0:
            return


def _groups(before: Lines, after: Lines, core: _Core) -> Iterator[list[tuple[str, int, int, int, int]]]:
    """Groups of changes with context, aligned where that is cheap, else all of it as one replacement."""
    if _cheap(before, after):
        matcher = SequenceMatcher(None, before, after, autojunk=False)
        yield from matcher.get_grouped_opcodes(CONTEXT)
        return
    lead, tail = len(core.lead), len(core.tail)
    old, new = len(before) - tail, len(after) - tail
    yield [
        ("equal", 0, lead, 0, lead),
        ("replace", lead, old, lead, new),
        ("equal", old, len(before), new, len(after)),
    ]


def _cheap(before: Lines, after: Lines) -> bool:
    if max(len(before), len(after)) > LINES_LIMIT:
        return False
    come = Counter(after)
    return sum(count * come[line] for line, count in Counter(before).items()) <= PAIRS_LIMIT
