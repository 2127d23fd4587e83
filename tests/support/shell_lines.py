"""Small shell lines over three stub commands, drawn at random: `t N` succeeds, `f N` fails, `u N` in turns.

Each stub notes its number and how it ended in the file named by $LOG, so that what really ran can be held
against what was understood of the line.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

STUBS = {
    "t": 'echo "+$1" >> "$LOG"\n',
    "f": 'echo "-$1" >> "$LOG"\nexit 1\n',
    "u": 'if [ -e "$LOG.$1" ]; then rm "$LOG.$1"; echo "+$1" >> "$LOG"; exit 0; fi\n'
    ': > "$LOG.$1"; echo "-$1" >> "$LOG"; exit 3\n',
}
WRAPPED = (*("{}",) * 12, "timeout 5 {}", "env A=1 {}", "A=1 {}", "command {}", "time {}", "nice {}")
REDIRECTED = (
    *("{}",) * 10,
    *("{} >/dev/null 2>&1", "{} 2>/dev/null", "{} &>/dev/null", "</dev/null {}", "{} > >(cat)"),
)
PLAIN = (
    *("true", "false", ":", "echo hi", "set -e", "set +e", "set -o pipefail", "set -eo pipefail"),
    *("wait", "exit $?", "exit", "exit 0", "exit 1", "exit 256", "rc=$?", "rc=$?", "rc=0", "rc=1"),
    *("exit $rc", 'exit "$rc"', "exit ${PIPESTATUS[0]}", "exit ${PIPESTATUS[1]}"),
    *("rc=${PIPESTATUS[0]}", "[ $? -eq 0 ]", "[[ $? != 0 ]]", "(( rc != 0 ))", "test $rc -eq 0"),
    *("((rc++))", "let rc=1", "unset rc", "UID=3", "return", "break", "continue"),
    *("trap 'true' EXIT", "trap 'exit 0' EXIT", "trap - EXIT", "exit $(( rc ))", "exit 1 2"),
)
"""What steers a shell."""
FORMS = (
    *("{c}",) * 4,
    *("{c}", "{s} && {s}", "{s} || {s}", "{s} && {s} || {s}", "{s} || {s} && {s}", "{s} || exit 1"),
    *("{s} || exit $?", "{s} || true", "{s} || {{ echo x; exit 1; }}", "{s} || (exit 2)"),
    *("{s} && false", "! {n}", "! {c} | {c}", "{c} | {s}", "{c} |& {c}", "{c} | {c} | {c}"),
    *("({l})", "{{ {l}; }}", "{{ {l}; }} | cat", "{c} && {c} 2>/dev/null | {c}"),
    *("{c} || {c} > /dev/null && {c}", "{c} && {c} <<E | {c}\nx\nE\n", "{c} <<E && {c}\nx\nE\n"),
    *("{c} <<E || true\nx\nE\n", "x=$({s})", 'echo "$({s})"', "echo `{c}`", "if {s}; then {l}; fi"),
    *("if {s}; then {l}; elif {s}; then {l}; else {l}; fi", "for i in 1 2; do {l}; done"),
    *("for j in 1 2 3; do {s} || break; done", "for j in 1 2; do {s} || exit 1; done"),
    *("while u 98; do {l}; break; done", "until true; do {l}; done"),
    *("case a in a) {l};; *) {l};; esac", "g{i}() {{ {l}; }}; g{i}", "h{i}() ( {l} ); h{i} || {c}"),
    *("{n} & wait", "{n} & wait $!", "exec {c}", "eval '{c}'", "export X=$({c})", "bash -c {q}"),
    *("bash -ec {q}", "bash -eo pipefail -c {q}"),
)
"""{c} a command, {s} a statement, {n} one that `!` and `&` can stand beside, {l} more, {q} those quoted."""


class Lines:
    """Draws lines."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._number = 0

    def line(self) -> str:
        """Draw a whole line."""
        return self._several(self._random.choice((0, 1, 1, 2, 2)))

    def _command(self) -> str:
        self._number += 1
        stub = f"{self._random.choice('ttfffu')} {self._number}"
        return self._random.choice(REDIRECTED).format(self._random.choice(WRAPPED).format(stub))

    def _beside(self, depth: int) -> str:
        return self._random.choice(
            (self._command(), f"({self._several(depth)})", f"{{ {self._several(depth)}; }}")
        )

    def _statement(self, depth: int) -> str:
        if depth <= 0:
            return self._command()
        self._number += 1
        draws: dict[str, Callable[[], str]] = {
            "c": self._command,
            "s": lambda: self._statement(depth - 1),
            "n": lambda: self._beside(depth - 1),
            "l": lambda: self._several(depth - 1),
            "q": lambda: "'" + self._several(depth - 1).replace("'", "'\\''") + "'",
            "i": lambda: str(self._number),
        }
        form = self._random.choice(FORMS)
        if "g{i}" in form or "h{i}" in form:
            form = form.replace("{i}", str(self._number))
        text = form
        for name, draw in draws.items():
            while f"{{{name}}}" in text:
                text = text.replace(f"{{{name}}}", draw().replace("{", "\1").replace("}", "\2"), 1)
        return text.replace("{{", "{").replace("}}", "}").replace("\1", "{").replace("\2", "}")

    def _several(self, depth: int) -> str:
        count = self._random.choice((1, 1, 2, 2, 3))
        parts = [
            self._statement(depth) if self._random.random() < 0.7 else self._random.choice(PLAIN)
            for _ in range(count)
        ]
        text = parts[0]
        for part in parts[1:]:
            text += part if text.endswith("\n") else self._random.choice(("; ", "\n")) + part
        return text


def put_stubs(folder: Path) -> None:
    """Write the stub commands into a folder of PATH."""
    for name, body in STUBS.items():
        path = folder / name
        path.write_text(f"#!/bin/sh\n{body}")
        path.chmod(0o755)
