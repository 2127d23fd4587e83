"""Edits of the files that steer Supervisor, on a real disk: what counts when, and what a person is told."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from dataclasses import replace as with_other
from pathlib import Path

import pytest
from msgspec.structs import replace

from sidecar.evidence.gates.approvals import InstructionRegistry, TrustFile
from sidecar.kernel.decoding import InstructionKind
from sidecar.kernel.events import PromptSubmitted
from sidecar.kernel.rubric import AgentWrites
from sidecar.kernel.session import SessionKey
from sidecar.kernel.turn import Turn
from sidecar.platform.configuration import ConfigurationFile
from sidecar.platform.state import Incidents
from sidecar.platform.steering import SteeringFiles, SwitchFile
from sidecar.systems.supervision.steering import SteeringWatch
from sidecar.wiring.platform import build_steering
from support.cases import KEY, PYTEST, edited, ran, stopped, turn
from support.fakes import Fakes, command, prompt

OTHER = SessionKey(host=KEY.host, id="s2")
OLD, NEW = "max_attempts = 5\n", "max_attempts = 100\n"
READ = turn(calls=())
BUILT = turn(ran("make"))


class Scene:
    """A user's configuration and switches, and sessions at work beside them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = folder / "project"
        self.file = folder / "home" / ".config" / "supervisor" / "config.toml"
        self.trust_file = folder / "state" / "trust.json"
        self.switch_file = folder / "state" / "switches.json"
        for path in (self.project, self.file.parent, self.switch_file.parent):
            path.mkdir(parents=True)
        self.file.write_text(OLD)
        self.environment = {"HOME": str(folder / "home")}
        self.fakes = Fakes()
        self.restart()
        self.speak()
        assert self.stop() == ""

    def restart(self) -> None:
        """Begin a new sidecar."""
        self.incidents = Incidents()
        own = (self.switch_file, self.trust_file, self.file)
        self.steering = SteeringFiles(self.folder / "state" / "steering", own, self.incidents)
        self.configuration = ConfigurationFile(self.environment, self.steering)
        self.trust = TrustFile(self.folder / "state", self.steering)
        self.switches = SwitchFile(self.folder / "state", self.steering)
        services = with_other(self.fakes.services, steering=self.steering, incidents=self.incidents)
        self.watch = SteeringWatch(services)
        self.watch.recall()

    def event(self, key: SessionKey) -> PromptSubmitted:
        return replace(prompt(), key=key, project=str(self.project), environment=self.environment)

    def speak(self, key: SessionKey = KEY) -> None:
        self.watch.spoken(self.event(key))
        self.watch.set_to_work(self.event(key))

    def stop(self, shown: Turn = READ, key: SessionKey = KEY) -> str:
        """What the user is told at a stop."""
        event = replace(stopped(), key=key, project=str(self.project), environment=self.environment)
        self.watch.in_force(event, shown)
        return self.watch.rest(event, read=True)

    def accept(self, key: SessionKey = KEY) -> str:
        asked = replace(command("", name="accept"), key=key, project=str(self.project))
        return self.watch.obey(replace(asked, environment=self.environment)).text

    @property
    def seconds(self) -> int:
        return self.configuration.load()[0].goal_max_seconds

    @property
    def attempts(self) -> int:
        return self.configuration.load()[0].max_attempts


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_an_edit_at_rest_is_the_users_and_counts(scene: Scene) -> None:
    scene.file.write_text(NEW)
    scene.speak()
    assert scene.attempts == 100
    assert scene.stop(BUILT) == ""


def test_an_edit_of_the_agents_waits_until_it_is_accepted(scene: Scene) -> None:
    scene.speak()
    scene.file.write_text(NEW)
    assert scene.attempts == 5
    assert scene.stop(turn(edited(str(scene.file)))) == (
        f"Supervisor: the agent changed {scene.file} (max_attempts: 5 -> 100). "
        "It does not count until you type /supervisor:accept"
    )
    scene.speak()
    assert scene.stop() == ""
    assert scene.attempts == 5
    assert scene.accept() == f"Supervisor: in force now: {scene.file}: max_attempts: 5 -> 100"
    assert scene.attempts == 100
    assert scene.accept() == "Supervisor: nothing is held"


