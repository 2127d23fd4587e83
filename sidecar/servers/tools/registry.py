"""Finds the capabilities: every module beside this one that has a function `tools`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable

from sidecar.servers import tools as folder
from sidecar.servers.tools.reach import Reach
from sidecar.servers.tools.tool import Tool


def every(reach: Reach) -> tuple[Tool, ...]:
    """All tools, by the names of their modules. Raises ValueError where two have one name."""
    found: dict[str, Tool] = {}
    for module in sorted(pkgutil.iter_modules(folder.__path__), key=lambda one: one.name):
        loaded = importlib.import_module(f"{folder.__name__}.{module.name}")
        make: Callable[[Reach], tuple[Tool, ...]] | None = getattr(loaded, "tools", None)
        for tool in make(reach) if make else ():
            if tool.name in found:
                raise ValueError(f"two tools are called {tool.name}")
            found[tool.name] = tool
    return tuple(found.values())
