"""JUnit XML, in the dialects of pytest, vitest, node, bun, PHPUnit, Surefire and Gradle."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from sidecar.adapters.reports.report import LOOKED_AT, Fault, Report, Written, data, of
from sidecar.adapters.reports.xml import elements

Name = Callable[[ET.Element], str]

FILES: Final = 2_000
"""Reports of one run that are read."""
COLLECTION: Final = "collection failure"
"""How pytest calls a file that it could not import."""


def read(written: Written) -> Report | None:
    """The one report that was asked for."""
    return read_all((written.report(),), written.folder)


def read_pytest(written: Written) -> Report | None:
    """A report of pytest in the xunit1 form."""
    return read_all((written.report(),), written.folder, _pytest_node)


def read_all(paths: Iterable[Path], folder: Path, name: Name | None = None) -> Report | None:
    """Add reports up. None where there is none; a broken one makes the count unknown."""
    executed, skipped, found, broken = 0, 0, False, False
    faults: list[Fault] = []
    for path in paths:
        try:
            for case in _cases(path):
                found = True
                executed += _ran(case)
                skipped += _left_out(case)
                if len(faults) < LOOKED_AT:
                    faults.extend(_fault(case, name or _node))
        except (OSError, ET.ParseError, ValueError):
            broken = True
        else:
            found = True
    if not found:
        return None
    counts = (None, None) if broken else (executed, skipped)
    return of(faults, folder, executed=counts[0], skipped=counts[1])


def _cases(path: Path) -> Iterator[ET.Element]:
    raw = data(path)
    if raw is None:
        raise FileNotFoundError(path)
    for element in elements(raw):
        if element.tag == "testcase":
            yield element
            element.clear()
        elif element.tag in ("system-out", "system-err"):
            element.clear()


def _ran(case: ET.Element) -> bool:
    """Whether a test ran. An expected failure did; what was skipped or could not be loaded did not."""
    skipped, error = case.find("skipped"), case.find("error")
    if skipped is not None:
        return skipped.get("type") == "pytest.xfail"
    if error is not None and error.get("message") == COLLECTION:
        return False
    return not (case.get("name") == case.get("classname") and case.find("failure") is not None)


def _left_out(case: ET.Element) -> bool:
    skipped = case.find("skipped")
    return skipped is not None and skipped.get("type") != "pytest.xfail"


def _fault(case: ET.Element, name: Name) -> list[Fault]:
    for fault in (case.find("failure"), case.find("error")):
        if fault is not None:
            message = (fault.get("message") or _first_line(fault.text)).partition("\n")[0]
            said = _cause(fault) if message == COLLECTION else message
            return [Fault(name(case), f"{name(case)}: {said}" if said else "")]
    return []


def _first_line(text: str | None) -> str:
    return next((line for line in (text or "").splitlines() if line.strip()), "")


def _cause(fault: ET.Element) -> str:
    """The last line of a collection failure that pytest marks as the error."""
    marked = [line[1:].strip() for line in (fault.text or "").split("\n") if line.startswith("E ")]
    return marked[-1] if marked else "it could not be collected"


def _node(case: ET.Element) -> str:
    """Class or file, and name; node writes "test" for every class, and only its suites tell tests apart."""
    name, owner = case.get("name") or "", case.get("classname") or case.get("class") or ""
    if owner == "test":
        return " > ".join(filter(None, (case.get("suites"), name)))
    return name if owner in ("", name) else f"{owner}: {name}"


def _pytest_node(case: ET.Element) -> str:
    """The name by which pytest would run this test alone."""
    name, file, dotted = case.get("name") or "", case.get("file") or "", case.get("classname") or ""
    if not file or not dotted:
        return file or name
    module = file.removesuffix(".py").replace("/", ".")
    classes = dotted.removeprefix(module).strip(".")
    return "::".join(part for part in (file, classes.replace(".", "::"), name) if part)
