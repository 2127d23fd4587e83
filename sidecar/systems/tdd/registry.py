"""Finds skills: those that ship, the user's own, and those of the project that the user approved.

The nearest wins: project, then user, then those that ship. A skill of the project that nobody approved, and
one that cannot be read, is a problem that is told, and the next of that name serves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
        for path, read in self._found(project):
            try:
                skill = self._read(project, path, read)
            except FileNotFoundError:
                continue  # held: it was not there when the agent began
            except BadInputError as error:
                problems.append(str(error))
            except (UnusableFileError, OSError, UnicodeDecodeError) as error:
                problems.append(f"{path}: {error}")
            else:
                skills[skill.name] = skill
        return KnownSkills(skills, tuple(problems))

    def _read(self, project: str, path: Path, read: Path) -> Skill:
        """Read a skill. Raises BadInputError if it is at fault or not approved, and what reading raises."""
        text = read_whole(read, SKILL_LIMIT, follow=True).decode()
        gate = skill_gate(project, path, text) if path.is_relative_to(project) else None
        if gate is not None and not self._approved(project, gate):
            raise BadInputError(f"{path}: not approved, so not used. The user types: supervisor trust")
        return parse_skill(text, str(path))

    def _found(self, project: str) -> Iterator[tuple[Path, Path]]:
        """Yield each file and the path to read it from, the nearest last."""
        yield from ((path, path) for path in sorted(self._shipped.glob("*.md")))
        own = sorted(self._user.glob("*.md")) if self._user else []
        yield from ((path, self._files.path_in_force(path)) for path in own)
        yield from ((path, path) for path in project_skill_files(project))
