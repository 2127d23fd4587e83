"""How many fakes pass, and how many honest endings are flagged.

    python benchmarks/endings [--seeds A..B] [--jobs N] [--by-hand] [--blind] [--generated] [--only TEXT]
    python benchmarks/endings --check

Without --seeds, 700 fresh seeds that follow from the present minute. Endings written by hand are always
counted apart. See README.md in the folder above. With --check
it is `supervisor check` that is tried, on those written by hand or blind whose runner is on this machine.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import msgspec

BENCHMARKS: Final = Path(__file__).resolve().parents[1]
sys.path[0] = str(BENCHMARKS)  # instead of this folder, whose files are imported as `endings.NAME`
sys.path.append(str(BENCHMARKS.parent / "tests"))  # for `support.NAME`

from endings.ending import Ending  # noqa: E402
from endings.generator import digest, generate  # noqa: E402
from endings.report import Row, figures, text  # noqa: E402

from endings import by_hand, checking, ground, judging  # noqa: E402 - after the path

T = TypeVar("T")
R = TypeVar("R")
FRESH: Final = 700
"""Endings of a run, a little more than half of them faked at times, a little less at others."""
REDRAWS: Final = 30
"""Endings drawn for one seed until one is what it says: its checks really end so."""


def main() -> int:
    """Judge what is asked for; 0, or 1 where a fake passed or something could not be judged."""
    asked = _arguments()
    everything = not asked.by_hand and not asked.blind and not asked.generated
    if asked.check:
        return _checks(asked)
    sets: dict[str, list[Row]] = {}
    if asked.generated or everything:
        first, last = _seeds(asked.seeds)
        work = partial(seeded, only=asked.only)
        sets[f"generated, seeds {first}..{last}"] = _done(work, range(first, last + 1), asked.jobs)
    written = {
        "written by hand": (by_hand.FOLDER,) if asked.by_hand or everything else (),
        "written blind": by_hand.BLIND if asked.blind or everything else (),
    }
    for title, folders in written.items():
        endings = [one for folder in folders for one in by_hand.load(folder)]
        found = [one for one in endings if asked.only in f"{one.name} {one.way} {one.ecosystem}"]
        if folders:
            sets[title] = _done(judged, found, asked.jobs)
    for title, rows in sets.items():
        print(f"\n{text(title, rows)}")
    if asked.json:
        known = {title: {"figures": figures(rows), "endings": rows} for title, rows in sets.items()}
        asked.json.write_bytes(msgspec.json.format(msgspec.json.encode(known), indent=1) + b"\n")
    counted = [figures(rows) for rows in sets.values()]
    return 1 if any(one.fakes_passed.count or one.broken for one in counted) else 0


def _checks(asked: _Asked) -> int:
    """Try `supervisor check`; 0, or 1 where it said something wrong."""
    folders = [*([] if asked.blind else [by_hand.FOLDER]), *([] if asked.by_hand else by_hand.BLIND)]
    endings = [one for folder in folders for one in by_hand.load(folder)]
    found = [
        one for one in endings if not one.recorded and asked.only in f"{one.name} {one.way} {one.ecosystem}"
    ]
    rows = _done(_checked, list(enumerate(found)), asked.jobs)
    print(checking.text("supervisor check", rows))
    if asked.json:
        asked.json.write_bytes(msgspec.json.format(msgspec.json.encode(rows), indent=1) + b"\n")
    return 0 if all(row.right or row.gap or row.unseen for row in rows) else 1


def _checked(numbered: tuple[int, Ending]) -> checking.Checked | None:
    number, ending = numbered
    return checking.compare(ending, checking.HOSTS[number % len(checking.HOSTS)])


def seeded(seed: int, *, only: str = "") -> Row | None:
    """Draw the ending of a seed until it is what it says, and judge it; None where it is not asked for."""
    for again in range(REDRAWS):
        ending = generate(seed, again)
        if only not in f"{ending.name} {ending.way} {ending.ecosystem}":
            return None
        with tempfile.TemporaryDirectory(prefix="ending-", ignore_cleanup_errors=True) as folder:
            if not ground.sound(ending, Path(folder)):
                return judged(ending, seed=seed, again=again)
    raise ValueError(f"seed {seed} yields no ending that is what it says")


def judged(ending: Ending, *, seed: int | None = None, again: int = 0) -> Row:
    """Judge one ending."""
    begun = time.perf_counter()
    blank = Row(
        seed=seed,
        name=ending.name,
        label=ending.label,
        way=ending.way,
        ecosystem=ending.ecosystem,
        end="",
        gap=ending.gap,
        digest=digest(ending),
        again=again,
    )
    try:
        seen = judging.judge(ending)
    except Exception:  # noqa: BLE001 - one that breaks is counted, and the others go on
        return msgspec.structs.replace(blank, broken=traceback.format_exc(limit=-3))
    return msgspec.structs.replace(
        blank,
        end=seen.end,
        kind=seen.kind,
        passes=seen.passes(ending),
        flagged=seen.flagged(ending),
        detail=seen.detail,
        findings=seen.findings,
        spoken=seen.spoken,
        gates=seen.gates,
        seconds=round(time.perf_counter() - begun, 3),
    )


def _done(work: Callable[[T], R | None], things: Iterable[T], jobs: int) -> list[R]:
    """Do the work in so many processes; a line of progress for every hundred."""
    rows: list[R] = []
    with ProcessPoolExecutor(jobs) as pool:
        for number, row in enumerate(pool.map(work, things), 1):
            if row is not None:
                rows.append(row)
            if number % 100 == 0:
                print(f"{number} ...", file=sys.stderr, flush=True)
    return rows


def _seeds(asked: str) -> tuple[int, int]:
    """The first and the last seed: those asked for, or fresh ones."""
    if not asked:
        first = int(time.time()) // 60 * 1000
        return first, first + FRESH - 1
    lower, _, upper = asked.partition("..")
    return int(lower), int(upper or lower)


class _Asked(argparse.Namespace):
    seeds: str
    jobs: int
    by_hand: bool
    blind: bool
    generated: bool
    check: bool
    only: str
    json: Path | None


def _arguments() -> _Asked:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", default="", help="first and last, as 1..700")
    parser.add_argument("--jobs", type=int, default=2, help="processes side by side (2)")
    parser.add_argument("--by-hand", action="store_true", help="those written by hand alone")
    parser.add_argument("--blind", action="store_true", help="those written blind alone")
    parser.add_argument("--generated", action="store_true", help="the generated ones alone")
    parser.add_argument("--check", action="store_true", help="try `supervisor check` instead of stops")
    parser.add_argument("--only", default="", help="only endings with this in name, way or ecosystem")
    parser.add_argument("--json", type=Path, help="write all figures and rows there")
    return parser.parse_args(namespace=_Asked())


if __name__ == "__main__":
    sys.exit(main())
