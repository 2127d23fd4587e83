"""Which edits of steering files count by who is at work, and what a person is told, on a real disk."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from dataclasses import replace as with_other
from pathlib import Path
from typing import Any

import pytest

from sidecar.evidence.gates.approvals import InstructionRegistry, TrustFile
from sidecar.kernel.decoding import InstructionKind
from sidecar.kernel.effects import CommandReply, NoReply, RestReason
from sidecar.kernel.events import FileSaved, SessionEnded, SessionOrigin
from sidecar.kernel.orders import Process
from sidecar.kernel.session import Session, SessionKey
from sidecar.platform.configuration import ConfigurationFile
from sidecar.platform.switches import SwitchFile
from sidecar.platform.watching import FoldersWatch
from sidecar.rubric.policy import EDIT_HINT
from sidecar.systems.supervision import saved_files
from sidecar.systems.supervision.saved_files import GLANCE_S
from sidecar.systems.supervision.steering import MAX_REMEMBERED, MAX_WORK_SECONDS
from sidecar.systems.supervision.supervisor import Supervisor
from sidecar.wiring.platform import build_rubrics, build_steering
from support.cases import KEY, PYTEST, stopped
from support.fakes import LIMIT, Fakes, command, prompt, started
from support.memory_stores import NoProcesses

OTHER = SessionKey(host=KEY.host, id="s2")
OLD, NEW = "max_attempts = 5\n", "max_attempts = 100\n"
RUBRIC = "## Patterns\n- **DONE**: it is\n## Antipatterns\n- **OLD**: x\n"
CHANGE = "1 antipattern gone (OLD); 1 antipattern added (NEW)"
NEW_RUBRIC = RUBRIC.replace("OLD", "NEW")
HELD = "while an agent worked (max_attempts: 5 -> 100). It does not count until you type /supervisor:accept"


class Scene:
    """A user's configuration, a project with a rubric, and sessions that come and go."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
        self.folder, self.state, self.project = folder, folder / "state", folder / "project"
        self.file = folder / "config" / "supervisor" / "config.toml"
        self.rubric = self.project / ".supervisor" / "rubric.md"
        for path in (self.rubric.parent, self.file.parent, self.state):
            path.mkdir(parents=True)
        self.file.write_text(OLD)
        self.rubric.write_text(RUBRIC)
        self.environment = {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config")}
        self.fakes = Fakes()
        self.restart()
        self.speak()
        assert self.stop() == ""

    def restart(self) -> None:
        """Begin a new sidecar."""
        self.steering = build_steering(self.state, self.fakes.services.incidents)
        self.fakes.services = with_other(
            self.fakes.services, steering=self.steering, rubrics=build_rubrics(self.steering)
        )
        self.fakes.supervisor = Supervisor(self.fakes.services)
        self.watch = self.fakes.supervisor.steering
        self.configuration = ConfigurationFile(self.environment, self.steering)
        self.trust, self.switches = (
            TrustFile(self.state, self.steering),
            SwitchFile(self.state, self.steering),
        )

    def about(self, key: SessionKey = KEY, project: Path | None = None) -> dict[str, Any]:
        return {"key": key, "project": str(project or self.project), "environment": self.environment}

    def tell(self, event: Any) -> Any:
        return asyncio.run(self.fakes.supervisor.tell(event))

    def speak(self, key: SessionKey = KEY, project: Path | None = None, **fields: Any) -> None:
        self.tell(prompt(**self.about(key, project), **fields))

    def stop(self, key: SessionKey = KEY, project: Path | None = None) -> str:
        """What the user is told at a stop."""
        event = stopped(**self.about(key, project))
        self.watch.meet(event)
        self.watch.heard_of(event)
        return self.watch.rest(event, read=True)

    def accept(self, key: SessionKey = KEY) -> str:
        asked = command("", name="accept", key=key, project=str(self.project), environment=self.environment)
        return self.watch.obey(asked).text

    def saved(self, key: SessionKey = KEY) -> str:
        """What is told when the system says that a file was saved."""
        self.watch.saved()
        return "\n".join(self.watch.take_lines(key))

    @property
    def attempts(self) -> int:
        return self.configuration.load()[0].max_attempts

    @property
    def antipattern(self) -> str:
        return self.fakes.services.rubrics.load(str(self.project), self.environment).antipatterns[0].name


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    return Scene(tmp_path, monkeypatch)


# --- which edits count ---


def test_an_edit_at_rest_counts_and_is_told_once(scene: Scene) -> None:
    scene.speak(OTHER, scene.folder / "other")
    scene.stop(OTHER, scene.folder / "other")
    scene.file.write_text(NEW)
    scene.rubric.write_text(NEW_RUBRIC)
    scene.speak()
    assert (scene.attempts, scene.antipattern) == (100, "NEW")
    assert scene.saved(OTHER).count("\n") == 0, "only the user's own file is told elsewhere"
    assert sorted(scene.stop().splitlines()) == [
        f"Supervisor: .supervisor/rubric.md was changed ({CHANGE}). It counts from the next stop",
        f"Supervisor: {scene.file} was changed (max_attempts: 5 -> 100). It counts from the next stop",
    ]
    scene.speak()
    assert scene.stop() == ""


def test_an_edit_while_an_agent_works_waits_until_it_is_accepted(scene: Scene) -> None:
    scene.speak()
    scene.file.write_text(NEW)
    assert scene.attempts == 5
    assert scene.stop() == f"Supervisor: {scene.file} was changed {HELD}"
    scene.speak()
    assert scene.stop() == ""
    assert scene.attempts == 5
    assert scene.accept() == f"Supervisor: in force now: {scene.file}: max_attempts: 5 -> 100"
    assert scene.attempts == 100
    assert scene.accept() == "Supervisor: nothing is held"


def test_an_edit_right_before_the_stop_or_while_it_is_judged_waits(scene: Scene) -> None:
    scene.speak()
    scene.rubric.write_text(NEW_RUBRIC)
    event = stopped(**scene.about())
    scene.watch.heard_of(event)
    assert scene.antipattern == "OLD"
    scene.file.write_text(NEW)
    assert scene.watch.rest(event, read=True).count("/supervisor:accept") == 2
    assert (scene.attempts, scene.antipattern) == (5, "OLD")


def test_what_was_changed_again_since_it_was_shown_is_not_put_in_force(scene: Scene) -> None:
    scene.speak()
    scene.file.write_text(NEW)
    scene.stop()
    scene.file.write_text("max_attempts = 99\n")
    assert "waits: " in scene.accept()
    assert scene.attempts == 5
    assert "max_attempts: 5 -> 99" in scene.accept()
    assert scene.attempts == 99


def test_an_edit_that_was_taken_back_before_it_was_told_is_no_matter(scene: Scene) -> None:
    scene.speak()
    scene.file.write_text(NEW)
    scene.watch.saved()
    scene.file.write_text(OLD)
    assert scene.stop() == ""
    assert scene.accept() == "Supervisor: nothing is held"


def test_a_rubric_that_is_made_removed_or_broken_at_work_leaves_in_force_what_was(scene: Scene) -> None:
    reflection = scene.project / ".reflection" / "rubric.md"
    for path, text in ((reflection, NEW_RUBRIC), (scene.rubric, None), (scene.rubric, "# Nothing\n")):
        scene.speak()
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        _ = text is not None and path.write_text(text)
        assert path.parent.name in scene.stop()
        assert scene.antipattern == "OLD"
    assert len(scene.steering.held(str(scene.project))) == 2


def test_a_rubric_that_a_person_breaks_leaves_in_force_what_it_said_and_is_told(scene: Scene) -> None:
    scene.rubric.write_text("# Nothing\n")
    assert scene.saved() == (
        "Supervisor: .supervisor/rubric.md cannot serve: the section `## Patterns` is missing; "
        "what it said before stays in force"
    )
    rubric = scene.fakes.services.rubrics.load(str(scene.project), scene.environment)
    assert (rubric.origin, rubric.broken, rubric.held) == (str(scene.rubric), True, None)
    assert rubric.rejected == (f"{scene.rubric}: the section `## Patterns` is missing",)


def test_a_link_to_the_same_text_that_leads_out_of_the_project_waits(scene: Scene) -> None:
    scene.speak()
    scene.rubric.rename(scene.folder / "rubric.md")
    scene.rubric.symlink_to(scene.folder / "rubric.md")
    assert "/supervisor:accept" in scene.stop()
    assert scene.antipattern == "OLD"


def test_what_is_wrong_with_settings_and_that_commands_need_approval_is_told(scene: Scene) -> None:
    scene.file.write_text('mode = "sideways"\n')
    scene.rubric.with_name("config.toml").write_text('[gate.lint]\ncommand = "ruff"\n')
    told = scene.saved()
    assert f"Supervisor: {scene.file}:1: mode" in told
    assert 'gate.lint.command: not set -> "ruff"; a command of the project runs only once you' in told


@pytest.mark.parametrize("kind", InstructionKind)
def test_an_edit_of_the_users_instructions_at_work_does_not_count(
    scene: Scene, kind: InstructionKind
) -> None:
    own = scene.file.with_name(kind.folder) / "a.md"
    own.parent.mkdir()
    own.write_text("the user's")
    scene.speak()
    own.write_text("the agent's")
    own.with_name("new.md").write_text("the agent's")
    scene.stop()
    registry = InstructionRegistry(
        kind, lambda text, _: text, [own.parents[1]], lambda *_: False, scene.steering
    )
    assert registry.known(str(scene.project)).by_name == {"a": "the user's"}


def test_what_was_forged_waits_and_what_was_ordered_counts_without_it(scene: Scene) -> None:
    project, switches, trust = str(scene.project), scene.state / "switches.json", scene.state / "trust.json"
    scene.speak()
    switches.write_text(json.dumps({"version": 1, "user_off": True}))
    assert scene.switches.off(project) == ""
    assert "(user_off: not set -> true" in scene.stop()
    scene.speak()
    scene.switches.turn(on=False, project=project)
    assert scene.switches.off(project) == "off for this project"
    assert '"user_off":false' in switches.read_text()
    scene.switches.turn(on=True, project=project)
    scene.trust.approve(project, [PYTEST])
    assert scene.trust.approved(project, PYTEST)
    trust.write_text(trust.read_text().replace("pytest", "true"))
    assert scene.trust.approvals(project)[PYTEST.id].command == PYTEST.command
    assert "trust.json was changed while" in scene.stop()
    scene.trust.revoke(project)
    assert scene.trust.approvals(project) == {}
    assert scene.accept() == "Supervisor: nothing is held"


# --- who is at work ---


def test_an_agent_of_any_project_makes_edits_wait_everywhere(scene: Scene) -> None:
    scene.speak(OTHER, scene.folder / "other")
    scene.rubric.write_text(NEW_RUBRIC)
    scene.speak()
    assert scene.antipattern == "OLD"
    assert "rubric.md" in scene.stop()
    assert scene.stop(OTHER, scene.folder / "other") == "", "it is of another project"


@pytest.mark.parametrize("over", ["interrupted", "ended", "plan mode", "killed"])
def test_what_was_changed_in_a_turn_that_never_stopped_waits(scene: Scene, over: str) -> None:
    gone = Process(pid=77, name="claude", started=0.0, leader=77, terminal=False)
    scene.fakes.services = with_other(scene.fakes.services, processes=Machine(gone))
    scene.restart()
    scene.speak(speaker=77)
    scene.file.write_text(NEW)
    if over == "ended":
        scene.tell(SessionEnded(**scene.about(), reason="exit"))
    elif over == "plan mode":
        assert "/supervisor:accept" in scene.watch.rest(stopped(**scene.about()), read=False)
    elif over == "killed":
        scene.fakes.services.processes.gone = True  # type: ignore[attr-defined]
        scene.watch.saved()
        assert scene.watch.at_rest()
    scene.speak()
    assert scene.attempts == 5
    assert over == "plan mode" or "/supervisor:accept" in scene.stop()


class Machine(NoProcesses):
    """A machine with one process that may be gone."""

    gone = False

    def __init__(self, process: Process) -> None:
        self._process = process

    def find(self, pid: int) -> Process | None:
        return None if pid == self._process.pid and self.gone else self._process


def test_who_was_at_work_before_the_sidecar_began_is_still_at_work(scene: Scene) -> None:
    now = scene.fakes.clock.now()
    scene.fakes.store.put(Session(key=KEY))
    for number, since in enumerate((None, now - MAX_WORK_SECONDS - 1, now - 60)):
        key = SessionKey(host=KEY.host, id=f"before-{number}")
        scene.fakes.store.put(Session(key=key, project=str(scene.project), active_since=since))
        scene.restart()
        assert scene.watch.at_rest() is (number < 2)
    scene.file.write_text(NEW)
    scene.speak()
    assert "max_attempts" in scene.stop()
    late = SessionKey(host=KEY.host, id="before-2")
    assert "max_attempts" in scene.stop(late)
    assert scene.watch.at_rest()


def test_an_agent_whose_prompts_are_not_seen_is_at_work_for_hours_after_its_stop(scene: Scene) -> None:
    scene.rubric.write_text(NEW_RUBRIC)
    assert "/supervisor:accept" in scene.stop(OTHER)
    assert not scene.watch.at_rest()
    scene.fakes.clock.advance(MAX_WORK_SECONDS + 1)
    assert scene.watch.at_rest()
    scene.fakes.clock.advance(-MAX_WORK_SECONDS)
    scene.speak(OTHER)
    scene.stop(OTHER)
    assert scene.watch.at_rest()


def test_off_or_paused_a_session_rests_at_its_stop_though_its_turn_is_not_read(scene: Scene) -> None:
    scene.tell(command("all tests pass", **scene.about()))
    scene.tell(command("pause", **scene.about()))
    scene.speak()
    ruling = scene.tell(stopped(**scene.about()))
    assert ruling.reason is RestReason.PAUSED
    assert scene.watch.at_rest()
    scene.fakes.switches.turn(on=False, project=None)
    scene.speak()
    assert not scene.watch.at_rest()
    assert scene.tell(stopped(**scene.about())).reason is RestReason.OFF
    assert scene.watch.at_rest()


def test_what_is_remembered_is_bounded(scene: Scene) -> None:
    for number in range(2 * MAX_REMEMBERED):
        scene.watch.set_to_work(prompt(key=SessionKey(host="x", id=f"s{number}")))
        scene.watch.meet(prompt(key=SessionKey(host="x", id=f"s{number}")))
    assert len(scene.watch.working()) == len(scene.watch.sessions()) == MAX_REMEMBERED


# --- what is told, and when ---


def test_what_waits_is_told_once_to_each_session_of_its_project(scene: Scene) -> None:
    scene.speak()
    scene.rubric.write_text(NEW_RUBRIC)
    assert "/supervisor:accept" in scene.stop()
    assert scene.stop() == ""
    scene.speak(OTHER)
    assert "/supervisor:accept" in scene.stop(OTHER)
    assert scene.stop(OTHER) == ""
    third = SessionKey(host=KEY.host, id="s3")
    scene.speak(third, scene.folder / "other")
    assert scene.stop(third, scene.folder / "other") == ""


def test_where_we_are_off_nothing_is_told(scene: Scene) -> None:
    scene.fakes.switches.turn(on=False, project=str(scene.project))
    scene.rubric.write_text(NEW_RUBRIC)
    assert scene.saved() == ""


def test_a_secret_in_a_setting_is_masked_where_its_change_is_told(scene: Scene) -> None:
    scene.file.write_text(f'{OLD}key = "{"sk-ant-" + "api03-" + "a1B2" * 10}"\n')
    told = scene.saved()
    assert ("[masked]" in told, "a1B2" in told) == (True, False)


def test_a_session_names_its_files_and_is_told_at_a_glance_while_its_agent_rests(scene: Scene) -> None:
    begun = scene.tell(started(SessionOrigin.STARTUP, **scene.about(OTHER)))
    assert {str(scene.rubric), str(scene.file)} < set(begun.watch)
    assert not [path for path in begun.watch if "*" in path]
    assert scene.tell(started(SessionOrigin.STARTUP, headless=True, **scene.about())) == NoReply()
    scene.rubric.write_text(NEW_RUBRIC)
    scene.file.write_text(NEW)
    first = scene.tell(FileSaved(**scene.about(OTHER)))
    assert first.note.count("It counts from the next stop") == 1
    assert scene.tell(FileSaved(**scene.about(OTHER))) == NoReply(), "the host would drop it"
    scene.fakes.clock.advance(GLANCE_S)
    assert "It counts from the next stop" in scene.tell(FileSaved(**scene.about(OTHER))).note
    scene.fakes.clock.advance(GLANCE_S)
    scene.speak(OTHER)
    scene.file.write_text(OLD)
    assert scene.tell(FileSaved(**scene.about(OTHER))) == NoReply(), "its agent may have asked"
    assert "/supervisor:accept" in scene.stop(OTHER)


@pytest.mark.parametrize("could", [True, False])
async def test_a_saved_file_is_shown_at_once_where_that_can_be_and_queued_where_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, *, could: bool
) -> None:
    monkeypatch.setattr(saved_files, "CALM_S", 0.0)
    scene = await asyncio.to_thread(Scene, tmp_path, monkeypatch)
    shown: asyncio.Queue[str] = asyncio.Queue()
    failed = asyncio.Event()

    async def show(key: SessionKey, text: str) -> bool:
        assert key == KEY
        if not failed.is_set():
            failed.set()
            raise RuntimeError("a fault")
        shown.put_nowait(text)
        return could

    saved = scene.fakes.supervisor.saved
    task = asyncio.create_task(saved.run(FoldersWatch, show, KEY.host))
    async with asyncio.timeout(LIMIT):
        scene.rubric.write_text(NEW_RUBRIC)
        await failed.wait()
        scene.file.write_text(NEW)
        first, second = (await shown.get()).split("\n")
        task.cancel()
        await asyncio.wait([task])
    assert ("rubric.md was changed" in first, "config.toml was changed" in second) == (True, True)
    assert "what was saved could not be told" in caplog.text
    assert len(scene.watch.take_lines(KEY)) == (0 if could else 2)


