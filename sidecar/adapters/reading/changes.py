"""Both versions of every changed file that bears on a check.

Files that do not parse are marked, and hurt no other. The work of one look is bounded: what steers a check is
read first, and what is left over is said to be unseen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sidecar.adapters.reading.definitions import defined_names
from sidecar.adapters.reading.differences import difference
from sidecar.adapters.reading.marks import marks_of
from sidecar.adapters.reading.parts import parts_of
from sidecar.adapters.reading.roles import role_of
from sidecar.adapters.reading.settings import is_textual, settings_of
from sidecar.adapters.reading.tests import read_as_text, tests_leniently, tests_of
from sidecar.model.inspection import FileFacts, FileReading, Reading, Role

if TYPE_CHECKING:
    from sidecar.model.inspection import Changes, FileChange, Mark, Setting, TestCase

CHARACTERS: Final = 16 << 20
"""Characters of all files together that are read in one look."""
FILES: Final = 2_000
"""Files that are read in one look."""
FIRST: Final = (Role.SETTINGS, Role.SNAPSHOT, Role.TEST, Role.SOURCE)
"""The order in which files are read; others bear on no check."""


def read(changes: Changes) -> Reading:
    """Read all files, in the order of their paths."""
    known = [(_role(change), change) for change in changes.files]
    todo = sorted((one for one in known if one[0] in FIRST), key=lambda one: FIRST.index(one[0]))
    found, spent, left = list[FileReading](), 0, 0
    for role, change in todo:
        size = len(change.before or "") + len(change.after or "")
        if len(found) >= FILES or spent + size > CHARACTERS:
            left += 1
            continue
        spent += size
        if change.unread or change.before != change.after or change.old_path:
            found.append(_file(role, change))
    unseen = [changes.unseen] if changes.unseen else []
    unseen += [f"{left} changed files are too many or too big to read"] if left else []
    return Reading(files=tuple(sorted(found, key=lambda one: one.path)), unseen="; ".join(unseen))


def _role(change: FileChange) -> Role:
    """What a file is, or was before it got a name that says nothing."""
    roles = (role_of(change.path), role_of(change.old_path or change.path))
    return next((role for role in roles if role is not Role.OTHER), Role.OTHER)


def _file(role: Role, change: FileChange) -> FileReading:
    old_path = change.old_path or change.path
    before, after = _facts(old_path, change.before), _facts(change.path, change.after)
    weak = read_as_text(old_path) if role is Role.TEST else role is Role.SETTINGS and is_textual(old_path)
    if before and after and before.broken and after.broken:
        before, after = _again(before, old_path, change.before), _again(after, change.path, change.after)
        weak = True
    return FileReading(
        path=change.path,
        role=role,
        old_path=change.old_path,
        before=before,
        after=after,
        weak=weak,
        unread=change.unread,
        difference=difference(change.before, change.after),
    )


def _facts(path: str, text: str | None) -> FileFacts | None:
    """What one version says. A fault of a reader is one of this file, and is said as such."""
    if text is None:
        return None
    role = role_of(path)
    try:
        return FileFacts(
            tests=_tests(role, path, text),
            settings=_settings(role, path, text),
            marks=_marks(role, path, text),
            parts=parts_of(path, text) if _may_hold_tests(role, path) else None,
            defines=defined_names(text) if role is Role.SOURCE else (),
        )
    except Exception:  # noqa: BLE001 - the file is anybody's, and must not keep the others from being read
        return FileFacts(broken=True)


def _again(facts: FileFacts, path: str, text: str | None) -> FileFacts:
    """Read a test file leniently where neither version parses: the language is newer than our parser."""
    try:
        tests = tests_leniently(path, text or "")
        return FileFacts(tests=tests, broken=not tests)
    except Exception:  # noqa: BLE001 - the same as above
        return facts


def _tests(role: Role, path: str, text: str) -> tuple[TestCase, ...]:
    return tests_of(path, text) if _may_hold_tests(role, path) else ()


def _may_hold_tests(role: Role, path: str) -> bool:
    """Whether tests may stand in a file: those of Rust stand beside the code."""
    return role is Role.TEST or (role is Role.SOURCE and path.endswith(".rs"))


def _settings(role: Role, path: str, text: str) -> tuple[Setting, ...]:
    return settings_of(path, text) if role is Role.SETTINGS else ()


def _marks(role: Role, path: str, text: str) -> tuple[Mark, ...]:
    return marks_of(path, text, role) if role is not Role.SNAPSHOT else ()
