"""What was read of one run, in the form that all readers give, and the bounds that all of them keep."""

from __future__ import annotations

import re
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final, TypeVar

import msgspec
from msgspec import Struct

T = TypeVar("T")

FAILURES: Final = 5
"""Failures that are said."""
FAILURE_LIMIT: Final = 300
"""Characters of one of them."""
FAILING: Final = 500
"""Failures that are named."""
LOOKED_AT: Final = 5_000
"""Failures of one run that are looked at."""
REPORT_LIMIT: Final = 32 << 20
"""Bytes of one report; a bigger one is not read."""

ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{6,}")
"""An address in memory: another one in every run, so that the same failure would look new."""
TOOK: Final = re.compile(r" ?[(\[]\d{1,9}(?:\.\d{1,9})? ?(?:ms|s|\u03bcs|m)[)\]]$")
"""How long it took, at the end of a line."""
PLACE: Final = re.compile(
    r"(?<=[\w)\]])(?::\[?\d{1,9}(?:[:,]\d{1,9})?\]?|\(\d{1,9}(?:,\d{1,9})?\))(?=[:\s]|$)"
)
"""Line and column after a file's name: `a.c:3:5`, `a.ts(3,5)`, `A.java:[3,5]`."""
LINE: Final = re.compile(r"\b(lines?|rows?|columns?) \d{1,9}(?:-\d{1,9})?")


class Fault(Struct, frozen=True):
    """One thing that fails. `name` is its own, the same in the next run; `said` is what to tell a person."""

    name: str
    said: str = ""


class Report(Struct, frozen=True, kw_only=True):
    """What was read of one run.

    `executed` and `skipped` count tests, None where unknown. `failures` are the first that fail, in words and
    in order of appearance; `failing` names all of them. `text` is what a person would have seen, None where
    the output shows it.
    """

    executed: int | None = None
    skipped: int | None = None
    failures: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()
    text: str | None = None


class Written(Struct, frozen=True, kw_only=True):
    """Where a run's words are found.

    `scratch` is the folder of the report that was asked for, `folder` the one the command ran in, `text` its
    output (ends only, if it was long). `since`: when it began, as modification times count, in nanoseconds.
    """

    scratch: Path
    folder: Path
    text: str = ""
    since: int = 0

    def report(self) -> Path:
        """The file of a report that is one file."""
        return self.scratch / "report"


Reader = Callable[[Written], Report | None]
"""Reads one form of report; None where there is no whole one."""


def of(
    faults: Iterable[Fault], folder: Path, *, executed: int | None = None, skipped: int | None = None
) -> Report:
    """Bound the faults and take out of them what differs between two runs. Each is said and named once."""
    known = list(islice(faults, LOOKED_AT))
    said = dict.fromkeys(steady(fault.said or fault.name, folder) for fault in known)
    names = dict.fromkeys(steady(fault.name, folder) for fault in known)
    return Report(
        executed=executed,
        skipped=skipped,
        failures=tuple(islice(filter(None, said), FAILURES)),
        failing=tuple(sorted(filter(None, names))[:FAILING]),
    )


def steady(text: str, folder: Path) -> str:
    """One bounded line that is the same in the next run, and in another checkout."""
    line = " ".join(text[: 4 * FAILURE_LIMIT].split())
    return TOOK.sub("", ADDRESS.sub("0x...", line.replace(f"{folder}/", "")))[:FAILURE_LIMIT]


def placeless(text: str) -> str:
    """The text without line numbers and columns."""
    return LINE.sub(r"\1 ...", PLACE.sub("", text[: 4 * FAILURE_LIMIT]))


def numbered(faults: Iterable[Fault]) -> Iterator[Fault]:
    """Tell equal faults of one file apart, so that one more of them is a new one."""
    seen = Counter[str]()
    for fault in faults:
        seen[fault.name] += 1
        times = seen[fault.name]
        yield fault if times == 1 else Fault(f"{fault.name} ({times})", fault.said or fault.name)


def diagnosed(file: str, line: int | None, rule: str | None, message: str) -> Fault:
    """One line of a compiler, linter or scanner."""
    words = " ".join(filter(None, (rule, message.partition("\n")[0])))
    place = f"{file}:{line}" if line else file
    return Fault(placeless(f"{file}: {words}"), f"{place}: {words}" if file else words)


def data(path: Path) -> bytes | None:
    """A report's bytes; None where there is none, or it is too big, or a link, a pipe or a device."""
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > REPORT_LIMIT:
            return None
        with path.open("rb") as file:
            return file.read(REPORT_LIMIT)
    except OSError:
        return None


def decoded(raw: bytes | str | None, form: type[T]) -> T | None:
    """A JSON report of this form, None where it is not."""
    try:
        return None if raw is None else msgspec.json.decode(raw, type=form)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return None
