"""Projects in languages whose runners are not started."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from endings.functions import Function, draw
from endings.languages import Language, camel, function_name, literal, source_of
from endings.languages_known import LANGUAGES
from endings.specs import SPECS, TYPED
from endings.suite import OCCASIONS, Check, Test, tests_of
from endings.words import Domain, domain


@dataclass
class World:
    """One project in one language: a file of code, one or more files of tests, settings."""

    rng: Random
    domain: Domain
    language: Language
    functions: list[Function]
    groups: dict[str, list[Test]]
    files: dict[str, str]
    code_heads: dict[str, list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    goal: str = ""
    not_ran: int = 0
    lost: int = 0

    def tests(self) -> list[Test]:
        """All tests."""
        return [test for group in self.groups.values() for test in group]

    def failing(self) -> list[Test]:
        """Every test that fails as the code is now."""
        return [test for test in self.tests() if test.failing]

    def filled(self, text: str) -> str:
        """A path with the project's names in it."""
        title = camel(self.domain.package, first=True)
        return text.format(package=self.domain.package, version=self.domain.version, title=title)

    def render(self) -> dict[str, str]:
        """All files."""
        files = dict(self.files)
        files[self.filled(self.language.source)] = self._source()
        for path, tests in self.groups.items():
            files[path] = self._tests(path, tests)
        return files

    def _source(self) -> str:
        name = self.language.name
        parts = [
            line
            for one in self.functions
            for line in ("", *source_of(name, one, self.code_heads.get(one.name, [])))
        ]
        notes = [f"// {note}" for note in self.notes]
        if name == "go":
            loads = sorted(
                {
                    f'import "{pack}"'
                    for pack in ("testing", "strings", "os", "flag")
                    if any(f"{pack}." in line for line in parts)
                }
            )
            return (
                "\n".join(
                    (
                        f"// Package {self.domain.package} counts.",
                        f"package {self.domain.package}",
                        *loads,
                        *notes,
                        *parts,
                    )
                )
                + "\n"
            )
        if name == "java":
            title = camel(self.domain.package, first=True)
            inner = [f"    {line}" if line else "" for line in parts]
            return (
                "\n".join(("package example;", "", *notes, f"public final class {title} {{", *inner, "}"))
                + "\n"
            )
        return "\n".join((*notes, *parts[1:])) + "\n"

    def _tests(self, path: str, tests: list[Test]) -> str:
        name, package = self.language.name, self.domain.package
        lines = [line for test in tests for line in ("", *self.test(test))]
        names = sorted({function_name(name, test.function) for test in tests})
        if name == "go":
            needs_os = any("os." in line for line in lines)
            loads = ["import (", '\t"os"', '\t"testing"', ")"] if needs_os else ['import "testing"']
            return "\n".join((f"package {package}", "", *loads, *lines)) + "\n"
        if name == "rust":
            return "\n".join((f"use {package}::{{{', '.join(names)}}};", *lines)) + "\n"
        if name == "java":
            title = path.rpartition("/")[2].removesuffix(".java")
            java = (
                "import static org.junit.jupiter.api.Assertions.*;",
                "",
                "import org.junit.jupiter.api.*;",
            )
            inner = [f"    {line}" if line else "" for line in lines]
            return "\n".join(("package example;", "", *java, "", f"class {title} {{", *inner[1:], "}")) + "\n"
        tools = 'import { describe, expect, it, test } from "vitest";'
        inner = [f"  {line}" if line else "" for line in lines]
        load = f'import {{ {", ".join(names)} }} from "./{package}";'
        return "\n".join((tools, "", load, "", f'describe("{package}", () => {{', *inner[1:], "});")) + "\n"

    def test(self, test: Test) -> list[str]:
        """One test."""
        if test.raw is not None:
            return test.raw
        name, step = self.language.name, self.language.indent
        body = [line for check in test.checks for line in self.check(check)]
        inner = [f"{step}{line}" if line else "" for line in (*test.head, *body)]
        title = test.words
        if name == "go":
            return [
                *test.marks,
                f"func {test.options.get('name', 'Test' + camel(title, first=True))}(t *testing.T) {{",
                *inner,
                "}",
            ]
        if name == "rust":
            sign = [test.options.get("sign", "#[test]")]
            return [*test.marks, *filter(None, sign), f"fn {title.replace(' ', '_')}() {{", *inner, "}"]
        if name == "java":
            owner = camel(self.domain.package, first=True)
            inner = [line.replace("@@", f"{owner}.") for line in inner]
            return [
                *test.marks,
                *filter(None, [test.options.get("sign", "@Test")]),
                f"void {camel(title)}() {{",
                *inner,
                "}",
            ]
        return [f'{test.options.get("word", "it")}("{title}", () => {{', *inner, "});"]

    def check(self, check: Check) -> list[str]:
        """The lines of one check."""
        return check.lines if check.lines is not None else self.form(self.language.same, check)

    def form(self, form: str, check: Check) -> list[str]:
        """A form filled in for a check."""
        name = self.language.name
        values = ", ".join(literal(name, value) for value in check.case.arguments)
        call = f"{'@@' if name == 'java' else ''}{function_name(name, check.function)}({values})"
        right = literal(name, check.case.right)
        text = form.replace("<same>", self.language.same.replace("\n", "\n" + self.language.indent))
        return text.replace("<call>", call).replace("<right>", right).split("\n")


def draw_world(rng: Random) -> World:
    """A project with two or three functions, one of them with a bug."""
    language = rng.choice(LANGUAGES)
    simple = [spec for spec in SPECS if not any(kind == "ints" for _, kind in spec.params)]
    stock = simple if language.name == "typescript" else list(TYPED)
    functions = [draw(rng, spec) for spec in rng.sample(stock, rng.choice((2, 3)))]
    for function in functions[1:]:
        function.fixed = True
    rng.shuffle(functions)
    names = list(OCCASIONS)
    rng.shuffle(names)
    tests = [test for function in functions for test in tests_of(rng, function, names)]
    world = World(rng, domain(rng), language, functions, {}, {})
    world.groups[world.filled(language.test_file)] = tests
    world.files = {path: world.filled(text) for path, text in language.files.items()}
    return world
