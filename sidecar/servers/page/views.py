"""The parts of the page, made from what was read. Nothing here reads."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from urllib.parse import urlencode

from msgspec.structs import asdict

from sidecar.kernel.changes import FileDiff
from sidecar.kernel.gate import CheckComparison, GateRun, Outcome
from sidecar.kernel.goal import Goal, GoalStatus
from sidecar.kernel.session import Session, SessionKey, active_goal
from sidecar.kernel.settings import Settings
from sidecar.servers.page.diffs import DiffRow, diff_rows
from sidecar.servers.page.markup import Html, fill, join
from sidecar.servers.page.readings import MOST_STOPS, SESSIONS_SHOWN, KnownDecision, Overview, SeenSession
from sidecar.systems.supervision.policy.commands import describe_session
from sidecar.systems.supervision.policy.decision_story import FOLLOW_UPS, Step, summarize_stop, tell_decision
from sidecar.systems.supervision.policy.explaining import budget_left
from sidecar.systems.supervision.policy.history import (
    Decision,
    check_figures,
    gate_outcomes,
    stop_figures,
)

Parts = Mapping[str, Html]
"""Parts of a page by their ids, in the order in which they are shown."""

WHY_LENGTH: Final = 300
"""Characters of a reason in a list."""
ID_LENGTH: Final = 12
"""Characters of a session's id in a list."""
STOPS_LISTED: Final = 40
"""Stops on the first page."""
RUNS_SHOWN: Final = 40
"""Runs of one check."""
SIGNS: Final = {Outcome.PASSED: "✓", Outcome.FAILED: "✗"}
LOW, HIGH = 0.6, 0.85
"""Parts of a limit from which a meter changes its colour."""
NOTHING: Final = fill("note", text="No agent has stopped yet.")
OLDER: Final = f"Of the newest {MOST_STOPS} stops. Older ones: supervisor history, supervisor stats."


# --- the first page -----------------------------------------------------------------------------------------


def overview_parts(seen: Overview) -> Parts:
    """Return the parts of the first page."""
    decisions = seen.decisions
    return {
        "newest": _newest(decisions[-1]) if decisions else Html(""),
        "sessions": _sessions(seen),
        "today": _today(seen),
        "stops": join(
            (fill("heading", text="Newest stops"), stop_list(decisions[-STOPS_LISTED:], whose=True))
        ),
        "days": _days(decisions, seen.unreadable),
    }


def _newest(decision: Decision) -> Html:
    return fill(
        "newest",
        when=_time(decision.at),
        link=_stop_link(decision, _name(decision.session)),
        summary=summarize_stop(decision.stop),
    )


def _sessions(seen: Overview) -> Html:
    cards = [_card(one, seen.settings) for one in seen.sessions]
    older, newer = seen.first + SESSIONS_SHOWN, seen.first - SESSIONS_SHOWN
    links = [
        fill("link", href=f"./?first={max(0, first)}", text=text)
        for first, text, there in (
            (newer, "Seen later", seen.first > 0),
            (older, f"Seen earlier ({seen.known - older} more)", older < seen.known),
        )
        if there
    ]
    return join(
        (
            fill("heading", text=f"Sessions ({seen.known})"),
            fill("cards", rows=join(cards)) if cards else fill("note", text="No session is known."),
            fill("pages", links=join(links)) if links else Html(""),
        )
    )


def _card(seen: SeenSession, settings: Settings) -> Html:
    session, does = seen
    goal = session.goal
    held = goal is not None and goal.status is not GoalStatus.CLEARED
    return fill(
        "session",
        link=fill("link", href=_session_href(session.key), text=_name(session.key)),
        project=session.project,
        state=does.state,
        when=_time(does.since),
        detail=f"({does.detail})" if does.detail else "",
        goal=f"goal {goal.status}: {goal.condition[:WHY_LENGTH]}" if goal and held else "no goal",
        meters=budget_meters(session, settings),
    )


def budget_meters(session: Session, settings: Settings) -> Html:
    """Return what a session has used of its budget; nothing where no goal is active."""
    goal = active_goal(session)
    if goal is None:
        return Html("")
    left = budget_left(session, settings)
    rows = (
        ("Sent back", left.continuations, left.continuations_of, ""),
        ("Work", round(left.seconds / 60, 1), round(left.seconds_of / 60, 1), " min"),
        ("Tokens", left.tokens, left.tokens_of, ""),
        ("Judging", round(goal.spent.judge_cents, 1), settings.goal_max_cents, " cents"),
    )
    return fill("meters", rows=join(_meter(*row) for row in rows))


