"""Reads what models and people are told from rubric/."""

from __future__ import annotations

from sidecar.platform.installation import plugin_root
from sidecar.rubric.markdown import markdown_sections


def read_texts(*names: str) -> dict[str, str]:
    """Return the sections of these files in rubric/; of two with one name, that of the later file."""
    texts: dict[str, str] = {}
    for name in names:
        texts |= markdown_sections((plugin_root() / "rubric" / name).read_text(encoding="utf-8"))
    return texts
