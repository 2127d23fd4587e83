"""What Supervisor puts into Gemini CLI: one file that names the folder of our extension.

`gemini extensions link` writes the same file, but asks questions, trusts the folder in which it runs for good
and takes some 10 s. Seen in 0.61.0 and 0.34.0: the host reads the file at its next start, without a question.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from sidecar.hosts.steering import GEMINI_EXTENSIONS, gemini_folder
from sidecar.platform.installation import altered_plugin_files, plugin_root

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

EXTENSION: Final = ".gemini-extension"
"""The extension's folder in ours."""
NAME: Final = "supervisor"


def extension_link(environment: Mapping[str, str]) -> Path:
    """The file by which the host finds our extension."""
    return gemini_folder(environment) / "extensions" / GEMINI_EXTENSIONS[1]


def link_text() -> bytes:
    """What the file holds. Raises HostError."""
    return msgspec.json.encode({"source": str(plugin_root() / EXTENSION), "type": "link"})


def altered_extension() -> str:
    """Tell of files of ours that are not what was installed; "" for none. Raises HostError, OSError."""
    root = plugin_root()
    altered = altered_plugin_files(root)
    way = "uv tool install --reinstall supervisor-sidecar"
    said = f"{', '.join(altered[:2])} in {root} is not what was installed. Type: {way}"
    return f"Supervisor: {said}" if altered else ""
