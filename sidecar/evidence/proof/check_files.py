"""Tells which changed files bear on a check, and reads in the others what running old checks cannot show.

A file bears on a check by its name, or because a check file names it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Final

from msgspec import Struct

from sidecar.evidence.gates.origins import Surroundings
from sidecar.evidence.ports import CopyVersion
from sidecar.evidence.proof.expectations import expectation_at, find_places, may_hold_expectations
from sidecar.evidence.proof.file_names import CheckFiles, generated_file_reason, has_form
from sidecar.evidence.proof.opened import language_family
from sidecar.kernel.evidence import CheckChange, FileChange, FindingSeverity, IntegrityFinding
from sidecar.kernel.gate import GateRun, Kind
from sidecar.platform.data import load_data
from sidecar.platform.environments import installed_folders, known_environments
from sidecar.platform.paths import link_leads_out
from sidecar.platform.tools import settings_patterns

TYPE_STUB: Final = ".d."
SEARCHED_FILES: Final = 500
SEARCHED_BYTES: Final = 1 << 20
"""Check files that are searched for the names of other files, and the maximum size of each."""
REPORTED_PLACES: Final = 30
"""Files and lines of one report that are looked up."""


@cache
def _settings() -> re.Pattern[str]:
    known = load_data("check_files", CheckFiles)
    above = (f"{re.escape(name)}$" for name in load_data("surroundings", Surroundings).above)
    tools = (f"(^|/){pattern}" for pattern in (*settings_patterns(), *above))
    return re.compile("|".join((*known.settings, known.shadows, *tools)))


@cache
def _inline_markers() -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    known = load_data("check_files", CheckFiles)
    return tuple((re.compile(name), re.compile(line, re.MULTILINE)) for name, line in known.inline)


def bears_on_checks(path: str) -> bool:
    """Whether a file of this name belongs to a check."""
    return has_form(path, "folders", "tests") or _settings().search(path) is not None


def is_runner_setting(path: str) -> bool:
    """Whether a file of this name sets how checks run, and is none itself."""
    return _settings().search(path) is not None and not has_form(path, "tests")


def is_installed(path: str) -> bool:
    """Whether a path is where an installer keeps programs and packages."""
    return not installed_folders().isdisjoint(path.split("/")[:-1])


def find_product_code(files: Iterable[FileChange]) -> tuple[str, ...]:
    """Return the changed files whose text a check of the product ought to open; in doubt not."""
    return tuple(file.path for file in files if _is_product_code(file))


def _is_product_code(file: FileChange) -> bool:
    path, text = file.path, file.after or ""
    if file.link or not text.strip() or text == file.before or not language_family(path):
        return False
    folders = {*path.split("/")[:-1]}
    return not (
        bears_on_checks(path)
        or is_installed(path)
        or folders & known_environments().unsearched
        or has_form(path, "test_files", "other_settings", "documents")
        or TYPE_STUB in path.rpartition("/")[2]
        or generated_file_reason(path, text)
    )


def is_ci_setting(path: str) -> bool:
    """Whether a file tells a CI service what to run."""
    return has_form(path, "ci")


def hides_failure(key: str, value: object) -> bool:
    """Whether a key of a CI file lets a step fail unnoticed."""
    return key in load_data("check_files", CheckFiles).hides_failure and value not in (False, None)


def changes_dependencies(changed: Iterable[FileChange]) -> bool:
    """Whether a change names another version of something that the project depends on.

    The old code then fails with what is installed today, whatever it did when the work began.
    """
    known = load_data("check_files", CheckFiles)
    line = re.compile(known.dependency, re.MULTILINE)
    return any(
        {*_lines(line, file.before)} != {*_lines(line, file.after)}
        for file in changed
        if re.search(known.manifests, file.path)
    )


def _lines(pattern: re.Pattern[str], text: str | None) -> Iterator[str]:
    return (hit[0].strip() for hit in pattern.finditer(text or ""))


def may_bear_on_checks(changed: Iterable[FileChange]) -> bool:
    """Whether one of these changed files may bear on a check: cheap, and rather true too often."""
    return any(
        bears_on_checks(path)
        or not is_code(path)
        or with_old_inline_tests(path, file.before or "", file.after or "") is not None
        for file in changed
        for path in (file.path, file.old_path)
        if path
    )


def with_old_inline_tests(path: str, old: str, new: str) -> str | None:
    """Return the new code with the old tests of the same file; None where these tests did not change.

    Tests begin at the first line that marks them, and last to the end of the file.
    """
    for name, marker in _inline_markers():
        if name.search(path):
            starts = [found.start() if (found := marker.search(text)) else len(text) for text in (old, new)]
            merged = new[: starts[1]] + old[starts[0] :]
            return None if merged == new else merged
    return None


def choose_kept_files(
    version: CopyVersion, also: frozenset[str], changed: Mapping[str, str], copy: Path
) -> frozenset[str]:
    """Return the changed files that a mixed copy does not take with the code. `also`: these in any case.

    An added test file bears on what coverage is measured, and changes no test that was there.
    """
    kept = also & changed.keys()
    if version in (CopyVersion.PRODUCT_ALONE, CopyVersion.BASE_PRODUCT):
        return kept | {path for path in changed if not is_code(path) or bears_on_checks(path)}
    kept |= choose_check_files(changed, copy)
    if version is CopyVersion.ADDED_CHECKS:
        kept = frozenset(path for path in kept if changed[path] != "A" or not is_code(path))
    return kept


def is_code(path: str) -> bool:
    """Whether a file's ending is one of what a check names because it tests it."""
    return has_form(path, "code", "tested")


