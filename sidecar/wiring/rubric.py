"""Builds readers of rubrics: of the one in force, or of one file."""

from __future__ import annotations

import os
from pathlib import Path

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.rubric import Rubric
from sidecar.platform.incidents import Incidents
from sidecar.platform.installation import plugin_root
from sidecar.rubric.guides import GuideFiles
from sidecar.rubric.reader import RubricFiles


def build_rubrics(state: Path, incidents: Incidents) -> RubricFiles:
    """Build the store of rubrics in force, which holds agents' edits. `state`: the user's state folder."""
    return RubricFiles(_default_rubric(), os.environ, state / "rubrics", incidents)


def build_guides() -> GuideFiles:
    """Build the reader of rubrics and configuration files as they are now."""
    return GuideFiles(_default_rubric(), os.environ)


def load_rubric_file(path: Path) -> Rubric:
    """Load the rubric from this file. Raises BadInputError where it cannot be used."""
    return _usable(RubricFiles(path).load("", {}))


def load_project_rubric(project: str) -> Rubric:
    """Load a project's rubric from its file as it is now; an edit that is held counts here.

    Raises BadInputError where a file with precedence cannot be used.
    """
    return _usable(RubricFiles(_default_rubric(), os.environ).load(project, os.environ))


def _default_rubric() -> Path:
    return plugin_root() / "rubric" / "rubric.md"


def _usable(rubric: Rubric) -> Rubric:
    if rubric.rejected:
        raise BadInputError("; ".join(rubric.rejected))
    return rubric
