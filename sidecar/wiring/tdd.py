"""Builds the skills."""

from __future__ import annotations

import os
from pathlib import Path

from sidecar.evidence.gates.trust import TrustFile
from sidecar.evidence.tree.apply import ChangeApplier
from sidecar.platform.configuration import user_config_folder
from sidecar.platform.installation import plugin_root
from sidecar.platform.steering import USER_SKILLS_FOLDER, FilesInForce
from sidecar.rubric.markdown import markdown_sections
from sidecar.systems.tdd.registry import SkillRegistry

SKILLS_FOLDER = "skills"
TEXTS_FILE = "tdd.md"


def build_skill_registry(state: Path, files: FilesInForce) -> SkillRegistry:
    """Build the registry of skills. `state`: the user's state folder."""
    folder = user_config_folder(os.environ)
    user = folder / USER_SKILLS_FOLDER if folder else None
    return SkillRegistry(
        plugin_root() / "rubric" / SKILLS_FOLDER, user, TrustFile(state, files).approved, files
    )


def skill_texts() -> dict[str, str]:
    """Read the texts of rubric/tdd.md."""
    return markdown_sections((plugin_root() / "rubric" / TEXTS_FILE).read_text(encoding="utf-8"))


def build_applier(state: Path) -> ChangeApplier:
    """Build what applies changes to projects."""
    return ChangeApplier(state)
