"""Fills the templates of page.html. Every value is escaped, unless it was made here."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from string import Template
from typing import Final

from sidecar.kernel.text import escape_unprintable

FOLDER: Final = Path(__file__).parent
TEMPLATE: Final = re.compile(r'<template id="([a-z-]+)">\n?(.*?)</template>', re.DOTALL)


class Html(str):
    """Markup that needs no escaping."""

    __slots__ = ()


def fill(template: str, /, **values: object) -> Html:
    """Fill in a template. Raises KeyError where a value or the template is missing."""
    return Html(_templates()[template].substitute({key: _escape(value) for key, value in values.items()}))


def fill_each(template: str, rows: Iterable[Mapping[str, object]]) -> Html:
    """Fill in a template for each row, one after the other."""
    return Html("".join(fill(template, **row) for row in rows))


def _escape(value: object) -> str:
    return value if isinstance(value, Html) else html.escape(escape_unprintable(str(value)))


@cache
def _templates() -> dict[str, Template]:
    text = (FOLDER / "page.html").read_text(encoding="utf-8")
    return {name: Template(body) for name, body in TEMPLATE.findall(text)}
