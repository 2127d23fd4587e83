"""Supervision: judges an agent's stops against its goal, and sends it back within a budget."""

from __future__ import annotations

from typing import Final

from sidecar.kernel.offer import Section, SystemOffer, Verb

OFFER: Final = SystemOffer(
    events=(
        "AgentStopped",
        "CommandTyped",
        "FileSaved",
        "PromptSubmitted",
        "SessionDeleted",
        "SessionEnded",
        "SessionStarted",
        "ToolCalled",
        "TurnFailed",
    ),
    methods=("accept", "events", "forget", "held", "hook", "order", "permission", "report", "toggle"),
    tools=("gates", "session", "stops"),
    verbs=(
        ("goal", Verb("goal:goal", "Set, show, pause, resume or clear the goal of a session.", Section.GOAL)),
        ("retry", Verb("goal:retry", "Set or show how often an agent may be sent back.", Section.GOAL)),
        ("status", Verb("status:status", "Show what a session does, its goal and budget.", Section.GOAL)),
        (
            "check",
            Verb("check:check", "Judge what an agent just did here, without an install.", Section.LOOK),
        ),
        (
            "explain",
            Verb("history:explain", "Tell why it was sent back or let rest, step by step.", Section.LOOK),
        ),
        (
            "history",
            Verb("history:history", "List what was decided, and whether it was right.", Section.LOOK),
        ),
        (
            "stats",
            Verb("history:stats", "Count stops, time and cost by day, project or check.", Section.LOOK),
        ),
        ("watch", Verb("watch:watch", "Watch the sessions of this folder in a terminal.", Section.LOOK)),
        (
            "status-line",
            Verb(
                "status_line:status_line",
                "Print where the goal stands, for a host's status line.",
                Section.PARTS,
            ),
        ),
        ("dashboard", Verb("watch:dashboard", "Open all of this as a page in a browser.", Section.LOOK)),
        ("events", Verb("history:events", "Print what was decided and done, as it comes.", Section.LOOK)),
        (
            "forget",
            Verb("goal:forget", "Remove what is stored of a session, or of past days.", Section.LOOK),
        ),
        ("gates", Verb("gates:gates", "List and run the checks that apply to this folder.", Section.CHECKS)),
        ("accept", Verb("trust:accept", "Let edits count that wait for you.", Section.GOAL)),
        ("trust", Verb("trust:trust", "Approve the commands that a project's files name.", Section.CHECKS)),
        (
            "eval",
            Verb(
                "eval:evaluation",
                "Measure a judge, or a rubric, on stops with a known truth.",
                Section.CHECKS,
            ),
        ),
        ("rubric", Verb("rubric:rubric", "Show, init, check, diff and replay rubrics.", Section.CHECKS)),
        ("inbox", Verb("inbox:inbox", "Take stops as files, from agents that have no hooks.", Section.ALONE)),
        ("on", Verb("goal:on", "Switch Supervisor on, for a project or for you.", Section.GOAL)),
        ("off", Verb("goal:off", "Switch Supervisor off, for a project or for you.", Section.GOAL)),
    ),
)
