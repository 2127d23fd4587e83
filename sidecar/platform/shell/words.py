"""Words of a shell line without their quotes, and the listing of the line's simple commands.

A word may be dynamic: its value is known only to the running shell.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from sidecar.kernel.turn import CommandRun
from sidecar.platform.grammar import node_text, walk_nodes
from sidecar.platform.shell.builtins import SPECIAL_NAMES
from sidecar.platform.shell.forms import ShellForm
from sidecar.platform.shell.wrappers import command_basename

if TYPE_CHECKING:
    from sidecar.platform.grammar import Node


CHAIN_NODES: Final = frozenset({"list", "pipeline", "redirected_statement", "negated_command"})
"""Nodes of a chain; a redirection of its last command is attached to the whole chain."""
WORD_LIMIT: Final = 1000
"""Maximum characters of a word that are kept."""
SHELL_OPTION: Final = re.compile(r"-[a-zA-Z]*")
DYNAMIC_NODES: Final = frozenset(
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
"""Nodes whose text is known only to the running shell."""
IN_QUOTES: Final = re.compile(r"\\([\"$`\\])|\\\n")
BARE_ESCAPE: Final = re.compile(r"\\\n|\\(.)", re.DOTALL)
VISIBLE_TARGETS: Final = frozenset({"&1", "&2", "1", "2", "/dev/stdout", "/dev/stderr", "/dev/tty"})
"""Targets of redirections at which output is still seen."""


def word_text(node: Node) -> str:
    """A word without quotes, at most WORD_LIMIT characters; expansions stay as written."""
    return full_word_text(node)[:WORD_LIMIT]


def is_dynamic_word(node: Node) -> bool:
    """Whether the value of the word is known only to the running shell."""
    if any(part.type in DYNAMIC_NODES for part in walk_nodes(node)):
        return True
    if node.type == "raw_string":
        return False
    return any(part.type == "ansi_c_string" and "\\" in node_text(part) for part in walk_nodes(node))


def may_expand(name: Node) -> bool:
    """Whether the running shell may expand a name to other words (globs, braces)."""
    return name.type != "raw_string" and bool(re.search(r"[*?{]", node_text(name)))


def hides_outputs(redirect: Node) -> tuple[bool, bool]:
    """Whether a redirection hides standard output, and whether it hides standard error."""
    target = redirect.child_by_field_name("destination")
    signs = {child.type for child in redirect.children}
    if target is None or signs & {"<", "<<<", "<&", "<<", "<<-"} or node_text(target) in VISIBLE_TARGETS:
        return False, False
    both = bool(signs & {"&>", "&>>"})
    descriptor = redirect.child_by_field_name("descriptor")
    number = "1" if descriptor is None else node_text(descriptor)
    both = both or (descriptor is None and bool(signs & {">&", ">&-"}))
    return both or number == "1", both or number == "2"


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


def split_assignment(node: Node) -> tuple[str, str]:
    """The name and the value of an assignment, as written."""
    name, _, value = node_text(node).partition("=")
    return name, value[:WORD_LIMIT]


def case_item_statements(item: Node) -> list[Node]:
    """The statements of a case item."""
    start = next((n for n, child in enumerate(item.children) if child.type == ")"), len(item.children))
    return [child for child in item.children[start + 1 :] if child.type != ";;"]


def parse_shell_options(argv: tuple[str, ...]) -> tuple[set[str], int | None]:
    """The options of a shell, and the index of the script after -c."""
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


# --- The simple commands of a line, and the names and variables that it defines -----------------------------


RUNS_LIMIT: Final = 50
WORDS_LIMIT: Final = 200
"""Maximum words of one command that are kept."""
COMMAND_TEXT_LIMIT: Final = 500
"""Maximum characters of a command's text that are kept."""
LEAVES: Final = frozenset({"exit", "return", "exec", "eval", "break", "continue"})
INTERPRETERS: Final = ("python", "pytest", "npm", "pnpm", "yarn")
"""If the value of a variable begins with one of these, it is the name of a command that is not a builtin."""


class CommandContext(NamedTuple):
    """The context of a form."""

    depth: int = 0
    silenced: bool = False
    conditional: bool = False
    background: bool = False

    def deeper(self) -> CommandContext:
        """The context inside another form."""
        return self._replace(depth=self.depth + 1)

    def maybe(self) -> CommandContext:
        """The context of a form that may not run."""
        return self._replace(conditional=True)


class CommandListing:
    """What one line names.

    `runs` are its simple commands, `functions` and `aliases` what it defines (None: uncertain, or defined
    more than once), `values` the variables that it assigns ("" if the value is uncertain), `paths` its
    assignments of PATH, `called` the names it has used so far. `broken`: it does not parse.
    """

    def __init__(self) -> None:
        self.runs: list[CommandRun] = []
        self.functions: dict[str, ShellForm | None] = {}
        self.aliases: set[str] = set()
        self.values: dict[str, str] = {}
        self.paths: list[str] = []
        self.called: set[str] = set()
        self.broken = False

    @property
    def redefines(self) -> bool:
        """Whether the line redefines a builtin that the analysis relies on."""
        return bool(SPECIAL_NAMES & {*self.functions, *self.aliases})

    def remember(self, node: Node) -> None:
        """Store the value of a variable that the line assigns; "" if it is uncertain."""
        name, value = split_assignment(node)
        node_value = node.child_by_field_name("value")
        sure = node_value is not None and not is_dynamic_word(node_value) and name not in self.values
        self.values[name] = word_text(node_value) if sure and node_value is not None else ""
        if re.search(r"\s", value):
            self.values[name] = ""
        if name == "PATH":
            self.paths.append(f"PATH={value}")

    def list_run(self, node: Node, at: CommandContext, *, listed: bool = True) -> tuple[int, CommandRun]:
        """List a command; its index is -1 if it is not listed or the list is full."""
        argv = tuple(word_text(child) for child in command_word_nodes(node)[:WORDS_LIMIT])
        sights = [hides_outputs(child) for child in node.children if child.type == "file_redirect"]
        run = CommandRun(
            argv=argv,
            text=node_text(node)[:COMMAND_TEXT_LIMIT],
            assignments=tuple(word_text(c) for c in node.children if c.type == "variable_assignment"),
            silenced=at.silenced or any(out or err for out, err in sights),
            conditional=at.conditional,
            background=at.background,
        )
        if not listed or not argv or len(self.runs) >= RUNS_LIMIT:
            return -1, run
        self.runs.append(run)
        return len(self.runs) - 1, run

    def known(self, name: Node, argv: tuple[str, ...]) -> bool:
        """Whether the kind of command is known: one of the shell's own, or another."""
        if not is_dynamic_word(name):
            return "/" in argv[0] or not may_expand(name)
        if LEAVES & set(argv):
            return False
        variables = re.findall(r"\$\{?(\w+)", node_text(name))
        if "/" in argv[0] and "(" not in argv[0]:
            return all(self.values.get(each, "-") for each in variables)
        whole = re.fullmatch(r"\$\{?(\w+)\}?", argv[0])
        value = self.values.get(whole[1], "") if whole else ""
        return "/" in value or command_basename(value).startswith(INTERPRETERS)