def _is_program(file: Path) -> bool:
    """Whether a file is a program, which a check names because it tests it, as it does code."""
    return file.is_file() and text_of(file).startswith("#!")


def choose_check_files(changed: Iterable[str], copy: Path) -> frozenset[str]:
    """Return the changed files that bear on a check, by their name or because a check file names them."""
    changed = tuple(changed)
    found = {path for path in changed if bears_on_checks(path)}
    others = [
        path for path in changed if path not in found and not is_code(path) and not _is_program(copy / path)
    ]
    if others:
        named = re.compile("|".join({re.escape(path.rpartition("/")[2]): None for path in others}))
        texts = (text_of(file) for file in files_in(copy, bears_on_checks))
        mentioned = {name for text in texts for name in named.findall(text)}
        found |= {path for path in others if path.rpartition("/")[2] in mentioned}
    return frozenset(found)


def reported_places(run: GateRun, copy: Path) -> Iterator[tuple[str, int]]:
    """Yield the files below a copy, and their lines, that a run's report names."""
    text = "\n".join((*run.failures, run.output))
    for path, line in islice(dict.fromkeys(find_places(text)), REPORTED_PLACES):
        places = [place for place in (copy / path, copy / run.gate.folder / path) if place.is_file()]
        named = places or [*copy.rglob(path.rpartition("/")[2])]
        if (places or len(named) == 1) and named[0].is_relative_to(copy):
            yield str(named[0].relative_to(copy)), line


def find_reporting_files(run: GateRun, copy: Path) -> tuple[str, ...]:
    """Return the files of no check by their names in which this run reports failures, as tests do.

    An expectation stands at the line that is reported, and no other code names the file, as it does code.
    """
    found = []
    for path, line in reported_places(run, copy):
        file = copy / path
        if bears_on_checks(path) or expectation_at(path, text_of(file), line) is None:
            continue
        name = re.compile(rf"\b{re.escape(file.stem)}\b")
        if not any(name.search(text_of(other)) for other in files_in(copy, is_code) if other != file):
            found.append(path)
    return tuple(dict.fromkeys(found))


def stamp_check_files(copy: Path) -> dict[Path, tuple[int, int]]:
    """Return for each check in code what changes when somebody writes it: inode and ctime."""
    files = files_in(copy, lambda path: bears_on_checks(path) and may_hold_expectations(path))
    return {file: (about.st_ino, about.st_ctime_ns) for file in files for about in (file.stat(),)}


