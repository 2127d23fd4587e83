"""Removes the wrappers of a command: `timeout 60 uv run pytest` runs pytest.

A wrapper is a command that runs another one, passes its exit code on if that failed, and adds nothing to what
it checks. A command that does not pass it on (find -exec, watch) is not a wrapper here.
"""

from __future__ import annotations

import re
from typing import Final

MAX_WRAPPERS: Final = 8
"""Maximum wrappers that are removed from one command."""
WRAPPERS: Final[dict[str, tuple[int, frozenset[str]]]] = {
    "env": (0, frozenset({"-u", "--unset", "-C", "--chdir"})),
    "time": (0, frozenset({"-f", "-o", "--format", "--output"})),
    "gtime": (0, frozenset({"-f", "-o", "--format", "--output"})),
    "timeout": (1, frozenset({"-k", "-s", "--kill-after", "--signal"})),
    "gtimeout": (1, frozenset({"-k", "-s", "--kill-after", "--signal"})),
    "nice": (0, frozenset({"-n", "--adjustment"})),
    "ionice": (0, frozenset({"-c", "-n", "--class", "--classdata"})),
    "nohup": (0, frozenset()),
    "setsid": (0, frozenset()),
    "command": (0, frozenset()),
    "builtin": (0, frozenset()),
    "exec": (0, frozenset({"-a"})),
    "sudo": (0, frozenset({"-u", "-g", "--user", "--group"})),
    "doas": (0, frozenset({"-u"})),
    "stdbuf": (0, frozenset({"-i", "-o", "-e"})),
    "unbuffer": (0, frozenset()),
    "xvfb-run": (0, frozenset({"-s", "-n", "-e", "-w", "--server-args", "--server-num"})),
    "caffeinate": (0, frozenset({"-t"})),
    "npx": (0, frozenset({"-p", "--package"})),
    "bunx": (0, frozenset({"-p", "--package"})),
    "uvx": (0, frozenset({"--from", "--with", "-p", "--python"})),
    "dotenv": (0, frozenset({"-e", "-f", "-v"})),
    "cross-env": (0, frozenset()),
}
"""The number of the wrapper's own words before the command, and its options that take a value."""
LAUNCHERS: Final[dict[tuple[str, ...], tuple[int, frozenset[str]]]] = {
    ("uv", "run"): (
        0,
        frozenset(
            {"--with", "--extra", "--group", "--python", "-p", "--project", "--directory", "--env-file"}
        ),
    ),
    ("uv", "tool", "run"): (0, frozenset({"--from", "--with", "--python", "-p"})),
    ("poetry", "run"): (0, frozenset()),
    ("pipenv", "run"): (0, frozenset()),
    ("pdm", "run"): (0, frozenset({"-p", "--project"})),
    ("rye", "run"): (0, frozenset()),
    ("hatch", "run"): (0, frozenset()),
    ("pixi", "run"): (0, frozenset({"-e", "--environment"})),
    ("conda", "run"): (0, frozenset({"-n", "--name", "-p", "--prefix"})),
    ("pipx", "run"): (0, frozenset({"--spec"})),
    ("coverage", "run"): (0, frozenset({"--source", "--rcfile", "--include", "--omit"})),
    ("pnpm", "exec"): (0, frozenset({"-C", "--filter", "-F"})),
    ("pnpm", "dlx"): (0, frozenset()),
    ("yarn", "exec"): (0, frozenset()),
    ("yarn", "dlx"): (0, frozenset()),
    ("npm", "exec"): (0, frozenset({"-w", "--workspace", "--package"})),
    ("bundle", "exec"): (0, frozenset()),
    ("docker", "exec"): (1, frozenset({"-e", "-u", "-w", "--env", "--user", "--workdir"})),
    ("docker", "compose", "exec"): (1, frozenset({"-e", "-u", "-w", "--env", "--user", "--workdir"})),
    ("docker", "compose", "run"): (1, frozenset({"-e", "-u", "-w", "-v", "--env", "--user", "--workdir"})),
    ("docker-compose", "exec"): (1, frozenset({"-e", "-u", "-w", "--env", "--user", "--workdir"})),
    ("docker-compose", "run"): (1, frozenset({"-e", "-u", "-w", "-v", "--env", "--user", "--workdir"})),
    ("podman", "exec"): (1, frozenset({"-e", "-u", "-w", "--env", "--user", "--workdir"})),
    ("mise", "exec"): (0, frozenset()),
    ("direnv", "exec"): (1, frozenset()),
    ("nix", "develop", "-c"): (0, frozenset()),
    ("doppler", "run"): (0, frozenset()),
}
"""The same for wrappers of more than one word."""
ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")
SHELL_ONLY_WRAPPERS: Final = frozenset({"command", "builtin", "exec"})
"""Wrappers that exist only in the shell: `env command pytest` finds no such program."""
ASSIGNING_WRAPPERS: Final = frozenset({"env", "time", "sudo", "cross-env", "dotenv"})
"""Wrappers that accept variable assignments before the command."""
NO_RUN_OPTIONS: Final = {"command": frozenset({"-v", "-V"}), "sudo": frozenset({"-l", "-v"})}
"""Options with which a wrapper runs no command."""


def command_basename(name: str) -> str:
    """The name of a command without its folder and without Windows suffixes."""
    return name.replace("\\", "/").rpartition("/")[2].removesuffix(".exe").removesuffix(".cmd")


def unwrap_command(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The command inside its wrappers; empty if a wrapper runs none."""
    in_shell = True
    for _ in range(MAX_WRAPPERS):
        inner = _unwrap_once(argv)
        if inner is None or (argv[0] in SHELL_ONLY_WRAPPERS and not in_shell):
            return argv
        in_shell = in_shell and argv[0] in {"command", "builtin", "time"}
        argv = inner
    return argv


def _unwrap_once(argv: tuple[str, ...]) -> tuple[str, ...] | None:
    if not argv:
        return None
    name = command_basename(argv[0])
    if name in WRAPPERS:
        if NO_RUN_OPTIONS.get(name, frozenset()) & set(argv[1:2]):
            return ()
        return _skip_wrapper_words(argv[1:], *WRAPPERS[name], assigns=name in ASSIGNING_WRAPPERS)
    for words in (3, 2):
        form = (name, *argv[1:words])
        if form in LAUNCHERS:
            return _skip_wrapper_words(argv[words:], *LAUNCHERS[form])
    return None


def _skip_wrapper_words(
    rest: tuple[str, ...], own: int, takes: frozenset[str], *, assigns: bool = False
) -> tuple[str, ...]:
    """What follows a wrapper's options, assignments and `own` words."""
    at = 0
    while at < len(rest):
        text = rest[at]
        if text == "--":
            at += 1
            break
        if text == "-m":
            return ("python", *rest[at:])
        if text.startswith("-"):
            at += 2 if text in takes else 1
        elif assigns and ASSIGNMENT.match(text):
            at += 1
        elif own:
            own, at = own - 1, at + 1
        else:
            break
    return rest[at:]
