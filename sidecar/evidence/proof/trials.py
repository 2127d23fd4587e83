"""Tries whether a gate that passed could have failed, in at most two runs in copies.

on the old code    today's checks and surroundings with the product of the baseline: what was red there is
                   to be red again
falsified          today's files with an expectation turned wrong: one in a test that was just red, at the
                   line that its failure names or behind its name; else all of a test file that is opened
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.ports import CopyVersion, ProjectCopy
from sidecar.evidence.proof.check_files import bears_on_checks, files_in, reported_places, text_of
from sidecar.evidence.proof.copies import NO_TIME, ScratchRuns
from sidecar.evidence.proof.expectations import (
    Expectation,
    expectation_at,
    falsify,
    find_expectations,
    may_hold_expectations,
)
from sidecar.evidence.proof.opened import language_family
from sidecar.evidence.proof.policy import bare_name
from sidecar.kernel.gate import CheckTrial, GateRun, Outcome

VALUE: Final = re.compile(
    r"""(?<![\w.])(\d(?:[\d_]{2,}|[\d_]*\.\d+))(?!\w)|(["'])((?:(?!\2)[^\\\n]|\\.){3,60})\2"""
)
SEVERAL: Final = 2
SHOWN_VALUES: Final = 5


class _Falsified(Struct, frozen=True):
    """What is turned wrong in a file. `sure`: a test that was red reads it."""

    file: str
    expectations: tuple[Expectation, ...]
    sure: bool

    @property
    def place(self) -> str:
        return f"{self.file}:{self.expectations[0].first}"


async def try_gate(copies: ScratchRuns, run: GateRun) -> CheckTrial:
    """Try one gate."""
    async with copies.copy(CopyVersion.WHOLE) as today:
        if today.unseen:
            return CheckTrial(now=run, unseen=today.unseen)
        on_base, changed, answers = await _on_base(copies, run, today)
        seen = CheckTrial(now=run, on_base=on_base, answers=answers)
        if on_base is not None and on_base.outcome is Outcome.PASSED:
            return seen  # that says it
        chosen = await asyncio.to_thread(_choose, Path(today.project), run, on_base, changed)
        if chosen is None:
            return replace(seen, unseen="no test has an expectation that can be turned wrong")
        return await _falsified(copies, seen, today, chosen)


async def _on_base(
    copies: ScratchRuns, run: GateRun, today: ProjectCopy
) -> tuple[GateRun | None, tuple[str, ...], dict[str, tuple[str, ...]]]:
    """Run today's checks on the product of the baseline, if it is another.

    Return also what else changed, and the answers that were copied into the product.
    """
    async with copies.copy(CopyVersion.BASE_PRODUCT) as copy:
        if copy.unseen or copy.content == today.content != "":
            return None, copy.checks, {}
        answers = await asyncio.to_thread(_copied_answers, Path(copy.project), Path(today.project))
        return await copies.run_gate(run, copy, CopyVersion.BASE_PRODUCT), copy.checks, answers


def _copied_answers(before: Path, after: Path) -> dict[str, tuple[str, ...]]:
    """Return, by product file, the values of the tests that are new in it, where there are several.

    Of 210 honest endings four had two of them, of seven tables of answers six.
    """
    tested = {value for file in files_in(after, bears_on_checks) for value in _values(text_of(file))}
    found = {}
    for file in files_in(after, lambda path: bool(language_family(path)) and not bears_on_checks(path)):
        old = before / file.relative_to(after)
        new = {*_values(text_of(file))} - {*_values(text_of(old) if old.is_file() else "")}
        if len(copied := new & tested) >= SEVERAL:
            found[str(file.relative_to(after))] = tuple(sorted(copied))[:SHOWN_VALUES]
    return found


def _values(text: str) -> Iterator[str]:
    """Yield numbers of at least three characters, and what stands in quotes on a line."""
    return (number or quoted for number, _, quoted in VALUE.findall(text))


async def _falsified(
    copies: ScratchRuns, seen: CheckTrial, today: ProjectCopy, chosen: _Falsified
) -> CheckTrial:
    file = Path(today.project, chosen.file)
    text = await asyncio.to_thread(file.read_bytes)
    wrong = falsify(text.decode("utf-8", "surrogateescape"), chosen.expectations)
    await asyncio.to_thread(file.write_bytes, wrong.encode("utf-8", "surrogateescape"))
    ended = await copies.run_gate(seen.now, today, CopyVersion.WHOLE, (chosen.file, wrong))
    if ended is None:
        return replace(seen, unseen=NO_TIME)
    if not chosen.sure and ended.outcome is Outcome.PASSED and chosen.file not in (ended.opened or ()):
        return replace(seen, unseen=f"nobody can tell whether it reads {chosen.place}")
    return replace(seen, falsified=ended, expectation=chosen.place)


def _choose(copy: Path, run: GateRun, red: GateRun | None, changed: Sequence[str]) -> _Falsified | None:
    """Choose what to turn wrong, best first: see the table above."""
    if red is not None and red.outcome is Outcome.FAILED:
        places = sorted(reported_places(red, copy), key=lambda place: not bears_on_checks(place[0]))
        for path, line in places:
            if found := expectation_at(path, text_of(copy / path), line):
                return _Falsified(path, (found,), sure=True)
        for path in _test_files(copy, run, changed):
            if found := _behind_name(path, text_of(copy / path), red.failing):
                return _Falsified(path, (found,), sure=True)
    for path in _test_files(copy, run, changed):
        if every := tuple(find_expectations(path, text_of(copy / path))):
            return _Falsified(path, every, sure=False)
    return None


def _behind_name(path: str, text: str, names: Sequence[str]) -> Expectation | None:
    """Return the first expectation behind the name of one of these tests."""
    for name in names:
        at = text.find(bare_name(name))
        if at >= 0:
            line = text.count("\n", 0, at) + 1
            return next((one for one in find_expectations(path, text) if one.first >= line), None)
    return None


def _test_files(copy: Path, run: GateRun, changed: Sequence[str]) -> Iterator[str]:
    """Yield the test files of a gate: those that the command names, those that changed, others."""
    files = files_in(
        copy / run.gate.folder, lambda path: bears_on_checks(path) and may_hold_expectations(path)
    )
    paths = [str(file.relative_to(copy)) for file in files]
    yield from sorted(paths, key=lambda path: (path not in run.gate.command, path not in changed))
