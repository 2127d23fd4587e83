"""What supervision offers: it handles every host event, and manages goals, budgets, gates and rubrics."""

from __future__ import annotations

from typing import Final

from sidecar.kernel.offer import SystemOffer, Verb

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
    tools=("evidence", "gates", "rubric", "status", "verdict"),
    verbs=(
        ("goal", Verb("sidecar.cli.goal:goal", "Set, show, pause, resume or clear the goal of a session.")),
        ("retry", Verb("sidecar.cli.goal:retry", "Set or show how often an agent may be sent back.")),
        ("status", Verb("sidecar.cli.status:status", "Show where a session stands, and why.")),
        ("check", Verb("sidecar.cli.check:check", "Judge what an agent just did here, without an install.")),
        ("explain", Verb("sidecar.cli.history:explain", "Tell how the last stop was decided, step by step.")),
        ("history", Verb("sidecar.cli.history:history", "List what was decided, and whether it was right.")),
        ("stats", Verb("sidecar.cli.history:stats", "Count stops, time and cost by day, project or check.")),
        ("watch", Verb("sidecar.cli.watch:watch", "Watch the sessions of this folder in a terminal.")),
        (
            "status-line",
            Verb(
                "sidecar.cli.status_line:status_line",
                "Print where the goal stands, for Claude Code's status line.",
            ),
        ),
        ("dashboard", Verb("sidecar.cli.dashboard:dashboard", "Open all of this as a page in a browser.")),
        ("events", Verb("sidecar.cli.events:events", "Print what was decided and done, as it comes.")),
        ("forget", Verb("sidecar.cli.forget:forget", "Remove what is stored of a session, or of past days.")),
        ("gates", Verb("sidecar.cli.gates:gates", "List and run the checks that apply to this folder.")),
        ("accept", Verb("sidecar.cli.accept:accept", "Let edits count that wait for you.")),
        ("trust", Verb("sidecar.cli.trust:trust", "Approve the commands that a project's files name.")),
        (
            "eval",
            Verb("sidecar.cli.eval:evaluation", "Measure a judge, or a rubric, on stops with a known truth."),
        ),
        ("rubric", Verb("sidecar.cli.rubric:rubric", "Show, make, check, compare and try rubrics.")),
        ("inbox", Verb("sidecar.cli.inbox:inbox", "Take stops as files, from agents that have no hooks.")),
        ("on", Verb("sidecar.cli.switch:on", "Switch Supervisor on, for a project or for you.")),
        ("off", Verb("sidecar.cli.switch:off", "Switch Supervisor off, for a project or for you.")),
    ),
)
