"""Manifests as plain values: TOML, JSON with and without comments, INI. None of it raises.

A text that cannot be understood is an empty table: what a file does not clearly say, it does not say. Every
reader takes time in proportion to its text, whatever is in it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Final

import msgspec

Table = Mapping[str, object]
Sections = Mapping[str, Mapping[str, str]]

PART: Final = r"""(?:[\w-]++|(?<!\\)"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
LONG_KEY: Final = re.compile(rf"(?<![\w-]){PART}(?:[ \t]*+\.[ \t]*+{PART}){{32}}")
"""A dotted key with more parts than anybody writes: `tomllib` takes half a minute for 20,000 of them."""
JSONC: Final = re.compile(
    r'(?P<string>"(?>[^"\\]|\\.)*+(?:"|\\?\Z))|//[^\n]*|/\*(?s:.*?)(?:\*/|\Z)|,(?=\s{0,99}[}\]])', re.DOTALL
)
"""What is no JSON in a tsconfig.json: comments, and a comma before a closing bracket. Strings stay."""


def table(value: object, *path: str) -> Table:
    """The table at this path below a value; an empty one where there is none."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def strings(value: object) -> tuple[str, ...]:
    """The texts of a list, or a text alone; nothing of anything else."""
    if isinstance(value, str):
        return (value,)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def toml(text: str) -> Table:
    """The tables of a TOML text."""
    if LONG_KEY.search(text):
        return {}
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}


def json(text: str) -> Table:
    """The object of a JSON text."""
    try:
        return table(msgspec.json.decode(text.encode("utf-8", "replace")))
    except (ValueError, RecursionError, msgspec.DecodeError):
        return {}


def jsonc(text: str) -> Table:
    """The object of a JSON text with comments and commas at the end of lists."""
    # Twice, because a comment may stand between a comma and its bracket.
    return json(_bare(_bare(text)))


def ini(text: str) -> Sections:
    """Sections of names in small letters and values. A line that is set in continues the value before it."""
    sections: dict[str, dict[str, str]] = {}
    values: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped or stripped[0] in "#;":
            continue
        if line[0] in " \t" and name:
            values[name].append(stripped)
        elif stripped[0] == "[" and stripped[-1] == "]":
            _close(sections, values)
            sections.setdefault(stripped[1:-1].strip(), {})
            values, name = {"": [stripped[1:-1].strip()]}, ""
        elif values and (found := _option(stripped)):
            name, value = found
            values[name] = [value] if value else []
    _close(sections, values)
    return sections


def _close(sections: dict[str, dict[str, str]], values: dict[str, list[str]]) -> None:
    """Put the values of a section that has ended in their place."""
    for section in values.pop("", ()):
        sections[section].update({name: "\n".join(lines) for name, lines in values.items()})


def _option(line: str) -> tuple[str, str] | None:
    ends = [at for at in (line.find("="), line.find(":")) if at > 0]
    return (line[: min(ends)].strip().lower(), line[min(ends) + 1 :].strip()) if ends else None


def _bare(text: str) -> str:
    return JSONC.sub(lambda found: found["string"] or "", text)
