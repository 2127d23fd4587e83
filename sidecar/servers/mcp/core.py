"""The tools by which an agent sees where it stands. They only read (law 9)."""

from __future__ import annotations

from msgspec import Struct

from sidecar.app.people import People, Report, Who
from sidecar.model.rubric import Criterion, Rubric
from sidecar.policy.rubrics import described
from sidecar.ports import Rubrics
from sidecar.servers.mcp.tool import Answer, RefusalError, Tool, Words, shown


class Asked(Struct, frozen=True, forbid_unknown_fields=True):
    """Whose session. The host's plugin fills it in; a model cannot know it."""

    session: str = ""


class Standing(Struct, frozen=True, kw_only=True):
    """Where a session stands. `exit_code`: see ExitCode."""

    session: str
    host: str
    status: str
    exit_code: int
    text: str


class InForce(Struct, frozen=True, kw_only=True):
    """The rubric in force, and what is to be said of it."""

    file: str
    patterns: tuple[Criterion, ...]
    antipatterns: tuple[Criterion, ...]
    legitimate: tuple[Criterion, ...]
    text: str


class Core:
    """Answers an agent about its own session."""

    def __init__(self, people: People, rubrics: Rubrics, words: Words) -> None:
        """Ask the same use cases as the command line."""
        self._people = people
        self._rubrics = rubrics
        self._words = words

    def tools(self) -> tuple[Tool, ...]:
        """What an agent may call."""
        return (
            Tool(name="status", takes=Asked, gives=Standing, work=self.status),
            Tool(name="rubric", takes=Asked, gives=InForce, work=self.rubric),
        )

    async def status(self, asked: Asked) -> Answer:
        """Goal and budget."""
        report = self._report(asked)
        standing = Standing(
            session=report.session,
            host=report.host,
            status=report.status,
            exit_code=report.exit_code,
            text=report.text,
        )
        return Answer(standing, report.text)

    async def rubric(self, asked: Asked) -> Answer:
        """What this session's work is measured with."""
        project = self._report(asked).project
        rubric = self._rubrics.load(project, {})
        text = described(rubric, project)
        in_force = InForce(
            file=rubric.origin,
            patterns=rubric.patterns,
            antipatterns=rubric.antipatterns,
            legitimate=rubric.legitimate,
            text=text,
        )
        return Answer(in_force, self._worded(rubric, text))

    def _report(self, asked: Asked) -> Report:
        if not asked.session:
            raise RefusalError(self._words.say("no-session"))
        report = self._people.report(Who(session=asked.session))
        if not report.session:
            raise RefusalError(self._words.say("unknown-session", session=shown(asked.session)))
        return report

    def _worded(self, rubric: Rubric, text: str) -> str:
        return self._words.say(
            "rubric-text",
            described=text,
            patterns=_list(rubric.patterns),
            antipatterns=_list(rubric.antipatterns),
            legitimate=_list(rubric.legitimate),
        )


def _list(criteria: tuple[Criterion, ...]) -> str:
    return "\n".join(
        f"- {one.id} ({one.severity}): {' '.join(f'{one.name}: {one.text}'.split())}" for one in criteria
    )
