"""What commands print, whatever they are given."""

from __future__ import annotations

import json
from collections.abc import Callable

import click
import pytest
from rich.table import Table

from sidecar.cli import main, run_command
from sidecar.cli.printing import echo, echo_json
from sidecar.cli.screen import Screen
from support.hostile import HOSTILE, faults


def print_table(text: str) -> None:
    table = Table()
    table.add_column(min_width=40)
    table.add_row(text)
    Screen(highlight=False).print(table)


def print_on_a_screen(text: str) -> None:
    Screen(highlight=False).print(text, markup=False)


def refuse(text: str) -> None:
    @click.command()
    def refused() -> None:
        raise click.UsageError(text)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(main, "get_command", lambda *_: refused)
        assert run_command(["x"]) == 2


def print_error(text: str) -> None:
    echo(text, err=True)


@pytest.mark.parametrize("name", [name for name in HOSTILE if name != "a megabyte"])
@pytest.mark.parametrize("show", [echo, echo_json, print_error, print_on_a_screen, print_table, refuse])
def test_nothing_that_a_terminal_would_obey_is_printed(
    show: Callable[[str], None], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"before {HOSTILE[name]} after"
    if show is echo_json:
        text = text.encode("utf-8", "replace").decode()
    show(text)
    done = capsys.readouterr()
    shown = done.out + done.err
    assert (faults(shown), "before" in shown, "after" in shown) == ([], True, True)
    if show is echo_json:
        assert json.loads(shown) == text


def test_in_a_pipe_a_line_is_as_wide_as_the_documentation_says(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for columns, lines in (("", [200, 100]), ("90", [90, 90, 90, 30])):
        monkeypatch.setenv("COLUMNS", columns)
        print_on_a_screen("x" * 300)
        assert [len(line) for line in capsys.readouterr().out.splitlines()] == lines
