"""Whose edit of a rubric it was, told from when who was at work; and what the user hears of it."""

from __future__ import annotations

from dataclasses import replace as with_other
from pathlib import Path

import pytest
from msgspec.structs import replace

from sidecar.kernel.effects import CommandReply, RestReason
from sidecar.kernel.events import AgentStopped
from sidecar.kernel.rubric import HeldEdit, Rubric
from sidecar.kernel.session import SessionKey
from sidecar.kernel.turn import CallOutcome, ToolAction, ToolCall
from sidecar.rubric.policy import EDIT_HINT
from sidecar.rubric.reader import RubricFiles
from sidecar.systems.supervision.steering import AT_WORK_S, MAX_REMEMBERED, SteeringWatch, possible_writes
from sidecar.systems.supervision.supervisor import Supervisor
from support.cases import KEY, RUBRIC, edited, ran, stopped, turn
from support.fakes import Fakes, command, prompt
from support.memory_stores import FixedRubrics

OTHER = SessionKey(host=KEY.host, id="s2")
OLD = "## Patterns\n- **DONE**: it is\n## Antipatterns\n- **OLD**: x\n"
NEW = OLD.replace("OLD", "NEW")
HELD = HeldEdit(path="/p/.supervisor/rubric.md", digest="d1", summary="1 pattern gone (A)")
IDLE = turn(calls=())
WROTE = turn(calls=(edited(".supervisor/rubric.md"),))


class Scene:
    """A project with a rubric that was looked at."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        self.file = self.project / ".supervisor" / "rubric.md"
        self.file.parent.mkdir(parents=True)
        self.file.write_text(OLD)
        (folder / "default.md").write_text(OLD.replace("OLD", "DEFAULT"))
        self.fakes = Fakes()
        rubrics = RubricFiles(folder / "default.md", None, folder / "state")
        self.services = with_other(self.fakes.services, rubrics=rubrics)
        self.watch = SteeringWatch(self.services)
        self.environment = {"HOME": str(folder)}

    def speak(self, key: SessionKey = KEY) -> None:
        """A person types a prompt, and the agent goes to work."""
        event = prompt(key=key, project=str(self.project), environment=self.environment)
        self.watch.spoken(event)
        self.watch.set_to_work(event)

    def wake(self, key: SessionKey = KEY) -> None:
        """The host itself sets the agent to work."""
        event = prompt(key=key, project=str(self.project), environment=self.environment)
        self.watch.set_to_work(event, human=False)

    def stop(self, shown: object = IDLE, key: SessionKey = KEY) -> Rubric:
        event: AgentStopped = stopped(key=key, project=str(self.project), environment=self.environment)
        rubric = self.watch.in_force(event, shown)  # type: ignore[arg-type]
        self.watch.owe(key, self.watch.rest(event, read=True).split("\n"))
        return rubric

    def antipattern(self, shown: object = IDLE, key: SessionKey = KEY) -> str:
        return self.stop(shown, key).antipatterns[0].name


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    made = Scene(tmp_path)
    made.speak()
    assert made.antipattern() == "OLD"
    return made


def test_an_edit_between_stop_and_prompt_is_the_users_whatever_the_agent_does_next(scene: Scene) -> None:
    scene.file.write_text(NEW)
    scene.speak()
    assert scene.antipattern(WROTE) == "NEW"
    assert "\n".join(scene.watch.take_lines(KEY)).startswith("Supervisor: the rubric in force changed: ")
    assert "\n".join(scene.watch.take_lines(KEY)) == ""


def test_an_edit_while_the_agent_works_is_the_users_unless_the_agent_may_have_made_it(scene: Scene) -> None:
    scene.speak()
    scene.file.write_text(NEW)
    assert scene.antipattern() == "NEW"
    scene.speak()
    scene.file.write_text(OLD)
    assert scene.antipattern(WROTE) == "NEW"


def test_a_held_edit_is_told_once_to_each_session(scene: Scene) -> None:
    scene.speak()
    scene.file.write_text(NEW)
    scene.stop(WROTE)
    assert "It does not count until you type /supervisor:accept" in "\n".join(scene.watch.take_lines(KEY))
    scene.speak()
    scene.stop()
    assert "\n".join(scene.watch.take_lines(KEY)) == ""
    scene.speak(OTHER)
    scene.stop(key=OTHER)
    assert "It does not count" in "\n".join(scene.watch.take_lines(OTHER))


def test_two_looks_at_one_stop_are_one(scene: Scene) -> None:
    scene.speak()
    scene.file.write_text(NEW)
    assert scene.stop(WROTE).held == scene.stop(WROTE).held
    assert "\n".join(scene.watch.take_lines(KEY)).count("\n") == 0


def test_what_an_interrupted_turn_left_behind_is_held(scene: Scene) -> None:
    scene.speak()
    scene.file.write_text(NEW)
    scene.speak()  # no stop: the turn before was interrupted, or this prompt was queued
    assert scene.antipattern() == "OLD"
    assert scene.stop().held is not None


def test_an_agent_that_the_host_wakes_is_at_work_and_nothing_is_unknown_of_it(scene: Scene) -> None:
    scene.wake()
    scene.wake()
    scene.file.write_text(NEW)
    assert scene.antipattern() == "NEW"


def test_an_edit_beside_another_session_at_work_is_held(scene: Scene) -> None:
    scene.speak(OTHER)
    scene.speak()
    scene.file.write_text(NEW)
    assert scene.antipattern() == "OLD"
    assert scene.antipattern(key=OTHER) == "OLD"


def test_a_prompt_beside_another_session_at_work_decides_nothing(scene: Scene) -> None:
    scene.speak(OTHER)
    scene.file.write_text(NEW)
    scene.speak()
    assert scene.antipattern(WROTE, key=OTHER) == "OLD"


@pytest.mark.parametrize("over", ["end", "time"])
def test_a_session_that_never_stopped_is_not_at_work_for_ever(scene: Scene, over: str) -> None:
    scene.speak(OTHER)
    if over == "end":
        scene.watch.end(OTHER)
    else:
        scene.fakes.clock.advance(AT_WORK_S)
    scene.speak()
    scene.file.write_text(NEW)
    assert scene.antipattern() == "NEW"


def test_what_a_session_left_behind_that_ended_at_work_is_held(scene: Scene) -> None:
    """An agent that ends its own host gets nothing counted by that; a later edit is the user's."""
    scene.speak()
    scene.file.write_text(NEW)
    scene.watch.end(KEY)
    scene.speak(OTHER)
    assert scene.antipattern(key=OTHER) == "OLD"
    assert "/supervisor:accept" in "\n".join(scene.watch.take_lines(OTHER))
    scene.watch.end(OTHER)
    scene.file.write_text(NEW.replace("NEW", "NEWER"))
    scene.speak()
    assert scene.antipattern() == "NEWER"


