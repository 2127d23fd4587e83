"""The parts of the page, made from what was read. Nothing here reads."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import urlencode

from msgspec.structs import replace

from sidecar.kernel.effects import Inquiry
from sidecar.kernel.gate import GateRun, Outcome
from sidecar.kernel.goal import GoalStatus
from sidecar.kernel.journal import Journal
from sidecar.kernel.log import JudgingPaid, WorkerRan
from sidecar.kernel.loop import LOOP_HOST
from sidecar.kernel.session import Session, SessionKey, active_goal, short_session
from sidecar.kernel.settings import Settings
from sidecar.kernel.text import clean_line, counted
from sidecar.rubric.policy import ACCEPT_COMMAND
from sidecar.servers.page.markup import DiffRow, Html, diff_rows, fill, fill_each
from sidecar.servers.page.pictures import SIGNS, WORDS, Mark, day_chart, draw_marks, legend, local, tone
from sidecar.servers.page.readings import MOST_STOPS, SESSIONS_SHOWN, KnownDecision, Overview, SeenSession
from sidecar.systems.supervision.policy.decision_story import (
    FOLLOW_UPS,
    budget_left,
    summarize_decision,
    tell_decision,
)
from sidecar.systems.supervision.policy.history import Decision, FollowUp, flaky_checks, gate_runs
from sidecar.systems.supervision.policy.journal import journal_lines, note_lines
from sidecar.systems.supervision.policy.orders import describe_session
from sidecar.systems.supervision.policy.sessions import Activity, answer_way, needs_person, way_on

Parts = Mapping[str, Html]
"""Parts of a page by their ids, in the order in which they are shown."""

TITLE_LENGTH: Final = 120
"""Characters of a goal in a title."""
WHY_LENGTH: Final = 300
"""Characters of a reason in a list."""
ID_LENGTH: Final = 12
"""Characters of a session's id in a list."""
STOPS_LISTED: Final = 8
"""Stops on the first page."""
STOPS_OF_SESSION_LISTED: Final = 20
STRIP: Final = 12
"""Stops in the picture of a card."""
STOPS_DRAWN: Final = 30
"""Stops in the time line of a session."""
RUNS_SHOWN: Final = 30
"""Runs of one check."""
TASKS_SHOWN: Final = 40
NOTES_SHOWN: Final = 10
LINES_PRINTED: Final = 20
"""Newest lines of what runs now."""
LOW, HIGH = 0.6, 0.85
"""Parts of a limit from which a meter changes its colour."""
NOTHING: Final = Html("")
NO_GOAL_TITLE: Final = "No goal"
NO_SESSION: Final = (
    "No session is known yet. In your project, start your agent and type: /supervisor:goal all tests pass"
)
NO_STOP: Final = "No agent has stopped yet. A stop is shown here as soon as an agent ends its turn."
NO_CHECK: Final = "No check has run yet. What would run in a project, and to approve it: supervisor trust"
FLAKY: Final = "flaky: failed and passed on the same files"
CHAPTERS: Final[Mapping[str, tuple[str, ...]]] = {
    "What it was asked": ("not known", "asked"),
    "What it said": ("the agent",),
    "What ran": ("checks", "old checks on new code"),
    "What was decided": ("decided", "judge", "claims", "evidence", "rules tried"),
    "What was told": ("effect",),
    "What came of it": ("afterwards", "cost"),
}
"""The chapters of a stop's page, and the steps of a story in each; any other step stands behind them."""
PAID_FOR: Final = {"judged": "judging", "rested": "workers"}
"""Tones of what was paid for, and its names."""
FOLDED: Final = frozenset({"checks", "evidence", "rules tried"})
"""Steps that are unfolded when wanted."""


# --- the first page -----------------------------------------------------------------------------------------


