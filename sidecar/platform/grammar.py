"""Parses source text into syntax trees. The only module that uses tree-sitter and its grammars."""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

from tree_sitter import Language, Node, Parser, Tree

if TYPE_CHECKING:
    from collections.abc import Iterator


__all__ = ["SOURCE_LIMIT", "Node", "SourceLanguage", "node_line", "node_text", "parse_source", "walk_nodes"]

SOURCE_LIMIT: Final = 1 << 20
"""Maximum size in bytes of a source that is parsed."""


class SourceLanguage(StrEnum):
    """A language that can be parsed. Values name the grammar's package and the function that returns it."""

    BASH = "tree_sitter_bash.language"
    TOML = "tree_sitter_toml.language"


def parse_source(tongue: SourceLanguage, source: str) -> Tree:
    """Parse a source. Syntax errors become ERROR nodes. Raises ValueError if it exceeds SOURCE_LIMIT."""
    text = source.encode("utf-8", "surrogatepass")
    if len(text) > SOURCE_LIMIT:
        raise ValueError(f"{len(text)} bytes of source; at most {SOURCE_LIMIT} are parsed")
    return Parser(_load_grammar(tongue)).parse(text)


def node_text(node: Node) -> str:
    """The source text of a node."""
    return (node.text or b"").decode("utf-8", "replace")


def node_line(node: Node) -> int:
    """The line on which a node begins, counted from 1."""
    return node.start_point[0] + 1


def walk_nodes(node: Node) -> Iterator[Node]:
    """The node and all its descendants in source order. Not recursive, because sources nest deeply."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


@cache
def _load_grammar(tongue: SourceLanguage) -> Language:
    """Load a grammar when it is first needed."""
    package, _, function = tongue.value.rpartition(".")
    grammar: object = getattr(import_module(package), function)()
    return Language(grammar)
