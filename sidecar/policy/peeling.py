"""Takes the wrappers off a command: `timeout 60 uv run pytest` runs pytest.

A wrapper is a command that runs another one, hands its exit code on where that failed, and adds nothing to
what it checks. What does not hand it on (find -exec, watch) is no wrapper here.
"""

from __future__ import annotations

import re
from typing import Final

DEPTH: Final = 8
"""Wrappers around one command that are taken off."""
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
"""The wrapper's own words before the command, and those of its options that take a word."""
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
BUILTINS: Final = frozenset({"command", "builtin", "exec"})
"""Wrappers that only the shell knows: `env command pytest` finds no such program."""
ASSIGNING: Final = frozenset({"env", "time", "sudo", "cross-env", "dotenv"})
"""Wrappers before whose command variables may be set."""
ONLY_ASKS: Final = {"command": frozenset({"-v", "-V"}), "sudo": frozenset({"-l", "-v"})}
"""Options with which a wrapper runs nothing."""


def base(name: str) -> str:
    """The name of a command without its folder, as it is called on Unix."""
    return name.replace("\\", "/").rpartition("/")[2].removesuffix(".exe").removesuffix(".cmd")


def peeled(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The command inside its wrappers; empty where a wrapper runs none."""
    in_shell = True
    for _ in range(DEPTH):
        inner = _inside(argv)
        if inner is None or (argv[0] in BUILTINS and not in_shell):
            return argv
        in_shell = in_shell and argv[0] in {"command", "builtin", "time"}
        argv = inner
    return argv


def _inside(argv: tuple[str, ...]) -> tuple[str, ...] | None:
    if not argv:
        return None
    name = base(argv[0])
    if name in WRAPPERS:
        if ONLY_ASKS.get(name, frozenset()) & set(argv[1:2]):
            return ()
        return _after(argv[1:], *WRAPPERS[name], assigns=name in ASSIGNING)
    for words in (3, 2):
        form = (name, *argv[1:words])
        if form in LAUNCHERS:
            return _after(argv[words:], *LAUNCHERS[form])
    return None


def _after(
    rest: tuple[str, ...], own: int, takes: frozenset[str], *, assigns: bool = False
) -> tuple[str, ...]:
    """What comes after a wrapper's options, assignments and `own` words."""
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