def test_an_edit_that_a_program_may_have_made_waits_for_the_users_next_message(scene: Scene) -> None:
    scene.speak()
    scene.file.write_text(NEW)
    assert "It counts from your next message on" in scene.stop(BUILT)
    assert scene.attempts == 5
    scene.speak(OTHER)
    assert scene.attempts == 5, "another session's user was not told"
    scene.speak()
    assert scene.attempts == 100
    assert scene.stop(BUILT) == ""


def test_what_was_changed_again_since_it_was_told_is_not_let_go(scene: Scene) -> None:
    scene.speak()
    scene.file.write_text(NEW)
    scene.stop(BUILT)
    scene.file.write_text("max_attempts = 99\n")
    assert "waits: " in scene.accept()
    assert scene.attempts == 5
    assert "max_attempts: 5 -> 99" in scene.accept()
    assert scene.attempts == 99


def test_an_edit_that_was_taken_back_is_no_matter(scene: Scene) -> None:
    scene.speak()
    scene.file.write_text(NEW)
    scene.stop(BUILT)
    scene.file.write_text(OLD)
    scene.speak()
    assert scene.stop(BUILT) == ""
    assert scene.accept() == "Supervisor: nothing is held"


@pytest.mark.parametrize("kind", InstructionKind)
def test_an_agents_edit_of_the_users_instructions_does_not_count(
    tmp_path: Path, kind: InstructionKind
) -> None:
    own = Path(os.environ["XDG_CONFIG_HOME"], "supervisor", kind.folder, "a.md")
    own.parent.mkdir(parents=True)
    own.write_text("the user's")
    steering = build_steering(tmp_path, None)
    steering.settle("", AgentWrites(), AgentWrites())
    writes = AgentWrites(paths=(str(own),))
    own.write_text("the agent's")
    steering.settle("", writes, writes)
    own.with_name("new.md").write_text("the agent's")
    registry = InstructionRegistry(kind, lambda text, _: text, [own.parents[1]], lambda *_: False, steering)
    assert registry.known(str(tmp_path)).by_name == {"a": "the user's"}


@pytest.mark.parametrize("write", [NEW, None], ids=["changed", "removed"])
def test_a_project_s_own_configuration_is_held_as_well(scene: Scene, write: str | None) -> None:
    own = scene.project / ".supervisor" / "config.toml"
    own.parent.mkdir()
    own.write_text("[gate.tests]\nenabled = true\n")
    scene.speak()
    scene.stop()
    scene.speak()
    if write is None:
        own.unlink()
    else:
        own.write_text(write)
    assert f"the agent changed {own}" in scene.stop(turn(ran("rm .supervisor/config.toml")))
    assert scene.steering.path_in_force(own).read_text() == "[gate.tests]\nenabled = true\n"


def test_a_switch_that_was_forged_switches_nothing_and_an_order_does(scene: Scene) -> None:
    scene.speak()
    scene.switch_file.write_text(json.dumps({"version": 1, "user_off": True}))
    assert scene.switches.off(str(scene.project)) == ""
    assert f"{scene.switch_file} was changed while the agent worked (user_off: not set -> true" in scene.stop(
        BUILT
    )
    scene.switches.turn(on=False, project=str(scene.project))
    assert scene.switches.off(str(scene.project)) == "off for this project"
    assert 'user_off":false' in scene.switch_file.read_text(), (
        "what was forged did not come in with the order"
    )
    assert scene.accept() == "Supervisor: nothing is held"


