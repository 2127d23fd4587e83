"""What a command of the agent's own can show: proof could have failed, ran, and is seen to have passed.

CHECK     a run of tests, of a build or of a type check
WORK      another check, or a run of the project's own program
FILES     something was written: a file moved, a commit made
NOTHING   it only prints, reads or lists; it is written in the line itself; its end is not seen

What is not known by its name is the project's own only where its path says so, or where the prompts or the
changed files name it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from sidecar.model.command import Fate, Run
from sidecar.model.evidence import Worth
from sidecar.model.turn import CallOutcome, ToolCall
from sidecar.policy.claims.edits import AWAY, writes
from sidecar.policy.claims.kinds import PYTHON, kinds_of, plain_words
from sidecar.policy.claims.tools import NOT_TARGETS
from sidecar.policy.peeling import base, peeled

LOOKS: Final = frozenset(
    (
        *("echo", "printf", "cat", "bat", "ls", "ll", "dir", "eza", "tree", "pwd", "cd", "pushd", "popd"),
        *("head", "tail", "less", "more", "nl", "tac", "rev", "wc", "sort", "uniq", "cut", "tr", "column"),
        *("grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "find", "fd", "locate", "which", "whereis"),
        *("type", "command", "file", "stat", "du", "df", "date", "env", "printenv", "whoami", "id", "uname"),
        *("hostname", "history", "jq", "yq", "ps", "pgrep", "lsof", "free", "uptime", "true", ":", "sleep"),
        *("basename", "dirname", "realpath", "readlink", "seq", "yes", "xxd", "od", "hexdump", "strings"),
        *("md5sum", "sha1sum", "sha256sum", "cksum", "figlet", "banner", "cowsay", "toilet", "clear", "set"),
        *("export", "unset", "alias", "source", ".", "wait", "read", "exit", "return", "awk", "sed", "man"),
        *("read", "declare", "local", "shopt", "ulimit", "umask", "false", "cloc", "tokei", "xargs", "tee"),
    )
)
"""Commands that print, read or list, or only prepare the shell."""
GIT_LOOKS: Final = frozenset(
    (
        *("log", "show", "status", "diff", "blame", "ls-files", "ls-tree", "rev-parse", "rev-list", "remote"),
        *("config", "describe", "shortlog", "reflog", "grep", "cat-file", "branch", "fetch", "help"),
    )
)
GIT_DEEDS: Final = frozenset(("commit", "push", "tag", "merge", "rebase", "mv", "rm", "cherry-pick"))
FILE_DEEDS: Final = frozenset(("mv", "cp", "rm", "mkdir", "rmdir", "touch", "ln", "chmod", "install"))
INSTALLS: Final = frozenset(
    ("pip", "pip3", "pipx", "apt", "apt-get", "brew", "gem", "conda", "curl", "wget", "ssh", "scp", "kill")
)
"""Known commands that fetch, fit out or stop: none of them runs the project's program."""
INTERPRETERS: Final = frozenset(
    (
        *("node", "tsx", "ts-node", "ruby", "php", "perl", "lua", "luajit", "Rscript", "julia", "elixir"),
        *("java", "bash", "sh", "zsh", "dash", "fish", "pwsh", "dart", "groovy", "kotlin", "scala"),
    )
)
INLINE: Final = frozenset(("-c", "-e", "-E", "-p", "-r", "-pe", "-ne", "--eval", "--print", "--execute"))
"""Options by which an interpreter takes its program from the line."""
STARTS: Final[dict[str, frozenset[str]]] = {
    **dict.fromkeys(("go", "cargo", "dotnet", "swift", "mix", "stack", "cabal", "deno"), frozenset({"run"})),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), frozenset({"run", "start", "run-script"})),
    **dict.fromkeys(("gradle", "gradlew"), frozenset({"run", "bootRun"})),
    "zig": frozenset({"run"}),
    "docker": frozenset({"run", "compose"}),
    "terraform": frozenset({"validate", "plan"}),
    "helm": frozenset({"lint", "template"}),
    "ansible-playbook": frozenset(),
}
"""Tools that start the project's own program, and the word by which they do."""
TARGETED: Final = frozenset(("make", "gmake", "just", "task", "rake", "invoke", "inv", "doit"))
NO_WORK: Final = frozenset(
    (
        *(
            "clean",
            "install",
            "format",
            "fmt",
            "fix",
            "watch",
            "setup",
            "update",
            "deps",
            "generate",
            "release",
        ),
        *("publish", "deploy", "prettier", "docs", "up", "down", "logs", "ps", "stop", "pull", "push"),
    )
)
"""Scripts and targets that prepare, tidy or publish."""
ASKS: Final = frozenset(("--help", "--version", "-h", "-V", "--dry-run", "-n", "--list", "--check-syntax"))
"""Options with which a program does nothing of its work."""
FOREIGN_MODULES: Final = frozenset(
    (
        *("http.server", "json.tool", "this", "platform", "site", "sysconfig", "timeit", "venv", "pip"),
        *("ensurepip", "calendar", "pydoc", "antigravity", "zipfile", "tarfile", "base64", "uuid", "ast"),
    )
)
ELSEWHERE: Final = re.compile(r"/(?:usr|bin|sbin|opt|etc|dev|proc|tmp|var/tmp|private/tmp)/|~")
IMPORTS: Final = re.compile(r"\b(?:import|from|require|use|load|source)\b[\s('\"]{1,4}([\w./-]{1,200})")
WORD: Final = re.compile(r"[\w-]{3,80}")
NAMES: Final = 5_000
"""Words of prompts and paths by which a program of the project may be called."""


