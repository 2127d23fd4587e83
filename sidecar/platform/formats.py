"""Parses manifests into plain values: TOML, JSON with and without comments, INI. No function raises.

A text that cannot be parsed gives an empty table, because only what a file clearly says counts. Every parser
takes time proportional to its text, whatever the text contains.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Final

import msgspec

Table = Mapping[str, object]
IniSections = Mapping[str, Mapping[str, str]]

KEY_PART: Final = r"""(?:[\w-]++|(?<!\\)"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
LONG_KEY: Final = re.compile(rf"(?<![\w-]){KEY_PART}(?:[ \t]*+\.[ \t]*+{KEY_PART}){{32}}")
"""A dotted key with more parts than anybody writes: `tomllib` takes half a minute for 20,000 parts."""
JSONC_EXTRAS: Final = re.compile(
    r'(?P<string>"(?>[^"\\]|\\.)*+(?:"|\\?\Z))|//[^\n]*|/\*(?s:.*?)(?:\*/|\Z)|,(?=\s{0,99}[}\]])', re.DOTALL
)
"""What is not JSON in a tsconfig.json: comments, and a comma before a closing bracket. Strings are matched so
that they are left unchanged."""

INI_OPTION: Final = re.compile(r"(.[^=:]*)[=:](.*)")


def table_at(value: object, *path: str) -> Table:
    """The table at this path below a value, or an empty table."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def string_items(value: object) -> tuple[str, ...]:
    """The strings of a list, or a single string; nothing for any other type."""
    if isinstance(value, str):
        return (value,)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def script_texts(manifest: Table) -> dict[str, str]:
    """The scripts of a package.json or composer.json by name."""
    scripts = table_at(manifest, "scripts").items()
    return {name: text.strip() for name, text in scripts if isinstance(text, str)}


def parse_toml_table(text: str) -> Table:
    """Parse a TOML text into its tables."""
    if LONG_KEY.search(text):
        return {}
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}


def parse_json_table(text: str) -> Table:
    """Parse a JSON text into its top-level object."""
    try:
        return table_at(msgspec.json.decode(text.encode("utf-8", "replace")))
    except (ValueError, RecursionError, msgspec.DecodeError):
        return {}


def parse_jsonc_table(text: str) -> Table:
    """Parse a JSON text with comments and trailing commas into its top-level object."""
    # Twice, because a comment may stand between a comma and its bracket.
    return parse_json_table(_strip_jsonc_extras(_strip_jsonc_extras(text)))


def parse_ini_sections(text: str) -> IniSections:
    """Sections with lower-case option names and values. An indented line continues the value before it."""
    sections: dict[str, dict[str, list[str]]] = {}
    values: dict[str, list[str]] | None = None
    name = ""
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped or stripped[0] in "#;":
            continue
        if line[0] in " \t" and name and values is not None:
            values[name].append(stripped)
        elif stripped[0] == "[" and stripped[-1] == "]":
            values, name = sections.setdefault(stripped[1:-1].strip(), {}), ""
        elif values is not None and (found := INI_OPTION.match(stripped)):
            name, value = found[1].strip().lower(), found[2].strip()
            values[name] = [value] if value else []
    return {
        title: {name: "\n".join(lines) for name, lines in values.items()}
        for title, values in sections.items()
    }


def _strip_jsonc_extras(text: str) -> str:
    return JSONC_EXTRAS.sub(lambda found: found["string"] or "", text)
