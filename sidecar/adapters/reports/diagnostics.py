"""JSON of linters and type checkers: ruff, eslint, mypy and pyright. What a person would see is made here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from sidecar.adapters.reports.report import (
    Fault,
    Report,
    Written,
    data,
    decoded,
    diagnosed,
    numbered,
    of,
)

SHOWN = 1_000
"""Diagnostics that are shown as text."""


def shown(faults: Sequence[Fault], written: Written, rest: str = "") -> Report:
    """A report of these faults, with a text of them and of the `rest` of the output."""
    lines = (fault.said or fault.name for fault in faults[:SHOWN])
    text = "\n".join(line.replace(f"{written.folder}/", "") for line in lines)
    return replace(
        of(numbered(faults), written.folder), text="\n".join(filter(None, (rest.strip("\n"), text)))
    )


class _Position(Struct, frozen=True):
    row: int | None = None
    line: int | None = None


class _Ruff(Struct, frozen=True):
    filename: str
    message: str
    code: str | None = None
    location: _Position | None = None


def read_ruff(written: Written) -> Report | None:
    """`ruff check --output-format json`."""
    found = decoded(data(written.report()), tuple[_Ruff, ...])
    if found is None:
        return None
    return shown(
        [
            diagnosed(one.filename, one.location.row if one.location else None, one.code, one.message)
            for one in found
        ],
        written,
        written.text,
    )


class _EslintMessage(Struct, frozen=True, rename="camel"):
    message: str
    severity: int = 2
    rule_id: str | None = None
    line: int | None = None


class _EslintFile(Struct, frozen=True, rename="camel"):
    file_path: str
    messages: tuple[_EslintMessage, ...] = ()


def read_eslint(written: Written) -> Report | None:
    """`eslint -f json`. Warnings count only where there is nothing worse: with --max-warnings they fail."""
    files = decoded(data(written.report()), tuple[_EslintFile, ...])
    if files is None:
        return None
    both = [(file.file_path, one) for file in files for one in file.messages]
    worst = max((one.severity for _, one in both), default=0)
    return shown(
        [diagnosed(path, one.line, one.rule_id, one.message) for path, one in both if one.severity == worst],
        written,
        written.text,
    )


class _Mypy(Struct, frozen=True):
    file: str
    message: str
    severity: str
    line: int | None = None
    code: str | None = None


def read_mypy(written: Written) -> Report | None:
    """`mypy --output json`: one object for each line, beside lines in plain words."""
    faults, rest, known = list[Fault](), list[str](), False
    for line in written.text.split("\n"):
        one = decoded(line, _Mypy) if line.startswith("{") else None
        if one is None:
            rest.append(line)
        else:
            known = True
            if one.severity == "error":
                faults.append(diagnosed(one.file, one.line, one.code, one.message))
    return shown(faults, written, "\n".join(rest)) if known else None


class _PyrightRange(Struct, frozen=True):
    start: _Position = _Position()


class _PyrightOne(Struct, frozen=True):
    message: str
    severity: str = "error"
    file: str = ""
    rule: str | None = None
    range: _PyrightRange | None = None


class _Pyright(Struct, frozen=True, rename="camel"):
    general_diagnostics: tuple[_PyrightOne, ...]


def read_pyright(written: Written) -> Report | None:
    """`pyright --outputjson`: one document, whose lines count from 0."""
    begin = written.text.find("{")
    end = written.text.rfind("}")
    found = decoded(written.text[begin : end + 1], _Pyright) if begin >= 0 else None
    if found is None:
        return None
    return shown(
        list(_pyright_faults(found.general_diagnostics)),
        written,
        written.text[:begin] + written.text[end + 1 :],
    )


def _pyright_faults(found: Iterable[_PyrightOne]) -> Iterable[Fault]:
    for one in found:
        if one.severity == "error":
            start = one.range.start.line if one.range else None
            yield diagnosed(one.file, None if start is None else start + 1, one.rule, one.message)
