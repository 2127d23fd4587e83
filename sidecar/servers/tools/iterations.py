"""How an iteration ended, and that the whole session is complete, as the agent says.

Both inform the judge and bind it not.
"""

from __future__ import annotations

from msgspec import Struct

from sidecar.model.journal import Journal
from sidecar.policy.journal import close, summarize
from sidecar.servers.tools.listing import flat
from sidecar.servers.tools.reach import Reach
from sidecar.servers.tools.tool import Answer, Call, Nothing, Tool


class Did(Struct, frozen=True, kw_only=True):
    """What an iteration did."""

    summary: str


class Summarized(Struct, frozen=True, kw_only=True):
    """A summary that was kept. Iterations count from 1."""

    iteration: int
    summary: str


class Closed(Struct, frozen=True, kw_only=True):
    """The session is complete, with so many completed tasks. `at` is seconds since the epoch."""

    completed: int
    at: float


def tools(reach: Reach) -> tuple[Tool, ...]:
    """The tools `iteration_summary` and `session_complete`."""

    async def iteration_summary(call: Call, given: Did) -> Answer:
        now = reach.clock.now()
        made = reach.journals.change(call.session.key, lambda journal: summarize(journal, given.summary, now))
        data = Summarized(iteration=made.iteration, summary=made.content)
        said = reach.words.say("summarized", iteration=str(made.iteration), summary=flat(made.content))
        return Answer(data, said)

    async def session_complete(call: Call, _given: Nothing) -> Answer:
        now = reach.clock.now()
        made = reach.journals.change(call.session.key, lambda journal: _closed(journal, now))
        return Answer(made, reach.words.say("closed", completed=str(made.completed)))

    return (
        Tool(
            name="iteration_summary", toolset="journal", takes=Did, gives=Summarized, work=iteration_summary
        ),
        Tool(
            name="session_complete",
            toolset="journal",
            takes=Nothing,
            gives=Closed,
            work=session_complete,
            repeats=True,
        ),
    )


def _closed(journal: Journal, now: float) -> tuple[Journal, Closed]:
    """Close it; one that is closed stays as it is."""
    at = now if journal.closed_at is None else journal.closed_at
    return close(journal, at), Closed(completed=len(journal.tasks), at=at)
