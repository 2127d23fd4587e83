"""Named texts of rubric/: the `##` sections of its files, filled in with values."""

from __future__ import annotations

from collections.abc import Mapping
from string import Template

from sidecar.kernel.decoding import PromptHead, parse_instructions
from sidecar.kernel.errors import BadInputError
from sidecar.platform.installation import plugin_root
from sidecar.rubric.markdown import markdown_sections


class Texts:
    """Sections by their headings."""

    def __init__(self, sections: Mapping[str, str]) -> None:
        self._sections = sections

    def say(self, name: str, /, **values: object) -> str:
        """Return a section with its values filled in. Raises BadInputError where it is missing or empty."""
        return Template(self._section(name)).safe_substitute(values).strip()

    def say_known(self, name: str, /, **values: object) -> str:
        """Return a section without the lines of which a value is "" or None. Raises BadInputError."""
        empty = {key for key, value in values.items() if value in ("", None)}
        lines = map(Template, self._section(name).splitlines())
        kept = (line for line in lines if empty.isdisjoint(line.get_identifiers()))
        return "\n".join(line.safe_substitute(values) for line in kept).strip()

    def about(self, *names: str) -> str:
        """Return the first of these sections that exists, on one line; "" if there is none."""
        found = (self._sections[name] for name in names if self._sections.get(name))
        return " ".join(next(found, "").split())

    def _section(self, name: str) -> str:
        if not (text := self._sections.get(name, "")):
            raise BadInputError(f"rubric/: the section `## {name}` is missing; install Supervisor again")
        return text


def read_texts(*names: str, **more: str) -> Texts:
    """Return the sections of these files in rubric/ and `more`; of two with one name, the later one."""
    sections: dict[str, str] = {}
    for name in names:
        sections |= markdown_sections((plugin_root() / "rubric" / name).read_text(encoding="utf-8"))
    return Texts(sections | more)


def read_prompt(folder: str, name: str) -> tuple[PromptHead, str]:
    """Return the head and the text of a prompt that ships. Raises OSError, BadInputError."""
    path = plugin_root() / "rubric" / folder / f"{name}.md"
    head, text = parse_instructions(path.read_text(encoding="utf-8"), str(path), PromptHead, "name")
    return head, text.strip()