def test_an_approval_counts_at_once_and_a_forged_one_waits(scene: Scene) -> None:
    project = str(scene.project)
    scene.speak()
    scene.trust.approve(project, [PYTEST])
    assert scene.trust.approved(project, PYTEST)
    scene.trust_file.write_text(scene.trust_file.read_text().replace("pytest", "true"))
    assert scene.trust.approvals(project)[PYTEST.id].command == PYTEST.command
    assert "trust.json was changed while the agent worked" in scene.stop(BUILT)
    scene.trust.revoke(project)
    assert scene.trust.approvals(project) == {}
    assert scene.accept() == "Supervisor: nothing is held"


def test_what_is_kept_of_the_files_is_restored_and_told(scene: Scene) -> None:
    scene.speak()
    scene.file.write_text(NEW)
    scene.stop(BUILT)
    forged = 0
    for kept in (scene.folder / "state" / "steering").iterdir():
        forged += kept.read_text().count(OLD.strip())
        kept.write_text(kept.read_text().replace("5", "77"))
    assert forged
    assert scene.attempts == 5
    told = scene.incidents.take(KEY)
    assert all("was changed, and not by Supervisor. What was in force is restored." in line for line in told)
    assert told
    assert scene.incidents.take(KEY) == ()


def test_over_200_ordinary_days_no_edit_of_a_person_waits_for_longer_than_one_stop_or_is_told_twice(
    scene: Scene,
) -> None:
    """Edits by hand, by editor and by a dotfile manager, at rest and while agents work, in two sessions."""
    chance = random.Random(18)  # noqa: S311 - a story, not a secret
    told, waited = Counter[str](), 0
    value = 1800
    for _day in range(200):
        dotfiles = scene.folder / f"dotfiles-{chance.random()}"
        for key in (KEY, OTHER):
            scene.speak(key)
            assert scene.seconds == value, "an edit of the day before still waits"
            if chance.random() < 0.5:
                value += 1
                text = f"goal_max_seconds = {value}\n"
                how = chance.choice(("by hand", "by rename", "by link"))
                if how == "by hand":
                    scene.file.unlink()
                    scene.file.write_text(text)
                else:
                    dotfiles.write_text(text)
                    scene.file.unlink()
                    if how == "by link":
                        scene.file.symlink_to(dotfiles)
                    else:
                        dotfiles.rename(scene.file)
            said = scene.stop(chance.choice((READ, BUILT)), key)
            told.update(filter(None, said.splitlines()))
            waited += scene.seconds != value
            scene.speak(key)
            scene.stop(READ, key)
    assert waited > 20
    assert max(told.values()) == 1


def test_what_was_shown_in_a_shell_can_be_accepted_there(scene: Scene) -> None:
    scene.speak()
    scene.file.write_text(NEW)
    scene.stop(turn(edited(str(scene.file))))
    (held,) = scene.watch.held(str(scene.project), scene.environment)
    assert (held.before, held.now, held.unsure) == (OLD, NEW, False)
    scene.file.write_text("max_attempts = 99\n")
    assert scene.watch.put_in_force(str(scene.project), scene.environment, [held.digest]) == []
    assert scene.attempts == 5
    (held,) = scene.watch.held(str(scene.project), scene.environment)
    lines = scene.watch.put_in_force(str(scene.project), scene.environment, [held.digest])
    assert lines == [f"in force now: {scene.file}: max_attempts: 5 -> 99"]
    assert scene.attempts == 99


def test_a_secret_in_a_setting_is_masked_where_its_change_is_told(scene: Scene) -> None:
    scene.speak()
    scene.file.write_text(f'{OLD}key = "{"sk-ant-" + "api03-" + "a1B2" * 10}"\n')
    told = scene.stop(BUILT)
    assert "[masked]" in told
    assert "a1B2" not in told


def test_an_agent_that_rests_unread_may_have_edited_what_changed(scene: Scene) -> None:
    scene.speak()
    scene.file.write_text(NEW)
    event = replace(stopped(), key=KEY, project=str(scene.project), environment=scene.environment)
    assert "It counts from your next message on" in scene.watch.rest(event, read=False)
    scene.speak()
    assert scene.attempts == 100
