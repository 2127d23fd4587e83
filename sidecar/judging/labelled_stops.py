"""Reads labelled stops, counts how they were judged, and stores the counts.

Labelled stops are JSON Lines files with one `LabelledStop` per line; blank lines are allowed. Errors name
file and line, and up to ten are reported at once. If there is any error, nothing is returned, since figures
over a part of the stops would be mistaken for figures over all of them. An unknown field is an error too,
because a typing error in a field name would change the label unnoticed. If a label leaves out the commands of
a shell line (`runs`), they are parsed from the line.
"""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.stop_history import ChangedOutcome, EvaluatedStop, LabelledStop
from sidecar.kernel.turn import ToolAction
from sidecar.platform.files import UnusableFileError, ensure_folder, read_whole, write_whole
from sidecar.platform.installation import corpus_folder
from sidecar.platform.shell.line import parse_simple_commands
from sidecar.platform.state import read_usable_state

if TYPE_CHECKING:
    from sidecar.platform.ports import Clock


LABELLED_FILE_LIMIT: Final = 64 * 1024 * 1024
"""Maximum size of one file, in bytes."""
FAULTS_TOLD: Final = 10
"""Maximum number of errors reported at once."""

_DECODER = msgspec.json.Decoder(LabelledStop)


def default_corpus_files() -> tuple[Path, ...]:
    """Return the files of the corpus that comes with Supervisor.

    Raises BadInputError if it is missing, and HostError.
    """
    folder = corpus_folder()
    found = tuple(sorted(folder.glob("*.jsonl")))
    if not found:
        raise BadInputError(f"{folder}: there is no corpus here; name files of your own")
    return found


def read_labelled_stops(paths: Iterable[Path]) -> tuple[LabelledStop, ...]:
    """Read all stops of these files, in order. Raises BadInputError."""
    known: dict[str, tuple[str, LabelledStop]] = {}
    faults: list[str] = []
    for place, found in (each for path in paths for each in _read_labelled_file(path)):
        if not isinstance(found, LabelledStop):
            faults.append(f"{place}: {found}")
        elif found.id in known:
            faults.append(f"{place}: {found.id!r} is the id of {known[found.id][0]} too")
        else:
            known[found.id] = (place, found)
        if len(faults) == FAULTS_TOLD:
            break
    if faults:
        raise BadInputError("\n".join(faults))
    return tuple(item for _, item in known.values())


def _read_labelled_file(path: Path) -> Iterator[tuple[str, LabelledStop | str]]:
    """Yield the place (file and line) of each stop, and the stop or what is wrong with it."""
    try:
        data = read_whole(path, LABELLED_FILE_LIMIT, follow=True)
    except (OSError, UnusableFileError) as error:
        yield str(path), str(getattr(error, "strerror", None) or error)
        return
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if line.strip():
            yield f"{path}:{number}", _parse_labelled_line(line)


def _parse_labelled_line(line: bytes) -> LabelledStop | str:
    """Return the stop of one line, or what is wrong with it."""
    try:
        item = _DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return str(error)
    except RecursionError:
        return "nested too deeply"
    return _label_contradiction(item) or _with_shell_runs(item)


def _label_contradiction(item: LabelledStop) -> str:
    """Say why this label contradicts itself; "" if it does not."""
    if not item.id or not item.family:
        return "id and family must not be empty"
    if bool(item.goal) != (item.complete is not None):
        return "`goal` and `complete` belong together"
    gates = [run.gate.id for run in item.runs]
    if len(gates) != len(set(gates)):
        return "two `runs` are of the same check"
    return ""


def _with_shell_runs(item: LabelledStop) -> LabelledStop:
    calls = tuple(
        replace(call, runs=call.runs or parse_simple_commands(call.command))
        if call.doing is ToolAction.RUN
        else call
        for call in item.turn.calls
    )
    return replace(item, turn=replace(item.turn, calls=calls))


# --- Counting how evaluated stops ended: a stop that was sent back is the positive answer of the judge ------
# Intervals, ROC areas and figures at other base rates are computed by `benchmarks/judge`.


SAFE_RATE: Final = 0.05
"""The largest share of good stops that a judge may send back if it is called safe."""