def test_who_speaks_without_an_environment_decides_nothing(scene: Scene) -> None:
    scene.file.write_text(NEW)
    scene.watch.spoken(prompt(project=str(scene.project), environment={}))
    assert scene.antipattern(WROTE) == "OLD"


def test_what_is_remembered_is_bounded(scene: Scene) -> None:
    for number in range(2 * MAX_REMEMBERED):
        scene.speak(SessionKey(host="x", id=f"s{number}"))
    assert len(scene.watch._working) == MAX_REMEMBERED  # noqa: SLF001 - a bound cannot be seen from outside


# --- /supervisor:rubric edit ---


def edit(scene: Scene, project: Path) -> CommandReply:
    return scene.watch.obey(command("edit", "rubric", project=str(project), environment=scene.environment))


def test_who_wants_to_edit_is_given_a_rubric_that_counts_though_an_agent_is_at_work(
    scene: Scene, tmp_path: Path
) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    event = prompt(project=str(bare), environment=scene.environment)
    scene.watch.spoken(event)
    scene.watch.set_to_work(event)
    reply = edit(scene, bare)
    own = bare / ".supervisor" / "rubric.md"
    assert reply == CommandReply(
        headline=f"{own} is there now, begun with the default's criteria. {EDIT_HINT}"
    )
    stop: AgentStopped = stopped(project=str(bare), environment=scene.environment)
    rubric = scene.watch.in_force(stop, WROTE)
    assert (rubric.origin, rubric.held) == (str(own), None)
    assert rubric.antipatterns[0].name == "DEFAULT"
    own.write_text(NEW)
    assert f"the rubric is {own}." in edit(scene, bare).text
    assert own.read_text() == NEW


def test_while_an_edit_is_held_none_is_made(scene: Scene) -> None:
    scene.speak()
    scene.file.unlink()
    scene.stop(WROTE)
    reply = edit(scene, scene.project)
    assert reply.refused
    assert "/supervisor:accept" in reply.text
    assert not scene.file.exists()


