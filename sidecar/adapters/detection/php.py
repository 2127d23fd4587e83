"""PHP: phpunit or pest where it is set up, else the test script of Composer; phpstan and psalm for types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sidecar.adapters.detection import formats
from sidecar.adapters.detection.found import Found, drawn_in, one_line
from sidecar.model.gate import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sidecar.adapters.detection.folder import Folder

PHPUNIT: Final = ("phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml")
TYPES: Final = (
    ("phpstan", "analyse --no-progress", ("phpstan.neon", "phpstan.neon.dist", "phpstan.dist.neon")),
    ("psalm", "--no-progress", ("psalm.xml", "psalm.xml.dist")),
)
"""Tool, what it is called with, and its settings. Without settings it would not know what to read."""


def find(root: Folder) -> Iterator[Found]:
    """Tests and types."""
    yield from _tests(root)
    for tool, arguments, settings in TYPES:
        if name := root.has(*settings):
            why = f"the project has a {name}"
            yield Found(kind=Kind.TYPES, tool=tool, command=f"vendor/bin/{tool} {arguments}", why=why)


def spans(root: Folder, member: Folder, found: Found) -> bool:  # noqa: ARG001 - the same for all
    """No command of PHP goes on into another package."""
    return False


def _tests(root: Folder) -> Iterator[Found]:
    manifest = root.json("composer.json")
    listed = {**formats.table(manifest, "require"), **formats.table(manifest, "require-dev")}
    scripts = {
        name: "\n".join(formats.strings(value)) for name, value in formats.table(manifest, "scripts").items()
    }
    tool = "pest" if "pestphp/pest" in listed else "phpunit"
    if settings := root.has(*PHPUNIT):
        why, command = f"the project has a {settings}", f"vendor/bin/{tool}"
        yield Found(kind=Kind.TESTS, tool=tool, command=command, why=why)
    elif script := scripts.get("test", "").strip():
        why = f"composer.json has the script test: `{one_line(script)}`"
        # Composer itself would end a script after 300 seconds.
        command, behind = "composer run-script --timeout=0 test", drawn_in(scripts, "test")
        yield Found(kind=Kind.TESTS, tool="composer", command=command, why=why, behind=behind)
    elif "phpunit/phpunit" in listed and any(root.search("tests", "*Test.php")):
        why = "composer.json lists phpunit/phpunit, and there are tests"
        yield Found(kind=Kind.TESTS, tool="phpunit", command="vendor/bin/phpunit tests", why=why)
