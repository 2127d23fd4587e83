"""Tools with which the agent says how an iteration ended, and that the whole session is complete.

The judge is told both but is not bound by them.
"""

from __future__ import annotations

from msgspec import Struct

from sidecar.kernel.journal import Journal
from sidecar.servers.tools.listing import cut_text, flatten_text, length_per_text
from sidecar.servers.tools.tool import NoArguments, Tool, ToolAnswer, ToolContext, ToolInvocation
from sidecar.systems.iteration.policy.journal import add_iteration_summary, mark_session_complete


class IterationDone(Struct, frozen=True, kw_only=True):
    """A summary of an iteration; None asks for those that are kept."""

    summary: str | None = None


class IterationSummary(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A stored summary; iterations count from 1. `kept`: lines of all summaries, where none was given."""

    iteration: int
    summary: str
    kept: tuple[str, ...] = ()


class SessionClosed(Struct, frozen=True, kw_only=True):
    """A completed session: number of completed tasks, and time (`at`) in seconds since the epoch."""

    completed: int
    at: float


def tools(context: ToolContext) -> tuple[Tool, ...]:
    """Return the tools `iteration_summary` and `session_complete`."""

    async def iteration_summary(call: ToolInvocation, given: IterationDone) -> ToolAnswer:
        if given.summary is None:
            return _list_summaries(context.journals.of(call.session.key))
        now, summary = context.clock.now(), context.checks.mask(call.session)(given.summary)
        made = context.journals.change(
            call.session.key, lambda journal: add_iteration_summary(journal, summary, now, call.worker)
        )
        data = IterationSummary(iteration=made.iteration, summary=made.content)
        said = context.words.say(
            "summarized", iteration=str(made.iteration), summary=flatten_text(made.content)
        )
        return ToolAnswer(data, said)

    async def session_complete(call: ToolInvocation, _given: NoArguments) -> ToolAnswer:
        now = context.clock.now()
        made = context.journals.change(call.session.key, lambda journal: _close_journal(journal, now))
        return ToolAnswer(made, context.words.say("closed", completed=str(made.completed)))

    return (
        Tool(
            name="iteration_summary",
            toolset="journal",
            takes=IterationDone,
            gives=IterationSummary,
            work=iteration_summary,
        ),
        Tool(
            name="session_complete",
            toolset="journal",
            takes=NoArguments,
            gives=SessionClosed,
            work=session_complete,
            repeats=True,
        ),
    )


def _list_summaries(journal: Journal) -> ToolAnswer:
    most = length_per_text(one.content for one in journal.summaries)
    kept = tuple(f"{one.iteration}: {flatten_text(cut_text(one.content, most))}" for one in journal.summaries)
    return ToolAnswer(IterationSummary(iteration=journal.iteration, summary="", kept=kept), "\n".join(kept))


def _close_journal(journal: Journal, now: float) -> tuple[Journal, SessionClosed]:
    """Mark the session as complete; a session that is already complete keeps its time."""
    at = now if journal.closed_at is None else journal.closed_at
    return mark_session_complete(journal, at), SessionClosed(completed=len(journal.tasks), at=at)
