"""Finds skills: those that ship, the user's own, and those of the project that the user approved.

The nearest wins: project, then user, then those that ship. A skill of the project that nobody approved, and
one that cannot be read, is a problem that is told, and the next of that name serves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from msgspec import Struct

from sidecar.evidence.gates.trust import SKILL_LIMIT, project_skill_files, skill_gate
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.gate import Gate
from sidecar.platform.files import UnusableFileError, read_whole
from sidecar.platform.steering import UNHELD, FilesInForce
from sidecar.systems.tdd.policy.skills import Skill, parse_skill


class KnownSkills(Struct, frozen=True):
    """The skills in force by name, and what is wrong with others."""

    skills: dict[str, Skill]
    problems: tuple[str, ...] = ()


class SkillRegistry:
    """Reads skills from their folders, anew at each call: they are few and small."""

    def __init__(
        self,
        shipped: Path,
        user: Path | None,
        approved: Callable[[str, Gate], bool],
        files: FilesInForce = UNHELD,
    ) -> None:
        """`user`: the user's folder of skills. `approved`: whether the user approved a file of a project."""
        self._shipped, self._user = shipped, user
        self._approved = approved
        self._files = files

    def known(self, project: str) -> KnownSkills:
        """Return the skills that may be used in a project. Never raises for a faulty file."""
        skills, problems = dict[str, Skill](), list[str]()
        for path, text in self._texts():
            _add_skill(skills, problems, path, text)
        for path in project_skill_files(project):
            _add_skill(skills, problems, path, partial(self._approved_text, project, path))
        return KnownSkills(skills, tuple(problems))

    def _texts(self) -> Iterator[tuple[Path, Callable[[], str]]]:
        """Yield the files that need no approval, the user's last; one that is held is as it was."""
        for path in sorted(self._shipped.glob("*.md")):
            yield path, partial(_read_text, path)
        for path in sorted(self._user.glob("*.md")) if self._user else ():
            yield path, partial(_read_text, self._files.path_in_force(path))

    def _approved_text(self, project: str, path: Path) -> str:
        text = _read_text(path)
        if not self._approved(project, skill_gate(project, path, text)):
            raise BadInputError(f"{path}: not approved, so not used. The user types: supervisor trust")
        return text


def _read_text(path: Path) -> str:
    return read_whole(path, SKILL_LIMIT, follow=True).decode()


def _add_skill(skills: dict[str, Skill], problems: list[str], path: Path, read: Callable[[], str]) -> None:
    try:
        skill = parse_skill(read(), str(path))
    except FileNotFoundError:
        return  # it is held, and was not there when the agent began
    except BadInputError as error:
        problems.append(str(error))
    except (UnusableFileError, OSError, UnicodeDecodeError) as error:
        problems.append(f"{path}: {error}")
    else:
        skills[skill.name] = skill
