"""Words of a shell line: what is left of them without quotes, and what only the running shell knows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from sidecar.adapters.grammar import descend, text_of

if TYPE_CHECKING:
    from sidecar.adapters.grammar import Node

CHAINS: Final = frozenset({"list", "pipeline", "redirected_statement", "negated_command"})
"""Nodes of a chain; a redirection of its last command stands behind the whole."""
WORD_LIMIT: Final = 1000
"""Characters of a word that is kept."""
SHELL_OPTION: Final = re.compile(r"-[a-zA-Z]*")
OPEN: Final = frozenset(
    {
        "simple_expansion",
        "expansion",
        "command_substitution",
        "process_substitution",
        "arithmetic_expansion",
        "brace_expression",
        "translated_string",
    }
)
"""Nodes whose text only the running shell knows."""
IN_QUOTES: Final = re.compile(r"\\([\"$`\\])|\\\n")
BARE: Final = re.compile(r"\\\n|\\(.)", re.DOTALL)
SEEN: Final = frozenset({"&1", "&2", "1", "2", "/dev/stdout", "/dev/stderr", "/dev/tty"})
"""Where output may go and still be seen."""


def word(node: Node) -> str:
    """A word without quotes; what the running shell puts in stands as it is written."""
    return whole_word(node)[:WORD_LIMIT]


def is_open(node: Node) -> bool:
    """Whether only the running shell knows the word."""
    if any(part.type in OPEN for part in descend(node)):
        return True
    if node.type == "raw_string":
        return False
    return any(part.type == "ansi_c_string" and "\\" in text_of(part) for part in descend(node))


def globs(name: Node) -> bool:
    """Whether the running shell may make other words of it."""
    return name.type != "raw_string" and bool(re.search(r"[*?{]", text_of(name)))


def hides(redirect: Node) -> tuple[bool, bool]:
    """Whether a redirection takes standard output, and standard error, out of sight."""
    target = redirect.child_by_field_name("destination")
    signs = {child.type for child in redirect.children}
    if target is None or signs & {"<", "<<<", "<&", "<<", "<<-"} or text_of(target) in SEEN:
        return False, False
    both = bool(signs & {"&>", "&>>"})
    descriptor = redirect.child_by_field_name("descriptor")
    number = "1" if descriptor is None else text_of(descriptor)
    both = both or (descriptor is None and bool(signs & {">&", ">&-"}))
    return both or number == "1", both or number == "2"


def whole_word(node: Node) -> str:
    """The same without a limit."""
    text = text_of(node)
    match node.type:
        case "raw_string":
            return text[1:-1]
        case "string":
            return IN_QUOTES.sub(lambda found: found[1] or "", text[1:-1])
        case "ansi_c_string":
            return text[2:-1]
        case "concatenation" | "command_name" | "variable_assignment":
            return "".join(whole_word(child) for child in node.children) if node.children else text
        case "word":
            return BARE.sub(lambda found: found[1] or "", text)
        case _:
            return text


def words_of(node: Node) -> list[Node]:
    """The words of a command, its name first."""
    fields = ((n, child) for n, child in enumerate(node.children) if child.is_named)
    own = [child for n, child in fields if node.field_name_for_child(n) in {"name", "argument"}]
    return [*own, *_behind_targets(node)] if own else []


def _behind_targets(node: Node) -> list[Node]:
    """Words behind the target of a redirection (`t >log -q`): the grammar takes them for more targets."""
    found: list[Node] = []
    parent = node.parent
    while parent is not None and parent.type in CHAINS:
        if parent.type == "redirected_statement":
            for part in (child for child in parent.children if child.type == "file_redirect"):
                found += part.children_by_field_name("destination")[1:]
        elif parent.named_children[-1] != node:
            break
        node, parent = parent, parent.parent
    return found


def assigned(node: Node) -> tuple[str, str]:
    """The name and the value of an assignment, as written."""
    name, _, value = text_of(node).partition("=")
    return name, value[:WORD_LIMIT]


def after_pattern(item: Node) -> list[Node]:
    """The statements of a case item."""
    start = next((n for n, child in enumerate(item.children) if child.type == ")"), len(item.children))
    return [child for child in item.children[start + 1 :] if child.type != ";;"]


def shell_options(argv: tuple[str, ...]) -> tuple[set[str], int | None]:
    """The options of a shell, and the place of the line after -c."""
    seen: set[str] = set()
    at = 1
    while at < len(argv) and argv[at].startswith(("-", "+")):
        if argv[at].startswith("--"):
            at += 1
            continue
        letters = set(argv[at][1:]) if argv[at].startswith("-") else set()
        if not SHELL_OPTION.fullmatch(argv[at]) or letters - set("celuxviaoh"):
            return seen, None
        seen |= letters
        if "o" in letters:
            seen.add("e" if argv[at + 1 : at + 2] == ("errexit",) else "".join(argv[at + 1 : at + 2]))
            at += 1
        at += 1
    return seen, at if "c" in seen and at < len(argv) else None
