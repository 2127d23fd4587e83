"""XML that may be hostile."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Final
from xml.etree import ElementTree as ET

DEEP: Final = 20
"""Suites in each other that are named."""


def elements(raw: bytes) -> Iterator[ET.Element]:
    """Every element at its end, its name without a namespace. Raises ET.ParseError, ValueError.

    A test case gets the names of the suites around it in `suites`.

    A document with entities of its own is refused: a few of them fill any memory. So is one in an encoding in
    which they could not be seen.
    """
    if b"<!ENTITY" in raw or b"\0" in raw[:4]:
        raise ValueError("a report with entities, or in UTF-16")
    suites: list[str] = []
    # No entities, and bounded by the caller.
    for event, element in ET.iterparse(io.BytesIO(raw), ("start", "end")):  # noqa: S314
        tag = element.tag.rpartition("}")[2]
        if event == "start":
            suites += [element.get("name") or ""] if tag == "testsuite" else []
            continue
        if tag == "testsuite":
            suites.pop()
        if tag == "testcase":
            element.set("suites", " > ".join(suites[-DEEP:]))
        element.tag = tag
        yield element
