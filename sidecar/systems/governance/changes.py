"""The change that is made under a lock: kept as the texts of its files until it is delivered or dropped.

Every phase puts it into a fresh copy of the project as that is now. Where the project moved on, a file is
merged by three versions: as it was, as it is, as the change has it. So a change is never reviewed, tested or
delivered on files that are not there any more.
"""

from __future__ import annotations

import difflib
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from sidecar.evidence.tree.copies import WorkCopy
from sidecar.kernel.changes import FileChange
from sidecar.kernel.governance import ErrorType
from sidecar.platform.files import UnusableFileError, ensure_folder, read_whole, write_whole
from sidecar.platform.processes import run_process
from sidecar.platform.scratch import scratch_folder
from sidecar.systems.governance.policy.work import TroubleError

DIFF_LENGTH: Final = 60_000
"""Characters of the diff that is shown."""
KEPT_LIMIT: Final = 64 << 20
"""Bytes of one kept change."""
FILE_LIMIT: Final = 8 << 20
TOLD: Final = 5
"""Points that a message names."""
MERGE_S: Final = 30.0


class KeptFileChange(Struct, frozen=True):
    """One file, its texts before and after, None where it is not, and the mode of a new one."""

    path: str
    before: str | None
    after: str | None
    mode: int = 0o644


Change = tuple[KeptFileChange, ...]


class KeptChanges:
    """Where changes are kept. `state`: the user's state folder."""

    def __init__(self, state: Path) -> None:
        self._folder = state / "governance" / "changes"

    def save(self, lock: str, change: Change) -> None:
        """Keep the change of a lock instead of the one before. Raises OSError."""
        ensure_folder(self._folder)
        write_whole(self._place(lock), msgspec.json.encode(change), durable=True)

    def load(self, lock: str) -> Change:
        """Return the change of a lock, an empty one where there is none. Raises OSError."""
        try:
            return msgspec.json.decode(read_whole(self._place(lock), KEPT_LIMIT), type=Change)
        except FileNotFoundError:
            return ()
        except (UnusableFileError, msgspec.DecodeError) as error:
            raise OSError(f"the kept change of {lock} cannot be read: {error}") from error

    def drop(self, lock: str) -> None:
        """Forget the change of a lock. Raises OSError."""
        self._place(lock).unlink(missing_ok=True)

    def _place(self, lock: str) -> Path:
        return self._folder / f"{lock}.json"


def keep_change(copy: WorkCopy, files: Sequence[FileChange]) -> Change:
    """Return what is to be kept of a change in a copy. Raises TroubleError where it cannot be delivered."""
    kept, faults = [], []
    for one in files:
        if why := one.unread or ("it is a link" if one.link else _why_no_text(one)):
            faults.append(f"{ascii(one.path)[1:-1]}: {why}")
            continue
        if one.old_path and one.old_path != one.path:
            kept.append(KeptFileChange(one.old_path, one.before, None))
        new = one.before is None or one.old_path not in ("", one.path)
        mode = Path(copy.project, one.path).stat().st_mode & 0o777 if new and one.after is not None else 0o644
        kept.append(KeptFileChange(one.path, None if new else one.before, one.after, mode))
    if faults:
        raise TroubleError(ErrorType.INVALID_ANSWER, "not-deliverable", files="; ".join(faults[:TOLD]))
    if not kept:
        raise TroubleError(ErrorType.INVALID_ANSWER, "nothing-changed")
    return tuple(sorted(kept, key=lambda one: one.path))


def change_digest(change: Change) -> str:
    """Return a name for exactly this change."""
    return hashlib.sha256(msgspec.json.encode(change)).hexdigest()


def unified_diff(change: Change) -> str:
    """Return the change as a diff, cut at the end."""
    lines = (
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for one in change
        for line in difflib.unified_diff(
            (one.before or "").splitlines(keepends=True),
            (one.after or "").splitlines(keepends=True),
            "/dev/null" if one.before is None else f"a/{one.path}",
            "/dev/null" if one.after is None else f"b/{one.path}",
        )
    )
    text = "".join(lines)
    more = f"\n... and {len(text) - DIFF_LENGTH} characters more\n" if len(text) > DIFF_LENGTH else ""
    return text[:DIFF_LENGTH] + more


async def put_change(change: Change, copy: WorkCopy) -> tuple[str, ...]:
    """Put a change into a copy; return the files that had to be merged. Raises TroubleError, OSError."""
    merged, conflicts = [], []
    for one in change:
        place = Path(copy.project, one.path)
        now = _read_text(place)
        after = one.after
        if now == one.after:
            continue
        if now != one.before:
            after = None if None in (now, one.before, one.after) else await _merge(one, now or "", copy)
            if after is None:
                conflicts.append(one.path)
                continue
            merged.append(one.path)
        if after is None:
            place.unlink()  # noqa: ASYNC240 - of a copy, and quick
        else:
            _write_text(place, after, one.mode if now is None else None)
    if conflicts:
        raise TroubleError(ErrorType.CONFLICT, "conflict", files=", ".join(conflicts))
    return tuple(merged)


def _write_text(place: Path, text: str, mode: int | None) -> None:
    """Write a file; `mode` None keeps that of the present one. Raises OSError."""
    place.parent.mkdir(parents=True, exist_ok=True)
    mode = place.stat().st_mode & 0o777 if mode is None else mode
    write_whole(place, text.encode())
    place.chmod(mode)


async def _merge(one: KeptFileChange, now: str, copy: WorkCopy) -> str | None:
    """Return the merge of three versions, None where they conflict."""
    async with scratch_folder("merge") as folder:
        versions = {"now": now, "before": one.before or "", "after": one.after or ""}
        for name, text in versions.items():
            (folder / name).write_bytes(text.encode())
        done = await run_process(
            ("git", "merge-file", "--stdout", *versions),
            cwd=str(folder),
            environment={"PATH": copy.environment.get("PATH", os.defpath), "LC_ALL": "C"},
            seconds=MERGE_S,
            keep=KEPT_LIMIT,
            separate=True,
        )
    return done.output.decode("utf-8", "replace") if done.exit_code == 0 else None


def _read_text(place: Path) -> str | None:
    """Return a file's text, None where it is not. Raises OSError for what is no file."""
    try:
        return read_whole(place, FILE_LIMIT).decode("utf-8", "replace")
    except FileNotFoundError:
        return None
    except UnusableFileError as error:
        raise OSError(f"{place.name}: {error}") from error


def _why_no_text(one: FileChange) -> str:
    """Say why a file cannot be kept as text: what was no UTF-8 has replacement characters now."""
    if not one.path.isprintable():
        return "its name is no text"
    return "it is not UTF-8" if "\ufffd" in f"{one.before}{one.after}" else ""
