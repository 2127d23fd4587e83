"""The parts of the page, made from what was read. Nothing here reads."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import urlencode

from msgspec.structs import asdict

from sidecar.kernel.effects import Inquiry
from sidecar.kernel.gate import GateRun, Outcome
from sidecar.kernel.goal import GoalStatus
from sidecar.kernel.journal import Journal
from sidecar.kernel.session import Session, SessionKey, active_goal
from sidecar.kernel.settings import Settings
from sidecar.servers.page.markup import DiffRow, Html, diff_rows, fill, fill_each
from sidecar.servers.page.readings import MOST_STOPS, SESSIONS_SHOWN, KnownDecision, Overview, SeenSession
from sidecar.systems.supervision.policy.decision_story import (
    FOLLOW_UPS,
    budget_left,
    summarize_stop,
    tell_decision,
)
from sidecar.systems.supervision.policy.history import CheckFigures, Decision, check_figures, gate_outcomes
from sidecar.systems.supervision.policy.journal import journal_lines, note_lines
from sidecar.systems.supervision.policy.orders import describe_session
from sidecar.systems.supervision.policy.sessions import Activity

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
TASKS_SHOWN: Final = 40
NOTES_SHOWN: Final = 10
LINES_PRINTED: Final = 20
"""Newest lines of what runs now."""
SIGNS: Final[Mapping[str, str]] = {Outcome.PASSED: "✓", Outcome.FAILED: "✗"}
LOW, HIGH = 0.6, 0.85
"""Parts of a limit from which a meter changes its colour."""
NOTHING: Final = Html("")


# --- the first page -----------------------------------------------------------------------------------------


def overview_parts(seen: Overview) -> Parts:
    """Return the parts of the first page."""
    settings, today = seen.settings, seen.spending
    older, newer = seen.first + SESSIONS_SHOWN, max(0, seen.first - SESSIONS_SHOWN)
    links = {
        f"./?first={newer}": "Seen later" if seen.first else "",
        f"./?first={older}": f"Seen earlier ({seen.known - older} more)" if older < seen.known else "",
    }
    cents = round(today.cents, 1)
    limits = (
        ("Cents", cents, settings.judge.daily_cents, ""),
        ("Tokens", today.tokens, settings.judge.daily_tokens, ""),
        ("Workers' limit", cents, settings.workers.max_cents_per_day, " cents"),
    )
    return {
        "newest": fill_each("newest", map(_stop, seen.decisions[-1:])),
        "sessions": fill(
            "sessions",
            known=seen.known,
            cards=fill_each("session", (_card(*one, settings) for one in seen.sessions)),
            links=fill_each("link", ({"href": to, "text": text} for to, text in links.items() if text)),
        ),
        "today": fill(
            "today",
            calls=today.calls,
            tokens=f"{today.tokens:,}",
            cents=cents,
            unpriced=f", {today.unpriced} of them without a known price" if today.unpriced else "",
            meters=_meters(limits),
        ),
        "stops": fill(
            "stops",
            title="Newest stops",
            rows=stop_list(seen.decisions[-STOPS_LISTED:]),
            note=f"{seen.unreadable} events cannot be read: damaged, or of a newer version."
            if seen.unreadable
            else "",
        ),
    }


def _card(session: Session, does: Activity, settings: Settings) -> dict[str, object]:
    goal = session.goal
    held = goal is not None and goal.status is not GoalStatus.CLEARED
    return {
        "href": _session_href(session.key),
        "name": _name(session.key),
        "project": session.project,
        "state": does.state,
        "when": _time(does.since),
        "detail": does.detail,
        "goal": f"goal {goal.status}: {goal.condition[:WHY_LENGTH]}" if goal and held else "no goal",
        "meters": budget_meters(session, settings),
    }


def budget_meters(session: Session, settings: Settings) -> Html:
    """Return what a session has used of its budget; nothing where no goal is active."""
    goal = active_goal(session)
    if goal is None:
        return NOTHING
    left = budget_left(session, settings)
    return _meters(
        (
            ("Sent back", left.continuations, left.continuations_of, ""),
            ("Work", round(left.seconds / 60, 1), round(left.seconds_of / 60, 1), " min"),
            ("Tokens", left.tokens, left.tokens_of, ""),
            ("Judging", round(goal.spent.judge_cents, 1), settings.goal_max_cents, " cents"),
        )
    )


def _meters(rows: Sequence[tuple[str, float, float | None, str]]) -> Html:
    """Return a bar for each row of name, used, limit and unit; none where there is no limit."""
    return fill_each(
        "meter",
        (
            {
                "name": name,
                "used": used,
                "most": most,
                "low": most * LOW,
                "high": most * HIGH,
                "shown": f"{used:,} of {most:,}{unit}",
            }
            for name, used, most, unit in rows
            if most
        ),
    )


def stop_list(decisions: Sequence[Decision]) -> Html:
    """Return rows of stops, the newest first."""
    return fill_each("stop", map(_stop, reversed(decisions))) or fill(
        "none", text="No agent has stopped yet."
    )


def _stop(one: Decision) -> dict[str, object]:
    return {
        "kind": "sent-back" if one.sent_back else one.stop.decided,
        "when": _time(one.at),
        "href": _stop_href(one),
        "summary": summarize_stop(one.stop),
        "whose": _name(one.session),
        "project": one.project,
        "why": one.stop.detail[:WHY_LENGTH],
        "after": FOLLOW_UPS[one.followed] if one.followed else "",
    }


# --- checks over time ---------------------------------------------------------------------------------------


def check_parts(decisions: Sequence[Decision]) -> Parts:
    """Return the parts of the page on checks: for each project, its checks, the slowest first."""
    projects = sorted({one.project for one in decisions if one.stop.gates})
    tables = (
        {
            "project": project,
            "rows": fill_each("check", _checks([one for one in decisions if one.project == project])),
        }
        for project in projects
    )
    return {"checks": fill("checks", tables=fill_each("project", tables), most=MOST_STOPS)}


def _checks(decisions: Sequence[Decision]) -> Iterator[dict[str, object]]:
    timed = check_figures(decisions)
    untimed = {gate for one in decisions for gate in gate_outcomes(one.stop)} - {one.name for one in timed}
    for figures in (
        *timed,
        *(CheckFigures(name=gate, runs=0, failed=0, seconds=0.0, slowest=0.0) for gate in sorted(untimed)),
    ):
        runs = [(one, found) for one in decisions if (found := gate_outcomes(one.stop).get(figures.name))]
        shown = (
            {
                "outcome": outcome,
                "sign": SIGNS.get(outcome, "?"),
                "label": f"{outcome}, {_local(one.at):%Y-%m-%d %H:%M:%S}",
                "href": _stop_href(one),
            }
            for one, outcome in runs[-RUNS_SHOWN:]
        )
        yield {**asdict(figures), "shown": fill_each("run", shown)}


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
    lines = describe_session(session, settings)
    since = f", since {_local(session.goal.set_at):%Y-%m-%d %H:%M}" if session.goal else ""
    return {
        "goal": fill(
            "goal",
            project=session.project,
            state=does.state,
            when=_time(does.since),
            detail=does.detail,
            lines=fill_each("line", ({"text": line, "kind": ""} for line in lines)),
            meters=budget_meters(session, settings),
        ),
        "running": running(does),
        "stops": fill("stops", title=f"Stops{since}", rows=stop_list(stops), note=""),
        "tests": side_by_side(compared) if compared and compared != last else NOTHING,
        "story": story(last) if last else NOTHING,
    }


def running(does: Activity) -> Html:
    """Return the end of what the checks that run now print; nothing where none does."""
    lines = does.output.splitlines()[-LINES_PRINTED:]
    return fill("running", lines=fill_each("printed", ({"text": one} for one in lines))) if lines else NOTHING


def tasks(journal: Journal) -> Html:
    """Return the open tasks and the newest notes of a session; nothing where there are none."""
    lines = [*journal_lines(journal, TASKS_SHOWN, None), *note_lines(journal, NOTES_SHOWN)]
    rows = fill_each("line", ({"text": one.text, "kind": one.style} for one in lines))
    return fill("tasks", lines=rows) if lines else NOTHING


def story(known: KnownDecision) -> Html:
    """Return how a stop was decided, and the old and the new test side by side."""
    lines = tell_decision(known.decision, known.replayed)
    steps = (
        {
            "about": step.about,
            "lines": fill_each(
                "line",
                ({"text": one.lstrip(), "kind": "sub" if one[:1] == " " else ""} for one in step.lines),
            ),
        }
        for step in lines.steps
    )
    return fill(
        "story",
        when=_time(known.decision.at),
        summary=lines.summary,
        steps=fill_each("step", steps),
        sides=side_by_side(known),
    )


def side_by_side(known: KnownDecision) -> Html:
    """Return the tests that changed before a stop; nothing where none did, or where they are not kept."""
    rows = fill_each("side", _sides(known.replayed.inquiry)) if known.replayed else NOTHING
    return fill("sides", when=_time(known.decision.at), rows=rows) if rows else NOTHING


def _sides(inquiry: Inquiry) -> Iterator[dict[str, object]]:
    found = {one.file for one in inquiry.project_state.findings}
    for edit in inquiry.project_state.edits:
        compared = next((one for one in inquiry.comparisons if edit.path in one.files), None)
        if compared or edit.path in found:
            yield {
                "path": edit.path,
                "counts": f"{edit.added} lines added, {edit.removed} removed",
                "old": _outcome(compared.old if compared else None),
                "new": _outcome(compared.now if compared else None),
                "rows": fill_each("pair", map(_pair, diff_rows(edit.hunks))) or edit.unshown,
            }


def _outcome(run: GateRun | None) -> str:
    failure = f", {run.failures[0]}" if run and run.failures else ""
    return f"{run.gate.id} {run.outcome}{failure}" if run else "not compared"


def _pair(row: DiffRow) -> dict[str, object]:
    old, new = row
    sides = (("old", "same" if old == new else "gone", old), ("new", "same" if old == new else "came", new))
    return {name: NOTHING if text is None else fill(kind, text=text) for name, kind, text in sides}


# --- small things -------------------------------------------------------------------------------------------


def _name(key: SessionKey) -> str:
    return f"{key.host}:{key.id[:ID_LENGTH]}"


def href(name: str, query: Mapping[str, str]) -> str:
    """Return the address of a page with this query."""
    return f"{name}?{urlencode(query, errors='replace')}"


def _session_href(key: SessionKey) -> str:
    return href("session", {"host": key.host, "id": key.id})


def _stop_href(one: Decision) -> str:
    return href("stop", {"host": one.session.host, "id": one.session.id, "at": str(one.position)})


def _time(at: float) -> Html:
    return fill("time", exact=_local(at).isoformat(timespec="seconds"), shown=f"{_local(at):%m-%d %H:%M:%S}")


def _local(at: float) -> dt.datetime:
    return dt.datetime.fromtimestamp(at, tz=dt.UTC).astimezone()
