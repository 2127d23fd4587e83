"""Interfaces to the rubric in force, and to the files by which people guide us."""

from __future__ import annotations

from typing import Final, Protocol

from sidecar.kernel.held_edits import AgentWrites
from sidecar.kernel.rubric import ConfigurationContents, Rubric
from sidecar.kernel.session import Environment

NOTHING_HELD: Final = "nothing is held"


class RubricStore(Protocol):
    """The rubric in force."""

    def load(self, project: str, environment: Environment, writes: AgentWrites | None = None) -> Rubric:
        """Return the first rubric found: the project's, the user's, the default. Never raises.

        A broken file is listed in `rejected`. `writes` says what the agent did since the last look. If it may
        have edited the file, the text that was in force before stays in force, and `held` says so, until
        `accept`.
        """

    def accept(self, project: str, environment: Environment) -> str:
        """Put the held edit in force; return in one line what was done. Raises OSError."""

    def begin(self, project: str) -> tuple[str, bool]:
        """Return the path of the project's own rubric, and whether it was just created from the default.

        Raises OSError.
        """


class GuidanceFiles(Protocol):
    """The present files by which people guide us, whoever wrote them. No method raises."""

    def paths(self, project: str, environment: Environment) -> tuple[str, ...]:
        """Return where they may be: the rubrics by precedence, then the configuration."""

    def rubric(self, project: str, environment: Environment) -> Rubric | None:
        """Return what would be in force if every edit counted; None while a file is being written."""

    def settings(self, project: str) -> tuple[ConfigurationContents, ...]:
        """Return the contents of the user's configuration file and of the project's."""
