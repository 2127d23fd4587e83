"""A project on a real disk whose rubric and configuration are edited while sessions come and go."""

from __future__ import annotations

from dataclasses import replace as with_other
from pathlib import Path
from typing import Any

from sidecar.kernel.session import SessionKey
from sidecar.kernel.turn import Turn
from sidecar.rubric.reader import GuideFiles, RubricFiles
from sidecar.systems.supervision.saved_files import SavedFileWatch
from sidecar.systems.supervision.steering import SteeringWatch
from support.cases import KEY, edited, stopped, turn
from support.fakes import Fakes, prompt

OTHER = SessionKey(host=KEY.host, id="s2")
OLD = "## Patterns\n- **DONE**: it is\n## Antipatterns\n- **OLD**: x\n"
NEW = OLD.replace("OLD", "NEW")
CHANGE = "1 antipattern gone (OLD); 1 antipattern added (NEW)"
SAVED = f"Supervisor: rubric saved: .supervisor/rubric.md: {CHANGE}."
COUNTS = f"{SAVED} It counts from the next stop"
UNDECIDED = f"{SAVED} Whether it counts is told at the next stop"
IDLE = turn(calls=())
WROTE = turn(calls=(edited(".supervisor/rubric.md"),))
LONG_AGO = 1_000_000_000
"""Seconds since the epoch."""


class Scene:
    """A project with a rubric, which a session has just left at rest."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = folder / "project"
        self.file = self.project / ".supervisor" / "rubric.md"
        self.file.parent.mkdir(parents=True)
        self.file.write_text(OLD)
        default = folder / "default.md"
        default.write_text(OLD.replace("OLD", "DEFAULT"))
        self.fakes = Fakes()
        self.services = with_other(self.fakes.services, rubrics=RubricFiles(default, None, folder / "state"))
        self.environment = {"HOME": str(folder)}
        self.guides = GuideFiles(default, self.environment)
        self.watch = SteeringWatch(self.services)
        self.watch.recall()
        self.saved = SavedFileWatch(self.services, self.watch, self.guides)

    def about(self, key: SessionKey = KEY, project: Path | None = None) -> dict[str, Any]:
        return {"key": key, "project": str(project or self.project), "environment": self.environment}

    def speak(self, key: SessionKey = KEY, project: Path | None = None) -> None:
        event = prompt(**self.about(key, project))
        self.saved.met(event)
        self.saved.look()
        self.watch.spoken(event)
        self.watch.set_to_work(event)

    def stop(self, shown: Turn = IDLE, key: SessionKey = KEY, project: Path | None = None) -> str:
        """The antipattern that is in force."""
        event = stopped(**self.about(key, project))
        self.saved.met(event)
        self.saved.stopped(event)
        rubric = self.watch.in_force(event, shown)
        self.owed = self.watch.rest(event, read=True)
        self.watch.owe(key, self.owed.split("\n"))
        return rubric.antipatterns[0].name

    def looks(self, key: SessionKey = KEY) -> str:
        self.saved.look()
        return "\n".join(self.watch.take_lines(key))

    def restart(self) -> None:
        """A new sidecar, which has not yet found out who was at work."""
        self.watch = SteeringWatch(self.services)
        self.saved = SavedFileWatch(self.services, self.watch, self.guides)

    @classmethod
    def at_rest(cls, folder: Path) -> Scene:
        """After the first turn, and a look at which there was nothing to tell."""
        made = cls(folder)
        made.speak()
        assert made.stop() == "OLD"
        assert made.looks() == ""
        return made


def overwrite(path: Path, text: str) -> None:
    """Save by truncating and writing."""
    path.write_text(text)


def replace(path: Path, text: str) -> None:
    """Save by renaming a draft."""
    draft = path.with_name("draft")
    draft.write_text(text)
    draft.replace(path)


def swap(path: Path, text: str) -> None:
    """Save as vim does: by a backup."""
    backup = path.with_name("rubric.md~")
    path.rename(backup)
    path.write_text(text)
    backup.unlink()
