"""Detects gates of Java, Kotlin and .NET projects.

- Java and Kotlin: Maven and Gradle, through the project's wrapper if it has one. As a wrapper is a program of
  the project, `behind` lists its files with their digests.
- .NET: the solution if there is one, else the projects.
"""

from __future__ import annotations

import os
import re
import shlex
from typing import TYPE_CHECKING, Final

from sidecar.evidence.detection.folder import DetectedGate, list_file_digests, one_line_excerpt
from sidecar.kernel.gate import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sidecar.evidence.detection.folder import PackageRoot


GRADLE_FILES: Final = ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts")
GRADLE_SETTINGS: Final = ("settings.gradle", "settings.gradle.kts")
MAVEN_WRAPPER: Final = ("mvnw", ".mvn/wrapper/maven-wrapper.properties", ".mvn/wrapper/maven-wrapper.jar")
GRADLE_WRAPPER: Final = (
    "gradlew",
    "gradle/wrapper/gradle-wrapper.properties",
    "gradle/wrapper/gradle-wrapper.jar",
)
MAVEN_MODULES: Final = re.compile(r"<(?:modules|subprojects)>")
GRADLE_INCLUDE: Final = re.compile(r"^[ \t]*include(?:Build)?\b", re.MULTILINE)


def find_jvm_gates(root: PackageRoot) -> Iterator[DetectedGate]:
    """Yield tests and build, by Maven, Gradle or both."""
    if root.has("pom.xml"):
        yield from _find_maven_gates(root)
    if sign := root.has(*GRADLE_FILES):
        yield from _find_gradle_gates(root, f"the project has a {sign}")


def _find_maven_gates(root: PackageRoot) -> Iterator[DetectedGate]:
    wrapper, why = _wrapper_command(root, "mvnw"), "the project has a pom.xml"
    behind = list_file_digests(root, *MAVEN_WRAPPER) if wrapper else ""
    maven = f"{wrapper or 'mvn'} -q -B"
    yield DetectedGate(kind=Kind.TESTS, tool="maven", command=f"{maven} test", why=why, behind=behind)
    yield DetectedGate(kind=Kind.BUILD, tool="maven", command=f"{maven} test-compile", why=why, behind=behind)


def _find_gradle_gates(root: PackageRoot, why: str) -> Iterator[DetectedGate]:
    wrapper = _wrapper_command(root, "gradlew")
    behind = list_file_digests(root, *GRADLE_WRAPPER) if wrapper else ""
    gradle = wrapper or "gradle"
    yield DetectedGate(kind=Kind.TESTS, tool="gradle", command=f"{gradle} test", why=why, behind=behind)
    yield DetectedGate(kind=Kind.BUILD, tool="gradle", command=f"{gradle} assemble", why=why, behind=behind)


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
        yield DetectedGate(kind=Kind.TESTS, tool="dotnet", command=f"dotnet test{target_of_tests}", why=why)
    why = f"the project has a {one_line_excerpt(found[0])}"
    yield DetectedGate(kind=Kind.BUILD, tool="dotnet", command=f"dotnet build{target}", why=why)


def covers_dotnet_member(root: PackageRoot, member: PackageRoot, found: DetectedGate) -> bool:  # noqa: ARG001 - all commands span the same
    """Return whether the root has a solution and the member has none."""
    return bool(root.matching(*SOLUTION_PATTERNS)) and not member.matching(*SOLUTION_PATTERNS)


def _quote_project_path(name: str) -> str:
    return shlex.quote(f"./{name}" if name.startswith("-") else name)
