"""Which settings are shell lines, and which checks a whole change set starts more or less often.

By the path and the key alone: the places where task runners and CIs keep their commands.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from msgspec import Struct

from sidecar.model.inspection import Reading, Role, Setting
from sidecar.policy.kept.command_words import (
    runs,
)
from sidecar.policy.kept.pairs import Pair, base

CI = re.compile(
    r"(?:^|/)\.(?:github|gitea|forgejo|gitlab|circleci|buildkite|woodpecker|semaphore)/|(?:^"
    r"|/)\.gitlab-ci|(?:^|/)azure-pipelines"
    r"|(?:^|/)\.?(?:travis|appveyor|drone|cirrus|woodpecker)\.ya?ml$|bitbucket-pipelines|cloudbuild"
    r"|(?:^|/)Jenkinsfile|(?:^|/)action\.ya?ml$"
)
MAKES = ("target .IGNORE", "SHELL", "MAKEFLAGS")
STEPS = frozenset(
    {
        "run",
        "script",
        "before_script",
        "after_script",
        "command",
        "commands",
        "cmd",
        "cmds",
        "bash",
        "sh",
        "install",
        "test_script",
        "args",
    }
    | {"entry", "pwsh", "powershell", "steps", "line", "before_install"}
)
"""Last parts of the keys under which a CI or a task runner keeps shell lines."""
SCRIPTS = re.compile(
    r"^scripts\.|^tasks\.[^.]+$|^target (?!.*\.needs$)|^line$|(?:^|\.)(?:commands(?:_pre|_post)?"
    r"|cmds?|command|script|entry|legacy_tox_ini)$"
    r"|\.(?:scripts|tasks)\.[^.]+(?:\.(?:cmd|shell|sequence|composite))?$"
)
CHECKING = re.compile(
    r"(?i)(?:^|[^a-z])(?:tests?|specs?|checks?|ci|lint|types?|typecheck|cov(?:erage)?|verify"
    r"|validate|e2e|unit|integration|qa|audit"
    r"|pre-?commit|pre-?push|default|all)(?:[^a-z]|$)"
)
HOOKED = re.compile(r"(?:pre|post)(?:install|publish|pack)|prepare|version")


class Moves(Struct, frozen=True):
    """What the whole change set starts more or less often than before: checks by kind and name, and lines."""

    came: Counter[tuple[str, str]]
    went: Counter[tuple[str, str]]
    lines: Counter[str]


def is_ci(path: str) -> bool:
    """Whether a file tells a CI what to do."""
    return bool(CI.search(path))


def is_command(pair: Pair) -> bool:
    """Whether a pair holds shell lines."""
    if is_ci(pair.file):
        return _is_step(pair.key, pair.tail)
    return bool(SCRIPTS.search(pair.key) or pair.key.startswith(MAKES)) and not pair.file.endswith(
        (".rspec", ".eslintignore")
    )


def _is_step(key: str, tail: str) -> bool:
    return tail in STEPS and not key.startswith(("on.", "env."))


def moves(reading: Reading) -> Moves:
    """Count the checks of all commands, before and after."""
    sides = [Counter[tuple[str, str]](), Counter[tuple[str, str]]()]
    lines = [Counter[str](), Counter[str]()]
    for file in reading.files:
        for at, facts in enumerate((file.before, file.after)):
            if facts is None or facts.broken or file.role is not Role.SETTINGS:
                continue
            for setting in facts.settings:
                pair = Pair(file=file.path, key=base(setting.key))
                if is_command(pair) or pair.tail == "uses":
                    lines[at][plain(setting.value)] += 1
                    sides[at].update(runs(setting.value))
    return Moves(sides[1] - sides[0], sides[0] - sides[1], lines[1] - lines[0])


def is_checking(pair: Pair) -> bool:
    """Whether a command outside a CI checks by its name."""
    name = pair.file if pair.key == "line" else pair.key
    if is_ci(pair.file):
        return False
    return bool(CHECKING.search(name)) and not HOOKED.search(name)


def plain(line: str) -> str:
    """A line without its layout."""
    return " ".join(line.lstrip("@").split())


def counterpart(setting: Setting, removed: Iterable[Setting]) -> Setting | None:
    """The old line that shares the most words with a new one."""
    mine = set(setting.value.split())
    return max(removed, key=lambda old: len(mine & set(old.value.split())), default=None)
