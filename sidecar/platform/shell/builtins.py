"""The effects of the shell's own commands on a line's states and on what is known of its variables."""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, TypeAlias

from sidecar.platform.shell.wrappers import command_basename

if TYPE_CHECKING:
    from sidecar.platform.shell.forms import SimpleCommand


KnownExitCodes: TypeAlias = frozenset[tuple[str, bool]]
"""Variables that hold an exit code, and whether it is nonzero."""


class CommandMeaning(Enum):
    """What a command does besides succeeding or failing."""

    PLAIN = auto()
    CALM = auto()
    """It only prepares or reports, so its failure is not what a failure of the line is about."""
    GOOD = auto()
    BAD = auto()
    TEST = auto()
    TOUCHES = auto()
    """It may set variables."""
    SET = auto()
    EXEC = auto()
    LEAVES = auto()
    LOST = auto()


COMMAND_MEANINGS: Final = {
    **dict.fromkeys(
        ("cd", "pushd", "popd", "pwd", "mkdir", "touch", "rm", "ls", "date", "sleep"), CommandMeaning.CALM
    ),
    **dict.fromkeys(("echo", "printf", "cat", "head", "tail", "tee"), CommandMeaning.CALM),
    **dict.fromkeys(("exit", "return", "break", "continue"), CommandMeaning.LEAVES),
    **dict.fromkeys(("read", "getopts", "mapfile", "readarray", "unset", "let"), CommandMeaning.TOUCHES),
    **dict.fromkeys(("export", "local"), CommandMeaning.TOUCHES),
    **dict.fromkeys(
        ("eval", "declare", "typeset", "readonly", "enable", "suspend", "logout"), CommandMeaning.LOST
    ),
    **dict.fromkeys(("coproc", "fc", "bind", "complete", "hash"), CommandMeaning.LOST),
    ":": CommandMeaning.GOOD,
    "true": CommandMeaning.GOOD,
    "false": CommandMeaning.BAD,
    "test": CommandMeaning.TEST,
    "set": CommandMeaning.SET,
}
PREFIXES: Final = frozenset({"command", "builtin", "time"})
SPECIAL_NAMES: Final = frozenset(
    {*COMMAND_MEANINGS, *PREFIXES, "exec", "trap", "source", ".", "wait", "shopt", "alias", "unalias", "["}
)
"""Names whose meaning the analysis relies on; a line that redefines one of them is not followed."""
STARTUP_FILES: Final = frozenset(
    (
        *("activate", "nvm.sh", "conda.sh", "env", ".env", ".envrc"),
        *(".bashrc", ".profile", ".bash_profile", ".zshrc", ".zprofile"),
    )
)
"""Files that are sourced to prepare a shell. They are assumed to set no options and to end no shell."""
SAFE_SHOPT: Final = frozenset(("globstar", "nullglob", "extglob", "dotglob", "nocaseglob", "failglob"))
UNSAFE_TRAP: Final = re.compile(
    r"\b(exit|exec|eval|return|kill|set|trap|source|break|continue)\b|[$`]|(^|[\s;])\.\s"
)
FREE_LETTERS: Final = frozenset("uxvfhabCBEHTmP")
FREE_OPTIONS: Final = frozenset(
    ("nounset", "xtrace", "verbose", "noglob", "noclobber", "allexport", "errtrace", "functrace")
)
EXIT_CODE_NUMBER: Final = re.compile(r"0|[1-9]\d{0,2}")
BIGGEST_CODE: Final = 255
VARIABLE: Final = re.compile(r"\"?\$\{?(\?|[A-Za-z_]\w*(?:\[\d\])?)\}?\"?")
SPECIAL_VARIABLE: Final = re.compile(
    r"_|BASH\w*|E?UID|PPID|S?RANDOM|SECONDS|LINENO|EPOCH\w*|GROUPS|SHELLOPTS|DIRSTACK|FUNCNAME|PIPESTATUS.*"
    r"|OPTIND|HIST\w*|COMP_\w*|status"
)
"""Variables that the shell itself sets, or does not allow to be set."""
EXIT_CODE_CONDITION: Final = re.compile(
    r"(?:\[\[?|test|\(\()\s+(\"?\$\{?(?:\?|\w+)\}?\"?|[A-Za-z_]\w*)\s+(-eq|-ne|-gt|==|=|!=|>)\s+\"?0\"?\s*"
    r"(?:\]\]?|\)\))?"
)
VARIABLE_CONDITION: Final = re.compile(r"\(\(\s*\$?\{?([A-Za-z_]\w*)\}?\s*\)\)")
SETTING_EXPANSION: Final = re.compile(r"\(\(|\$\{\w+:?=")


def classify_command(argv: tuple[str, ...]) -> tuple[tuple[str, ...], CommandMeaning]:
    """The command without `command`, `builtin` and `time`, and its meaning."""
    while len(argv) > 1 and argv[0] in PREFIXES:
        rest = argv[2:] if argv[1] == "-p" else argv[1:]
        if not rest or rest[0].startswith("-"):
            return argv, CommandMeaning.PLAIN
        argv = rest
    return argv, _classify_builtin(argv[0], argv[1:])


