"""What a stop costs where the machine is in a team, and where the team's database is away.

The stop is the one of relay.py: rules decide it. The peer is the same stop of a machine without a team. The
database is on this machine; the one that is away takes connections and answers nothing, which is the worst
it can do. While the stops are measured, their events are shipped. A second machine without a team shows how
far two sidecars that do the same are apart.
"""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Final

from host import HostSession, checked
from measure import Figure, Job, Report, in_turn, rounds
from stage import Line, Stage, Unfit, staged

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.log import EventFilter
from sidecar.platform.team.membership import Membership, new_machine, save_membership
from sidecar.platform.team.ports import Member
from sidecar.platform.team.postgres import AGENT_ROLE, PostgresDatabase
from sidecar.platform.team.store import TeamStore
from sidecar.platform.team.trial_server import TrialServer

ROUNDS: Final = 2000
AIM: Final = 1.05
LOGIN: Final = "bench-agents"


def measured(*, quick: bool) -> Report:
    """Stops of three machines, in turn."""
    with ExitStack() as scenes, _database() as (url, administrator, password), _silence() as silent:
        stages = [scenes.enter_context(staged()) for _ in range(4)]
        _join(stages[1], url.replace("//supervisor@", f"//{LOGIN}@"), password)
        _join(stages[2], f"postgresql://{LOGIN}@127.0.0.1:{silent}/postgres", password)
        talkers = [HostSession(stage) for stage in stages]
        jobs: list[Job] = []
        for stage, talker in zip(stages, talkers, strict=True):
            stage.start()
            line = scenes.enter_context(Line(stage))
            line.await_built()
            jobs.append(lambda line=line, talker=talker: line.timed(talker.wrote(talker.author.talk())))  # type: ignore[misc] # of the loop
        alone, joined, away, same = in_turn(rounds(ROUNDS, quick=quick), *jobs)
        for talker in talkers:
            checked(talker, "only-talk")
        store = TeamStore(administrator, Member(machine="", person=""))
        shipped = len(store.read(EventFilter(), limit=100_000))
    if not shipped:
        raise RuntimeError("no event reached the team, so nothing was measured")
    against = "a stop without a team"
    return Report(
        (
            Figure(name="a stop in a team", ours=joined, against=against, peer=alone, aim=AIM),
            Figure(name="a stop, the database away", ours=away, against=against, peer=alone, aim=AIM),
            Figure(name="a stop of another machine without one", ours=same, against=against, peer=alone),
        ),
        (f"{shipped} events were shipped meanwhile",),
    )


def _join(stage: Stage, url: str, password: str) -> None:
    state = stage.run.parent
    save_membership(state, new_machine(state, Membership(url=url, name="bench", person="bench")), password)


@contextmanager
def _database() -> Iterator[tuple[str, PostgresDatabase, str]]:
    """The URL of a server, its administrator's connection, and the password of a login of agents."""
    with tempfile.TemporaryDirectory(prefix="sv-pg-") as folder:
        Path(folder).chmod(0o755)  # the system's user is another one than root
        server = TrialServer(Path(folder) / "server")
        try:
            secret = server.make()
            url = server.start()
        except BadInputError as error:
            raise Unfit(str(error)) from error
        try:
            with closing(PostgresDatabase(url, secret)) as administrator:
                administrator.init()
                administrator.make_login(LOGIN, AGENT_ROLE, secret)
                yield url, administrator, secret
        finally:
            server.remove()


@contextmanager
def _silence() -> Iterator[int]:
    """The port of a server that takes connections and answers nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]
