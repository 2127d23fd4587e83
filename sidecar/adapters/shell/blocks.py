"""Reads the compound forms of a shell line: conditions, loops, cases and groups."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final

from sidecar.adapters.grammar import descend, text_of
from sidecar.adapters.shell.forms import Case, Form, If, Loop, Lost, Not, Test
from sidecar.adapters.shell.listing import TEXT, Listing, Place
from sidecar.adapters.shell.words import after_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sidecar.adapters.grammar import Node

DEPTH: Final = 24
"""Forms within each other that are followed."""


class Blocks(Listing, ABC):
    """Reads what is made of other forms."""

    @abstractmethod
    def form(self, node: Node, at: Place) -> Form:
        """Read one form."""

    @abstractmethod
    def sequence(self, nodes: Iterable[Node], at: Place) -> Form:
        """Read statements one after another."""

    @abstractmethod
    def inside(self, node: Node, at: Place) -> tuple[Form, ...]:
        """Read the substitutions of a word, in order, without those inside others."""

    @abstractmethod
    def lost(self, node: Node, at: Place) -> Form:
        """List the commands of a form that is not followed."""

    def read_compound(self, node: Node, at: Place) -> Form:
        if node.children and node.children[0].type == "((":
            return self.read_test(node, at)
        return self.sequence(node.children, at)

    def read_if(self, nodes: Sequence[Node], at: Place) -> Form:
        then = next((n for n, node in enumerate(nodes) if node.type == "then"), None)
        if then is None:
            return Lost()
        tail = [n for n, node in enumerate(nodes) if node.type in {"elif_clause", "else_clause", "fi"}]
        end = tail[0] if tail else len(nodes)
        condition = self.sequence(nodes[1:then], at)
        body = self.sequence(nodes[then + 1 : end], at.maybe())
        return If(condition, body, self._else(nodes[end:], at.maybe()))

    def _else(self, clauses: Sequence[Node], at: Place) -> Form | None:
        if not clauses or clauses[0].type == "fi":
            return None
        if clauses[0].type == "else_clause":
            return self.sequence(clauses[0].children[1:], at)
        deeper = at._replace(depth=at.depth + 1)
        return self.read_if([*clauses[0].children, *clauses[1:]], deeper) if at.depth < DEPTH else Lost()

    def read_while(self, node: Node, at: Place) -> Form:
        body = node.child_by_field_name("body")
        if body is None:
            return Lost()
        until = next(n for n, child in enumerate(node.children) if child == body)
        condition = self.sequence(node.children[1:until], at)
        negated = node.children[0].type == "until"
        return Loop(self.form(body, at.maybe()), Not(condition) if negated else condition)

    def read_for(self, node: Node, at: Place) -> Form:
        body = node.child_by_field_name("body")
        if body is None:
            return Lost()
        name = node.child_by_field_name("variable")
        inside = tuple(
            form for child in node.named_children if child != body for form in self.inside(child, at)
        )
        label = "*" if name is None else text_of(name)
        return Loop(self.form(body, at.maybe()), None, label, inside)

    def read_case(self, node: Node, at: Place) -> Form:
        if any(part.type in {";&", ";;&"} for part in descend(node)):
            return self.lost(node, at)
        items = [child for child in node.named_children if child.type == "case_item"]
        bodies = tuple(self.sequence(after_pattern(item), at.maybe()) for item in items)
        value = node.child_by_field_name("value")
        return Case(bodies, () if value is None else self.inside(value, at))

    def read_test(self, node: Node, at: Place) -> Form:
        return Test(text_of(node)[:TEXT], self.inside(node, at))
