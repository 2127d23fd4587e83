"""Detects the gates of Go, Rust, Java, Kotlin, .NET, Ruby, PHP and Elixir projects."""

from __future__ import annotations

import os
import posixpath
import re
import shlex
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Final

from sidecar.evidence.detection.folder import (
    DetectedGate,
    PackageRoot,
    approval_text,
    expand_script_calls,
    list_file_digests,
    one_line_excerpt,
)
from sidecar.kernel.gate import Kind
from sidecar.platform import formats
from sidecar.platform.tools import detected_tools

MODULE_LIMIT: Final = 40
"""Maximum number of modules of a go.work that a command names."""
USE_DIRECTIVE: Final = re.compile(r"^use[ \t]+(?!\()(\S+)|^use[ \t]*\(([^()]*)\)", re.MULTILINE)
LINE_COMMENT: Final = re.compile(r"//[^\n]*")
LINTER_FILES: Final = (".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json")


def find_go_gates(root: PackageRoot) -> Iterator[DetectedGate]:
    """Yield tests, build, vet and golangci-lint."""
    used = _workspace_modules(root)
    sign = "go.work" if used else root.has("go.mod")
    if not sign:
        return
    go, why = f"{_workspace_off_prefix(root)}go", f"the project has a {sign}"
    patterns = ("./..." if module == "." else shlex.quote(f"./{module}/...") for module in used)
    packages = " ".join(patterns) or "./..."
    # A package without tests inside a larger project would fail because nothing ran.
    if not root.name or any(root.search("", "*_test.go")):
        yield DetectedGate(Kind.TESTS, "go", f"{go} test {packages}", why)
    yield DetectedGate(Kind.BUILD, "go", f"{go} build {packages}", why)
    yield DetectedGate(Kind.LINT, "go-vet", f"{go} vet {packages}", why)
    if settings := root.has(*LINTER_FILES):
        command = f"{_workspace_off_prefix(root)}golangci-lint run {packages if used else ''}".rstrip()
        yield DetectedGate(Kind.LINT, "golangci-lint", command, f"the project has a {settings}")


def covers_go_member(root: PackageRoot, member: PackageRoot, found: DetectedGate) -> bool:  # noqa: ARG001 - all commands span the same
    """Return whether the root's go.work names the module; `./...` alone stops at the next module."""
    return member.below(root) in _workspace_modules(root)


def _workspace_modules(root: PackageRoot) -> tuple[str, ...]:
    """Return the modules of a go.work that lie below it; "." is the root itself."""
    named = USE_DIRECTIVE.findall(LINE_COMMENT.sub("", root.text("go.work")))
    words = [word.strip('"`') for one, many in named for word in (one, *many.split()) if word]
    paths = dict.fromkeys(posixpath.normpath(word) for word in words[:MODULE_LIMIT])
    inside = (path for path in paths if not path.startswith(("..", "/")))
    return tuple(path for path in inside if root.has(posixpath.normpath(f"{path}/go.mod")))


def _workspace_off_prefix(root: PackageRoot) -> str:
    """Return the prefix that makes go work in a module that a go.work above leaves out."""
    left_out = any(
        _workspace_modules(above) and root.below(above) not in _workspace_modules(above)
        for above in root.above
    )
    return "GOWORK=off " if left_out and not _workspace_modules(root) else ""


# --- Rust ---------------------------------------------------------------------------------------------------


PATTERN_LIMIT: Final = 100
"""Maximum number of `exclude` patterns that are used."""


def find_rust_gates(root: PackageRoot) -> Iterator[DetectedGate]:
    """Yield tests, build, type check and clippy."""
    manifest = root.toml("Cargo.toml")
    if not root.has("Cargo.toml") or formats.table_at(manifest, "package", "metadata").get("cargo-fuzz"):
        return
    why, whole = "the project has a Cargo.toml", ""
    if _is_workspace(root):
        why, whole = "Cargo.toml has [workspace]", " --workspace"
    for kind, verb in ((Kind.TESTS, "test"), (Kind.BUILD, "build"), (Kind.TYPES, "check")):
        yield DetectedGate(kind, "cargo", f"cargo {verb}{whole}", why)
    if sign := _clippy_sign(root):
        yield DetectedGate(Kind.LINT, "clippy", f"cargo clippy{whole}", sign)


