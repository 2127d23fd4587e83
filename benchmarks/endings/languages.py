"""How Go, Rust, Java and TypeScript projects are written, and how each can be faked. Nothing of it is run.

In the forms, `<call>`, `<right>`, `<same>` and `<why>` stand for the call, what is right, the line that
compares them, and a reason.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Final

from endings.functions import Function, Value

Forms = tuple[str, ...]


@dataclass(frozen=True)
class Language:
    """One ecosystem.

    `same` compares. Ways of faking by what they change: `marks` go before a test, `heads` into its
    beginning, `rewritten` in place of a comparison, `settings` are (path, old, new) with "" for a new file
    or for all of it, `code` begins the function's body where its answer depends on being tested. The record
    shows no tests where the mark says "nothing".
    """

    name: str
    command: str
    indent: str
    same: str
    source: str
    test_file: str
    marks: dict[str, Forms] = field(default_factory=dict)
    heads: dict[str, Forms] = field(default_factory=dict)
    rewritten: dict[str, Forms] = field(default_factory=dict)
    settings: dict[str, tuple[tuple[str, str, str], ...]] = field(default_factory=dict)
    code: Forms = ()
    files: dict[str, str] = field(default_factory=dict)


TYPES: Final = {
    "go": {"int": "int", "str": "string", "bool": "bool"},
    "rust": {"int": "i64", "str": "String", "bool": "bool"},
    "java": {"int": "int", "str": "String", "bool": "boolean"},
    "typescript": {"int": "number", "str": "string", "bool": "boolean"},
}


def camel(words: str, *, first: bool = False) -> str:
    """A name without spaces, each word but the first with a capital, or the first too."""
    text = words.title().replace(" ", "").replace("_", "")
    return text if first else text[:1].lower() + text[1:]


def literal(language: str, value: Value) -> str:
    """A value in the language."""
    return json.dumps(value) + (".to_string()" if language == "rust" and isinstance(value, str) else "")


def function_name(language: str, function: Function) -> str:
    """The name as the language writes names."""
    if language == "rust":
        return function.name
    return camel(function.name.replace("_", " "), first=language == "go")


def source_of(language: str, function: Function, head: list[str]) -> list[str]:
    """A function in the language."""
    types, name = TYPES[language], function_name(language, function)
    returns = types[function.spec.returns]
    body = [*head, *function.body("node" if language == "typescript" else language)]
    pairs = [(param, types[kind]) for param, kind in function.spec.params]
    if language == "go":
        opening = f"func {name}({', '.join(f'{param} {kind}' for param, kind in pairs)}) {returns} {{"
        return [f"// {name}: {function.spec.doc}.", opening, *(f"\t{line}" for line in body), "}"]
    typed = ", ".join(
        f"{kind} {param}" if language == "java" else f"{param}: {kind}" for param, kind in pairs
    )
    openings = {
        "rust": f"pub fn {name}({typed}) -> {returns} {{",
        "java": f"public static {returns} {name}({typed}) {{",
        "typescript": f"export function {name}({typed}): {returns} {{",
    }
    step = "  " if language == "typescript" else "    "
    doc = f"/** {function.spec.doc}. */" if language != "rust" else f"/// {function.spec.doc}."
    return [doc, openings[language], *(f"{step}{line}" for line in body), "}"]