# --- a person's orders ---


def test_who_wants_to_edit_is_given_a_rubric_that_counts_though_an_agent_is_at_work(scene: Scene) -> None:
    bare = scene.folder / "bare"
    bare.mkdir()
    scene.speak(OTHER, bare)
    own, asked = bare / ".supervisor" / "rubric.md", command("edit", "rubric", **scene.about(OTHER, bare))
    assert scene.watch.obey(asked) == CommandReply(
        headline=f"{own} is there now, begun with the default's criteria. {EDIT_HINT}"
    )
    rubric = scene.fakes.services.rubrics.load(str(bare), scene.environment)
    assert (rubric.origin, rubric.held) == (str(own), None)
    own.write_text(NEW_RUBRIC)
    assert "/supervisor:accept" in scene.watch.obey(asked).text
    own.unlink()
    assert scene.watch.obey(asked).refused
    assert not own.exists()


@pytest.mark.parametrize("project", ["", "relative", "/dev/null"])
def test_where_there_is_no_project_a_rubric_is_refused(scene: Scene, project: str) -> None:
    reply = scene.watch.obey(command("edit", "rubric", project=project, environment=scene.environment))
    assert (reply.refused, "supervisor doctor" in reply.text) == (True, True)


async def test_the_command_shows_accepts_and_reaches_no_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = await asyncio.to_thread(Scene, tmp_path, monkeypatch)
    scene.watch.set_to_work(prompt(**scene.about()))
    scene.rubric.write_text(NEW_RUBRIC)

    async def typed(arguments: str, **fields: Any) -> str:
        return (await scene.fakes.reply(command(arguments, name="rubric", **scene.about(), **fields))).text

    assert (await typed("")).splitlines()[-1].startswith(f"held: {scene.rubric}")
    assert (await typed("accept everything")).startswith("Supervisor: ")
    assert "waits: " in await typed("accept")
    done = await typed("accept", prompt_id="p1")
    assert done.startswith(f"Supervisor: in force now: {scene.rubric}: 1 antipattern gone (OLD)")
    assert await typed("accept", prompt_id="p1") == done
    assert await typed("accept") == "Supervisor: nothing is held"


