"""Words the loop's answers, from the sections of rubric/loop.md."""

from __future__ import annotations

from collections.abc import Iterable
from string import Template
from typing import Final, NamedTuple

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.journal import Task
from sidecar.kernel.loop import GateResult, GateVerdict, Loop
from sidecar.kernel.text import clean_line
from sidecar.systems.taskloop.policy.agents import Agent
from sidecar.systems.taskloop.policy.loop import Action, Ruling
from sidecar.systems.taskloop.reports import Examined

TRIED_TOLD: Final = 5
NAMED: Final = 10
TERSE: Final = 160
"""Characters of one failure in the list of what was tried."""
ASKED: Final = "loop-asked"
UNCHANGED: Final = "loop-complete-unchanged"
"""A completion by checks that would have passed before: it is not refused, as there may be nothing to do."""
ACTION_PARTS: Final = {
    Action.ITERATE: "loop-iterate",
    Action.ESCALATE: "loop-escalate",
    Action.COUNCIL: "loop-council",
}
"""What is said last of an action, with what was tried before; the others have said all with their reason."""
COUNTS: Final = ("critical", "high", "medium", "low", "warnings")


class TaskFacts(NamedTuple):
    """A task, the reports that it may have, and the model that is to work on it."""

    task: Task
    most: int
    model: str


class LoopWords:
    """Fills the sections in."""

    def __init__(self, texts: dict[str, str]) -> None:
        self._texts = texts

    def say(self, name: str, /, **values: object) -> str:
        """Return a section. Raises BadInputError where it is missing."""
        text = self._texts.get(name, "")
        if not text:
            raise BadInputError(
                f"rubric/loop.md: the section `## {name}` is missing; install Supervisor again"
            )
        return Template(text).safe_substitute({key: str(value) for key, value in values.items()})

    def ruling(self, ruling: Ruling, examined: Examined | None, about: TaskFacts, following: str = "") -> str:
        """Word the answer to a report, or to the wish to escalate."""
        loop = ruling.loop
        asked = examined is None and ruling.action is not Action.FAIL  # the reason is the agent's own words
        values = {
            "task": about.task.id,
            "iteration": loop.iteration,
            "most": about.most,
            "tier": loop.tier,
            "model": about.model,
            "stuck": ruling.stuck,
            "spent": self.cents(loop),
            "why": ruling.reason,
        }
        why = ASKED if asked else ruling.reason
        if ruling.action is Action.COMPLETE and examined is not None and not examined.report.files:
            why = UNCHANGED
        parts = [self.say(why, **values)]
        if examined is not None:
            parts += self._findings(examined)
        if ruling.action in ACTION_PARTS:
            parts.append(self.say(ACTION_PARTS[ruling.action], **values, tried=self.tried(loop)).strip())
        if ruling.action is Action.COMPLETE:
            parts.append(following)
        return "\n".join(filter(None, parts))

    def _findings(self, examined: Examined) -> list[str]:
        report = examined.report
        named = (
            ("loop-files-outside", report.outside),
            ("loop-unreported", examined.unreported),
            ("loop-unchanged", examined.unchanged),
        )
        return [
            *(self._gate(gate) for gate in report.gates),
            self.say("loop-weakened-lines", lines="\n".join(report.weakened)) if report.weakened else "",
            *(self.say(name, files=join_names(files)) for name, files in named if files),
        ]

    def _gate(self, gate: GateResult) -> str:
        """Word what a gate found: its first errors and how many more there are."""
        if gate.verdict is GateVerdict.PASS:
            tests = f", {gate.passed} test{'' if gate.passed == 1 else 's'}" if gate.passed else ""
            return self.say("loop-passed", gate=gate.id, tests=tests)
        lines = [f"- {line}" for line in gate.errors or (gate.reason,) if line]
        if gate.more:
            lines.append(self.say("loop-more", more=gate.more))
        counts = ", ".join(f"{number} {name}" for name in COUNTS if (number := getattr(gate, name)))
        head = gate.id if gate.required else f"{gate.id} (advisory)"
        said = self.say("loop-errors", gate=f"{head}, {gate.verdict}", lines="\n".join(lines))
        return f"{said}\n{self.say('loop-counts', gate=gate.id, counts=counts)}" if counts else said

    def tried(self, loop: Loop) -> str:
        """Word the last failures of the task at work, and what the council said; "" where there are none."""
        mine = [one for one in loop.failures if one.task == loop.task][-TRIED_TOLD:]
        lines = [
            self.say(
                "loop-tried-line",
                iteration=one.iteration,
                model=one.model,
                summary=one.summary[:TERSE] or "-",
                failed="; ".join((*one.gates_failed, *one.errors))[:TERSE] or "-",
            )
            for one in mine
        ]
        parts = (
            self.say("loop-tried", lines="\n".join(lines)) if lines else "",
            self.decision(loop) if loop.decision else "",
        )
        return "\n".join(filter(None, parts))

    def decision(self, loop: Loop) -> str:
        """Word what the council decided."""
        if (decided := loop.decision) is None:
            return ""
        return self.say(
            "loop-decision",
            winner=decided.winner,
            cause=decided.root_cause,
            fix=decided.recommended_fix,
            context=decided.additional_context,
            dissent="\n".join(decided.dissent),
        ).strip()

    def brief(self, loop: Loop, agent: Agent | None, about: TaskFacts, why: Iterable[str] = ()) -> str:
        """Word what the agent needs for a task."""
        task, most, model = about
        parts = (
            self.say(
                "loop-brief",
                task=task.id,
                content=task.content,
                criteria="\n".join(f"- {one}" for one in task.acceptance_criteria)
                or self.say("loop-no-criteria"),
                scope=self.scope(task.scope_files or (agent.scope.can_modify if agent else ())),
                never=", ".join(agent.scope.cannot_modify) if agent else self.say("loop-nothing"),
                agent=agent.id if agent else "-",
                role=agent.role if agent else "-",
                tier=loop.tier,
                model=model,
                iteration=loop.iteration + 1,
                most=most,
                instructions=agent.instructions if agent else "",
            ),
            self.say("loop-selected", why="; ".join(why)) if (why := tuple(why)) else "",
            self.tried(loop),
        )
        return "\n".join(filter(None, parts))

    def scope(self, globs: tuple[str, ...]) -> str:
        """Word what may be changed."""
        return ", ".join(globs) or self.say("loop-anything")

    def cents(self, loop: Loop) -> str:
        """Word what was spent."""
        if loop.spent_cents is None:
            return self.say("loop-cents-unknown")
        return self.say("loop-cents", cents=f"{loop.spent_cents:.2f}")


def join_names(names: tuple[str, ...]) -> str:
    """Return the first names on one line, and how many there are besides."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(clean_line(name) for name in names[:NAMED]) + more
