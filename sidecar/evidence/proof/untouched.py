"""Finds what a goal names and a change does not touch, and what a new function takes and does not read.

Both are evidence for a judge and a person, and nobody is sent back for them alone: a goal may name something
only to say where it is. Read are names that look like code, never sentences.

- A name is touched if a changed line has it, or a line around one that is less indented, or the path of a
  changed file. Case, `-` and `_` do not matter, and a part of a longer name is enough.
- Commands of checks, and names of tests, are not parts: the checks themselves decide these.
- Which inputs a function reads is known of Python alone.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from sidecar.evidence.commands.kinds import kinds_of
from sidecar.evidence.proof.check_files import bears_on_checks
from sidecar.evidence.proof.file_names import is_known_kind
from sidecar.kernel.evidence import FileChange
from sidecar.platform.shell.line import parse_simple_commands

NAMED_PARTS: Final = 8
ADDRESS: Final = re.compile(r"\b\w+://\S+")
IN_BACKTICKS: Final = re.compile(r"`([^`\n]{1,200})`")
CODE_WORD: Final = re.compile(
    r"""(?<![\w./-])(?:
        --[a-z][\w-]+                          # an option
      | v\d+(?:\.\d+)+(?!\w)                   # a tag
      | (?:\w+(?:\.|::))*[A-Za-z]\w+(?=\((?!s\)))   # a call, not the plural of a word
      | (?P<file>(?![A-Z]\w*\.js\b)[\w./-]*\w\.[A-Za-z]\w*)    # a file of a known ending, not Node.js
      | [A-Za-z]\w*_\w+ | _\w+ | [a-z]{2,}(?:[A-Z][a-z]+)+\w*
    )
    | (?<=["'])[A-Za-z][\w.-]+(?=["'])         # a quoted name""",
    re.VERBOSE,
)
TAG: Final = re.compile(r"v\d+(?:\.\d+)+")
SCOPE: Final = re.compile(r"\.|::|#")


def find_untouched(
    goal: str, files: Sequence[FileChange], checks: Iterable[str] = (), known: Iterable[str] = ()
) -> tuple[str, ...]:
    """Return the parts of a goal that a change does not touch, as the goal writes them.

    `checks`: command lines whose words are not parts. `known`: names that are there without a changed file,
    such as tags and branches.
    """
    touched = {_plain(text) for text in (*known, *_touched_texts(files))}
    parts = dict.fromkeys(_parts(goal, " ".join(checks)))
    missing = (part for part in parts if not any(_essence(part) in text for text in touched))
    return tuple(missing)[:NAMED_PARTS]


def _parts(goal: str, checks: str) -> Iterator[str]:
    """Yield the words of a goal that look like code, and are neither checks nor tests."""
    text = ADDRESS.sub(" ", goal)
    for quoted in IN_BACKTICKS.findall(text):
        if any(kinds_of(run) for run in parse_simple_commands(quoted)):
            text = text.replace(f"`{quoted}`", " ")
        elif re.fullmatch(r"(?=.*[A-Za-z])\S{2,}", quoted):
            text = text.replace(f"`{quoted}`", " ")
            yield from _product_names((quoted.partition("(")[0] or quoted,), checks)
    words = (word[0] for word in CODE_WORD.finditer(text) if not word["file"] or is_known_kind(word[0]))
    yield from _product_names(words, checks)


def _product_names(names: Iterable[str], checks: str) -> Iterator[str]:
    for name in names:
        if name not in checks and not bears_on_checks(name) and not bears_on_checks(f"{name}.py"):
            yield name


def _essence(part: str) -> str:
    """Return what a touched text must have: a path as a whole, of a name behind scopes the last one."""
    return _plain(part if is_known_kind(part) or TAG.fullmatch(part) else SCOPE.split(part)[-1])


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def _touched_texts(files: Iterable[FileChange]) -> Iterator[str]:
    for file in files:
        yield from (file.path, file.old_path)
        before, after = (file.before or "").split("\n"), (file.after or "").split("\n")
        yield from _changed_lines(before, Counter(after))
        yield from _changed_lines(after, Counter(before))


def _changed_lines(lines: Iterable[str], others: Counter[str]) -> Iterator[str]:
    """Yield the lines that the other version lacks, and the less indented ones above them."""
    around: list[tuple[int, str]] = []
    for line in lines:
        if not re.search(r"\w", line):
            continue
        indent = len(line) - len(line.lstrip())
        while around and around[-1][0] >= indent:
            around.pop()
        around.append((indent, line))
        if others[line] > 0:
            others[line] -= 1
        else:
            yield from (text for _, text in around)


# --- inputs that nothing reads ------------------------------------------------------------------------------


Function = ast.FunctionDef | ast.AsyncFunctionDef


def find_unread_inputs(files: Iterable[FileChange]) -> tuple[str, ...]:
    """Return the parameters of new Python functions that nothing in the function reads: "f(parameter)".

    What may have to take them is left out: methods of classes with bases, decorated functions, functions that
    are passed on by name or called by Python itself, and those without a body.
    """
    return tuple(
        f"{name}({parameter})"
        for file in files
        if file.path.endswith(".py") and not bears_on_checks(file.path)
        for name, parameter in _unread_of_file(file)
    )[:NAMED_PARTS]


def _unread_of_file(file: FileChange) -> Iterator[tuple[str, str]]:
    try:
        before, after = ast.parse(file.before or ""), ast.parse(file.after or "")
    except (SyntaxError, ValueError, RecursionError):
        return
    old = dict(_functions(before))
    called = {id(node.func) for node in ast.walk(after) if isinstance(node, ast.Call)}
    passed_on = {
        node.id if isinstance(node, ast.Name) else node.attr
        for node in ast.walk(after)
        if isinstance(node, ast.Name | ast.Attribute) and id(node) not in called
    }
    for name, function in _functions(after):
        special = function.name.startswith("__") and function.name != "__init__"
        if not (name in old or function.name in passed_on or function.decorator_list or special):
            yield from ((name, parameter) for parameter in _unread_parameters(function))


def _functions(module: ast.Module) -> Iterator[tuple[str, Function]]:
    for node in module.body:
        if isinstance(node, Function):
            yield node.name, node
        elif isinstance(node, ast.ClassDef) and not node.bases:
            yield from ((f"{node.name}.{one.name}", one) for one in node.body if isinstance(one, Function))


def _unread_parameters(function: Function) -> Iterator[str]:
    if all(_does_nothing(statement) for statement in function.body):
        return
    names = (
        node for statement in function.body for node in ast.walk(statement) if isinstance(node, ast.Name)
    )
    read = {"self", "cls", *(node.id for node in names if not isinstance(node.ctx, ast.Store))}
    taken = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    if "locals" not in read:
        yield from (one.arg for one in taken if one.arg not in read and not one.arg.startswith("_"))


def _does_nothing(statement: ast.stmt) -> bool:
    text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return text or isinstance(statement, ast.Pass | ast.Raise)
