"""The expectations in the statements of one Python test, and whether they can be reached and can fail.

An expectation is void where it never runs (after a return, under `if False`) or where its failure is caught.
A loop, a `with` and an `if` on something unknown are taken to run. Helpers of the same file are looked into,
with the arguments in place of the parameters, so that an extracted helper changes nothing.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from msgspec import Struct, structs

from sidecar.adapters.reading.found import HELPER, Form, assertion, one_line
from sidecar.adapters.reading.python_calls import SKIPS, XFAILS, asserted, called_name, guarded
from sidecar.adapters.reading.python_flow import (
    Function,
    anew,
    arguments,
    below,
    leaves,
    manager,
    only_fails,
    own,
    patched_names,
    rewritten,
    suppresses,
    swallows,
    with_arguments,
)
from sidecar.adapters.reading.python_forms import forms
from sidecar.adapters.reading.python_values import Values, constant, tail

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sidecar.model.inspection import Assertion

DEPTH: Final = 2
"""How many helpers deep expectations are looked for."""
MOST: Final = 400
"""Expectations of one test that are read."""


class State(Struct, frozen=True):
    """Where a statement stands: `dead` never runs, `swallowed` may fail unseen, `guard` is the `if` above."""

    dead: bool = False
    swallowed: bool = False
    guard: str = ""
    top: bool = True
    outer: bool = False


class Budget:
    """How many expectations of helpers may still be read in one file, so that calls of calls stay cheap."""

    def __init__(self, left: int = 20_000) -> None:
        self.left = left


class Walk:
    """Collects what one test expects, and what skips it from inside."""

    def __init__(
        self,
        helpers: Mapping[str, Function],
        values: Values,
        depth: int = 0,
        budget: Budget | None = None,
    ) -> None:
        self.found: list[Assertion] = []
        self.skipped = ""
        self.expected_to_fail = ""
        self._helpers = helpers
        self._values = values
        self._depth = depth
        self._budget = budget or Budget()
        self._idle: frozenset[str] = frozenset()
        self._alone: ast.expr | None = None
        self._patched: frozenset[str] = frozenset()
        self._again: frozenset[str] = frozenset()

    def whole(self, body: list[ast.stmt]) -> None:
        """Read all statements of a function."""
        nested = {node.name for node in below(body) if isinstance(node, Function)}
        named = {node.id for node in below(body) if isinstance(node, ast.Name)} if nested else set()
        self._idle = frozenset(nested - named)
        self._patched = patched_names(body)
        self._again = rewritten(body)
        self.block(body, State())
        if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own(body)):
            self.expected_to_fail = self.expected_to_fail or "yield"

    def block(self, body: Iterable[ast.stmt], state: State) -> None:
        """Read statements in order; after one that leaves the block nothing runs."""
        for statement in body:
            if len(self.found) >= MOST:
                return
            self._statement(statement, state)
            self._values = anew(statement, self._again, self._values)
            if leaves(statement):
                self._left_early(statement, state)
                state = State(dead=True, swallowed=state.swallowed, top=False)

    def _left_early(self, statement: ast.stmt, state: State) -> None:
        live = any(not one.void for one in self.found)
        if isinstance(statement, ast.Return) and not live and not self._depth and not state.dead:
            if state.top:
                self.skipped = self.skipped or one_line(ast.unparse(statement))
            elif state.guard.startswith("if ") and state.outer:
                self.skipped = self.skipped or f"{state.guard}: return"

    def _statement(self, node: ast.stmt, state: State) -> None:
        inner = State(state.dead, state.swallowed, state.guard, top=False)
        match node:
            case ast.If():
                self._if(node, structs.replace(inner, outer=state.top))
            case ast.Assert():
                self._add(node, forms(node.test, self._values), state)
            case ast.For() | ast.AsyncFor() | ast.While():
                never = constant(node.iter if not isinstance(node, ast.While) else node.test) is False
                self.block(node.body, State(inner.dead or never, inner.swallowed, inner.guard, top=False))
                self.block(node.orelse, inner)
            case ast.Try() | ast.TryStar():
                self._try(node, inner)
            case ast.With() | ast.AsyncWith():
                self._with(node, state)
            case ast.Match():
                for case in node.cases:
                    self.block(case.body, inner)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                self._nested(node, inner)
            case ast.Raise():
                self._raise(node, state)
            case _:
                value = node.value if isinstance(node, ast.Expr) else None
                self._alone = value.value if isinstance(value, ast.Await) else value
                self._expressions(node, state)
                self._alone = None

    def _nested(self, node: Function | ast.ClassDef, state: State) -> None:
        """A function inside the test expects nothing when nobody names it again."""
        if not isinstance(node, ast.ClassDef):
            idle = node.name in self._idle and not node.decorator_list
            self.block(node.body, State(state.dead or idle, state.swallowed, state.guard, top=False))

    def _if(self, node: ast.If, state: State) -> None:
        always = constant(node.test)
        guarded_by = one_line(f"if {ast.unparse(node.test)}")
        failing = always is None and only_fails(node.body)
        if failing and not node.orelse:
            self._add(node, guarded(node.test, self._values), state)
            return
        guard = state.guard if always else guarded_by
        self._expression(node.test, state)
        first = State(
            state.dead or always is False, state.swallowed, guard, top=bool(always), outer=state.outer
        )
        self.block(node.body, first)
        guard = state.guard if always is False else one_line(f"if not ({ast.unparse(node.test)})")
        self.block(node.orelse, State(state.dead or always is True, state.swallowed, guard, top=False))

    def _try(self, node: ast.Try | ast.TryStar, state: State) -> None:
        swallowed = state.swallowed or any(swallows(handler) for handler in node.handlers)
        guard = state.guard or ("try" if node.handlers else "")
        self.block(node.body, State(state.dead, swallowed, guard, top=False))
        for handler in node.handlers:
            what = f"except {ast.unparse(handler.type)}" if handler.type else "except"
            self.block(handler.body, State(state.dead, state.swallowed, what, top=False))
        self.block(node.orelse, state)
        self.block(node.finalbody, state)

    def _with(self, node: ast.With | ast.AsyncWith, state: State) -> None:
        suppressed, inside = False, False
        for item in node.items:
            made = manager(item.context_expr, node.body, self._values)
            if made:
                self._add(node, [made], state)
                inside = inside or made.name == "raises"
            elif isinstance(item.context_expr, ast.Call):
                suppressed = suppressed or suppresses(item.context_expr)
                self._expression(item.context_expr, state)
        swallowed = state.swallowed or suppressed
        self.block(node.body, State(state.dead, swallowed, state.guard, top=state.top and not inside))

    def _raise(self, node: ast.Raise, state: State) -> None:
        what = tail(node.exc) if node.exc else ""
        if what.startswith("Skip"):
            self._skip(node, state)
        elif what == "AssertionError":
            self._add(node, [Form("fails", state.guard)], state)

    def _expressions(self, node: ast.AST, state: State) -> None:
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr):
                self._expression(part, state)

    def _expression(self, node: ast.expr, state: State) -> None:
        for call in ast.walk(node):
            if isinstance(call, ast.Call):
                self._call(call, state)

    def _call(self, call: ast.Call, state: State) -> None:
        name = called_name(call)
        if name in SKIPS:
            self._skip(call, state)
            return
        if name in XFAILS:
            if not state.dead:
                self.expected_to_fail = self.expected_to_fail or _guarded_text(call, state)
            return
        known = asserted(call, self._values)
        if known is not None:
            self._add(call, known, state)
            return
        self._helper(call, name, state)

    def _helper(self, call: ast.Call, name: str, state: State) -> None:
        last = name.rpartition(".")[2]
        helper = self._helpers.get(last) if name in (last, f"self.{last}", f"cls.{last}") else None
        if helper is None:
            if HELPER.match(last) and call is self._alone:
                self._add(call, [Form("opaque", ast.unparse(call))], state)
            return
        if self._depth >= DEPTH or len(self.found) >= MOST or self._budget.left <= 0:
            return
        inner = Walk(self._helpers, arguments(helper, call), self._depth + 1, self._budget)
        inner.block(with_arguments(helper, call), State(state.dead, state.swallowed, state.guard, top=False))
        self._budget.left -= 1 + len(inner.found)
        self.found += inner.found

    def _skip(self, node: ast.AST, state: State) -> None:
        if not state.dead:
            self.skipped = self.skipped or _guarded_text(node, state)

    def _add(self, node: ast.stmt | ast.expr, expected: list[Form], state: State) -> None:
        text = ast.unparse(node).partition("\n")[0]
        for form in expected:
            mocked = form.name == "==" and form.subject.partition("(")[0].rpartition(".")[2] in self._patched
            void = form.void or state.dead or state.swallowed or (mocked and "(" in form.subject)
            self.found.append(assertion(node.lineno, text, form._replace(void=void)))


def _guarded_text(node: ast.AST, state: State) -> str:
    text = ast.unparse(node)
    return one_line(f"{state.guard}: {text}" if state.guard else text)
