"""Fills the templates of page.html, and lays a diff out in rows. Values are escaped, unless made here."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Final

from sidecar.kernel.text import escape_unprintable

FOLDER: Final = Path(__file__).parent
TEMPLATE: Final = re.compile(r'<template id="([a-z-]+)">\n?(.*?)</template>', re.DOTALL)

VALUE: Final = re.compile(r"\$([a-z]+)")
"""A value of a template. Templates are split by it once; `string.Template` searches its text each time."""


class Html(str):
    """Markup that needs no escaping."""

    __slots__ = ()


def fill(template: str, /, **values: object) -> Html:
    """Fill in a template. Raises KeyError where a value or the template is missing."""
    head, rest = _templates()[template]
    return Html(head + "".join(f"{_escape(values[key])}{text}" for key, text in rest))


def fill_each(template: str, rows: Iterable[Mapping[str, object]]) -> Html:
    """Fill in a template for each row, one after the other."""
    return Html("".join(fill(template, **row) for row in rows))


def _escape(value: object) -> str:
    return value if isinstance(value, Html) else html.escape(escape_unprintable(str(value)))


@cache
def _templates() -> dict[str, tuple[str, tuple[tuple[str, str], ...]]]:
    """Return the text of each template before its first value, and the values with the text after each."""
    text = (FOLDER / "page.html").read_text(encoding="utf-8")
    found = ((name, VALUE.split(body)) for name, body in TEMPLATE.findall(text))
    return {name: (parts[0], tuple(zip(parts[1::2], parts[2::2], strict=True))) for name, parts in found}


DiffRow = tuple[str | None, str | None]
"""One row: the old line and the new one, None where there is none."""


def diff_rows(hunks: str) -> Iterator[DiffRow]:
    """Yield the rows of a diff without its header. Lines that replace each other stand side by side."""
    old: list[str] = []
    new: list[str] = []
    for line in hunks.splitlines():
        side = {"-": old, "+": new}.get(line[:1])
        if side is not None:
            side.append(line[1:])
            continue
        yield from _pairs(old, new)
        same = line if line.startswith("@@") else line[1:]
        yield same, same
    yield from _pairs(old, new)


def _pairs(old: list[str], new: list[str]) -> Iterator[DiffRow]:
    yield from zip_longest(old, new)
    old.clear()
    new.clear()
