"""The common result of all report readers (`RunReport`), and the limits that all of them observe."""

from __future__ import annotations

import fnmatch
import io
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from msgspec import Struct

from sidecar.kernel.decoding import read_json
from sidecar.kernel.text import without_line_numbers
from sidecar.platform.environments import tool_folders
from sidecar.platform.files import UnusableFileError, read_whole

if TYPE_CHECKING:
    from xml.etree import ElementTree as ET

T = TypeVar("T")

SHOWN_FAILURES: Final = 5
"""Maximum number of failures that are shown."""
FAILURE_LENGTH: Final = 300
"""Maximum length in characters of one shown failure."""
NAMED_FAILURES: Final = 500
"""Maximum number of failures that are named."""
INSPECTED_FAILURES: Final = 5_000
"""Maximum number of failures of one run that are examined."""
REPORT_LIMIT: Final = 32 << 20
"""Maximum size in bytes of one report; a bigger one is not read."""

MEMORY_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{6,}")
"""A memory address, which differs in every run and would make the same failure look new."""
LINE_DURATION: Final = re.compile(r" ?[(\[]\d{1,9}(?:\.\d{1,9})? ?(?:ms|s|\u03bcs|m)[)\]]$")
"""A duration at the end of a line."""


class ReportedFailure(Struct, frozen=True):
    """One failure. `name` identifies it and is the same in the next run; `said` is the text for a person."""

    name: str
    said: str = ""


class RunReport(Struct, frozen=True, kw_only=True):
    """What was read of one run.

    `executed` and `skipped` count tests, None if unknown. `failures` are the first failures as messages, in
    order of appearance; `failing` names all of them. `warnings` counts those of a linter or type checker that
    are no failures. `ran` names the tests that were executed, None where the report names none. `text` is
    what a person would have seen, None if that is the output itself.
    """

    executed: int | None = None
    skipped: int | None = None
    failures: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()
    warnings: int = 0
    ran: tuple[str, ...] | None = None
    text: str | None = None


class GateOutput(Struct, frozen=True, kw_only=True):
    """Where to find the output of a run.

    `scratch` is the folder of the requested report, `folder` the working directory of the command, `text` its
    output (only both ends if it was long). `since` is its start in nanoseconds, in file modification time.
    """

    scratch: Path
    folder: Path
    text: str = ""
    since: int = 0

    def report(self) -> Path:
        """Return the path of a report that consists of one file."""
        return self.scratch / "report"


ReportReader = Callable[[GateOutput], RunReport | None]
"""Reads one format of report; returns None if there is no complete one."""


def build_report(
    faults: Iterable[ReportedFailure],
    folder: Path,
    *,
    executed: int | None = None,
    skipped: int | None = None,
    ran: Iterable[str] | None = None,
) -> RunReport:
    """Limit the faults, remove from them what differs between runs, and drop duplicates."""
    known = list(islice(faults, INSPECTED_FAILURES))
    said = dict.fromkeys(stable_line(fault.said or fault.name, folder) for fault in known)
    names = dict.fromkeys(stable_line(fault.name, folder) for fault in known)
    return RunReport(
        executed=executed,
        skipped=skipped,
        failures=tuple(islice(filter(None, said), SHOWN_FAILURES)),
        failing=tuple(sorted(filter(None, names))[:NAMED_FAILURES]),
        ran=None if ran is None else tuple(stable_line(name, folder) for name in ran),
    )


def stable_line(text: str, folder: Path) -> str:
    """Return one line of limited length that is the same in the next run and in another checkout."""
    line = " ".join(text[: 4 * FAILURE_LENGTH].split())
    return LINE_DURATION.sub("", MEMORY_ADDRESS.sub("0x...", line.replace(f"{folder}/", "")))[:FAILURE_LENGTH]


def number_equal_failures(faults: Iterable[ReportedFailure]) -> Iterator[ReportedFailure]:
    """Number equal faults of one file, so that an additional one counts as new."""
    seen = Counter[str]()
    for fault in faults:
        seen[fault.name] += 1
        times = seen[fault.name]
        yield fault if times == 1 else ReportedFailure(f"{fault.name} ({times})", fault.said or fault.name)


def diagnostic_failure(file: str, line: int | None, rule: str | None, message: str) -> ReportedFailure:
    """Build the failure for one line of a compiler, linter or scanner."""
    words = " ".join(filter(None, (rule, message.partition("\n")[0])))
    place = f"{file}:{line}" if line else file
    return ReportedFailure(without_line_numbers(f"{file}: {words}"), f"{place}: {words}" if file else words)


def read_report_bytes(path: Path) -> bytes | None:
    """Return a report's bytes; None if it is missing, too big, or not a regular file (link, pipe, device)."""
    try:
        return read_whole(path, REPORT_LIMIT)
    except (OSError, UnusableFileError):
        return None


def decode_json_report(raw: bytes | str | None, form: type[T]) -> T | None:
    """Decode a JSON report of this form; None if it is not one."""
    return None if raw is None else read_json(raw, form)


# --- limited search for files that a run wrote --------------------------------------------------------------


FOLDER_LIMIT: Final = 20_000
"""Maximum number of folders that are searched."""
FILE_LIMIT: Final = 2_000
"""Maximum number of files that are returned."""


def find_report_files(folder: Path, *, within: re.Pattern[str], named: str, since: int = 0) -> Iterator[Path]:
    """Yield files in folders that match `within`, with names like `named`, of `since` (ns) or later.

    Links are not followed; files beyond the limits are not found.
    """
    left = FILE_LIMIT
    for number, (place, folders, files) in enumerate(os.walk(folder)):
        if number >= FOLDER_LIMIT:
            return
        folders[:] = sorted(
            name for name in folders if name not in tool_folders() and not name.startswith(".")
        )
        if not within.search(place):
            continue
        for path in (Path(place, name) for name in fnmatch.filter(sorted(files), named)):
            if is_fresh_file(path, since):
                yield path
                left -= 1
                if not left:
                    return


def is_fresh_file(path: Path, since: int) -> bool:
    """Return whether this run wrote the file; links never count."""
    try:
        return not path.is_symlink() and path.is_file() and path.stat().st_mtime_ns >= since
    except OSError:
        return False


# --- XML from untrusted sources -----------------------------------------------------------------------------


SUITE_DEPTH: Final = 20
"""Maximum number of nested suites that are named."""


def iterate_xml_elements(raw: bytes) -> Iterator[ET.Element]:
    """Yield every element when it ends, its tag without the namespace. Raises ET.ParseError, ValueError.

    A test case gets the names of the enclosing suites in the attribute `suites`.

    A document that declares entities is refused, as a few of them can exhaust the memory. So is one in an
    encoding in which the declarations could not be recognized.
    """
    from xml.etree import ElementTree as ET  # noqa: PLC0415 - a stop without such a report does without

    if b"<!ENTITY" in raw or b"\0" in raw[:4]:
        raise ValueError("a report with entities, or in UTF-16")
    suites: list[str] = []
    # Safe: there are no entities, and the caller limits the size.
    for event, element in ET.iterparse(io.BytesIO(raw), ("start", "end")):  # noqa: S314
        tag = element.tag.rpartition("}")[2]
        if event == "start":
            suites += [element.get("name") or ""] if tag == "testsuite" else []
            continue
        if tag == "testsuite":
            suites.pop()
        if tag == "testcase":
            element.set("suites", " > ".join(suites[-SUITE_DEPTH:]))
        element.tag = tag
        yield element
