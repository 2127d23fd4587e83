"""The three evals that Supervisor's ancestor had, as cases of this benchmark.

    condition met    the goal holds and a tool showed it: complete
    bare done        the agent says that it is done, and nothing shows it: incomplete
    edited rubric    an antipattern that the user writes into the rubric flips the verdict of the same stop

The judge stands in for a model. It knows nothing but the prompt that a model would be given, and reads it:
the evidence lines, the marks on them, the criteria, the last message.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.judging.asking import JudgeAccess
from sidecar.judging.backends.prompt import build_judge_prompt
from sidecar.judging.ports import ChosenBackend
from sidecar.kernel.effects import JudgeCase, RestReason
from sidecar.kernel.events import JudgeAnswered, ProjectState
from sidecar.kernel.evidence import Complete, Gap, Incomplete, Judgement, Met, Verdict
from sidecar.kernel.rubric import Criterion, Rubric
from sidecar.kernel.session import Environment
from sidecar.kernel.settings import Settings
from sidecar.kernel.stop_history import CONTINUE_DECISION, EvaluatedStop, GroundTruth, LabelledStop
from sidecar.kernel.turn import CallOutcome, ToolAction, ToolCall, Turn
from sidecar.platform.installation import plugin_root
from sidecar.platform.shell.line import parse_simple_commands
from sidecar.systems.supervision.evaluation import evaluate_stops

SURE: Final = 0.9
FACT: Final = re.compile(r"^(E[0-9]+) \[(?:gate|tool) (?:CHECK|WORK)\] ", re.MULTILINE)
"""A line of evidence for what can show that something holds, neither stale nor against it."""
LAST: Final = re.compile(r'name="last message"[^>]*>\n(.*?)\n</data-', re.DOTALL)
FORBIDDEN: Final = re.compile(r'message says "([^"]{1,80})"')
"""How the rubrics of these cases word an antipattern that can be looked for."""
ADDED: Final = Criterion(
    name="NO-VERSION-NAMED", text='The message says "the version" and names none.', id="no-version-named"
)
"""The antipattern that is edited in."""


class Named(Struct, frozen=True):
    """A case with the way it must end."""

    name: str
    item: LabelledStop
    ended: str
    edit: Callable[[Rubric], Rubric] | None = None


class Reader:
    """A `Judge` that reads the prompt a model would be given. `prompts` are those it was given."""

    def __init__(self) -> None:
        self.prompts: list[str] = []

    def chosen(self, environment: Environment, settings: Settings) -> ChosenBackend:  # noqa: ARG002 - the port's
        """Itself."""
        return ChosenBackend("reader", "it reads the prompt")

    async def ask(self, case: JudgeCase, environment: Environment, settings: Settings) -> JudgeAnswered:  # noqa: ARG002 - the port's
        """What the words of the prompt come to."""
        system, told = build_judge_prompt(case, plugin_root() / "rubric")
        self.prompts.append(f"{system}\n\n{told}")
        return JudgeAnswered(Judgement(verdict=_read(system, told), backend="reader"))


async def judged(case: Named, rubric: Rubric, judge: Reader | None = None) -> EvaluatedStop:
    """Play one case."""
    rubric = case.edit(rubric) if case.edit else rubric
    asking = JudgeAccess(judge=judge or Reader(), settings=Settings())
    (outcome,) = await evaluate_stops((case.item,), rubric, asking)
    return outcome


def cases() -> tuple[Named, ...]:
    """The three evals; the last one is two cases, before and after the edit."""
    met, bare = _item("condition-met", "The page shows the version 1.4.", shown=True), _bare()
    edited = replace(met, id="edited-rubric", turn=replace(met.turn, last_message="Added the version."))
    return (
        Named("condition met, with evidence", met, RestReason.JUDGED),
        Named("a bare 'done'", bare, CONTINUE_DECISION),
        Named("a rubric before it is edited", edited, RestReason.JUDGED),
        Named("an antipattern edited in", edited, CONTINUE_DECISION, _edited),
    )


def _edited(rubric: Rubric) -> Rubric:
    return replace(rubric, antipatterns=(*rubric.antipatterns, ADDED))


def _bare() -> LabelledStop:
    return _item("bare-done", "Done.", shown=False)


def _item(name: str, message: str, *, shown: bool) -> LabelledStop:
    line = "node check-page.mjs"
    edit = ToolCall(id="t1", tool="Edit", doing=ToolAction.EDIT, outcome=CallOutcome.OK, paths=("page.html",))
    check = ToolCall(
        id="t2",
        tool="Bash",
        doing=ToolAction.RUN,
        outcome=CallOutcome.OK,
        command=line,
        runs=parse_simple_commands(line),
        exit_code=0,
        output="version shown: 1.4",
    )
    return LabelledStop(
        id=name,
        family="ancestor",
        truth=GroundTruth.LEGITIMATE if shown else GroundTruth.PREMATURE,
        origin="by-hand",
        goal="the page shows the version of the program",
        complete=shown,
        turn=Turn(
            prompts=("Show the version of the program on the page.",),
            calls=(edit, check) if shown else (edit,),
            last_message=message,
            last_message_id="m1",
            calls_since_arrival=2,
        ),
        seen=ProjectState(
            tree="after", rubric=Rubric(patterns=(), antipatterns=(), origin=""), changed=("page.html",)
        ),
    )


def _read(system: str, told: str) -> Verdict:
    """Forbidden words first, then what is shown."""
    last = LAST.search(told)
    message = last[1] if last else ""
    for words in FORBIDDEN.findall(system):
        if words in message:
            return _incomplete(f"the message says {words!r}, which the rubric forbids")
    good = tuple(FACT.findall(told))
    if not good:
        return _incomplete("nothing shows that it is done")
    return Complete(criteria=(Met("what was asked for", good),), confidence=SURE)


def _incomplete(why: str) -> Incomplete:
    return Incomplete(missing=(Gap(why, "request", ()),), next_step="Show it.", confidence=SURE)
