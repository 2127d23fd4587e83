"""What the shell's own commands do to the ways through a line, and what is known of its variables."""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, TypeAlias

from sidecar.policy.peeling import base

if TYPE_CHECKING:
    from sidecar.adapters.shell.forms import Simple

Known: TypeAlias = frozenset[tuple[str, bool]]
"""Variables that hold an exit code, and whether it is other than 0."""


class Meaning(Enum):
    """What a command does, beside succeeding or failing."""

    PLAIN = auto()
    CALM = auto()
    """It only prepares or reports, so that its failure is not what a line's failure is about."""
    GOOD = auto()
    BAD = auto()
    TEST = auto()
    TOUCHES = auto()
    """It may set variables."""
    SET = auto()
    EXEC = auto()
    LEAVES = auto()
    LOST = auto()


MEANINGS: Final = {
    **dict.fromkeys(
        ("cd", "pushd", "popd", "pwd", "mkdir", "touch", "rm", "ls", "date", "sleep"), Meaning.CALM
    ),
    **dict.fromkeys(("echo", "printf", "cat", "head", "tail", "tee"), Meaning.CALM),
    **dict.fromkeys(("exit", "return", "break", "continue"), Meaning.LEAVES),
    **dict.fromkeys(("read", "getopts", "mapfile", "readarray", "unset", "let"), Meaning.TOUCHES),
    **dict.fromkeys(("export", "local"), Meaning.TOUCHES),
    **dict.fromkeys(("eval", "declare", "typeset", "readonly", "enable", "suspend", "logout"), Meaning.LOST),
    **dict.fromkeys(("coproc", "fc", "bind", "complete", "hash"), Meaning.LOST),
    ":": Meaning.GOOD,
    "true": Meaning.GOOD,
    "false": Meaning.BAD,
    "test": Meaning.TEST,
    "set": Meaning.SET,
}
PREFIXES: Final = frozenset({"command", "builtin", "time"})
SPECIAL: Final = frozenset(
    {*MEANINGS, *PREFIXES, "exec", "trap", "source", ".", "wait", "shopt", "alias", "unalias", "["}
)
"""Names that mean something to us; a line that defines one of them anew is not followed."""
STARTERS: Final = frozenset(
    (
        *("activate", "nvm.sh", "conda.sh", "env", ".env", ".envrc"),
        *(".bashrc", ".profile", ".bash_profile", ".zshrc", ".zprofile"),
    )
)
"""Files that are sourced to prepare a shell. We take it that they set no options and end no shell."""
SAFE_SHOPT: Final = frozenset(("globstar", "nullglob", "extglob", "dotglob", "nocaseglob", "failglob"))
UNSAFE_TRAP: Final = re.compile(
    r"\b(exit|exec|eval|return|kill|set|trap|source|break|continue)\b|[$`]|(^|[\s;])\.\s"
)
FREE_LETTERS: Final = frozenset("uxvfhabCBEHTmP")
FREE_OPTIONS: Final = frozenset(
    ("nounset", "xtrace", "verbose", "noglob", "noclobber", "allexport", "errtrace", "functrace")
)
CODE: Final = re.compile(r"0|[1-9]\d{0,2}")
BIGGEST_CODE: Final = 255
VARIABLE: Final = re.compile(r"\"?\$\{?(\?|[A-Za-z_]\w*(?:\[\d\])?)\}?\"?")
SPECIAL_VARIABLE: Final = re.compile(
    r"_|BASH\w*|E?UID|PPID|S?RANDOM|SECONDS|LINENO|EPOCH\w*|GROUPS|SHELLOPTS|DIRSTACK|FUNCNAME|PIPESTATUS.*"
    r"|OPTIND|HIST\w*|COMP_\w*|status"
)
"""What the shell itself sets, or does not let be set."""
ASKS: Final = re.compile(
    r"(?:\[\[?|test|\(\()\s+(\"?\$\{?(?:\?|\w+)\}?\"?|[A-Za-z_]\w*)\s+(-eq|-ne|-gt|==|=|!=|>)\s+\"?0\"?\s*"
    r"(?:\]\]?|\)\))?"
)
ASKS_WHETHER: Final = re.compile(r"\(\(\s*\$?\{?([A-Za-z_]\w*)\}?\s*\)\)")
SETS: Final = re.compile(r"\(\(|\$\{\w+:?=")


