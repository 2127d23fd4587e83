"""The syntax tree of a shell line: its words without their quotes, its redirections, its chains.

The only module that uses tree-sitter. Syntax errors become ERROR nodes.

A word may be dynamic: its value is known only to the running shell.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from sidecar.platform.shell.commands import WORD_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tree_sitter import Language, Node


CHAIN_NODES: Final = frozenset({"list", "pipeline", "redirected_statement", "negated_command"})
"""Nodes of a chain; a redirection of its last command is attached to the whole chain."""
DYNAMIC_NODES: Final = frozenset(
    {
        *("simple_expansion", "expansion", "command_substitution", "process_substitution"),
        *("arithmetic_expansion", "brace_expression", "translated_string"),
    }
)
"""Nodes whose text is known only to the running shell."""
IN_QUOTES: Final = re.compile(r"\\([\"$`\\])|\\\n")
BARE_ESCAPE: Final = re.compile(r"\\\n|\\(.)", re.DOTALL)
VISIBLE_TARGETS: Final = frozenset({"&1", "&2", "1", "2", "/dev/stdout", "/dev/stderr", "/dev/tty"})
"""Targets of redirections at which output is still seen."""


@cache
def _bash() -> Language:
    import tree_sitter_bash  # noqa: PLC0415 - a third of a cold start, and not before the first line
    from tree_sitter import Language  # noqa: PLC0415 - as above

    return Language(tree_sitter_bash.language())


def parse_shell_line(line: str) -> Node:
    """The root of a line's syntax tree."""
    from tree_sitter import Parser  # noqa: PLC0415 - as above

    return Parser(_bash()).parse(line.encode("utf-8", "surrogatepass")).root_node


def node_text(node: Node) -> str:
    """The source text of a node."""
    return (node.text or b"").decode("utf-8", "replace")


def walk_nodes(node: Node) -> Iterator[Node]:
    """The node and all its descendants in source order. Not recursive, because sources nest deeply."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def word_text(node: Node) -> str:
    """A word without quotes, at most WORD_LIMIT characters; expansions stay as written."""
    return full_word_text(node)[:WORD_LIMIT]


def is_dynamic_word(node: Node) -> bool:
    """Whether the value of the word is known only to the running shell."""
    return any(
        part.type in DYNAMIC_NODES or (part.type == "ansi_c_string" and "\\" in node_text(part))
        for part in walk_nodes(node)
    )


def has_hidden_output(nodes: Iterable[Node], stream: str = "") -> bool:
    """Whether redirections among the nodes hide standard output ("1") or errors ("2"), or either."""
    hidden = (_hidden_streams(node) for node in nodes if node.type == "file_redirect")
    return any(stream in each if stream else each for each in hidden)


def _hidden_streams(redirect: Node) -> str:
    target = redirect.child_by_field_name("destination")
    signs = {child.type for child in redirect.children}
    if target is None or signs & {"<", "<<<", "<&", "<<", "<<-"} or node_text(target) in VISIBLE_TARGETS:
        return ""
    descriptor = redirect.child_by_field_name("descriptor")
    both = signs & {"&>", "&>>"} or (descriptor is None and signs & {">&", ">&-"})
    number = "1" if descriptor is None else node_text(descriptor)
    return "12" if both else number if number in {"1", "2"} else ""


def full_word_text(node: Node) -> str:
    """A word without quotes, of any length; expansions stay as written."""
    text = node_text(node)
    match node.type:
        case "raw_string":
            return text[1:-1]
        case "string":
            return IN_QUOTES.sub(lambda found: found[1] or "", text[1:-1])
        case "ansi_c_string":
            return text[2:-1]
        case "concatenation" | "command_name" | "variable_assignment":
            return "".join(full_word_text(child) for child in node.children) if node.children else text
        case "word":
            return BARE_ESCAPE.sub(lambda found: found[1] or "", text)
        case _:
            return text


def command_word_nodes(node: Node) -> list[Node]:
    """The words of a command, name first."""
    fields = ((n, child) for n, child in enumerate(node.children) if child.is_named)
    own = [child for n, child in fields if node.field_name_for_child(n) in {"name", "argument"}]
    return [*own, *_words_behind_targets(node)] if own else []


def _words_behind_targets(node: Node) -> list[Node]:
    """Words after a redirection target (`t >log -q`), which the grammar takes for more targets."""
    found: list[Node] = []
    parent = node.parent
    while parent is not None and parent.type in CHAIN_NODES:
        if parent.type == "redirected_statement":
            for part in (child for child in parent.children if child.type == "file_redirect"):
                found += part.children_by_field_name("destination")[1:]
        elif parent.named_children[-1] != node:
            break
        node, parent = parent, parent.parent
    return found


# --- Chains such as `a && b > f | c || d`, unrolled because the grammar nests them unlike bash --------------
# The grammar attaches a redirection, and a heredoc (`<<EOF`) with everything that follows it, to the whole
# list before it, and `!` to the first command alone. The unrolled chain is read by the rules of bash: a
# redirection belongs to the last command, `|` binds tighter than `&&` and `||`, and these two bind equally.


CHAIN_LIMIT: Final = 60
"""Maximum commands of one chain that are followed."""
CHAIN_OPERATORS: Final = frozenset({"&&", "||", "|", "|&"})


class ChainItem:
    """One command of a chain, with its redirections. `sign` is the operator before it."""

    def __init__(self, node: Node | None, sign: str, *, negated: bool) -> None:
        self.node = node
        self.sign = sign
        self.negated = negated
        self.redirects: list[Node] = []


def unroll_chain(chain: Node) -> list[ChainItem]:
    """The commands of a chain; none if it is too long or has an unknown form."""
    items: list[ChainItem] = []
    waiting: list[Node | str | list[Node]] = [chain]
    sign, negated = "", False
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            if not items:
                return []
            items[-1].redirects.extend(part)
        elif isinstance(part, str):
            sign, negated = (sign, True) if part == "!" else (part, False)
        elif part.type in CHAIN_NODES:
            waiting.extend(reversed(_chain_parts(part)))
        elif len(items) == CHAIN_LIMIT:
            return []
        else:
            items.append(ChainItem(part, sign, negated=negated))
            sign, negated = "?", False
    return [] if any(item.sign not in CHAIN_OPERATORS for item in items[1:]) else items


def _chain_parts(node: Node) -> list[Node | str | list[Node]]:
    """Commands, operators, and the redirections of the command before them."""
    if node.type == "redirected_statement":
        return _redirected_parts(node)
    return [
        child.type if child.type in CHAIN_OPERATORS or child.type == "!" else child
        for child in node.children
        if child.type != "comment"
    ]


def _redirected_parts(node: Node) -> list[Node | str | list[Node]]:
    redirects: list[Node] = []
    behind: list[Node | str | list[Node]] = []
    body = node.child_by_field_name("body")
    for child in node.children:
        if child.type == "heredoc_redirect":
            redirects.extend(
                part for part in child.children if part.type in {"heredoc_body", "file_redirect"}
            )
            behind.extend(_parts_behind_document(child))
        elif child != body:
            redirects.append(child)
    return [redirects, *behind] if body is None else [body, redirects, *behind]


def _parts_behind_document(document: Node) -> list[Node | str | list[Node]]:
    """What follows `<<EOF` on its line."""
    found: list[Node | str | list[Node]] = []
    for child in document.children:
        if child.type == "pipeline":
            found.extend(_chain_parts(child))
    sign, right = document.child_by_field_name("operator"), document.child_by_field_name("right")
    return [*found, node_text(sign), right] if sign is not None and right is not None else found
