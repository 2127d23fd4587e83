"""Maven and Gradle: both write JUnit XML into the build folder of each module, whatever they are asked."""

from __future__ import annotations

from typing import Final

from sidecar.adapters.reports import junit
from sidecar.adapters.reports.files import below
from sidecar.adapters.reports.report import Report, Written

MAVEN: Final = ("/target/surefire-reports", "/target/failsafe-reports")
GRADLE: Final = "/build/test-results/"


def read(written: Written) -> Report | None:
    """What this run wrote. None where every test was up to date: then the exit code alone speaks."""
    maven = below(written.folder, suffix=".xml", within=MAVEN, since=written.since)
    gradle = (
        path for path in below(written.folder, suffix=".xml", since=written.since) if GRADLE in str(path)
    )
    paths = [path for path in (*maven, *gradle) if path.name.startswith("TEST-")]
    return junit.read_all(dict.fromkeys(paths), written.folder)