def covers_rust_member(root: PackageRoot, member: PackageRoot, found: DetectedGate) -> bool:  # noqa: ARG001 - all commands span the same
    """Return whether the root is a workspace that includes the package, which is not a workspace itself."""
    excluded = formats.string_items(formats.table_at(root.toml("Cargo.toml"), "workspace").get("exclude"))[
        :PATTERN_LIMIT
    ]
    below = member.below(root)
    left_out = map(posixpath.normpath, excluded)
    out = any(fnmatchcase(below, pattern) or below.startswith(f"{pattern}/") for pattern in left_out)
    return _is_workspace(root) and not out and not _is_workspace(member)


def _is_workspace(root: PackageRoot) -> bool:
    return isinstance(root.toml("Cargo.toml").get("workspace"), dict)


def _clippy_sign(root: PackageRoot) -> str:
    if name := root.has("clippy.toml", ".clippy.toml"):
        return f"the project has a {name}"
    manifest = root.toml("Cargo.toml")
    for path in (("lints",), ("workspace", "lints")):
        if "clippy" in formats.table_at(manifest, *path):
            return f"Cargo.toml has [{'.'.join(path)}.clippy]"
    return ""


GRADLE_FILES: Final = ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts")
GRADLE_SETTINGS: Final = ("settings.gradle", "settings.gradle.kts")
MAVEN_WRAPPER: Final = ("mvnw", ".mvn/wrapper/maven-wrapper.properties", ".mvn/wrapper/maven-wrapper.jar")
GRADLE_JAR: Final = "gradle/wrapper/gradle-wrapper.jar"
GRADLE_WRAPPER: Final = ("gradlew", "gradle/wrapper/gradle-wrapper.properties", GRADLE_JAR)
MAVEN_MODULES: Final = re.compile(r"<(?:modules|subprojects)>")
GRADLE_INCLUDE: Final = re.compile(r"^[ \t]*include(?:Build)?\b", re.MULTILINE)


def find_jvm_gates(root: PackageRoot) -> Iterator[DetectedGate]:
    """Yield tests and build, by Maven, Gradle or both."""
    if root.has("pom.xml"):
        yield from _find_builder_gates(
            root, "maven", ("mvn", " -q -B", "test-compile"), MAVEN_WRAPPER, "pom.xml"
        )
    if sign := root.has(*GRADLE_FILES):
        yield from _find_builder_gates(root, "gradle", ("gradle", "", "assemble"), GRADLE_WRAPPER, sign)


def _find_builder_gates(
    root: PackageRoot, tool: str, words: tuple[str, str, str], files: tuple[str, ...], sign: str
) -> Iterator[DetectedGate]:
    """Yield its gates. `words`: its program, options, and goal that builds. `files`: those of its wrapper."""
    wrapper = _wrapper_command(root, files[0])
    behind, why = list_file_digests(root, *files) if wrapper else "", f"the project has a {sign}"
    program, options, builds = words
    for kind, goal in ((Kind.TESTS, "test"), (Kind.BUILD, builds)):
        yield DetectedGate(kind, tool, f"{wrapper or program}{options} {goal}", why, behind=behind)


def covers_jvm_member(root: PackageRoot, member: PackageRoot, found: DetectedGate) -> bool:  # noqa: ARG001 - all commands span the same
    """Return whether the root is a multi-module build of the tool that the member uses."""
    if member.has("pom.xml"):
        return bool(MAVEN_MODULES.search(root.text("pom.xml")))
    return bool(GRADLE_INCLUDE.search(root.text(*GRADLE_SETTINGS))) and not member.has(*GRADLE_SETTINGS)


def _wrapper_command(root: PackageRoot, name: str) -> str:
    """Return the command that starts the wrapper, "" if none; a checkout may have lost its executable bit."""
    if not root.has(name):
        return ""
    return f"./{name}" if os.access(root.path / name, os.X_OK) else f"sh ./{name}"


# --- .NET ---------------------------------------------------------------------------------------------------


SOLUTION_PATTERNS: Final = ("*.sln", "*.slnx")
PROJECT_PATTERNS: Final = ("*.csproj", "*.fsproj", "*.vbproj")
TEST_SDK: Final = re.compile(r"Microsoft\.NET\.Test\.Sdk|Microsoft\.Testing\.Platform|MSTest\.Sdk|\bTUnit\b")
"""References that only test projects have."""


