"""What the first event costs when no sidecar is running, and how long a sidecar takes until it listens."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from host import HostSession, checked
from measure import Figure, Report, in_turn, rounds
from relay import bare, relayed
from stage import HERE, Line, Stage, staged

ROUNDS: Final = 20


def measured(*, quick: bool) -> Report:
    """A cold stop, a warm one, the interpreter; then each kind of process until it listens."""
    with staged() as stage:
        session = HostSession(stage)
        floor = stage.folder / "floor"
        floor.mkdir()
        cold, warm, nothing, served, least = in_turn(
            rounds(ROUNDS, quick=quick),
            lambda: _cold(stage, session),
            lambda: relayed(stage, "Stop", session.wrote(session.author.talk())),
            lambda: bare(stage),
            lambda: _served(stage),
            lambda: listening(stage, floor),
        )
        checked(session, "only-talk")
    python = "python -I -S -c pass"
    return Report(
        (
            Figure(name="no sidecar -> first stop answered", ours=cold, against="the next stop", peer=warm),
            Figure(name="no sidecar -> first stop answered", ours=cold, against=python, peer=nothing),
            Figure(
                name="spawn -> socket accepts",
                ours=served,
                against="asyncio + msgspec, listening",
                peer=least,
            ),
            Figure(name="spawn -> socket accepts", ours=served, against=python, peer=nothing),
        )
    )


def listening(stage: Stage, place: Path, *, stay: bool = False) -> float:
    """The least sidecar, until it listens in the folder `place`. It `stay`s until `stage.end(place)`."""
    (place / "sidecar.sock").unlink(missing_ok=True)
    (place / "sidecar.lock").unlink(missing_ok=True)
    cost = stage.started([stage.python, "-I", str(HERE / "peer_floor.py"), str(place)], place)
    if not stay:
        stage.end(place)
    return cost


def _cold(stage: Stage, session: HostSession) -> float:
    stage.end()
    return relayed(stage, "Stop", session.wrote(session.author.talk()))


def _served(stage: Stage) -> float:
    """It goes on importing when it listens; that must not slow down what is measured next."""
    stage.end()
    cost = stage.start()
    with Line(stage) as line:
        line.await_built()
    stage.end()
    return cost