def _meter(name: str, used: float, most: float | None, unit: str) -> Html:
    """Return a bar; nothing for what has no limit."""
    if not most:
        return Html("")
    return fill(
        "meter",
        name=name,
        used=used,
        most=most,
        low=most * LOW,
        high=most * HIGH,
        shown=f"{used:,} of {most:,}{unit}",
    )


def _today(seen: Overview) -> Html:
    judge, today = seen.settings.judge, seen.spending
    limits = (
        ("Cents", round(today.cents, 1), judge.daily_cents, ""),
        ("Tokens", today.tokens, judge.daily_tokens, ""),
        ("Workers' limit", round(today.cents, 1), seen.settings.workers.max_cents_per_day, " cents"),
    )
    unpriced = f", {today.unpriced} of them without a known price" if today.unpriced else ""
    calls = f"{today.calls} calls, {today.tokens:,} tokens, {today.cents:.1f} cents{unpriced}"
    return join(
        (
            fill("heading", text="Judging and workers today (UTC)"),
            fill("note", text=calls),
            fill("meters", rows=join(_meter(*row) for row in limits)),
        )
    )


def stop_list(decisions: Sequence[Decision], *, whose: bool = False) -> Html:
    """Return a list of stops, the newest first. `whose`: it names their sessions."""
    if not decisions:
        return NOTHING
    return fill(
        "stops",
        rows=join(
            fill(
                "stop",
                kind="sent-back" if one.sent_back else one.stop.decided,
                when=_time(one.at),
                link=_stop_link(one, summarize_stop(one.stop)),
                where=f"{_name(one.session)} in {one.project}" if whose else "",
                why=one.stop.detail[:WHY_LENGTH],
                after=FOLLOW_UPS[one.followed] if one.followed else "",
            )
            for one in reversed(decisions)
        ),
    )


def _days(decisions: Sequence[Decision], unreadable: int) -> Html:
    figures = tuple(reversed(stop_figures(decisions, "day")))
    torn = f" {unreadable} events cannot be read: damaged, or of a newer version." if unreadable else ""
    rows = [[str(value) for value in asdict(one).values()] for one in figures]
    head = [name.replace("_", " ") for name in figures[0].__struct_fields__] if figures else []
    head[:1] = ["day"]
    return join(
        (
            fill("heading", text="Day by day"),
            _table("Stops by day", head, [(row[0], row[1:]) for row in rows]) if rows else NOTHING,
            fill("note", text=f"{OLDER}{torn}"),
        )
    )


# --- checks over time ---------------------------------------------------------------------------------------


def check_parts(decisions: Sequence[Decision]) -> Parts:
    """Return the parts of the page on checks: for each project, its checks, the slowest first."""
    projects = sorted({one.project for one in decisions if one.stop.gates})
    parts = [_checks([one for one in decisions if one.project == project], project) for project in projects]
    body = join(parts) if parts else fill("note", text="No check has run yet.")
    return {"checks": join((body, fill("note", text=OLDER)))}


def _checks(decisions: Sequence[Decision], project: str) -> Html:
    known = {one.name: one for one in check_figures(decisions)}
    names = (*known, *sorted({gate for one in decisions for gate in gate_outcomes(one.stop)} - set(known)))
    rows = []
    for name in names:
        one = known.get(name)
        shown = (one.runs, one.failed, f"{one.seconds} s", f"{one.slowest} s") if one else ("-",) * 4
        rows.append((name, [_runs(decisions, name), *map(str, shown)]))
    return join(
        (
            fill("heading", text=project or "no project"),
            _table(
                f"Checks of {project}",
                ("check", "newest runs", "times run", "failed", "mean", "slowest"),
                rows,
            ),
        )
    )


def _runs(decisions: Sequence[Decision], name: str) -> Html:
    found = [
        (one, outcome) for one in decisions if (outcome := gate_outcomes(one.stop).get(name)) is not None
    ]
    return fill(
        "runs",
        rows=join(
            fill(
                "run",
                outcome=outcome,
                sign=SIGNS.get(Outcome(outcome), "?") if outcome in set(Outcome) else "?",
                label=f"{outcome}, {_local(one.at):%Y-%m-%d %H:%M:%S}",
                href=_stop_href(one),
            )
            for one, outcome in found[-RUNS_SHOWN:]
        ),
    )


# --- a session, and one stop --------------------------------------------------------------------------------


