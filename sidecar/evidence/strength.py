"""Rates the evidence strength of one command that the agent ran.

A command is proof only if it could have failed, surely ran, and is seen to have passed.

CHECK     a run of tests, of a build or of a type check
WORK      another check, or a run of the project's own program
FILES     something was written: a file moved, a commit made
NOTHING   it only prints, reads or lists; its code is in the command line; or its end is not seen

A command that no table knows counts as the project's own only if its path says so, or if the prompts or the
changed files name it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from sidecar.evidence.claims.edits import NON_SOURCE_TARGET, writes_into_project
from sidecar.evidence.commands.kinds import PYTHON, is_other_target, kinds_of, plain_words
from sidecar.kernel.evidence import EvidenceStrength
from sidecar.kernel.turn import CallOutcome, CommandRun, FailureHandling, ToolCall
from sidecar.platform.shell.wrappers import command_basename, unwrap_command
from sidecar.platform.tools import find_tool

READING_COMMANDS: Final = frozenset(
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
"""Commands that only print, read or list, or only prepare the shell."""
GIT_READ_ONLY: Final = frozenset(
    (
        *("log", "show", "status", "diff", "blame", "ls-files", "ls-tree", "rev-parse", "rev-list", "remote"),
        *("config", "describe", "shortlog", "reflog", "grep", "cat-file", "branch", "fetch", "help"),
    )
)
GIT_WRITE_COMMANDS: Final = frozenset(("commit", "push", "tag", "merge", "rebase", "mv", "rm", "cherry-pick"))
FILE_WRITE_COMMANDS: Final = frozenset(
    ("mv", "cp", "rm", "mkdir", "rmdir", "touch", "ln", "chmod", "install")
)
TOOLING_COMMANDS: Final = frozenset(
    ("pip", "pip3", "pipx", "apt", "apt-get", "brew", "gem", "conda", "curl", "wget", "ssh", "scp", "kill")
)
"""Known commands that download, install, connect or stop; none runs the project's program."""
INTERPRETERS: Final = frozenset(
    (
        *("node", "tsx", "ts-node", "ruby", "php", "perl", "lua", "luajit", "Rscript", "julia", "elixir"),
        *("java", "bash", "sh", "zsh", "dash", "fish", "pwsh", "dart", "groovy", "kotlin", "scala"),
    )
)
INLINE_CODE_OPTIONS: Final = frozenset(
    ("-c", "-e", "-E", "-p", "-r", "-pe", "-ne", "--eval", "--print", "--execute")
)
"""Options with which an interpreter takes its program from the command line."""
OWN_PROGRAM_STARTERS: Final[dict[str, frozenset[str]]] = {
    **dict.fromkeys(("go", "cargo", "dotnet", "swift", "mix", "stack", "cabal", "deno"), frozenset({"run"})),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), frozenset({"run", "start", "run-script"})),
    **dict.fromkeys(("gradle", "gradlew"), frozenset({"run", "bootRun"})),
    "zig": frozenset({"run"}),
    "docker": frozenset({"run", "compose"}),
    "terraform": frozenset({"validate", "plan"}),
    "helm": frozenset({"lint", "template"}),
    "ansible-playbook": frozenset(),
}
"""Tools that start the project's own program, and the subcommands that do so; empty: always."""
HOUSEKEEPING_TARGETS: Final = frozenset(
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
"""Scripts and targets that prepare, clean up or publish."""
INFO_OPTIONS: Final = frozenset(
    ("--help", "--version", "-h", "-V", "--dry-run", "-n", "--list", "--check-syntax")
)
"""Options with which a program does not do its actual work."""
FOREIGN_MODULES: Final = frozenset(
    (
        *("http.server", "json.tool", "this", "platform", "site", "sysconfig", "timeit", "venv", "pip"),
        *("ensurepip", "calendar", "pydoc", "antigravity", "zipfile", "tarfile", "base64", "uuid", "ast"),
    )
)
OUTSIDE_PROJECT: Final = re.compile(r"/(?:usr|bin|sbin|opt|etc|dev|proc|tmp|var/tmp|private/tmp)/|~")
IMPORT_STATEMENT: Final = re.compile(
    r"\b(?:import|from|require|use|load|source)\b[\s('\"]{1,4}([\w./-]{1,200})"
)
PROGRAM_NAME_WORD: Final = re.compile(r"[\w-]{3,80}")
MAX_PROGRAM_NAMES: Final = 5_000
"""Words of prompts and paths that may be names of the project's programs."""


def collect_program_names(prompts: Iterable[str], paths: Iterable[str]) -> frozenset[str]:
    """Collect lower-case words that may be names of the project's own programs and modules."""
    found: set[str] = set()
    for text in (*prompts, *paths):
        for word in PROGRAM_NAME_WORD.findall(text[:20_000]):
            if len(found) >= MAX_PROGRAM_NAMES:
                return frozenset(found)
            found.add(word.lower())
    return frozenset(found)


def command_evidence_strength(run: CommandRun, call: ToolCall, known: frozenset[str]) -> EvidenceStrength:
    """Rate a command that is not a known check. `known`: see `collect_program_names`."""
    if call.exit_code != 0 or call.outcome is not CallOutcome.OK:
        return EvidenceStrength.NOTHING
    if run.fate is not FailureHandling.DECIDES or not run.implied or run.shadowed or run.background:
        return EvidenceStrength.NOTHING
    if _runs_project_program(run, known):
        return EvidenceStrength.WORK
    return EvidenceStrength.FILES if _writes_files(run, call.command) else EvidenceStrength.NOTHING


def is_read_only_call(call: ToolCall) -> bool:
    """Whether a line's commands only print, read or list, so that its failure says nothing about the work."""
    return bool(call.runs) and all(_is_read_only(unwrap_command(run.argv)) for run in call.runs)


def _is_read_only(argv: tuple[str, ...]) -> bool:
    if not argv:
        return True
    if "/" in argv[0] and not OUTSIDE_PROJECT.match(argv[0]):
        return False
    if command_basename(argv[0]) == "git":
        return next(iter(plain_words(argv[1:])), "") in GIT_READ_ONLY
    return command_basename(argv[0]) in READING_COMMANDS


def _writes_files(run: CommandRun, line: str) -> bool:
    argv = unwrap_command(run.argv)
    name = command_basename(argv[0]) if argv else ""
    if name == "git":
        return next(iter(plain_words(argv[1:])), "") in GIT_WRITE_COMMANDS and "--dry-run" not in argv
    return name in FILE_WRITE_COMMANDS or writes_into_project(run, line)


def _runs_project_program(run: CommandRun, known: frozenset[str]) -> bool:
    argv = unwrap_command(run.argv)
    if not argv or _is_read_only(argv) or kinds_of(run) or INFO_OPTIONS.intersection(argv[1:]):
        return False
    name, words = command_basename(argv[0]), argv[1:]
    if PYTHON.fullmatch(name) or name in INTERPRETERS:
        return _interprets_project_code(words, known)
    if name in OWN_PROGRAM_STARTERS:
        return not OWN_PROGRAM_STARTERS[name] or _starts_program(words, OWN_PROGRAM_STARTERS[name])
    if (tool := find_tool(name)) and tool.kinds_from == "targets":
        return not any(is_other_target(word) or word in HOUSEKEEPING_TARGETS for word in plain_words(words))
    return _is_project_command(argv[0], name, known)


def _is_project_command(word: str, name: str, known: frozenset[str]) -> bool:
    """Whether a command that is in no table belongs to the project."""
    if name in TOOLING_COMMANDS or name in FILE_WRITE_COMMANDS or name in {"git", "test", "[", "[["}:
        return False
    return OUTSIDE_PROJECT.match(word) is None if "/" in word else name.lower() in known


def _starts_program(words: tuple[str, ...], by: frozenset[str]) -> bool:
    plain = plain_words(words)
    named = plain[1] if len(plain) > 1 else ""
    return (
        plain[:1] != ()
        and plain[0] in by
        and not is_other_target(named)
        and named not in HOUSEKEEPING_TARGETS
    )


def _interprets_project_code(words: tuple[str, ...], known: frozenset[str]) -> bool:
    """Whether an interpreter runs a project file or module, or inline code that loads named project code."""
    for at, word in enumerate(words):
        following = words[at + 1] if at + 1 < len(words) else ""
        if word in INLINE_CODE_OPTIONS:
            return _loads_project_code(following, known)
        if word == "-m":
            return following not in FOREIGN_MODULES
        if word in {"-jar", "-cp", "-classpath"}:
            return bool(following)
        if word == "-":
            return False
        if not word.startswith("-"):
            return not OUTSIDE_PROJECT.match(word) and not NON_SOURCE_TARGET.match(word)
    return False


def _loads_project_code(code: str, known: frozenset[str]) -> bool:
    """Whether inline code loads a module that the prompts or the changed files name."""
    loaded = {
        part.lower() for path in IMPORT_STATEMENT.findall(code[:4_000]) for part in re.split(r"[./]", path)
    }
    return bool(loaded & known)