def overview_parts(seen: Overview) -> Parts:
    """Return the parts of the first page: first what needs a person."""
    titles = {one.key: _title(one) for one, _ in seen.sessions}
    older, newer = seen.first + SESSIONS_SHOWN, max(0, seen.first - SESSIONS_SHOWN)
    links = {
        f"./?first={newer}": "Seen later" if seen.first else "",
        f"./?first={older}": f"Seen earlier ({seen.known - older} more)" if older < seen.known else "",
    }
    stops: dict[SessionKey, list[Decision]] = {}
    for one in seen.decisions:
        stops.setdefault(one.session, []).append(one)
    cards: dict[bool, list[Mapping[str, object]]] = {True: [], False: []}
    for session, does in seen.sessions:
        newest = stops.get(session.key, ())[-STRIP:]
        strip = draw_marks([replace(_mark(one), href="") for one in newest], _stops_label(newest))
        card = _card(session, does, seen.settings)
        cards[card["tone"] == "needs"].append({**card, "strip": strip if newest else ""})
    held = [{"path": edit.path, "summary": edit.summary, "command": ACCEPT_COMMAND} for edit in seen.held]
    needs = fill_each("held", held) + fill_each("session", cards[True])
    unreadable = f"{seen.unreadable} events cannot be read: damaged, or of a newer version."
    return {
        "newest": fill_each("newest", (_stop(one, titles) for one in seen.decisions[-1:])),
        "needs": fill("needs", number=len(held) + len(cards[True]), cards=Html(needs)) if needs else NOTHING,
        "figures": _figures(seen) if seen.decisions or seen.paid else NOTHING,
        "sessions": fill(
            "sessions",
            known=seen.known,
            cards=fill_each("session", cards[False]) if seen.known else fill("none", text=NO_SESSION),
            links=fill_each("link", ({"href": to, "text": text} for to, text in links.items() if text)),
        ),
        "stops": fill(
            "stops",
            title="Newest stops",
            rows=stop_list(seen.decisions[-STOPS_LISTED:], titles),
            note=unreadable if seen.unreadable else "",
        ),
    }


def _figures(seen: Overview) -> Html:
    """Return the charts of the last days, and what of today's limits is used."""
    settings, today = seen.settings, seen.spending
    stops, money, tokens = (defaultdict[str, Counter[str]](Counter) for _ in range(3))
    for one in seen.decisions:
        stops[one.day][tone(one.stop.decided)] += 1
    for event in seen.paid:
        if isinstance(paid := event.data, JudgingPaid | WorkerRan):
            day = local(event.at).date().isoformat()
            kind = "rested" if isinstance(paid, WorkerRan) else "judged"
            money[day][kind] += paid.cents or 0  # type: ignore[assignment] # a Counter adds any number
            tokens[day][kind] += paid.tokens
    cents, last = round(today.cents, 1), local(seen.now).date()
    unpriced = f", {today.unpriced} of them without a known price" if today.unpriced else ""
    cut = f", the newest {MOST_STOPS}" if len(seen.decisions) >= MOST_STOPS else ""
    return fill(
        "figures",
        stops=day_chart(f"Stops by day{cut}", last, stops, WORDS),
        money=day_chart("Cents by day", last, money, PAID_FOR),
        tokens=day_chart("Tokens by day", last, tokens, PAID_FOR),
        today=f"{counted(today.calls, 'call')}, {today.tokens:,} tokens, {cents} cents{unpriced}",
        meters=draw_meters(
            (
                ("Cents", cents, settings.judge.daily_cents, ""),
                ("Tokens", today.tokens, settings.judge.daily_tokens, ""),
                ("Workers' limit", cents, settings.workers.max_cents_per_day, " cents"),
            )
        ),
    )


def _card(session: Session, does: Activity, settings: Settings) -> dict[str, object]:
    """Return what a session is about and does or waits for: a word in its tone, why, and what to type."""
    goal, status = session.goal, session.goal.status if session.goal else GoalStatus.CLEARED
    word, kind, then = str(does.state), str(does.state), ""
    if needs_person(status, does.state):
        waits = does.state == "waiting"
        word, kind = "waiting for you" if waits else status.value, "needs"
        then = answer_way(session) if waits else f"To go on, type: {way_on(session, settings)}"
    elif does.state in ("resting", "closed") and status not in (GoalStatus.CLEARED, GoalStatus.ACTIVE):
        word, kind = f"{status}, {does.state}", tone(status)
    reason = goal.last_reason if goal and status is not GoalStatus.CLEARED else ""
    return {
        "state": word,
        "tone": kind,
        "when": shown_time(does.since),
        "detail": (does.detail or reason)[:WHY_LENGTH],
        "then": then,
        "href": session_href(session.key),
        "title": _title(session),
        "name": _name(session.key),
        "host": session.key.host,
        "project": project_name(session.project),
        "folder": session.project,
        "meters": budget_meters(session, settings),
    }


def _title(session: Session) -> str:
    goal = session.goal
    held = goal is not None and goal.status is not GoalStatus.CLEARED
    return clean_line(goal.condition, TITLE_LENGTH) if goal and held else NO_GOAL_TITLE


def project_name(project: str) -> str:
    """Return the name of a project's folder."""
    return project.rstrip("/").rpartition("/")[2] or project


