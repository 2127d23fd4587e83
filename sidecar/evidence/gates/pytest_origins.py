"""A plugin for the project's own pytest: writes down from which files the packages under test were imported.

It also lets Python compile the project's files anew, whatever compiled code lies beside them: that of another
version of a file may have its time and size.

Copied into a folder of its own and loaded by name (evidence/gates/origins.py). It runs in the project's
interpreter: only the standard library, Python 3.7 or newer.
"""

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

from _pytest.assertion import rewrite

HERE = Path(__file__).resolve().parent
INSTALLED = ("site-packages", "dist-packages", "python" + ".".join(map(str, sys.version_info[:2])))
"""Folders whose compiled code is trusted: those of packages, and of the standard library."""


def _ignore_compiled_code() -> None:
    """Let the import system, and pytest's rewriting of tests, find no compiled code of other files."""
    system: Any = importlib._bootstrap_external  # noqa: SLF001 - the import system itself calls this one
    found = system.cache_from_source

    def cache_from_source(path, *arguments, **options):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN002, ANN003, ANN202 - of another interpreter
        if not set(Path(path).parts).intersection(INSTALLED):
            raise NotImplementedError
        return found(path, *arguments, **options)

    system.cache_from_source = cache_from_source
    if hasattr(rewrite, "_read_pyc"):
        rewrite._read_pyc = lambda *_, **__: None  # noqa: SLF001 - no other way out of pytest's own cache


def pytest_configure() -> None:
    """Restore the variables by which this file was found: nothing that the tests start inherits it."""
    _ignore_compiled_code()
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
