"""A TOML file that a person wrote: its values, and the line on which each is said.

Values are tomllib's alone. Lines are for messages only: they come from a syntax tree that is made when the
first one is asked for. A file that cannot be used is one error of one line. Which settings there are is not
known here.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sidecar.adapters.files import UnfitError, read_whole

if TYPE_CHECKING:
    from sidecar.adapters.grammar import Node

FILE_LIMIT: Final = 64 * 1024
"""Bytes of a file that is read."""
DEEPEST: Final = 4
"""Parts of a key whose line is kept. No setting has more; a hostile key may have thousands."""
DOTS: Final = 200
"""Dots in one line. For a key of thousands of parts tomllib takes seconds: their square counts."""
HOLDERS: Final = frozenset(("pair", "table", "table_array_element", "inline_table"))
"""Nodes of the syntax tree below which keys are said. What stands in an array has no key of its own."""

Key = tuple[str, ...]


class UnusableError(Exception):
    """The file says nothing that could be taken field by field. The message is one line."""


class TomlFile:
    """What a file says. `name` is how messages call it."""

    def __init__(self, name: str, source: str = "") -> None:
        """Raise ValueError where it is no TOML, RecursionError where it nests too deep."""
        if any(line.count(".") > DOTS for line in source.split("\n")):
            raise RecursionError
        self.name = name
        self.table: Mapping[str, Any] = tomllib.loads(source)
        self._source = source

    def line(self, key: Key) -> int:
        """The first line that says it, from 1; else the line of what holds it; else 0."""
        return next((self._lines[key[:end]] for end in range(len(key), 0, -1) if key[:end] in self._lines), 0)

    def place(self, key: Key) -> str:
        """Where a key is said, as `file:12`."""
        line = self.line(key)
        return f"{self.name}:{line}" if line else self.name

    @cached_property
    def _lines(self) -> dict[Key, int]:
        return _lines(self._source)


def read_toml(path: Path, name: str = "", *, follow: bool) -> TomlFile:
    """Read a file; one that is not there says nothing. Raises UnusableError.

    `follow`: a link leads to the file; else it is refused.
    """
    name = name or str(path)
    try:
        return TomlFile(name, read_whole(path, FILE_LIMIT, follow=follow).decode("utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError):
        return TomlFile(name)
    except UnicodeDecodeError as error:
        raise UnusableError(f"not UTF-8 at byte {error.start}") from error
    except RecursionError as error:
        raise UnusableError("nested too deep") from error
    except (OSError, UnfitError) as error:
        raise UnusableError(str(error)) from error
    except ValueError as error:  # a TOMLDecodeError, or a number or date that Python refuses
        raise UnusableError(f"no TOML: {error}") from error


def _lines(source: str) -> dict[Key, int]:
    """The first line of every key, and of every table that a key names on its way."""
    from sidecar.adapters import grammar  # noqa: PLC0415 - a file without errors needs no grammar

    lines: dict[Key, int] = {}
    waiting: list[tuple[Node, Key]] = [(grammar.parse(grammar.Tongue.TOML, source).root_node, ())]
    while waiting:
        node, key = waiting.pop()
        named = node.named_children
        if node.type in HOLDERS and node.type != "inline_table":
            key = (*key, *_parts(named[0]))[:DEEPEST]
            for end in range(1, len(key) + 1):
                lines.setdefault(key[:end], grammar.line_of(named[0]))
        waiting += [(child, key) for child in reversed(named) if child.type in HOLDERS]
    return lines


def _parts(key: Node) -> Iterator[str]:
    """The names of a key, outermost first. The tree of `a.b.c` leans to the left."""
    chain = []
    while key.type == "dotted_key":
        key, last = key.named_children
        chain.append(last)
    for node in (key, *reversed(chain)):
        text = (node.text or b"").decode()
        yield next(iter(tomllib.loads(f"{text}=0"))) if node.type == "quoted_key" else text
