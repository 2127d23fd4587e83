"""The only door to tree-sitter: source text to a syntax tree, by the grammars of other people."""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

from tree_sitter import Language, Node, Parser, Tree

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SOURCE_LIMIT", "Node", "Tongue", "descend", "line_of", "parse", "text_of"]

SOURCE_LIMIT: Final = 1 << 20
"""Bytes of a source that is parsed."""


class Tongue(StrEnum):
    """A language that can be parsed: the package of its grammar and the function that gives it."""

    BASH = "tree_sitter_bash.language"
    GO = "tree_sitter_go.language"
    JAVA = "tree_sitter_java.language"
    JAVASCRIPT = "tree_sitter_javascript.language"
    RUST = "tree_sitter_rust.language"
    TOML = "tree_sitter_toml.language"
    TSX = "tree_sitter_typescript.language_tsx"
    TYPESCRIPT = "tree_sitter_typescript.language_typescript"
    YAML = "tree_sitter_yaml.language"


def parse(tongue: Tongue, source: str) -> Tree:
    """Parse a source. Faults in it become ERROR nodes. Raises ValueError where it is too big."""
    text = source.encode("utf-8", "surrogatepass")
    if len(text) > SOURCE_LIMIT:
        raise ValueError(f"{len(text)} bytes of source; at most {SOURCE_LIMIT} are parsed")
    return Parser(_language(tongue)).parse(text)


def text_of(node: Node) -> str:
    """The source of a node."""
    return (node.text or b"").decode("utf-8", "replace")


def line_of(node: Node) -> int:
    """The line on which a node begins, from 1."""
    return node.start_point[0] + 1


def descend(node: Node) -> Iterator[Node]:
    """The node and all below it, in the order of the source. Without recursion: sources nest deep."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


@cache
def _language(tongue: Tongue) -> Language:
    """Load a grammar when it is first needed."""
    package, _, function = tongue.value.rpartition(".")
    grammar: object = getattr(import_module(package), function)()
    return Language(grammar)
