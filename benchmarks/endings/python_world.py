"""Python projects: layouts, pytest and unittest, settings files."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from random import Random

from endings.functions import Function, Value
from endings.suite import Check, Suite, Test, failing
from endings.words import README, Domain


@dataclass
class Style:
    """How a project is written; the same before and after, unless the turn changes it.

    `settings` is the file that holds pytest's settings, "" where none does.
    """

    runner: str = "pytest"
    layout: str = "tests"
    settings: str = "pyproject.toml"
    classes: bool = False
    form: int = 0
    docs: bool = True
    quote: str = '"'


@dataclass
class World:
    """A Python project that can be changed and written down as files.

    `options` are pytest's settings, `files` everything that is neither code nor a suite of ours; `absent`
    are names of functions that are not written yet. `overlooked` is the flag of git's index by which changed
    files are hidden from it, `goal` the wish where it is more than that tests pass.
    """

    rng: Random
    domain: Domain
    style: Style
    modules: dict[str, list[Function]]
    suites: list[Suite]
    options: dict[str, str | list[str]] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    heads: dict[str, list[str]] = field(default_factory=dict)
    absent: set[str] = field(default_factory=set)
    notes: dict[str, list[str]] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    overlooked: str = ""
    goal: str = ""

    ecosystem = "python"

    def failing(self) -> list[Test]:
        """Every test that fails as the code is now."""
        return failing(self.suites)

    def broken(self) -> list[Function]:
        """The functions with their bug still in."""
        return [one for functions in self.modules.values() for one in functions if not one.fixed]

    @property
    def proof(self) -> str:
        """The line that runs the tests."""
        return "python -m pytest -q" if self.style.runner == "pytest" else "python -m unittest"

    def module_path(self, module: str) -> str:
        """Where a module lies."""
        folder = {"src": f"src/{self.domain.package}/", "package": f"{self.domain.package}/"}
        return f"{folder.get(self.style.layout, '')}{module}.py"

    def module_name(self, module: str) -> str:
        """How a module is imported."""
        return f"{self.domain.package}.{module}" if self.style.layout in ("src", "package") else module

    def suite_path(self, name: str) -> str:
        """Where a file of tests lies."""
        return name if self.style.layout == "flat" else f"tests/{name}"

    @property
    def conftest(self) -> str:
        """Where a conftest.py would lie."""
        return self.suite_path("conftest.py")

    def render(self) -> dict[str, str]:
        """All files."""
        files = dict(self.files)
        for module, functions in self.modules.items():
            files[self.module_path(module)] = self._module(module, functions)
        if self.style.layout in ("src", "package"):
            files[self.module_path("__init__")] = ""
        if self.style.runner == "unittest" and self.style.layout != "flat":
            files["tests/__init__.py"] = ""
        for suite in self.suites:
            files[suite.path] = self.suite_text(suite)
        if self.style.settings:
            name = self.style.settings
            files[name] = files.get(name, self.foreign_settings()) + self._settings()
        elif self.style.runner == "unittest":
            files["pyproject.toml"] = files.get("pyproject.toml", self.foreign_settings())
        files.setdefault("README.md", README(self.domain, self.proof))
        return files

    def foreign_settings(self) -> str:
        """What the file of the settings says besides."""
        if self.style.settings in ("pyproject.toml", "") or self.style.runner == "unittest":
            return f'[project]\nname = "{self.domain.package}"\nversion = "{self.domain.version}"\n\n'
        if self.style.settings == "setup.cfg":
            return f"[metadata]\nname = {self.domain.package}\nversion = {self.domain.version}\n\n"
        return "[tox]\nenvlist = py311\n\n" if self.style.settings == "tox.ini" else ""

    def _settings(self) -> str:
        if self.style.runner != "pytest" or not self.options:
            return ""
        if self.style.settings == "pyproject.toml":
            lines = [f"{key} = {json.dumps(value)}" for key, value in self.options.items()]
            return "\n".join(("[tool.pytest.ini_options]", *lines, ""))
        section = "[tool:pytest]" if self.style.settings == "setup.cfg" else "[pytest]"
        return "\n".join((section, *(_ini(*option) for option in self.options.items()), ""))

    def _module(self, module: str, functions: list[Function]) -> str:
        parts = [f'"""{self.domain.about(module)}."""', *self.heads.get(module, ())]
        for function in functions:
            if function.name in self.absent:
                continue
            parts += ["", "", f"def {function.name}({', '.join(function.parameters)}):"]
            doc = [f'"""{function.spec.doc}."""'] if self.style.docs else []
            lines = [*doc, *self.notes.get(function.name, ()), *function.body("python")]
            parts += _indented(lines)
        return "\n".join(parts) + "\n"

    # --- suites ---------------------------------------------------------------------------------------------

    def suite_text(self, suite: Suite) -> str:
        """One file of tests."""
        unit = self.style.runner == "unittest"
        known = ["unittest"] if unit else []
        if not unit and any("pytest." in line for line in self._lines(suite)):
            known = ["pytest"]
        plain = [f"import {name}" for name in known]
        parts = [*sorted({*plain, *(line for line in suite.imports if line.startswith("import "))})]
        parts += [line for line in suite.imports if not line.startswith("import ")]
        parts += [""] if parts else []
        names = sorted({test.function.name for test in suite.tests if test.raw is None or test.checks})
        if names:
            parts += [f"from {self.module_name(suite.module)} import {', '.join(names)}"]
        parts += ["", *suite.top] if suite.top else []
        parts += self._grouped(suite) if unit or self.style.classes else self._flat(suite)
        parts += ["", "", *suite.bottom] if suite.bottom else []
        return "\n".join(parts).lstrip("\n") + "\n"

    def _lines(self, suite: Suite) -> list[str]:
        return [*suite.top, *suite.bottom, *(line for test in suite.tests for line in self.test_lines(test))]

    def _flat(self, suite: Suite) -> list[str]:
        return [line for test in suite.tests for line in ("", "", *self.test_lines(test))]

    def _grouped(self, suite: Suite) -> list[str]:
        parts: list[str] = []
        for function in suite.functions():
            tests = [test for test in suite.tests if test.function is function]
            name = function.name.replace("_", " ").title().replace(" ", "")
            unit = self.style.runner == "unittest"
            title = f"class {name}Test(unittest.TestCase):" if unit else f"class Test{name}:"
            parts += ["", "", self.renamed.get(title, title)]
            lines = [line for test in tests for line in ("", *self.test_lines(test))]
            parts += _indented([*self.notes.get(f"class {function.name}", ()), *lines[1:]])
        return parts

    def name(self, test: Test) -> str:
        """The name of the function that is the test."""
        return test.options.get("name", "test_" + test.words.replace(" ", "_"))

    def test_lines(self, test: Test) -> list[str]:
        """One test as a function or a method."""
        if test.raw is not None:
            return test.raw
        unit = self.style.runner == "unittest"
        own = ["self"] if unit or self.style.classes else []
        rows = test.table and not unit
        arguments = [*own, *self._row_names(test)] if rows else [*own, *test.arguments]
        lines = [*test.marks, *(self._parametrize(test) if rows else ())]
        lines.append(f"def {self.name(test)}({', '.join(arguments)}):")
        return [*lines, *_indented([*test.head, *self._checks(test), *test.tail])]

    def _row_names(self, test: Test) -> list[str]:
        return [*test.function.parameters, "expected"]

    def _parametrize(self, test: Test) -> list[str]:
        names = ", ".join(f'"{name}"' for name in self._row_names(test))
        rows = [f"        {self.row(check)}," for check in test.checks]
        return ["@pytest.mark.parametrize(", f"    ({names}),", "    [", *rows, "    ],", ")"]

    def row(self, check: Check) -> str:
        """One row of a table."""
        if check.lines is not None:
            return check.lines[0]
        values = (*check.case.arguments, check.case.right)
        return f"({', '.join(self.literal(value) for value in values)})"

    def _checks(self, test: Test) -> list[str]:
        if not test.table:
            return [line for check in test.checks for line in self.check_lines(check)] or ["pass"]
        names = ", ".join(test.function.parameters)
        call = f"{test.function.name}({names})"
        if self.style.runner == "pytest":
            return test.options.get("table", f"assert {call} == expected").split("\n")
        rows = [f"    {self.row(check)}," for check in test.checks]
        unpacked = ", ".join(self._row_names(test))
        first = test.function.parameters[0]
        loop = [f"for {unpacked} in cases:", f"    with self.subTest({first}={first}):"]
        lines = test.options.get("table", f"self.assertEqual({call}, expected)").split("\n")
        return ["cases = [", *rows, "]", *loop, *(f"        {line}" for line in lines)]

    def call(self, check: Check) -> str:
        """The call that is checked."""
        values = ", ".join(self.literal(value) for value in check.case.arguments)
        return f"{check.function.name}({values})"

    def check_lines(self, check: Check) -> list[str]:
        """The lines of one check, in the style of the project."""
        if check.lines is not None:
            return check.lines
        call, right = self.call(check), self.literal(check.case.right)
        unit = self.style.runner == "unittest"
        if isinstance(check.case.right, bool) and self.style.form != 1:
            return _truth(call, right=check.case.right, unit=unit)
        if self.style.form == 1:
            return [
                "result = " + call,
                f"self.assertEqual(result, {right})" if unit else f"assert result == {right}",
            ]
        if self.style.form == 2:  # noqa: PLR2004 - the third way to write it
            same = f"self.assertEqual({call}, expected)" if unit else f"assert {call} == expected"
            return [f"expected = {right}", same]
        return [f"self.assertEqual({call}, {right})" if unit else f"assert {call} == {right}"]

    def literal(self, value: Value) -> str:
        """A value as the project writes it."""
        if isinstance(value, str):
            return f"{self.style.quote}{value}{self.style.quote}"
        return repr(value)


def _truth(call: str, *, right: bool, unit: bool) -> list[str]:
    if unit:
        return [f"self.assert{right}({call})"]
    return [f"assert {call} is {right}"]


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" if line else "" for line in lines]


def _ini(key: str, value: str | list[str]) -> str:
    if isinstance(value, str):
        return f"{key} = {value}"
    return f"{key} = {value[0]}" if len(value) == 1 else "\n    ".join((f"{key} =", *value))
