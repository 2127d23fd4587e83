"""What one event costs the host: the relay's whole round trip, to a sidecar that is running.

The event is a stop that rules decide: no goal, and a turn that was only talk. The peers are the bare
interpreter, which no relay written in Python can undercut, and the same duty done by Node.
"""

from __future__ import annotations

from typing import Final

from host import HostSession, checked
from measure import Figure, Job, Report, in_turn, rounds
from stage import HERE, Line, Stage, Unfit, staged

ROUNDS: Final = 100
AIM: Final = 2.0


def measured(*, quick: bool) -> Report:
    """Relay and peers, in turn."""
    with staged() as stage:
        stage.start()
        talker = HostSession(stage)
        jobs, remarks = _jobs(stage, talker)
        alone = HostSession(stage)  # what speaks on the socket is another host than what starts the relay
        with Line(stage) as line:
            line.await_built()
            jobs["line"] = lambda: line.timed(alone.wrote(alone.author.talk()))
            found = dict(zip(jobs, in_turn(rounds(ROUNDS, quick=quick), *jobs.values()), strict=True))
        checked(talker, "only-talk")
    bare = "python -I -S -c pass"
    figures = [
        Figure(name="a stop", ours=found["stop"], against=bare, peer=found["bare"], aim=AIM),
        Figure(name="a prompt", ours=found["prompt"], against=bare, peer=found["bare"], aim=AIM),
        Figure(
            name="a stop, without the relay's process", ours=found["line"], against=bare, peer=found["bare"]
        ),
    ]
    for event in ("stop", "prompt") if "node stop" in found else ():
        peer = found[f"node {event}"]
        figures.append(Figure(name=f"a {event}", ours=found[event], against="the same in Node", peer=peer))
    return Report(tuple(figures), remarks)


def bare(stage: Stage) -> float:
    """The interpreter of the hooks, doing nothing."""
    return stage.timed([stage.python, "-I", "-S", "-c", "pass"])[0]


def relayed(stage: Stage, name: str, event: bytes) -> float:
    """Our hook, as the host starts it, on an event that needs no answer."""
    return _quiet(stage, stage.hook(name), event)


def _jobs(stage: Stage, talker: HostSession) -> tuple[dict[str, Job], tuple[str, ...]]:
    jobs: dict[str, Job] = {
        "bare": lambda: bare(stage),
        "stop": lambda: relayed(stage, "Stop", talker.wrote(talker.author.talk())),
        "prompt": lambda: relayed(stage, "UserPromptSubmit", talker.prompted()),
    }
    try:
        node = [stage.program("node"), str(HERE / "peer_hook.js")]
    except Unfit as why:
        return jobs, (f"no figure against Node: {why}",)
    jobs["node stop"] = lambda: _quiet(stage, node, talker.wrote(talker.author.talk()))
    jobs["node prompt"] = lambda: _quiet(stage, node, talker.prompted())
    return jobs, ()


FIRST_STOP = (b"no state of this session's earlier turns", b"was ended by force")
"""What a new sidecar says at its first stop of a session: the road is the same."""


def _quiet(stage: Stage, command: list[str], event: bytes) -> float:
    """Raises RuntimeError where anything is said: then it is not the usual way that was measured."""
    cost, answer = stage.timed(command, event)
    if answer != b"{}" and not any(line in answer for line in FIRST_STOP):
        raise RuntimeError(f"{command[0]} said {answer!r}")
    return cost