def test_an_acceptance_that_cannot_be_saved_is_refused_and_all_stays_as_it_was(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.speak()
    scene.file.write_text(NEW)
    scene.stop()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sidecar.platform.held_edits.write_whole", full)
    assert "No space left on device" in scene.accept()
    assert [edit.now for edit in scene.steering.held("")] == [NEW]


# --- 200 days ---


class Days:
    """A person, who edits by hand, by editor and by a dotfile manager, beside agents that edit too.

    Each file holds a number; `own` are the numbers that the person wrote at rest or accepted.
    """

    def __init__(self, scene: Scene) -> None:
        self.scene, self.chance = scene, random.Random(18)  # noqa: S311 - a story, not a secret
        self.projects = [scene.folder / f"p{number}" for number in range(2)]
        self.sessions = [SessionKey(KEY.host, f"d{number}") for number in range(3)]
        self.files = [scene.file, *(project / ".supervisor" / "config.toml" for project in self.projects)]
        self.counts, self.waiting = dict.fromkeys(self.files, 0), set[Path]()
        self.told, self.number, self.at_rest = Counter[str](), 0, 0
        for file in self.files:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(self.text(0))
        for key in self.sessions:
            self.turn(key, edits=0)

    def text(self, number: int) -> str:
        return f"[gates]\nseconds = {number + 60}\n"

    def home(self, key: SessionKey) -> Path:
        return self.projects[self.sessions.index(key) % len(self.projects)]

    def edit(self) -> Path:
        file = self.chance.choice(self.files)
        self.number += 1
        draft = self.scene.folder / f"dotfiles-{self.number}"
        draft.write_text(self.text(self.number))
        how = self.chance.choice(("in place", "by rename", "by link"))
        if how == "in place":
            file.write_text(draft.read_text())
        else:
            file.unlink()
            place = file.symlink_to if how == "by link" else draft.replace
            place(draft if how == "by link" else file)
        return file

    def rest(self) -> None:
        """The person edits while nobody works; of a file in which an edit waits it waits too."""
        file = self.edit()
        if file not in self.waiting:
            self.counts[file], self.at_rest = self.number, self.at_rest + 1
        self.check()

    def turn(self, key: SessionKey, edits: int) -> None:
        """An agent works, and it, the person or another session's agent edits; its user then reads."""
        self.scene.speak(key, self.home(key))
        self.check()
        for _ in range(edits):
            self.waiting.add(self.edit())
            self.check()
        other = self.chance.choice(self.sessions)
        if other != key and edits:
            self.turn(other, edits=0)
        self.told.update(key.id + line for line in self.scene.stop(key, self.home(key)).splitlines())
        for edit in self.scene.steering.held(str(self.home(key))):
            assert any(line.startswith(key.id) and f"({edit.summary})" in line for line in self.told)
        self.check()

    def accepts(self, key: SessionKey) -> None:
        """The person accepts what was told in this session: each edit of its project and of the user."""
        for _ in range(2):
            asked = command("", name="accept", **self.scene.about(key, self.home(key)))
            self.scene.watch.obey(asked)
        for file in self.waiting & {self.scene.file, self.home(key) / ".supervisor" / "config.toml"}:
            self.counts[file] = int(file.read_text().rpartition("=")[2]) - 60
            self.waiting.discard(file)
        self.check()

    def check(self) -> None:
        for file, number in self.counts.items():
            assert self.scene.steering.path_in_force(file).read_text() == self.text(number)


def test_in_200_days_nothing_of_a_person_waits_longer_than_a_stop_and_nothing_is_told_twice(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.fsync", lambda _: None)
    days = Days(scene)
    for _day in range(200):
        for key in days.chance.sample(days.sessions, 2):
            for _ in range(days.chance.randrange(2)):
                days.rest()
            days.turn(key, edits=days.chance.randrange(3))
            days.accepts(key)
        for key in days.sessions:
            days.accepts(key)
        assert not days.waiting, "what was told was accepted, so nothing waits"
        assert scene.steering.held(str(days.projects[0])) == ()
    assert days.at_rest > 100
    assert sum("/supervisor:accept" in line for line in days.told) > 100
    assert max(days.told.values()) == 1


# --- settings by which a host itself works otherwise ---

PLUGIN = "export const Evil = async () => ({})\n"
ALIVE = {
    "no hooks": (".claude/settings.json", '{"disableAllHooks": true}', "disableAllHooks"),
    "no hooks here": (".claude/settings.local.json", '{"disableAllHooks": true}', "disableAllHooks"),
    "another PATH": (".claude/settings.json", '{"env": {"PATH": "evil"}}', "env.PATH"),
    "a hook": (".claude/settings.json", '{"hooks": {"Stop": [1]}}', "hooks.Stop"),
    "our plugin off": (
        ".claude/settings.json",
        '{"enabledPlugins": {"supervisor@supervisor": false}}',
        "enabledPlugins.supervisor@supervisor",
    ),
    "a plugin of OpenCode": (".opencode/plugin/evil.js", PLUGIN, "its text"),
    "another folder": (".opencode/plugins/evil.ts", PLUGIN, "its text"),
    "a named plugin": ("opencode.json", '{"plugin": ["./evil.js"]}', ""),
    "with comments": (".opencode/opencode.jsonc", '{"plugin": ["./evil.js"],} // x', ""),
}


@pytest.mark.parametrize("name", ALIVE)
def test_a_projects_settings_of_a_host_stay_and_hold_the_goal_until_taken_back_or_accepted(
    scene: Scene, name: str
) -> None:
    place, text, changed = ALIVE[name]
    path, project = scene.project / place, str(scene.project)
    path.parent.mkdir(parents=True, exist_ok=True)
    scene.stop()
    scene.speak()
    path.write_text(text)
    told = scene.stop()
    assert f"{place} was changed while an agent worked ({changed}" in told
    assert "The goal does not end until it is taken back, or you type /supervisor:accept" in told
    assert path.read_text() == text
    assert changed in scene.watch.unaccepted(project)
    path.unlink()
    assert scene.watch.unaccepted(project) == ""
    scene.speak()
    path.write_text(text)
    scene.stop()
    scene.accept()
    assert scene.watch.unaccepted(project) == ""


def test_the_users_settings_of_claude_code_are_put_back_and_what_the_host_writes_stays(scene: Scene) -> None:
    path, ours = Path.home() / ".claude" / "settings.json", {"supervisor@supervisor": True}
    path.parent.mkdir()
    path.write_text(json.dumps({"env": {"A": "1"}, "enabledPlugins": ours}))
    scene.speak()
    honest = {"theme": "light", "enabledPlugins": ours}
    path.write_text(json.dumps({"disableAllHooks": True, "env": {"PATH": "evil"}, **honest}))
    told = scene.stop()
    assert "settings.json was changed while an agent worked (disableAllHooks; env.A; env.PATH)" in told
    assert json.loads(path.read_text()) == {"env": {"A": "1"}, **honest}
    assert scene.watch.unaccepted(str(scene.project)) == ""
    scene.speak()
    path.unlink()
    told = scene.stop()
    assert "(env.A). It is restored" in told
    assert "(enabledPlugins.supervisor@supervisor). The goal does not end until" in told
    assert json.loads(path.read_text()) == {"env": {"A": "1"}}
    assert scene.watch.unaccepted(str(scene.project))


def test_what_hosts_write_for_a_person_and_what_a_person_changes_at_rest_is_told_to_nobody(
    scene: Scene,
) -> None:
    users, ours = Path.home() / ".claude" / "settings.json", scene.project / ".claude" / "settings.local.json"
    for path in (users, ours):
        path.parent.mkdir()
    scene.speak()
    users.write_text('{"theme": "light", "enabledPlugins": {"other@market": true}}')
    ours.write_text('{"permissions": {"allow": ["Bash(make:*)"]}, "enabledMcpjsonServers": ["a"]}')
    assert scene.stop() == ""
    users.write_text('{"env": {"A": "1"}}')
    ours.write_text('{"hooks": {"Stop": []}}')
    (scene.project / ".opencode" / "plugin").mkdir(parents=True)
    (scene.project / ".opencode" / "plugin" / "mine.js").write_text("")
    scene.speak()
    assert scene.stop() == ""
    assert scene.watch.unaccepted(str(scene.project)) == ""
