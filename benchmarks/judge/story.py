"""A turn of an agent as it is told, step by step, and what Supervisor would see of it.

Hosts record more than a Turn holds: the question of a question, the task of a subagent, the file that was
read. Here these stand in `command` and `paths` of the call; a host's form takes them, and what is read back
of it is what the product would know.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

from msgspec.structs import replace

from sidecar.kernel.effects import UNSEEN_PROJECT
from sidecar.kernel.events import ProjectState
from sidecar.kernel.evidence import FileDiff
from sidecar.kernel.gate import AvailableGates, Gate, GateOrigin, GateRun, Kind, Outcome
from sidecar.kernel.turn import CallOutcome, Todo, ToolAction, ToolCall, Turn
from sidecar.platform.shell import line as shell

PROJECT: Final = "/home/user/project"
HUNK_LIMIT: Final = 2000
"""Characters of the changes of one file."""
FAILURES: Final = 5
KINDS: Final = (
    (Kind.LINT, re.compile(r"\b(lint|ruff|eslint|clippy|flake8|rubocop|golangci|credo|shellcheck)\b")),
    (Kind.TYPES, re.compile(r"\b(mypy|pyright|tsc|typecheck|dialyzer)\b")),
    (Kind.TESTS, re.compile(r"test|spec|pytest|jest|ctest|tox\b|nox\b|verify\b")),
    (Kind.BUILD, re.compile(r"build|compile|make\b|assemble|package")),
)
"""What a command checks, by its words; the first that fits."""


def digest(*words: object, size: int = 20) -> str:
    """A name made of hexadecimal digits, always the same one for the same words."""
    return hashlib.sha256("\0".join(map(str, words)).encode()).hexdigest()[:size]


class Story:
    """A turn that grows. `name` makes its ids its own."""

    def __init__(self, name: str) -> None:
        """Begin with nothing said and nothing done."""
        self.name = name
        self.prompts: list[str] = []
        self.calls: list[ToolCall] = []
        self.todos: list[Todo] = []
        self.message = ""
        self._edits: dict[str, list[str]] = {}
        self._gates: list[tuple[Gate, Outcome, tuple[str, ...]]] = []

    def prompt(self, text: str) -> None:
        """A person asks."""
        self.prompts.append(text.strip())

    def run(self, command: str, output: str = "", exit_code: int = 0) -> None:
        """A shell line runs."""
        outcome = CallOutcome.FAILED if exit_code else CallOutcome.OK
        call = self._call("Bash", ToolAction.RUN, outcome)
        self._add(
            call,
            command=command,
            runs=shell.parse_simple_commands(command),
            exit_code=exit_code,
            output=output.strip("\n"),
        )

    def edit(self, path: str, lines: tuple[str, ...] = ()) -> None:
        """A file is written; `lines` begin with "+" or "-"."""
        new = path not in self._edits and bool(lines) and not any(line.startswith("-") for line in lines)
        self._edits.setdefault(path, []).extend(lines)
        call = self._call("Write" if new else "Edit", ToolAction.EDIT, CallOutcome.OK)
        self._add(call, paths=(_absolute(path),), output=f"The file {_absolute(path)} has been updated.")

    def read(self, path: str, text: str = "") -> None:
        """A file is read."""
        self._add(
            self._call("Read", ToolAction.READ, CallOutcome.OK),
            paths=(_absolute(path),),
            output=text.strip("\n"),
        )

    def search(self, tool: str, pattern: str, found: str = "") -> None:
        """Files are searched with the host's own tool, Grep or Glob."""
        self._add(
            self._call(tool, ToolAction.READ, CallOutcome.OK),
            command=pattern,
            output=found or "No files found",
        )

    def ask(self, question: str, answer: str | None) -> None:
        """The agent asks through the host's own tool; without an answer the question is open."""
        outcome = CallOutcome.PENDING if answer is None else CallOutcome.OK
        said = "" if answer is None else f'Your questions have been answered: "{question}"="{answer}"'
        self._add(self._call("AskUserQuestion", ToolAction.ASK, outcome), command=question, output=said)

    def delegate(self, task: str, output: str = "Done.") -> None:
        """A subagent does something."""
        self._add(self._call("Task", ToolAction.DELEGATE, CallOutcome.OK), command=task, output=output)

    def list(self, *todos: tuple[str, bool], more: bool = False) -> None:
        """The to-do list is now this; each is its text and whether it is done. `more`: it grows by these."""
        added = [Todo(text, done) for text, done in todos]
        if more and self.todos:
            self.todos += added
            return
        self.todos = added
        self._add(
            self._call("TodoWrite", ToolAction.TODO, CallOutcome.OK), output="Todos have been modified."
        )

    def gate(self, command: str, outcome: Outcome, *, required: bool, failing: tuple[str, ...] = ()) -> None:
        """Supervisor would run this check, and this is how it would end."""
        kind = next((kind for kind, words in KINDS if words.search(command)), Kind.CHECK)
        same = sum(1 for gate, _, _ in self._gates if gate.kind is kind)
        gate = Gate(
            id=f"{kind}:{same + 1}" if same else str(kind),
            command=command,
            why="you configured it" if required else "the project has it",
            kind=kind,
            origin=GateOrigin.TYPED if required else GateOrigin.DETECTED,
            required=required,
            counts=kind is Kind.TESTS,
            approved=True,
        )
        self._gates.append((gate, outcome, failing))

    @property
    def changed(self) -> tuple[str, ...]:
        """The paths that were written, in order, relative to the project."""
        return tuple(sorted(self._edits))

    @property
    def tree(self) -> str:
        """The fingerprint of the files as they are now."""
        return digest(self.name, *self.changed, len(self.calls), size=40)

    def turn(self) -> Turn:
        """What happened."""
        return Turn(
            prompts=tuple(self.prompts),
            prompt_id=digest(self.name, "prompt"),
            calls=tuple(self.calls),
            last_message=self.message.strip(),
            last_message_id=f"msg_{digest(self.name, 'message')}",
            calls_since_arrival=len(self.calls),
            todos=tuple(self.todos),
        )

    def seen(self) -> ProjectState:
        """What a project_state finds."""
        return ProjectState(
            tree=self.tree,
            rubric=UNSEEN_PROJECT.rubric,
            catalog=AvailableGates(tuple(gate for gate, _, _ in self._gates)),
            changed=self.changed,
            edits=tuple(edit_of(path, lines) for path, lines in sorted(self._edits.items()) if lines),
        )

    def runs(self) -> tuple[GateRun, ...]:
        """How the gates end."""
        return tuple(_run(gate, outcome, failing, self.tree) for gate, outcome, failing in self._gates)

    def _call(self, tool: str, doing: ToolAction, outcome: CallOutcome) -> ToolCall:
        name = f"toolu_{digest(self.name, len(self.calls))}"
        return ToolCall(id=name, tool=tool, doing=doing, outcome=outcome)

    def _add(self, call: ToolCall, **fields: object) -> None:
        self.calls.append(replace(call, **fields))