def files_in(copy: Path, wanted: Callable[[str], bool]) -> Iterator[Path]:
    """Yield the first files below a copy whose relative paths are wanted."""
    files = (
        file
        for file in copy.rglob("*")
        if wanted(str(file.relative_to(copy))) and file.is_file() and not file.is_symlink()
    )
    return islice(files, SEARCHED_FILES)


def text_of(file: Path) -> str:
    """Return the text of a file, "" of one that is too big."""
    if file.stat().st_size > SEARCHED_BYTES:
        return ""
    return file.read_text(encoding="utf-8", errors="replace")


# --- what product files do to checks: data/product_marks.toml -----------------------------------------------


LINE_LENGTH: Final = 1_000
"""Characters of a line that are examined."""
TEXT_LENGTH: Final = 300
SHOWN_IN_FILE: Final = 5


class ProductMark(Struct, frozen=True, forbid_unknown_fields=True):
    """One mark. `after`: it counts only below a line that matches this. `lost`: what is gone counts.

    `weight` and `kinds` are those of its findings.
    """

    change: CheckChange
    pattern: str
    after: str = ""
    kinds: tuple[Kind, ...] = ()
    weight: FindingSeverity = FindingSeverity.GRAVE
    lost: bool = False


class ProductMarks(Struct, frozen=True, forbid_unknown_fields=True):
    """The data file."""

    marks: tuple[ProductMark, ...]


@cache
def _mark_patterns() -> tuple[tuple[ProductMark, re.Pattern[str], re.Pattern[str] | None], ...]:
    return tuple(
        (mark, re.compile(mark.pattern), re.compile(mark.after) if mark.after else None)
        for mark in load_data("product_marks", ProductMarks).marks
    )


def find_product_marks(files: Iterable[FileChange]) -> tuple[IntegrityFinding, ...]:
    """Return what is new in the changed files, and programs of the environment that were replaced."""
    return tuple(finding for file in files for finding in _file_findings(file))


def _file_findings(file: FileChange) -> Iterator[IntegrityFinding]:
    if is_installed(file.path):
        yield IntegrityFinding(change=CheckChange.TOOL_REPLACED, weight=FindingSeverity.GRAVE, file=file.path)
    elif is_ci_setting(file.path):
        yield IntegrityFinding(change=CheckChange.CI_CHANGED, file=file.path)
    elif file.link:
        target = file.after or ""
        if link_leads_out(file.path, target):
            after = target[:TEXT_LENGTH]
            yield IntegrityFinding(change=CheckChange.LINK_LEAVES_TREE, file=file.path, after=after)
    elif not bears_on_checks(file.path) and file.after is not None:
        for mark, pattern, above in _mark_patterns():
            yield from _new_lines(file, mark, pattern, above)


def _new_lines(
    file: FileChange, mark: ProductMark, pattern: re.Pattern[str], above: re.Pattern[str] | None
) -> Iterator[IntegrityFinding]:
    old, new = file.before or "", file.after or ""
    if mark.lost:
        old, new = new, old
    left = Counter(text for _, text in _marked_lines(old, pattern, above))
    shown = 0
    for number, text in _marked_lines(new, pattern, above):
        if left[text] > 0:
            left[text] -= 1
        elif shown < SHOWN_IN_FILE:
            shown += 1
            yield IntegrityFinding(
                change=mark.change,
                weight=mark.weight,
                file=file.path,
                line=0 if mark.lost else number,
                after=text[:TEXT_LENGTH],
                kinds=mark.kinds,
            )


def _marked_lines(
    text: str, pattern: re.Pattern[str], above: re.Pattern[str] | None
) -> Iterator[tuple[int, str]]:
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if pattern.search(line[:LINE_LENGTH]) and (
            above is None or (number and above.search(lines[number - 1][:LINE_LENGTH]))
        ):
            yield number + 1, " ".join(line.split())