class StopCounts(Struct, frozen=True, kw_only=True):
    """How one set of stops ended.

    `early` stops should have been sent back, `good` ones not; `right` are the early ones that were, `accused`
    the good ones that were. `precision` and `recall` are those of sending back, None where nothing was sent
    back or nothing should have been.
    """

    name: str
    early: int
    good: int
    right: int
    accused: int
    false_completes: int
    precision: float | None
    recall: float | None

    @property
    def missed(self) -> int:
        """The early stops that were not sent back."""
        return self.early - self.right

    @property
    def accused_at_most(self) -> float:
        """About the 95 % upper bound of the share of good stops that would be sent back; 3 / n for none."""
        return (self.accused + 3 + 1.7 * math.sqrt(self.accused)) / self.good if self.good else 1.0


def count_stops(name: str, outcomes: Sequence[EvaluatedStop]) -> StopCounts:
    """Count one set of stops, of which the truth is known."""
    ends = Counter((one.premature, one.sent_back) for one in outcomes)
    right, accused = ends[True, True], ends[False, True]
    early = right + ends[True, False]
    return StopCounts(
        name=name,
        early=early,
        good=len(outcomes) - early,
        right=right,
        accused=accused,
        false_completes=sum(one.false_complete for one in outcomes),
        precision=right / (right + accused) if right + accused else None,
        recall=right / early if early else None,
    )


def misjudged_stops(outcomes: Iterable[EvaluatedStop]) -> tuple[EvaluatedStop, ...]:
    """Return the wrong ones: false completes first, then stops sent back wrongly, then missed ones."""
    found = [one for one in outcomes if one.wrong]
    return tuple(sorted(found, key=lambda one: (not one.false_complete, one.premature, one.family, one.id)))


def changed_outcomes(
    before: Iterable[EvaluatedStop], after: Iterable[EvaluatedStop]
) -> tuple[ChangedOutcome, ...]:
    """Return the stops in both sets that end differently, as far as that is known."""
    known = {(one.id, one.at): one for one in before}
    pairs = ((known[one.id, one.at], one) for one in after if (one.id, one.at) in known and not one.failed)
    return tuple(ChangedOutcome(old, new) for old, new in pairs if old.ended != new.ended)


# --- Measurements: what `supervisor eval` counted -----------------------------------------------------------


MEASUREMENTS_FILE_NAME: Final = "measured.json"
MEASUREMENTS_FILE_LIMIT: Final = 256 * 1024
"""Maximum size of the file, in bytes."""
MEASUREMENTS_KEPT: Final = 20


class Measurement(Struct, frozen=True):
    """The counts of one evaluation: the day (UTC), the judge, and where the rubric was read from."""

    on: str
    by: str
    rubric: str
    stops: StopCounts


class _MeasurementsDocument(Struct, frozen=True, kw_only=True):
    """The newest measurement is the last. Version 1 counted by criterion."""

    version: int = 2
    measurements: tuple[Measurement, ...] = ()


class MeasurementsFile:
    """The last measurements, in a state folder; if two processes write at once, the later one wins."""

    def __init__(self, state: Path, clock: Clock) -> None:
        self._path = state / MEASUREMENTS_FILE_NAME
        self._clock = clock

    def last(self, by: str) -> Measurement | None:
        """Return the last measurement of this judge. Raises OSError."""
        known = read_usable_state(self._path, _MeasurementsDocument, MEASUREMENTS_FILE_LIMIT)
        return next((one for one in reversed(known.measurements) if one.by == by), None)

    def keep(self, stops: StopCounts, by: str, rubric: str) -> None:
        """Add a measurement. Raises OSError."""
        today = dt.datetime.fromtimestamp(self._clock.now(), tz=dt.UTC).date().isoformat()
        known = read_usable_state(self._path, _MeasurementsDocument, MEASUREMENTS_FILE_LIMIT)
        every = (*known.measurements, Measurement(today, by, rubric, stops))[-MEASUREMENTS_KEPT:]
        ensure_folder(self._path.parent)
        write_whole(self._path, msgspec.json.encode(_MeasurementsDocument(measurements=every)) + b"\n")
