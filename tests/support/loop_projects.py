"""Three small real projects, and what workers write into them: behaviours, each with its test."""

from __future__ import annotations

from typing import Final, NamedTuple

from support.tdd_projects import NODE, PYTHON

MAKE: Final = {
    "Makefile": "test:\n\tsh check.sh\n",
    "calc.sh": "add() { echo $(($1 + $2)); }\n",
    "check.sh": '. ./calc.sh\ncheck() { [ "$2" = "$3" ] || { echo "FAILED $1: $2 is not $3"; exit 1; }; }\n'
    'check add "$(add 1 2)" 3\n',
}
BEHAVIOURS: Final = {"sub": "-", "mul": "*", "mod": "%"}
"""Operators by name. The numbers of the tests tell each from all others."""


class LoopProject(NamedTuple):
    """A project: its files, those of code and test, and a line of each by name and operator."""

    files: dict[str, str]
    code: str
    test: str
    code_line: str
    test_line: str

    def with_behaviour(self, *names: str, wrong: str = "") -> dict[str, str]:
        """Return code and test with these behaviours; the last one does `wrong`, if that is given."""
        signs = {name: BEHAVIOURS[name] for name in names}
        if wrong:
            signs[names[-1]] = wrong
        code, test = self.files[self.code], self.files[self.test]
        if self.code.endswith((".py", ".js")):
            test = test.replace("add", ", ".join(("add", *names)), 1)
        for name, sign in signs.items():
            right = {"-": 17, "*": 390, "%": 4}[BEHAVIOURS[name]]
            code += self.code_line.format(name=name, sign=sign)
            test += self.test_line.format(name=name, right=right)
        return {self.code: code, self.test: test}


LOOP_PROJECTS: Final = {
    "Python": LoopProject(
        PYTHON,
        "calc.py",
        "tests/test_calc.py",
        "\n\ndef {name}(a, b):\n    return a {sign} b\n",
        "\n\ndef test_{name}():\n    assert {name}(30, 13) == {right}\n",
    ),
    "Node": LoopProject(
        NODE,
        "calc.js",
        "calc.test.js",
        "export const {name} = (a, b) => a {sign} b;\n",
        'test("{name}", () => assert.equal({name}(30, 13), {right}));\n',
    ),
    "Make": LoopProject(
        MAKE,
        "calc.sh",
        "check.sh",
        "{name}() {{ echo $(($1 {sign} $2)); }}\n",
        'check {name} "$({name} 30 13)" {right}\n',
    ),
}
