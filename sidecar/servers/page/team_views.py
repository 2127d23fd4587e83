"""The parts of the team's page. Nothing here reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from sidecar.kernel.session import short_session
from sidecar.platform.limits import describe_limit
from sidecar.platform.team.ports import AT_ONCE, Machine, TeamTask, TeamTaskState
from sidecar.platform.team.store import ListCount, TeamSession
from sidecar.servers.page.markup import Html, fill, fill_each
from sidecar.servers.page.pictures import SIGNS, tone
from sidecar.servers.page.readings import TEAM_SESSIONS_SHOWN
from sidecar.servers.page.views import (
    ID_LENGTH,
    NOTHING,
    WHY_LENGTH,
    Parts,
    draw_meters,
    href,
    project_name,
    shown_time,
)
from sidecar.systems.supervision.policy.decision_story import RULING_WORDING
from sidecar.systems.supervision.policy.sessions import describe_age
from sidecar.systems.supervision.team import TeamOverview, slots_line

NO_SESSION: Final = "No session of this team is known yet. Machines ship what happens there within seconds."
TONES: Final = {TeamTaskState.HELD: "needs", TeamTaskState.CLAIMED: "working", TeamTaskState.OPEN: "rested"}
"""The tone of a list by the first of these states in which it has a task."""


def team_parts(seen: TeamOverview, first: int, search: str) -> Parts:
    """Return the parts of the page: first what needs a person. `first`, `search`: of the sessions shown."""
    shown, about = seen.sessions[:TEAM_SESSIONS_SHOWN], {"search": search} if search else {}
    links = {
        href("team", {**about, "first": str(max(0, first - TEAM_SESSIONS_SHOWN))}): "Later" if first else "",
        href("team", {**about, "first": str(first + TEAM_SESSIONS_SHOWN)}): "Earlier"
        if len(seen.sessions) > TEAM_SESSIONS_SHOWN
        else "",
        "team": "All sessions" if search else "",
    }
    sessions = fill(
        "team-sessions",
        found=f"of {search}" if search else "",
        rows=fill_each("team-session", map(_session, shown)),
        links=fill_each("link", ({"href": to, "text": text} for to, text in links.items() if text)),
    )
    held, lists = fill_each("held-task", map(_held, seen.held)), fill_each("team-list", _lists(seen.lists))
    return {
        "needs": fill("team-needs", number=len(seen.held), cards=held) if held else NOTHING,
        "lists": fill("team-lists", cards=lists) if lists else NOTHING,
        "limits": _limits(seen),
        "sessions": sessions if shown else fill("empty", text=NO_SESSION),
        "machines": fill(
            "team-machines",
            number=len(seen.machines),
            rows=fill_each("team-machine", (_machine(one, seen.now) for one in seen.machines)),
        ),
    }


def _held(task: TeamTask) -> Mapping[str, object]:
    return {
        "list": task.list,
        "name": task.id,
        "content": task.content[:WHY_LENGTH],
        "note": task.note[:WHY_LENGTH],
        "then": f"supervisor team give-back {task.list} {task.id}",
    }


def _lists(counts: tuple[ListCount, ...]) -> Iterator[Mapping[str, object]]:
    lists: dict[str, dict[str, int]] = {}
    for one in counts:
        lists.setdefault(one.list, {})[one.state] = one.tasks
    for name, states in lists.items():
        total, done = sum(states.values()), states.get(TeamTaskState.MERGED, 0)
        yield {
            "name": name,
            "tone": next((kind for state, kind in TONES.items() if state in states), "achieved"),
            "state": ", ".join(f"{number} {state}" for state, number in states.items()),
            "meters": draw_meters((("Merged", done, total, ""),), fills=True),
        }


def _limits(seen: TeamOverview) -> Html:
    slots = [one for one in seen.accounts if one.name.startswith(AT_ONCE)]
    money = [
        (one.name, round(one.used, 1), one.most, " today" if one.daily else "")
        for one in seen.accounts
        if one not in slots
    ]
    lines = [slots_line(one) for one in slots if one.most is not None]
    lines += (describe_limit(one, seen.now) for one in seen.limits)
    meters, told = draw_meters(money), fill_each("line", ({"kind": "", "text": line} for line in lines))
    return fill("team-limits", meters=meters, lines=told) if meters or told else NOTHING


def _machine(one: Machine, now: float) -> Mapping[str, object]:
    return {
        "name": one.name,
        "href": href("team", {"search": one.name}),
        "person": one.person,
        "whose": href("team", {"search": one.person}),
        "seen": f"{describe_age(max(0.0, now - one.seen))} ago",
        "version": one.version,
    }


def _session(one: TeamSession) -> Mapping[str, object]:
    kind = tone(one.decided)
    return {
        "when": shown_time(one.changed),
        "person": one.person,
        "machine": one.machine,
        "project": project_name(one.project),
        "session": f"{one.host}:{short_session(one.session, ID_LENGTH)}",
        "tone": kind,
        "sign": SIGNS[kind],
        "decided": RULING_WORDING.get(one.decided, one.decided),
        "why": one.detail,
        "stops": one.stops,
        "back": one.sent_back,
        "cents": round(one.cents, 1),
    }