def meaning(argv: tuple[str, ...]) -> tuple[tuple[str, ...], Meaning]:
    """What a command means, and the command without `command`, `builtin` and `time`."""
    while len(argv) > 1 and argv[0] in PREFIXES:
        rest = argv[2:] if argv[1] == "-p" else argv[1:]
        if not rest or rest[0].startswith("-"):
            return argv, Meaning.PLAIN
        argv = rest
    return argv, _meaning(argv[0], argv[1:])


def _meaning(name: str, words: tuple[str, ...]) -> Meaning:
    first = "".join(words[:1])
    found = MEANINGS.get(name, Meaning.PLAIN)
    match name:
        case "exec":
            found = Meaning.EXEC if words else Meaning.GOOD
        case "wait":
            found = Meaning.LOST if words else Meaning.GOOD
        case "source" | ".":
            found = Meaning.CALM if base(first) in STARTERS else Meaning.LOST
        case "trap":
            found = Meaning.LOST if UNSAFE_TRAP.search(first) else Meaning.GOOD
        case "shopt":
            safe = all(word.startswith("-") or word in SAFE_SHOPT for word in words)
            found = Meaning.CALM if safe else Meaning.LOST
        case "printf" if "-v" in words:
            found = Meaning.TOUCHES
    return found


def calmed(known: Known) -> Known:
    """Without the ends of the last pipe, which the next command overwrites."""
    return frozenset(each for each in known if not each[0].startswith("PIPESTATUS"))


def value_of(text: str, known: Known, *, bad: bool) -> bool | None:
    """Whether an exit code written so is other than 0; None where that is not known."""
    if CODE.fullmatch(text) and int(text) <= BIGGEST_CODE:
        return int(text) != 0
    found = VARIABLE.fullmatch(text)
    if found is None:
        return None
    if found[1] == "?":
        return bad
    name = "PIPESTATUS[0]" if found[1] == "PIPESTATUS" else found[1]
    return dict(known).get(name)


def exit_value(argv: tuple[str, ...], known: Known, *, bad: bool) -> bool | None:
    """Whether `exit` or `return` ends with a code other than 0; None where that is not known."""
    if argv[0] in {"break", "continue"}:
        return False
    if not argv[1:]:
        return bad
    return value_of(argv[1], known, bad=bad) if not argv[2:] else None


def learned(known: Known, assigned: tuple[tuple[str, str], ...], *, bad: bool) -> Known:
    """What assignments make known."""
    for name, text in assigned:
        plain = name.rstrip("+")
        value = value_of(text, known, bad=bad)
        known = frozenset(each for each in known if each[0] != plain)
        if value is not None and plain == name and not SPECIAL_VARIABLE.fullmatch(name):
            known |= {(name, value)}
    return known


def touched(known: Known, argv: tuple[str, ...]) -> Known:
    """What is left known after a builtin that sets variables."""
    if argv[0] == "let":
        return frozenset()
    names = {word.partition("=")[0].rstrip("+") for word in argv[1:]}
    return frozenset(each for each in known if each[0] not in names)


def sets(form: Simple) -> bool:
    """Whether the words of a command set variables by themselves: `$((x = 1))`, `${x:=1}`."""
    return any(map(SETS.search, (*form.argv, *(value for _, value in form.assigned))))


def condition(text: str, known: Known, *, bad: bool) -> bool | None:
    """Whether a condition about an exit code holds; None where that is not known."""
    asked = ASKS.fullmatch(text.strip())
    if asked is None:
        whether = ASKS_WHETHER.fullmatch(text.strip())
        return dict(known).get(whether[1]) if whether else None
    subject = asked[1] if asked[1].strip('"').startswith("$") else f"${asked[1]}"
    if subject == f"${asked[1]}" and not text.startswith("(("):
        return None
    value = value_of(subject, known, bad=bad)
    if value is None:
        return None
    return value if asked[2] in {"-ne", "-gt", "!=", ">"} else not value


def options(words: tuple[str, ...]) -> tuple[bool | None, bool | None] | None:
    """What `set` does to errexit and pipefail (None: nothing); None where it does what we do not follow."""
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