def session_title(session: Session) -> str:
    """Return a session's project and goal."""
    return f"{project_name(session.project)}: {_title(session)}"


def budget_meters(session: Session, settings: Settings) -> Html:
    """Return what a session has used of its budget; nothing where no goal is active."""
    goal = active_goal(session)
    if goal is None or session.key.host == LOOP_HOST:
        return NOTHING
    left = budget_left(session, settings)
    return draw_meters(
        (
            ("Sent back", left.continuations, left.continuations_of, ""),
            ("Work", round(left.seconds / 60, 1), round(left.seconds_of / 60, 1), " min"),
            ("Tokens", left.tokens, left.tokens_of, ""),
            ("Judging", round(goal.spent.judge_cents, 1), settings.goal_max_cents, " cents"),
        )
    )


def draw_meters(rows: Sequence[tuple[str, float, float | None, str]], *, fills: bool = False) -> Html:
    """Return a bar for each row of name, used, limit and unit; none where there is no limit.

    `fills`: a full bar is good, as for what is done; else it warns, as for what is spent.
    """
    return fill_each(
        "meter",
        (
            {
                "name": name,
                "used": used,
                "most": most,
                "low": 0 if fills else most * LOW,
                "high": 0 if fills else most * HIGH,
                "best": most if fills else 0,
                "shown": f"{used:,} of {most:,}{unit}",
            }
            for name, used, most, unit in rows
            if most
        ),
    )


def stop_list(decisions: Sequence[Decision], titles: Mapping[SessionKey, str]) -> Html:
    """Return rows of stops, the newest first. `titles` of known sessions; empty for stops of one session."""
    rows = fill_each("stop", (_stop(one, titles) for one in reversed(decisions)))
    return rows or fill("none", text=NO_STOP)


def _stop(one: Decision, titles: Mapping[SessionKey, str]) -> dict[str, object]:
    whose = f"{project_name(one.project)}: {titles.get(one.session, _name(one.session))}"
    return {
        **_ruling(one),
        "href": _stop_href(one),
        "whose": whose if titles else "",
        "why": one.stop.detail[:WHY_LENGTH],
        "after": FOLLOW_UPS[one.followed] if one.followed not in (None, FollowUp.UNKNOWN) else "",
    }


def _ruling(one: Decision) -> dict[str, object]:
    kind = tone(one.stop.decided)
    return {"tone": kind, "sign": SIGNS[kind], "when": shown_time(one.at), "summary": summarize_decision(one)}


def _mark(one: Decision) -> Mark:
    label = f"{summarize_decision(one)}, {local(one.at):%b %d %H:%M}"
    return Mark(tone=tone(one.stop.decided), label=label, href=_stop_href(one), at=one.at)


def _stops_label(stops: Sequence[Decision]) -> str:
    """Return in words what a row of stops shows."""
    counts = Counter(tone(one.stop.decided) for one in stops)
    words = ", ".join(f"{name} {counts[kind]}" for kind, name in WORDS.items() if counts[kind])
    return f"{counted(len(stops), 'stop')}, oldest first: {words}"


# --- checks over time ---------------------------------------------------------------------------------------


def check_parts(decisions: Sequence[Decision]) -> Parts:
    """Return the parts of the page on checks: for each project, its checks, the slowest first."""
    projects: dict[str, list[Decision]] = {}
    for one in decisions:
        if one.stop.gates:
            projects.setdefault(one.project, []).append(one)
    drawn = (
        {
            "name": project_name(folder),
            "folder": folder,
            "checks": fill_each("check", _checks(folder, found)),
        }
        for folder, found in sorted(projects.items())
    )
    shown = fill_each("project", drawn) or fill("empty", text=NO_CHECK)
    return {"checks": fill("checks", projects=shown, most=MOST_STOPS)}


def _checks(folder: str, decisions: Sequence[Decision]) -> Iterator[dict[str, object]]:
    """Yield each check with its newest runs as columns."""
    flaky = flaky_checks(decisions)
    runs: dict[str, list[tuple[float, str, Decision]]] = {}
    for one in decisions:
        for gate, outcome, seconds in gate_runs(one.stop):
            runs.setdefault(gate, []).append((seconds, outcome, one))
    longest = {gate: max(seconds for seconds, _, _ in found) for gate, found in runs.items()}
    for gate in sorted(runs, key=lambda name: -longest[name]):
        newest, failed = runs[gate][-RUNS_SHOWN:], sum(how == Outcome.FAILED for _, how, _ in runs[gate])
        told = f"{counted(len(runs[gate]), 'run')}, {failed} failed, slowest {longest[gate]:.1f} s"
        yield {
            "name": gate,
            "folder": folder,
            "told": told,
            "flaky": FLAKY if gate in flaky else "",
            "columns": draw_marks(
                [_column(*run) for run in newest],
                f"The newest {len(newest)} runs of {gate}, oldest first: {told}",
            ),
        }


