"""Supervision: judges an agent's stops against its goal, and sends it back within a budget."""

from __future__ import annotations

from typing import Final

from sidecar.kernel.offer import Section, SystemOffer, Verb

OFFER: Final = SystemOffer(
    tools=("gates", "session"),
    verbs=(
        Verb("goal", "goal", "Set, show, pause, resume or clear the goal of a session.", Section.GOAL),
        Verb("retry", "goal", "Set or show how often an agent may be sent back.", Section.GOAL),
        Verb("status", "status", "Show what a session does, its goal and budget.", Section.GOAL),
        Verb("check", "check", "Judge what an agent just did here, without an install.", Section.LOOK),
        Verb("explain", "history", "Tell why it was sent back or let rest, step by step.", Section.LOOK),
        Verb("history", "history", "List what was decided, and whether it was right.", Section.LOOK),
        Verb("stats", "history", "Count stops, time and cost by day, project or check.", Section.LOOK),
        Verb("watch", "watch", "Watch the sessions of this folder in a terminal.", Section.LOOK),
        Verb("status-line", "status_line", "Print the goal for a host's status line.", Section.PARTS),
        Verb("dashboard", "watch", "Open all of this as a page in a browser.", Section.LOOK),
        Verb("events", "history", "Print what was decided and done, as it comes.", Section.LOOK),
        Verb("forget", "goal", "Remove what is stored of a session, or of past days.", Section.LOOK),
        Verb("gates", "gates", "List and run the checks that apply to this folder.", Section.CHECKS),
        Verb("accept", "trust", "Let edits count that wait for you.", Section.GOAL),
        Verb("trust", "trust", "Approve the commands that a project's files name.", Section.CHECKS),
        Verb("eval", "eval:evaluation", "Measure a judge or a rubric on known stops.", Section.CHECKS),
        Verb("rubric", "rubric", "Show, init, check, diff and replay rubrics.", Section.CHECKS),
        Verb("inbox", "inbox", "Take stops as files, from agents that have no hooks.", Section.ALONE),
        Verb("on", "config", "Switch Supervisor on, out of shadow mode, too.", Section.GOAL),
        Verb("off", "config", "Switch Supervisor off, for a project or for you.", Section.GOAL),
    ),
)