def names(prompts: Iterable[str], paths: Iterable[str]) -> frozenset[str]:
    """What the project's own programs and modules may be called, as far as is known: lower case."""
    found: set[str] = set()
    for text in (*prompts, *paths):
        for word in WORD.findall(text[:20_000]):
            if len(found) >= NAMES:
                return frozenset(found)
            found.add(word.lower())
    return frozenset(found)


def worth_of(run: Run, call: ToolCall, known: frozenset[str]) -> Worth:
    """What one command of a call shows that is no check known by its name. `known`: see `names`."""
    if call.exit_code != 0 or call.outcome is not CallOutcome.OK:
        return Worth.NOTHING
    if run.fate is not Fate.DECIDES or not run.implied or run.shadowed or run.background:
        return Worth.NOTHING
    if _is_program(run, known):
        return Worth.WORK
    return Worth.FILES if _does(run, call.command) else Worth.NOTHING


def only_looks(call: ToolCall) -> bool:
    """Whether all that a line runs prints, reads or lists: that it fails says nothing of the work."""
    return bool(call.runs) and all(_looks(peeled(run.argv)) for run in call.runs)


def _looks(argv: tuple[str, ...]) -> bool:
    if not argv:
        return True
    if "/" in argv[0] and not ELSEWHERE.match(argv[0]):
        return False
    if base(argv[0]) == "git":
        return next(iter(plain_words(argv[1:])), "") in GIT_LOOKS
    return base(argv[0]) in LOOKS


def _does(run: Run, line: str) -> bool:
    argv = peeled(run.argv)
    name = base(argv[0]) if argv else ""
    if name == "git":
        return next(iter(plain_words(argv[1:])), "") in GIT_DEEDS and "--dry-run" not in argv
    return name in FILE_DEEDS or writes(run, line)


def _is_program(run: Run, known: frozenset[str]) -> bool:
    argv = peeled(run.argv)
    if not argv or _looks(argv) or kinds_of(run) or ASKS.intersection(argv[1:]):
        return False
    name, words = base(argv[0]), argv[1:]
    if PYTHON.fullmatch(name) or name in INTERPRETERS:
        return _interprets(words, known)
    if name in STARTS:
        return not STARTS[name] or _starts(words, STARTS[name])
    if name in TARGETED:
        return not any(NOT_TARGETS.fullmatch(word) or word in NO_WORK for word in plain_words(words))
    return _is_own(argv[0], name, known)


def _is_own(word: str, name: str, known: frozenset[str]) -> bool:
    """Whether a command that no table knows is the project's own."""
    if name in INSTALLS or name in FILE_DEEDS or name in {"git", "test", "[", "[["}:
        return False
    return ELSEWHERE.match(word) is None if "/" in word else name.lower() in known


def _starts(words: tuple[str, ...], by: frozenset[str]) -> bool:
    plain = plain_words(words)
    named = plain[1] if len(plain) > 1 else ""
    return plain[:1] != () and plain[0] in by and not NOT_TARGETS.fullmatch(named) and named not in NO_WORK


def _interprets(words: tuple[str, ...], known: frozenset[str]) -> bool:
    """Whether an interpreter runs a file or module of the project, or code that loads what was changed."""
    for at, word in enumerate(words):
        following = words[at + 1] if at + 1 < len(words) else ""
        if word in INLINE:
            return _loads(following, known)
        if word == "-m":
            return following not in FOREIGN_MODULES
        if word in {"-jar", "-cp", "-classpath"}:
            return bool(following)
        if word == "-":
            return False
        if not word.startswith("-"):
            return not ELSEWHERE.match(word) and not AWAY.match(word)
    return False


def _loads(code: str, known: frozenset[str]) -> bool:
    """Whether code in the line loads something that the prompts or the changed files name."""
    loaded = {part.lower() for path in IMPORTS.findall(code[:4_000]) for part in re.split(r"[./]", path)}
    return bool(loaded & known)
