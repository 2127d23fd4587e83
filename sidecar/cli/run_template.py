"""The template of the prompts of `supervisor run`: the user's own, or the usual one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from sidecar.kernel.errors import BadInputError
from sidecar.platform.files import UnusableFileError, read_whole, write_whole
from sidecar.platform.installation import plugin_root
from sidecar.platform.paths import Paths
from sidecar.rubric.markdown import markdown_sections
from sidecar.systems.iteration.policy.prompt import unknown_placeholders

TEXT_LIMIT: Final = 1024 * 1024
"""Largest specification or template, in bytes."""
TEMPLATE_FILE: Final = "run.md"
BRACED: Final = re.compile(r"\{\{\s*(\w+)\s*\}\}")
"""A placeholder as other loops write it."""


def load_template(given: str | None, folders: Paths) -> str:
    """Return the template of this name, else the user's, else the usual one. Raises BadInputError, OSError.

    One with placeholders like {{name}} has no others: a dollar sign in it is a dollar sign.
    """
    own = folders.config / TEMPLATE_FILE
    if not given and not own.exists():
        return _usual_template()
    text = read_text(Path(given) if given else own)
    if BRACED.search(text):
        text = BRACED.sub(r"${\1}", text.replace("$", "$$"))
    if strange := unknown_placeholders(text):
        raise BadInputError(f"{given or own}: nothing fills in ${', $'.join(strange)}. See docs/run.md")
    return text


def write_template(folders: Paths) -> Path:
    """Write the usual template where the user's own is looked for. Raises BadInputError, OSError."""
    own = folders.config / TEMPLATE_FILE
    if own.exists():
        raise BadInputError(f"{own} is there already. Remove it to begin with the usual one again")
    own.parent.mkdir(parents=True, exist_ok=True)
    write_whole(own, f"{_usual_template()}\n".encode())
    return own


def read_text(path: Path) -> str:
    """Return the text of a file. Raises BadInputError and OSError."""
    try:
        return read_whole(path, TEXT_LIMIT, follow=True).decode("utf-8-sig")
    except (UnusableFileError, UnicodeDecodeError) as error:
        raise BadInputError(f"{path} cannot be read: {error}") from error


def _usual_template() -> str:
    return markdown_sections(read_text(plugin_root() / "rubric" / TEMPLATE_FILE)).get("prompt", "")
