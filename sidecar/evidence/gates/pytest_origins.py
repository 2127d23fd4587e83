"""A plugin for the project's own pytest: writes down from which files the packages under test were imported.

Copied into a folder of its own and loaded by name (evidence/gates/origins.py). It runs in the project's
interpreter: only the standard library, Python 3.7 or newer.
"""

import json
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def pytest_configure() -> None:
    """Restore the variables by which this file was found: nothing that the tests start inherits it."""
    for name in ("PYTEST_ADDOPTS", "PYTHONPATH"):
        before = os.environ.pop(f"SUPERVISOR_BEFORE_{name}", "")
        if before:
            os.environ[name] = before
        else:
            os.environ.pop(name, None)
    sys.path[:] = [path for path in sys.path if path != str(HERE)]


def pytest_unconfigure(config) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001 - pytest is the project's
    """Write the file of each module, and of the settings; a worker writes a list of its own."""
    found = {}
    for name, module in list(sys.modules.items()):
        folders = list(getattr(module, "__path__", None) or [])
        place = getattr(module, "__file__", None) or (folders[0] if folders else "")
        if place:
            found[name] = str(place)
    if getattr(config, "inipath", None):
        found["settings of pytest"] = str(config.inipath)
    (HERE / f"origins-{os.getpid()}.json").write_text(json.dumps(found), encoding="utf-8")
