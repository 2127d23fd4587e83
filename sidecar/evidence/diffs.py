"""Builds the diffs of changed files for a reader: line counts, and hunks of the most relevant files.

Files are sorted by `file_reading_order`, then by number of changed lines, most first. Lock files, generated
files and minified files are listed without their lines. The work is bounded: lines that both versions share
at the start and the end are cut off before comparing, and the rest is aligned line by line only if it is
small. Where lines are not aligned, the diff shows more than was changed, never less.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher
from operator import eq
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.proof.file_names import file_reading_order, generated_file_reason, is_source
from sidecar.kernel.evidence import FileChange, FileDiff, ProjectChanges

# --- Counting changed lines and building hunks --------------------------------------------------------------


HUNKS_LIMIT: Final = 2_000
"""Characters of hunks shown per file."""
SHOWN_FILES_LIMIT: Final = 12
"""Files whose lines are shown; a case has room for about five in full."""
LISTED_FILES_LIMIT: Final = 200
"""Files that are listed at all; the others are only counted."""
TEXT_LIMIT: Final = 1_000_000
"""Characters of one version above which its lines are not read."""
CORE_LIMIT: Final = 60_000
"""Characters between the common ends, both versions together, above which lines are only counted."""
LINES_LIMIT: Final = 600
"""Lines between the common ends, both versions together, above which they are not aligned."""
PAIRS_LIMIT: Final = 4_000
"""Pairs of equal lines above which lines are not aligned: the cost of aligning grows with this number."""
LINE_LIMIT: Final = 300
"""Characters shown of one line."""
MINIFIED_LINE_LENGTH: Final = 1_500
"""Line length above which a source file counts as minified."""
CONTEXT_LINES: Final = 2
"""Unchanged lines shown before and after a change."""

Lines = list[str]


class _ChangedCore(Struct, frozen=True):
    """The lines of both versions that lie between their common ends.

    `line` is the number of the first such line; `lead` and `tail` are the common lines around them.
    """

    before: Lines
    after: Lines
    line: int
    lead: Lines
    tail: Lines

    @property
    def size(self) -> int:
        """The characters of both versions."""
        return sum(map(len, self.before)) + sum(map(len, self.after))


CountedFile = tuple[FileDiff, _ChangedCore | None]
"""A file whose changed lines were counted; no core where its lines are not shown."""


def build_file_diffs(changes: ProjectChanges, mask: Callable[[str], str] = str) -> tuple[FileDiff, ...]:
    """Return the changed files, most relevant first. `mask` removes secrets from the lines shown."""
    counted = sorted(map(_count_changed_lines, changes.files), key=_relevance_key)
    return tuple(_select_shown_diffs(counted, mask))


def _select_shown_diffs(counted: list[CountedFile], mask: Callable[[str], str]) -> Iterator[FileDiff]:
    room = SHOWN_FILES_LIMIT
    for edit, core in counted[:LISTED_FILES_LIMIT]:
        if core is None:
            yield edit
        elif room <= 0:
            yield replace(edit, unshown=f"only the first {SHOWN_FILES_LIMIT} files are shown")
        else:
            room -= 1
            yield _with_hunks(edit, core, mask)
    if (more := len(counted) - LISTED_FILES_LIMIT) > 0:
        yield FileDiff(path="", unshown=f"{more} more files changed")


def _relevance_key(counted: CountedFile) -> tuple[bool, int, int, str]:
    edit, core = counted
    return (core is None, file_reading_order(edit.path), -(edit.added + edit.removed), edit.path)


def _status_mark(file: FileChange) -> str:
    if file.old_path:
        return "R"
    added, deleted = file.before is None and file.after is not None, file.after is None and not file.unread
    return "A" if added else "D" if deleted and file.before is not None else "M"


def _count_changed_lines(file: FileChange) -> CountedFile:
    edit = FileDiff(path=file.path, old_path=file.old_path, mark=_status_mark(file))
    if why := _reason_not_read(file):
        return replace(edit, unshown=why), None
    core = _trim_common_ends(_split_lines(file.before or ""), _split_lines(file.after or ""))
    added, removed = _count_added_removed(core)
    why = _reason_not_shown(file, core)
    return replace(edit, added=added, removed=removed, unshown=why), None if why else core


def _reason_not_read(file: FileChange) -> str:
    """Say why the lines of a file are not counted; "" where they are."""
    before, after = file.before or "", file.after or ""
    if file.unread or (file.before is None and file.after is None):
        return file.unread or "its content is no text, or is not known"
    if max(len(before), len(after)) > TEXT_LIMIT:
        return f"too big: {len(before)} characters before, {len(after)} now"
    if before.rstrip("\n") != after.rstrip("\n"):
        return ""
    if before != after:
        return "only blank lines at its end changed"
    if file.before is None or file.after is None:
        return "a new empty file" if file.before is None else "an empty file is gone"
    return f"{'moved, ' if file.old_path else ''}its text is the same"


def _reason_not_shown(file: FileChange, core: _ChangedCore) -> str:
    """Say why the lines of a file are not shown; "" where they are."""
    if why := generated_file_reason(file.path, file.after or file.before or ""):
        return why
    if core.size > CORE_LIMIT and file.before is not None and file.after is not None:
        return "too much changed to be shown"
    if is_source(file.path) and max(map(len, core.before + core.after)) > MINIFIED_LINE_LENGTH:
        return "a minified file"
    return ""


# --- Comparing both versions --------------------------------------------------------------------------------


def _trim_common_ends(before: Lines, after: Lines) -> _ChangedCore:
    """Cut off the lines that both texts begin and end with."""
    head = _count_equal(before, after)
    tail = _count_equal(before[head:][::-1], after[head:][::-1])
    end = len(before) - tail
    return _ChangedCore(
        before[head:end],
        after[head : len(after) - tail],
        line=head + 1,
        lead=before[max(0, head - CONTEXT_LINES) : head],
        tail=before[end : end + CONTEXT_LINES],
    )


def _count_equal(one: Lines, other: Lines) -> int:
    """Return how many lines both begin with; fast, as there may be a million."""
    return [*map(eq, one, other), False].index(False)


def _count_added_removed(core: _ChangedCore) -> tuple[int, int]:
    """Return the numbers of added and removed lines; a line that only moved counts as neither.

    Above `CORE_LIMIT`, count all lines between the common ends.
    """
    if core.size > CORE_LIMIT:
        return len(core.after), len(core.before)
    gone, come = Counter(core.before), Counter(core.after)
    return (come - gone).total(), (gone - come).total()


def _split_lines(text: str) -> Lines:
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


# --- Hunks --------------------------------------------------------------------------------------------------


def _with_hunks(edit: FileDiff, core: _ChangedCore, mask: Callable[[str], str]) -> FileDiff:
    text = mask("\n".join(_unified_hunks(core))[:CORE_LIMIT])
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


def _unified_hunks(core: _ChangedCore) -> Iterator[str]:
    """Yield the hunks without a file header, at most a few more lines than are ever shown."""
    before = [*core.lead, *core.before, *core.tail]
    after = [*core.lead, *core.after, *core.tail]
    start, room = core.line - len(core.lead), HUNKS_LIMIT * 2
    for group in _group_line_changes(before, after, core):
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


def _group_line_changes(
    before: Lines, after: Lines, core: _ChangedCore
) -> Iterator[list[tuple[str, int, int, int, int]]]:
    """Group the changes with context: aligned where that is cheap, else as one single replacement."""
    if _is_cheap_to_align(before, after):
        matcher = SequenceMatcher(None, before, after, autojunk=False)
        yield from matcher.get_grouped_opcodes(CONTEXT_LINES)
        return
    lead, tail = len(core.lead), len(core.tail)
    old, new = len(before) - tail, len(after) - tail
    yield [
        ("equal", 0, lead, 0, lead),
        ("replace", lead, old, lead, new),
        ("equal", old, len(before), new, len(after)),
    ]


def _is_cheap_to_align(before: Lines, after: Lines) -> bool:
    if max(len(before), len(after)) > LINES_LIMIT:
        return False
    come = Counter(after)
    return sum(count * come[line] for line, count in Counter(before).items()) <= PAIRS_LIMIT