@pytest.mark.parametrize("project", ["", "relative", "/dev/null"])
def test_where_there_is_no_project_it_is_refused(scene: Scene, project: str) -> None:
    reply = scene.watch.obey(command("edit", "rubric", project=project, environment=scene.environment))
    assert reply.refused
    assert "supervisor doctor" in reply.text


# --- what an agent may have written ---


def call(tool: str, doing: ToolAction) -> ToolCall:
    return ToolCall(id="t", tool=tool, doing=doing, outcome=CallOutcome.OK)


def test_edits_name_paths_and_runs_name_lines() -> None:
    found = possible_writes(
        turn(calls=(edited("a.py", "b.py"), ran("make"), call("Read", ToolAction.READ), ran("ls", 1)))
    )
    assert (found.paths, found.lines, found.unseen) == (("a.py", "b.py"), ("make", "ls"), False)


@pytest.mark.parametrize(
    "shown",
    [
        turn(readable=False),
        turn(calls=(ran("ls"),) * 400),
        turn(calls=(ran("x" * 2000),)),
        turn(calls=(call("Agent", ToolAction.DELEGATE),)),
        turn(calls=(call("mcp__files__write_file", ToolAction.OTHER),)),
    ],
)
def test_what_is_not_all_known_is_said(shown: object) -> None:
    assert possible_writes(shown).unseen  # type: ignore[arg-type]


def test_other_tools_leave_nothing_unknown() -> None:
    assert not possible_writes(turn(calls=(call("mcp__browser__open", ToolAction.OTHER),))).unseen


# --- the command ---


class Typing:
    """A person who types /supervisor:rubric, with a rubric of which an edit is held."""

    def __init__(self) -> None:
        self.rubrics = FixedRubrics(replace(RUBRIC, held=HELD))
        self.fakes = Fakes()
        self.fakes.services = with_other(self.fakes.services, rubrics=self.rubrics)
        self.fakes.supervisor = Supervisor(self.fakes.services)

    async def type(self, arguments: str, **fields: object) -> CommandReply:
        return await self.fakes.reply(command(arguments, name="rubric", **fields))


async def test_the_command_shows_accepts_and_reaches_no_model() -> None:
    typing = Typing()
    shown = await typing.type("")
    assert shown.text.splitlines()[-1].startswith("held: /p/.supervisor/rubric.md")
    done = await typing.type("accept")
    assert done.text == "Supervisor: in force now: /p/.supervisor/rubric.md: 1 pattern gone (A)"
    assert (await typing.type("accept")).text == "Supervisor: nothing is held"
    assert (shown.work, done.work, shown.refused, done.refused) == (False, False, False, False)
    assert typing.fakes.story() == ["command rubric: done"] * 3


async def test_a_word_it_does_not_know_is_refused_and_changes_nothing() -> None:
    typing = Typing()
    assert (await typing.type("accept everything")).refused
    assert "held: " in (await typing.type("")).text


async def test_the_second_telling_of_one_command_accepts_nothing_more() -> None:
    typing = Typing()
    first = await typing.type("accept", prompt_id="p1")
    assert await typing.type("accept", prompt_id="p1") == first


async def test_what_cannot_be_saved_is_refused_and_stays_held() -> None:
    class Full(FixedRubrics):
        def accept(self, project: str, environment: object) -> str:  # noqa: ARG002 - the port's
            raise OSError(28, "No space left on device")

    typing = Typing()
    services = with_other(typing.fakes.services, rubrics=Full(replace(RUBRIC, held=HELD)))
    watch = SteeringWatch(services)
    assert "waits: /p/.supervisor/rubric.md" in watch.obey(command("accept", name="rubric")).text
    reply = watch.obey(command("accept", name="rubric"))
    assert reply.refused
    assert "No space left on device" in reply.text
    assert "all is as before" in reply.text


async def test_a_prompt_looks_and_the_goal_command_sets_to_work() -> None:
    typing = Typing()
    await typing.fakes.tell(command("all tests pass"))
    await typing.fakes.tell(prompt())
    assert [look and look.undecided for look in typing.rubrics.looks] == [False, True]


async def test_at_a_stop_that_is_not_read_the_agent_may_have_edited_what_changed() -> None:
    typing = Typing()
    await typing.fakes.tell(command("all tests pass"))
    await typing.fakes.tell(command("pause"))
    await typing.fakes.tell(prompt())
    assert (await typing.fakes.rest()).reason is RestReason.PAUSED
    last = typing.rubrics.looks[-1]
    assert last is not None
    assert (last.unseen, last.undecided) == (True, False)
