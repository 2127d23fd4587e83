"""Words the loop's answers, from the sections of rubric/loop.md."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict

from sidecar.kernel.journal import Task
from sidecar.kernel.loop import GateResult, GateVerdict, Loop
from sidecar.kernel.text import clean_line
from sidecar.rubric.texts import Texts
from sidecar.systems.taskloop.policy.agents import TaskWork
from sidecar.systems.taskloop.policy.loop import Action, Report, Ruling
from sidecar.work.report import SHOWN, commit_subject

TRIED_SHOWN: Final = 5
NAMED: Final = 10
ACCEPTED, UNFINISHED = "by its person's word", "not: it is not complete"
TERSE: Final = 160
"""Characters of one failure in the list of what was tried."""
GO_ON: Final = (Action.ITERATE, Action.ESCALATE, Action.COUNCIL)
"""Actions of which a section of their own says what to do; the reason of the others says it."""
COUNTS: Final = ("critical", "high", "medium", "low", "warnings")


class LoopWords:
    """Fills the sections in. A placeholder is a field of one of the sources, or one of the values."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts

    def say(self, name: str, /, *sources: Struct, **own: object) -> str:
        """Return a section, without the lines of which a value is empty. Raises BadInputError."""
        known = {key: value for source in reversed(sources) for key, value in asdict(source).items()} | own
        values = {key: join_names(one) if isinstance(one, tuple) else one for key, one in known.items()}
        return self._texts.say_known(name, **values)

    def reason(self, work: TaskWork, ruling: Ruling, report: Report | None) -> str:
        """Word what was decided."""
        asked = report is None and ruling.action is not Action.FAIL  # the reason is the agent's own words
        why = "loop-asked" if asked else ruling.reason
        shown = {"why": report.why} if report else {}
        return self.say(why, ruling, ruling.loop, **self._values(work, ruling.loop), **shown)

    def _values(self, work: TaskWork, loop: Loop) -> dict[str, object]:
        return {
            "task": work.task.id,
            "most": work.settings.loop.max_iterations,
            "model": work.model,
            "spent": self.cents(loop),
        }

    def ruling(
        self, work: TaskWork, ruling: Ruling, report: Report | None, why: str, following: str = ""
    ) -> str:
        """Word the answer to a report, or to the wish to escalate, after its reason."""
        loop, parts = ruling.loop, [why]
        if report is not None:
            parts += map(self.gate, report.gates)
            parts.append(self.findings(report))
        if ruling.action in GO_ON:
            parts.append(
                self.say(f"loop-{ruling.action}", loop, **self._values(work, loop), tried=self.tried(loop))
            )
        return _join_parts(*parts, following)

    def findings(self, report: Report) -> str:
        """Word what a report says of files and checks; "" for nothing."""
        return self.say(
            "loop-findings",
            report,
            missing=list_lines(report.missing[1:]),
            weakened=list_lines(report.weakened),
        )

    def gate(self, gate: GateResult) -> str:
        """Word what a gate found: its first errors and how many more there are."""
        if gate.verdict is GateVerdict.PASS:
            return self.say("loop-passed-tests" if gate.passed else "loop-passed", gate)
        return self.say(
            "loop-errors",
            gate,
            gate=gate.id if gate.required else f"{gate.id} (advisory)",
            lines=list_lines(filter(None, gate.errors or (gate.reason,))).lstrip(),
            more=gate.more or "",
            counts=", ".join(f"{number} {name}" for name in COUNTS if (number := getattr(gate, name))),
        )

    def failures(self, loop: Loop) -> list[str]:
        """Word the last failures of the task at work, each alone."""
        return [
            self.say(
                "loop-failure",
                one,
                by=f"{one.iteration}. ({one.model})" if one.model else f"{one.iteration}.",
                summary=one.summary[:TERSE] or "-",
                failed="; ".join((*one.gates_failed, *one.errors))[:TERSE] or "-",
            )
            for one in loop.own_failures[-TRIED_SHOWN:]
        ]

    def tried(self, loop: Loop) -> str:
        """Word what was tried, and what the council said; "" where there is nothing."""
        return _join_parts(self.say("loop-tried", lines=list_lines(self.failures(loop))), self.decision(loop))

    def decision(self, loop: Loop) -> str:
        """Word what the council decided; "" where it has not."""
        if (decided := loop.decision) is None:
            return ""
        return self.say("loop-decision", decided, dissent="\n".join(decided.dissent))

    def brief(self, work: TaskWork, why: Iterable[str] = ()) -> str:
        """Word what the agent needs for a task."""
        task, agent, own = work.task, work.agent, work.scope.can_modify
        brief = self.say(
            "loop-brief",
            task,
            task=task.id,
            criteria=list_lines(task.acceptance_criteria or (self.say("loop-no-criteria"),)),
            scope=self.scope(own and (task.scope_files or own)),
            never=", ".join(work.scope.cannot_modify),
            role=agent.role if agent else "",
            instructions=agent.instructions if agent else "",
            tier=work.loop.tier,
            model=work.model,
            iteration=work.loop.iteration + 1,
            most=work.settings.loop.max_iterations,
            why="; ".join(why),
        )
        return _join_parts(brief, self.tried(work.loop))

    def commit(self, session: str, task: Task, gates: Iterable[GateResult]) -> str:
        """Word the commit of a task: what was asked for, and what shows it by these gates."""
        (title, _, about), accepted = task.content.partition("\n"), task.claim is not None and task.claim.done
        return self.say(
            "loop-commit",
            task=task.id,
            title=commit_subject(title),
            about=about.strip(),
            criteria=list_lines(task.acceptance_criteria),
            checks=list_lines(map(self.gate, gates)),
            shown=SHOWN[task.shown] if task.shown else ACCEPTED if accepted else UNFINISHED,
            session=session,
        )

    def scope(self, globs: tuple[str, ...]) -> str:
        """Word what may be changed."""
        return ", ".join(globs) or self.say("loop-no-file")

    def cents(self, loop: Loop) -> str:
        """Word what was spent."""
        if loop.spent_cents is None:
            return self.say("loop-cents-unknown")
        return self.say("loop-cents", cents=f"{loop.spent_cents:.2f}")


def _join_parts(*parts: str) -> str:
    return "\n".join(filter(None, parts))


def list_lines(texts: Iterable[str]) -> str:
    """Return each text on a line of its own, to follow the line that they belong to; "" for none."""
    return "".join(f"\n- {text}" for text in texts)


def join_names(names: tuple[object, ...]) -> str:
    """Return the first names on one line, and how many there are besides."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(clean_line(str(name)) for name in names[:NAMED]) + more
