"""`supervisor status` shows what others wrote as it was written, and obeys none of it."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from sidecar.cli.status import _decisions_table
from sidecar.kernel.log import RecordEntry


@pytest.mark.parametrize(
    ("detail", "shown"),
    [
        ("tests/test_api.py::test_get[/api/users]", "tests/test_api.py::test_get[/api/users]"),
        ("test_f[red-1] failed", "test_f[red-1] failed"),
        ("a \x1b[2J title", "a \\x1b[2J title"),
    ],
)
def test_a_reason_is_text_and_neither_markup_nor_an_order_to_the_terminal(detail: str, shown: str) -> None:
    paper = StringIO()
    entry = RecordEntry(at=0.0, event="stop", decided="continue", detail=detail)
    Console(file=paper, width=200).print(_decisions_table((entry,)))
    assert shown in paper.getvalue()
