"""A Python file as marks are looked for in it: its tree, its lines, and the words of a statement."""

from __future__ import annotations

import ast
import re
import warnings
from functools import cached_property
from typing import TYPE_CHECKING, Final

from sidecar.model.inspection import Mark, Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Function = ast.FunctionDef | ast.AsyncFunctionDef

SOURCE_LIMIT: Final = 1 << 20
"""Characters of a source that is parsed."""
LINE: Final = 240
"""Characters of a line that are quoted."""
STATEMENT: Final = 1_000
"""Characters of a statement that are searched."""
STATEMENTS: Final = 5_000
"""Statements of one body that are looked at."""
SWALLOWS: Final = "except: swallowed"
FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)


class Page:
    """A file's name, role and lines."""

    def __init__(self, path: str, text: str, role: Role, tree: ast.Module) -> None:
        self.path, self.text, self.role, self.tree = path, text, role, tree
        self.lines = text.split("\n")
        self.name = path.rpartition("/")[2]
        self.is_conftest = self.name == "conftest.py"
        self.starts_first = self.name in ("sitecustomize.py", "usercustomize.py")

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node, as its class says it."""
        return tuple(ast.walk(self.tree))

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """Every function, inner ones too."""
        return tuple(node for node in self.nodes if isinstance(node, FUNCTIONS))

    @cached_property
    def calls(self) -> tuple[ast.Call, ...]:
        return tuple(node for node in self.nodes if isinstance(node, ast.Call))

    def line(self, node: ast.stmt | ast.expr) -> str:
        held = self.lines[node.lineno - 1 : min(node.end_lineno or node.lineno, node.lineno + 3)]
        return " ".join(" ".join(held)[: 2 * LINE].split())[:LINE]

    def source(self, node: ast.stmt | ast.expr) -> str:
        """The lines of a node, without comments at their ends."""
        held = self.lines[node.lineno - 1 : node.end_lineno or node.lineno][:400]
        return "\n".join(re.sub(r"(?:^|\s)#.*$", "", line[: 4 * LINE]) for line in held)

    def mark(self, kind: str, node: ast.stmt | ast.expr, where: str = "") -> Mark:
        return Mark(
            kind=kind, text=f"{where}: {self.line(node)}" if where else self.line(node), line=node.lineno
        )


def parsed(text: str) -> ast.Module | None:
    """The syntax tree, None where there is none."""
    if len(text) > SOURCE_LIMIT:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def statements(nodes: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """All statements below, without those of inner functions."""
    waiting, seen = list(nodes)[::-1], 0
    while waiting and seen < STATEMENTS:
        node = waiting.pop()
        seen += 1
        yield node
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            continue
        below = list[ast.stmt]()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                below.append(child)
            elif isinstance(child, ast.ExceptHandler | ast.match_case):
                below += child.body
        waiting.extend(reversed(below))


def is_words(statement: ast.stmt) -> bool:
    """Whether a statement only says something: a docstring."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def own_words(statement: ast.stmt, page: Page) -> str:
    """A simple statement in one line; of a compound one only its head, and whether it swallows an error."""
    if isinstance(statement, ast.Try):
        raised = [
            any(isinstance(node, ast.Raise) for node in statements(each.body)) for each in statement.handlers
        ]
        return "try:" if all(raised) else SWALLOWS
    source = page.source(statement)[:STATEMENT]
    if isinstance(
        statement, ast.If | ast.For | ast.While | ast.With | ast.AsyncFor | ast.AsyncWith | ast.Match
    ):
        return source.split("\n")[0]
    return " ".join(source.split())


def dotted(node: ast.expr) -> str:
    """`a.b.c` as text, "" for anything else."""
    parts = list[str]()
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""
