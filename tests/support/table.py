"""One property is one test over a table: every row is tried, and all that fail are named together."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

Test = Callable[..., None]
Ids = Callable[[Any], object] | Iterable[Any]


def over_table(
    names: str | Sequence[str],
    rows: Iterable[Any],
    *,
    ids: Ids | None = None,
) -> Callable[[Test], Test]:
    """Give each row to the test in turn, as `pytest.mark.parametrize` does, within one test.

    For properties alone: rows share the test's fixtures, so a test that changes them takes `parametrize`.
    """
    fields = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    table = [_parameters(row, fields) for row in rows]
    given = None if ids is None or callable(ids) else list(ids)

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def over(**fixtures: Any) -> None:
            failed = []
            for number, row in enumerate(table):
                try:
                    test(**dict(zip(fields, row.values, strict=True)), **fixtures)
                except Exception as error:  # noqa: BLE001 - any row may fail in any way
                    name = row.id or (given[number] if given else row.values)
                    failed.append(f"row {number} {name!r:.200}:\n{type(error).__name__}: {error}")
            if failed:
                pytest.fail(f"{len(failed)} of {len(table)} rows\n\n" + "\n\n".join(failed), pytrace=False)
            assert table, "a table without rows shows nothing"

        kept = [p for p in inspect.signature(test).parameters.values() if p.name not in fields]
        vars(over)["__signature__"] = inspect.Signature(kept)  # where pytest finds the fixtures
        return over

    return decorate


def sampled(names: Iterable[str], *often: str) -> list[Any]:
    """Return parameters of which those not named in `often` are played by `tox -e long` alone.

    For rows that show one mechanism in many ways, each of which starts processes.
    """
    listed = list(names)
    assert {*often} <= {*listed}
    return [pytest.param(name, marks=() if name in often else pytest.mark.long) for name in listed]


def often(rows: Iterable[Any], first: int) -> list[Any]:
    """Return parameters of which all behind the first ones are played by `tox -e long` alone."""
    listed = list(rows)
    return [*listed[:first], *map(_played_seldom, listed[first:])]


def _played_seldom(row: Any) -> Any:
    if isinstance(row, type(pytest.param())):
        return pytest.param(*row.values, marks=[*row.marks, pytest.mark.long], id=row.id)
    return pytest.param(*(row if isinstance(row, tuple) else (row,)), marks=pytest.mark.long)


def _parameters(row: Any, fields: list[str]) -> Any:
    """The row as pytest.param gives it."""
    if isinstance(row, type(pytest.param())):
        return row
    return pytest.param(row) if len(fields) == 1 else pytest.param(*row)