def _column(seconds: float, outcome: str, one: Decision) -> Mark:
    took = f" in {seconds:.1f} s" if seconds else ", from memory"
    label = f"{outcome}{took}, {local(one.at):%b %d %H:%M}"
    return Mark(tone=outcome, label=label, at=one.at, href=_stop_href(one), seconds=seconds)


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
    marks = [_mark(one) for one in stops[-STOPS_DRAWN:]]
    tones = {one.tone for one in marks}
    return {
        "goal": fill(
            "goal",
            **_card(session, does, settings),
            spent="" if active_goal(session) else " ".join(describe_session(session, settings)[1:2]),
        ),
        "line": fill(
            "line-of-stops",
            picture=draw_marks(marks, _stops_label(stops[-STOPS_DRAWN:]), paced=True),
            names=legend({kind: f"{SIGNS[kind]} {name}" for kind, name in WORDS.items() if kind in tones}),
        )
        if stops
        else NOTHING,
        "running": running(does),
        "story": story(last, "The last stop: ") if last else NOTHING,
        "tests": side_by_side(compared) if compared and compared != last else NOTHING,
        "stops": fill("stops", title="Stops", rows=stop_list(stops[-STOPS_OF_SESSION_LISTED:], {}), note=""),
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


def story(known: KnownDecision, title: str) -> Html:
    """Return how a stop was decided, from what was asked to what was told, and changed tests side by side."""
    steps = {one.about: one.lines for one in tell_decision(known.decision, known.replayed).steps}
    others = tuple(about for about in steps if not any(about in abouts for abouts in CHAPTERS.values()))
    chips = (
        {
            "tone": how,
            "sign": SIGNS.get(how, "?"),
            "text": f"{gate} {how}{f' in {took:.1f} s' if took else ''}",
        }
        for gate, how, took in gate_runs(known.decision.stop)
    )
    chapters = (
        {
            "title": chapter,
            "chips": fill_each("chip", chips) if "checks" in abouts else "",
            "steps": Html("".join(_step(about, steps[about]) for about in abouts if about in steps)),
        }
        for chapter, abouts in (*CHAPTERS.items(), ("More", others))
        if any(about in steps for about in abouts)
    )
    return fill(
        "story",
        **_ruling(known.decision),
        title=title,
        chapters=fill_each("chapter", chapters),
        sides=side_by_side(known),
    )


def _step(about: str, lines: Sequence[str]) -> Html:
    rows = ({"text": one.lstrip(), "kind": "sub" if one[:1] == " " else ""} for one in lines)
    return fill("folded" if about in FOLDED else "step", about=about, lines=fill_each("line", rows))


def side_by_side(known: KnownDecision) -> Html:
    """Return the tests that changed before a stop; nothing where none did, or where they are not kept."""
    rows = fill_each("side", _sides(known.replayed.inquiry)) if known.replayed else NOTHING
    return fill("sides", when=shown_time(known.decision.at), rows=rows) if rows else NOTHING


def _sides(inquiry: Inquiry) -> Iterator[dict[str, object]]:
    found = {one.file for one in inquiry.project_state.findings}
    for edit in inquiry.project_state.edits:
        compared = next((one for one in inquiry.comparisons if edit.path in one.files), None)
        if compared or edit.path in found:
            yield {
                "path": edit.path,
                "counts": f"{counted(edit.added, 'line')} added, {edit.removed} removed",
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
    return f"{key.host}:{short_session(key.id, ID_LENGTH)}"


def href(name: str, query: Mapping[str, str]) -> str:
    """Return the address of a page with this query."""
    return f"{name}?{urlencode(query, errors='replace')}"


def session_href(key: SessionKey) -> str:
    """Return the address of a session's page."""
    return href("session", {"host": key.host, "id": key.id})


def _stop_href(one: Decision) -> str:
    return href("stop", {"host": one.session.host, "id": one.session.id, "at": str(one.position)})


def shown_time(at: float) -> Html:
    """Return a time as this machine's people read it."""
    return fill("time", exact=local(at).isoformat(timespec="seconds"), shown=f"{local(at):%b %d %H:%M}")
