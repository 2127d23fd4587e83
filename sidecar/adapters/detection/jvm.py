"""Java and Kotlin: Maven and Gradle, by the wrapper of the project where it has one.

A wrapper is a program that the project brings along: `behind` names its files with their digests.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

from sidecar.adapters.detection.found import Found, files_behind
from sidecar.model.gate import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sidecar.adapters.detection.folder import Folder

GRADLE: Final = ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts")
SETTINGS: Final = ("settings.gradle", "settings.gradle.kts")
MAVEN_WRAPPER: Final = ("mvnw", ".mvn/wrapper/maven-wrapper.properties", ".mvn/wrapper/maven-wrapper.jar")
GRADLE_WRAPPER: Final = (
    "gradlew",
    "gradle/wrapper/gradle-wrapper.properties",
    "gradle/wrapper/gradle-wrapper.jar",
)
MODULES: Final = re.compile(r"<(?:modules|subprojects)>")
INCLUDES: Final = re.compile(r"^[ \t]*include(?:Build)?\b", re.MULTILINE)


def find(root: Folder) -> Iterator[Found]:
    """Tests and build, by Maven, by Gradle or both."""
    if root.has("pom.xml"):
        yield from _maven(root)
    if sign := root.has(*GRADLE):
        yield from _gradle(root, f"the project has a {sign}")


def _maven(root: Folder) -> Iterator[Found]:
    wrapper, why = _wrapper(root, "mvnw"), "the project has a pom.xml"
    behind = files_behind(root, *MAVEN_WRAPPER) if wrapper else ""
    maven = f"{wrapper or 'mvn'} -q -B"
    yield Found(kind=Kind.TESTS, tool="maven", command=f"{maven} test", why=why, behind=behind)
    yield Found(kind=Kind.BUILD, tool="maven", command=f"{maven} test-compile", why=why, behind=behind)


def _gradle(root: Folder, why: str) -> Iterator[Found]:
    wrapper = _wrapper(root, "gradlew")
    behind = files_behind(root, *GRADLE_WRAPPER) if wrapper else ""
    gradle = wrapper or "gradle"
    yield Found(kind=Kind.TESTS, tool="gradle", command=f"{gradle} test", why=why, behind=behind)
    yield Found(kind=Kind.BUILD, tool="gradle", command=f"{gradle} assemble", why=why, behind=behind)


def spans(root: Folder, member: Folder, found: Found) -> bool:  # noqa: ARG001 - all commands span the same
    """Whether the root builds several modules, the member by the same tool."""
    if member.has("pom.xml"):
        return bool(MODULES.search(root.text("pom.xml")))
    return bool(INCLUDES.search(root.text(*SETTINGS))) and not member.has(*SETTINGS)


def _wrapper(root: Folder, name: str) -> str:
    """How to start the wrapper, "" where there is none; it may have lost its mode in a checkout."""
    if not root.has(name):
        return ""
    return f"./{name}" if os.access(root.path / name, os.X_OK) else f"sh ./{name}"