def _classify_builtin(name: str, words: tuple[str, ...]) -> CommandMeaning:
    first = "".join(words[:1])
    found = COMMAND_MEANINGS.get(name, CommandMeaning.PLAIN)
    match name:
        case "exec":
            found = CommandMeaning.EXEC if words else CommandMeaning.GOOD
        case "wait":
            found = CommandMeaning.LOST if words else CommandMeaning.GOOD
        case "source" | ".":
            found = CommandMeaning.CALM if command_basename(first) in STARTUP_FILES else CommandMeaning.LOST
        case "trap":
            found = CommandMeaning.LOST if UNSAFE_TRAP.search(first) else CommandMeaning.GOOD
        case "shopt":
            safe = all(word.startswith("-") or word in SAFE_SHOPT for word in words)
            found = CommandMeaning.CALM if safe else CommandMeaning.LOST
        case "printf" if "-v" in words:
            found = CommandMeaning.TOUCHES
    return found


def forget_pipestatus(known: KnownExitCodes) -> KnownExitCodes:
    """Remove the exit codes of the last pipeline, which the next command overwrites."""
    return frozenset(each for each in known if not each[0].startswith("PIPESTATUS"))


def is_failing_code(text: str, known: KnownExitCodes, *, bad: bool) -> bool | None:
    """Whether an exit code written like this is nonzero; None if unknown."""
    if EXIT_CODE_NUMBER.fullmatch(text) and int(text) <= BIGGEST_CODE:
        return int(text) != 0
    found = VARIABLE.fullmatch(text)
    if found is None:
        return None
    if found[1] == "?":
        return bad
    name = "PIPESTATUS[0]" if found[1] == "PIPESTATUS" else found[1]
    return dict(known).get(name)


def is_failing_exit(argv: tuple[str, ...], known: KnownExitCodes, *, bad: bool) -> bool | None:
    """Whether `exit` or `return` ends with a nonzero code; None if unknown."""
    if argv[0] in {"break", "continue"}:
        return False
    if not argv[1:]:
        return bad
    return is_failing_code(argv[1], known, bad=bad) if not argv[2:] else None


def learn_assignments(
    known: KnownExitCodes, assigned: tuple[tuple[str, str], ...], *, bad: bool
) -> KnownExitCodes:
    """The known exit codes after assignments."""
    for name, text in assigned:
        plain = name.rstrip("+")
        value = is_failing_code(text, known, bad=bad)
        known = frozenset(each for each in known if each[0] != plain)
        if value is not None and plain == name and not SPECIAL_VARIABLE.fullmatch(name):
            known |= {(name, value)}
    return known


def forget_set_variables(known: KnownExitCodes, argv: tuple[str, ...]) -> KnownExitCodes:
    """The known exit codes after a builtin that sets variables."""
    if argv[0] == "let":
        return frozenset()
    names = {word.partition("=")[0].rstrip("+") for word in argv[1:]}
    return frozenset(each for each in known if each[0] not in names)


def sets_variables(form: SimpleCommand) -> bool:
    """Whether expansions in a command's words set variables: `$((x = 1))`, `${x:=1}`."""
    return any(map(SETTING_EXPANSION.search, (*form.argv, *(value for _, value in form.assigned))))


def evaluate_condition(text: str, known: KnownExitCodes, *, bad: bool) -> bool | None:
    """Whether a condition about an exit code holds; None if unknown."""
    asked = EXIT_CODE_CONDITION.fullmatch(text.strip())
    if asked is None:
        whether = VARIABLE_CONDITION.fullmatch(text.strip())
        return dict(known).get(whether[1]) if whether else None
    subject = asked[1] if asked[1].strip('"').startswith("$") else f"${asked[1]}"
    if subject == f"${asked[1]}" and not text.startswith("(("):
        return None
    value = is_failing_code(subject, known, bad=bad)
    if value is None:
        return None
    return value if asked[2] in {"-ne", "-gt", "!=", ">"} else not value


def parse_set_options(words: tuple[str, ...]) -> tuple[bool | None, bool | None] | None:
    """What `set` does to errexit and pipefail (None: nothing); None if it does what is not followed."""
    errexit: bool | None = None
    pipefail: bool | None = None
    left = list(words)
    while left:
        word = left.pop(0)
        if word in {"--", "-"} or word[:1] not in {"-", "+"}:
            break
        on = word[0] == "-"
        for letter in word[1:]:
            name = left.pop(0) if letter == "o" and left else ""
            if letter == "e" or name == "errexit":
                errexit = on
            elif name == "pipefail":
                pipefail = on
            elif letter not in FREE_LETTERS and name not in FREE_OPTIONS:
                return None
    return errexit, pipefail