def edit_of(path: str, lines: list[str]) -> FileDiff:
    """The change of one file; of its lines only those that were added or removed are known."""
    added = sum(1 for line in lines if line.startswith("+"))
    removed = sum(1 for line in lines if line.startswith("-"))
    text = f"@@ -1,{removed} +1,{added} @@\n" + "\n".join(lines)
    shown = text if len(text) <= HUNK_LIMIT else text[:HUNK_LIMIT].rpartition("\n")[0]
    return FileDiff(path=path, added=added, removed=removed, hunks=shown)


def _absolute(path: str) -> str:
    return path if path.startswith("/") else f"{PROJECT}/{path}"


def _run(gate: Gate, outcome: Outcome, failing: tuple[str, ...], tree: str) -> GateRun:
    codes = {Outcome.PASSED: 0, Outcome.FAILED: 1, Outcome.COULD_NOT_RUN: None}
    text = "\n".join(failing)
    return GateRun(
        gate=gate,
        outcome=outcome,
        tree=tree,
        exit_code=codes[outcome],
        output=text,
        failures=failing[:FAILURES] if outcome is Outcome.FAILED else (),
        failing=failing if outcome is Outcome.FAILED else (),
        reason=(text or "the command could not be started") if outcome is Outcome.COULD_NOT_RUN else "",
    )
