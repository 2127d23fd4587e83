"""What a sidecar holds in memory, from /proc/PID/status (VmRSS): idle, and with a thousand sessions known.

The peer is the least that a sidecar of this kind could be, see peer_floor.py.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import Final

from cold import listening
from host import HostSession, checked
from measure import Figure, Report, Series, in_turn, rounds
from stage import Line, Stage, Unfit, staged
from transcripts import Author, append

ROUNDS: Final = 10
CROWDS: Final = 3
"""How often a thousand sessions are told of."""
CROWD: Final = 1000
CALLS: Final = 10
"""Tool calls of the turn that each session stops after."""
KIB: Final = 1024.0
RSS: Final = re.compile(rb"^VmRSS:\s+(\d+) kB$", re.MULTILINE)


def measured(*, quick: bool) -> Report:
    """Idle sidecars and peers in turn; then sidecars with sessions, and peers."""
    if sys.platform != "linux":
        return Report(remarks=("there is no /proc on this system: not measured",))
    crowd = rounds(CROWD, quick=quick)
    with staged() as stage:
        floor = stage.folder / "floor"
        floor.mkdir()
        idle, least = in_turn(rounds(ROUNDS, quick=quick), lambda: _idle(stage), lambda: _floor(stage, floor))
        grown, beside = in_turn(
            1 if quick else CROWDS, lambda: _crowded(stage, crowd), lambda: _floor(stage, floor), warm_up=0
        )
    name = f"{crowd:,} sessions, each with a prompt and a stop"
    return Report((_figure("idle", idle, least), _figure(name, grown, beside)))


def _figure(name: str, ours: Series, peer: Series) -> Figure:
    return Figure(name=name, ours=ours, against="asyncio + msgspec, listening", peer=peer, unit="MiB")


def _idle(stage: Stage) -> float:
    stage.end()
    stage.start()
    with Line(stage) as line:
        line.await_built()
        return resident(stage.pid())


def _floor(stage: Stage, place: Path) -> float:
    listening(stage, place, stay=True)
    try:
        return resident(stage.pid(place))
    finally:
        stage.end(place)


def _crowded(stage: Stage, size: int) -> float:
    """Every session has a state, a record and a transcript of its own."""
    author = Author("one of many")
    sample = stage.home / "sample.jsonl"
    sample.unlink(missing_ok=True)
    append(sample, author.turn(CALLS))
    stage.end()
    stage.start()
    with Line(stage) as line:
        for number in range(size):
            transcript = stage.home / f"{number}.jsonl"
            session = HostSession(stage, Path(shutil.copy(sample, transcript)))
            line.hook(session.prompted())
            line.hook(session.stopped(author.said))
        checked(session, "nothing-suspicious")
        return resident(stage.pid())


def resident(pid: int) -> float:
    """MiB of a process that are in memory."""
    found = RSS.search(Path(f"/proc/{pid}/status").read_bytes())
    if found is None:
        raise Unfit("/proc names no VmRSS")
    return int(found[1]) / KIB
