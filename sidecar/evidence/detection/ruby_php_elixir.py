"""Detects Ruby, PHP and Elixir gates.

- Ruby: rspec, the test task of a Rakefile, Rails or minitest; rubocop if it is configured or listed.
- PHP: phpunit or pest if configured, else Composer's test script; phpstan and psalm check types.
- Elixir: mix, and credo if it is a dependency.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from sidecar.evidence.detection.folder import (
    DetectedGate,
    approval_text,
    expand_script_calls,
    one_line_excerpt,
)
from sidecar.kernel.gate import Kind
from sidecar.platform import formats
from sidecar.platform.tools import detected_tools

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sidecar.evidence.detection.folder import PackageRoot


RAKE_TESTS: Final = re.compile(
    r"\b(?:Rake|Minitest)::TestTask\b|^[ \t]*task[ \t(]{1,9}[:\"']?test\b", re.MULTILINE
)
RUN_EVERY_TEST: Final = (
    """ruby -Itest -e 'Dir.glob("./test/**/*_test.rb").sort.each { |file| require file }'"""
)
RAKEFILES: Final = ("Rakefile", "rakefile", "Rakefile.rb")


def find_ruby_gates(root: PackageRoot) -> Iterator[DetectedGate]:
    """Yield tests and rubocop."""
    bundled = "bundle exec " if root.has("Gemfile") else ""
    yield from _find_ruby_tests(root, bundled)
    sign = root.has(".rubocop.yml")
    if sign or _gemfile_lists(root, "rubocop"):
        why = f"the project has a {sign}" if sign else "Gemfile lists rubocop"
        yield DetectedGate(kind=Kind.LINT, tool="rubocop", command=f"{bundled}rubocop", why=why)


def covers_ruby_member(root: PackageRoot, member: PackageRoot, found: DetectedGate) -> bool:  # noqa: ARG001 - it sees all
    """Return whether the root's command covers the member: only rubocop enters every folder."""
    return found.kind is Kind.LINT and bool(root.has(".rubocop.yml"))


def _find_ruby_tests(root: PackageRoot, bundled: str) -> Iterator[DetectedGate]:
    spec = next(root.search("spec", "*_spec.rb"), "")
    test = next(root.search("test", "*_test.rb", "test_*.rb"), "")
    rakefile = root.text(*RAKEFILES)
    command, why, behind = f"{bundled}rspec", "", ""
    if root.has(".rspec"):
        why = "the project has a .rspec"
    elif spec:
        why = f"the project has specs such as {spec}"
    elif _gemfile_lists(root, "rails") and test:
        command, why = f"{bundled}rails test", "Gemfile lists rails, and there are tests such as " + test
    elif RAKE_TESTS.search(rakefile):
        command, why, behind = f"{bundled}rake test", "the Rakefile has a test task", approval_text(rakefile)
    elif test:
        command, why = f"{bundled}{RUN_EVERY_TEST}", f"the project has tests such as {test}"
    if why:
        yield DetectedGate(kind=Kind.TESTS, tool="ruby", command=command, why=why, behind=behind)
    elif bundled and not root.name:
        why = "the project has a Gemfile"
        yield DetectedGate(kind=Kind.TESTS, tool="rspec", command=command, why=why, weak=True)


def _gemfile_lists(root: PackageRoot, gem: str) -> bool:
    return bool(re.search(rf"^[ \t]*gem[ \t(]{{1,9}}[\"']{gem}[\"']", root.text("Gemfile"), re.MULTILINE))


# --- PHP ----------------------------------------------------------------------------------------------------


PHPUNIT_FILES: Final = ("phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml")


def find_php_gates(root: PackageRoot) -> Iterator[DetectedGate]:
    """Yield tests and type checks."""
    yield from _find_php_tests(root)
    for tool, gate in detected_tools("php", {Kind.TYPES}):
        if name := root.has(*gate.files):  # without settings it would not know what to analyse
            why = f"the project has a {name}"
            yield DetectedGate(kind=Kind.TYPES, tool=tool.name, command=gate.command, why=why)


def covers_php_member(root: PackageRoot, member: PackageRoot, found: DetectedGate) -> bool:  # noqa: ARG001 - the same for all
    """Return False: no PHP command covers another package."""
    return False


def _find_php_tests(root: PackageRoot) -> Iterator[DetectedGate]:
    manifest = root.json("composer.json")
    listed = {**formats.table_at(manifest, "require"), **formats.table_at(manifest, "require-dev")}
    scripts = {
        name: "\n".join(formats.string_items(value))
        for name, value in formats.table_at(manifest, "scripts").items()
    }
    tool = "pest" if "pestphp/pest" in listed else "phpunit"
    if settings := root.has(*PHPUNIT_FILES):
        why, command = f"the project has a {settings}", f"vendor/bin/{tool}"
        yield DetectedGate(kind=Kind.TESTS, tool=tool, command=command, why=why)
    elif script := scripts.get("test", "").strip():
        why = f"composer.json has the script test: `{one_line_excerpt(script)}`"
        # Composer itself stops a script after 300 seconds.
        command, behind = "composer run-script --timeout=0 test", expand_script_calls(scripts, "test")
        yield DetectedGate(kind=Kind.TESTS, tool="composer", command=command, why=why, behind=behind)
    elif "phpunit/phpunit" in listed and any(root.search("tests", "*Test.php")):
        why = "composer.json lists phpunit/phpunit, and there are tests"
        yield DetectedGate(kind=Kind.TESTS, tool="phpunit", command="vendor/bin/phpunit tests", why=why)


# --- Elixir -------------------------------------------------------------------------------------------------


CREDO_DEPENDENCY: Final = re.compile(r"\{\s*:credo\b")
UMBRELLA_SETTING: Final = re.compile(r"\bapps_path:")


def find_elixir_gates(root: PackageRoot) -> Iterator[DetectedGate]:
    """Yield tests, build and credo."""
    if not root.has("mix.exs"):
        return
    why = "the project has a mix.exs"
    yield DetectedGate(kind=Kind.TESTS, tool="mix", command="mix test", why=why)
    yield DetectedGate(kind=Kind.BUILD, tool="mix", command="mix compile --warnings-as-errors", why=why)
    if CREDO_DEPENDENCY.search(root.text("mix.exs")):
        yield DetectedGate(kind=Kind.LINT, tool="credo", command="mix credo", why="mix.exs lists credo")


def covers_elixir_member(root: PackageRoot, member: PackageRoot, found: DetectedGate) -> bool:  # noqa: ARG001 - all commands span the same
    """Return whether the root is an umbrella project, whose commands cover all its apps."""
    return bool(UMBRELLA_SETTING.search(root.text("mix.exs")))