def session_parts(
    seen: SeenSession,
    settings: Settings,
    stops: Sequence[Decision],
    last: KnownDecision | None,
    compared: KnownDecision | None,
) -> Parts:
    """Return the parts of a session's page: its goal, its stops, how the last one was decided.

    `compared`: the last stop at which changed tests were found, which are shown, too.
    """
    session, does = seen
    lines = describe_session(session, settings).removeprefix("Supervisor: ")
    at_work = f"{does.state} since {_local(does.since):%Y-%m-%d %H:%M:%S}"
    return {
        "goal": join(
            (
                fill("note", text=f"{session.project}, {at_work} {does.detail}"),
                join(fill("lines", text=line) for line in lines.splitlines()),
                budget_meters(session, settings),
            )
        ),
        "stops": join((fill("heading", text=_since(session.goal)), stop_list(stops))),
        "tests": side_by_side(compared) if compared and compared != last else Html(""),
        "story": story(last) if last else Html(""),
    }


def _since(goal: Goal | None) -> str:
    return f"Stops (the goal was set {_local(goal.set_at):%Y-%m-%d %H:%M})" if goal else "Stops"


def story(known: KnownDecision) -> Html:
    """Return how a stop was decided, and the old and the new test side by side."""
    told = tell_decision(known.decision, known.replayed)
    title = f"{_local(known.decision.at):%Y-%m-%d %H:%M:%S} {told.summary}"
    return join((fill("story", title=title, steps=join(map(_step, told.steps))), side_by_side(known)))


def side_by_side(known: KnownDecision) -> Html:
    """Return the tests that changed before a stop; nothing where none did, or where they are not kept."""
    if known.replayed is None:
        return Html("")
    inquiry = known.replayed.inquiry
    found = [one.file for one in inquiry.project_state.findings]
    rows = _sides(inquiry.project_state.edits, inquiry.comparisons, found)
    title = f"Old and new test side by side, at {_local(known.decision.at):%H:%M:%S}"
    return fill("sides", title=title, rows=join(rows)) if rows else Html("")


def _step(step: Step) -> Html:
    return fill(
        "step",
        about=step.about,
        lines=join(
            fill("subline" if line.startswith(" ") else "line", text=line.lstrip()) for line in step.lines
        ),
    )


def _sides(
    edits: Iterable[FileDiff], comparisons: Sequence[CheckComparison], found: Sequence[str]
) -> list[Html]:
    rows = []
    for edit in edits:
        compared = next((one for one in comparisons if edit.path in one.files), None)
        if compared is None and edit.path not in found:
            continue
        rows.append(
            fill(
                "side",
                path=edit.path,
                counts=f"{edit.added} lines added, {edit.removed} removed",
                old=_outcome(compared.old if compared else None),
                new=_outcome(compared.now if compared else None),
                rows=join(map(_pair, diff_rows(edit.hunks)))
                or fill("gap", text=edit.told or "its text is not kept"),
            )
        )
    return rows


def _outcome(run: GateRun | None) -> str:
    if run is None:
        return "not compared"
    return f"{run.gate.id} {run.outcome}" + (f", {run.failures[0]}" if run.failures else "")


def _pair(row: DiffRow) -> Html:
    if row.gap:
        return fill("gap", text=row.gap)
    changed = row.old != row.new
    return fill(
        "pair",
        left=_side("gone", row.old) if changed else row.old or "",
        right=_side("came", row.new) if changed else row.new or "",
        left_kind="gone" if changed and row.old is not None else "",
        right_kind="came" if changed and row.new is not None else "",
    )


def _side(kind: str, text: str | None) -> Html:
    return Html("") if text is None else fill(kind, text=text)


# --- small things -------------------------------------------------------------------------------------------


def _table(caption: str, head: Iterable[str], rows: Iterable[tuple[str, Iterable[str]]]) -> Html:
    return fill(
        "table",
        caption=caption,
        head=join(fill("head", text=name) for name in head),
        rows=join(
            fill("row", name=name, cells=join(fill("cell", text=cell) for cell in cells))
            for name, cells in rows
        ),
    )


def _name(key: SessionKey) -> str:
    return f"{key.host}:{key.id[:ID_LENGTH]}"


def href(name: str, query: Mapping[str, str]) -> str:
    """Return the address of a page with this query."""
    return f"{name}?{urlencode(query, errors='replace')}"


def _session_href(key: SessionKey) -> str:
    return href("session", {"host": key.host, "id": key.id})


def _stop_href(one: Decision) -> str:
    return href("stop", {"host": one.session.host, "id": one.session.id, "at": str(one.position)})


def _stop_link(one: Decision, text: str) -> Html:
    return fill("link", href=_stop_href(one), text=text)


def _time(at: float) -> Html:
    when = _local(at)
    return fill("time", exact=when.isoformat(timespec="seconds"), shown=f"{when:%m-%d %H:%M:%S}")


def _local(at: float) -> dt.datetime:
    return dt.datetime.fromtimestamp(at, tz=dt.UTC).astimezone()