def find_dotnet_gates(root: PackageRoot) -> Iterator[DetectedGate]:
    """Yield tests and build of the solution or the project."""
    solutions, projects = root.matching(*SOLUTION_PATTERNS), root.matching(*PROJECT_PATTERNS)
    found = solutions or projects
    if not found:
        return
    # With several solutions or projects in a folder, dotnet needs to be told which one.
    target = f" {_quote_project_path(found[0])}" if len(solutions + projects) > 1 else ""
    tests = found if solutions else [name for name in projects if TEST_SDK.search(root.text(name))]
    if tests:
        target_of_tests = f" {_quote_project_path(tests[0])}" if target else ""
        why = f"the project has a {one_line_excerpt(tests[0])}"
        yield DetectedGate(Kind.TESTS, "dotnet", f"dotnet test{target_of_tests}", why)
    why = f"the project has a {one_line_excerpt(found[0])}"
    yield DetectedGate(Kind.BUILD, "dotnet", f"dotnet build{target}", why)


def covers_dotnet_member(root: PackageRoot, member: PackageRoot, found: DetectedGate) -> bool:  # noqa: ARG001 - all commands span the same
    """Return whether the root has a solution and the member has none."""
    return bool(root.matching(*SOLUTION_PATTERNS)) and not member.matching(*SOLUTION_PATTERNS)


def _quote_project_path(name: str) -> str:
    return shlex.quote(f"./{name}" if name.startswith("-") else name)


# --- Ruby: rspec, the test task of a Rakefile, Rails or minitest; rubocop if it is configured or listed -----


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
        yield DetectedGate(Kind.LINT, "rubocop", f"{bundled}rubocop", why)


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
        yield DetectedGate(Kind.TESTS, "ruby", command, why, behind=behind)
    elif bundled and not root.name:
        yield DetectedGate(Kind.TESTS, "rspec", command, "the project has a Gemfile", weak=True)


def _gemfile_lists(root: PackageRoot, gem: str) -> bool:
    return bool(re.search(rf"^[ \t]*gem[ \t(]{{1,9}}[\"']{gem}[\"']", root.text("Gemfile"), re.MULTILINE))


# --- PHP ----------------------------------------------------------------------------------------------------


PHPUNIT_FILES: Final = ("phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml")


def find_php_gates(root: PackageRoot) -> Iterator[DetectedGate]:
    """Yield tests and type checks."""
    yield from _find_php_tests(root)
    for tool, gate in detected_tools("php", {Kind.TYPES}):
        if name := root.has(*gate.files):  # without settings it would not know what to analyse
            yield DetectedGate(Kind.TYPES, tool.name, gate.command, f"the project has a {name}")


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
        yield DetectedGate(Kind.TESTS, tool, command, why)
    elif script := scripts.get("test", "").strip():
        why = f"composer.json has the script test: `{one_line_excerpt(script)}`"
        # Composer itself stops a script after 300 seconds.
        command, behind = "composer run-script --timeout=0 test", expand_script_calls(scripts, "test")
        yield DetectedGate(Kind.TESTS, "composer", command, why, behind=behind)
    elif "phpunit/phpunit" in listed and any(root.search("tests", "*Test.php")):
        why = "composer.json lists phpunit/phpunit, and there are tests"
        yield DetectedGate(Kind.TESTS, "phpunit", "vendor/bin/phpunit tests", why)


# --- Elixir -------------------------------------------------------------------------------------------------


CREDO_DEPENDENCY: Final = re.compile(r"\{\s*:credo\b")
UMBRELLA_SETTING: Final = re.compile(r"\bapps_path:")


def find_elixir_gates(root: PackageRoot) -> Iterator[DetectedGate]:
    """Yield tests, build and credo."""
    if not root.has("mix.exs"):
        return
    why = "the project has a mix.exs"
    yield DetectedGate(Kind.TESTS, "mix", "mix test", why)
    yield DetectedGate(Kind.BUILD, "mix", "mix compile --warnings-as-errors", why)
    if CREDO_DEPENDENCY.search(root.text("mix.exs")):
        yield DetectedGate(Kind.LINT, "credo", "mix credo", "mix.exs lists credo")


def covers_elixir_member(root: PackageRoot, member: PackageRoot, found: DetectedGate) -> bool:  # noqa: ARG001 - all commands span the same
    """Return whether the root is an umbrella project, whose commands cover all its apps."""
    return bool(UMBRELLA_SETTING.search(root.text("mix.exs")))
