"""Whether what an agent did may have written a rubric file.

In doubt it may have: a line that names the file or its folder and is not known to only read, one by which git
or an unpacker may put back any file of the project. What a program does that the line merely starts (a
script, a build) cannot be told here; such an edit counts as the user's, and is shown.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sidecar.adapters.shell.line import runs
from sidecar.model.command import Fate
from sidecar.policy.peeling import base, peeled

if TYPE_CHECKING:
    from sidecar.ports import Writes

STEMS: Final = ("rubric", ".supervisor", ".reflection")
"""What a line that means a rubric says of it."""
READERS: Final = re.compile(
    r"\[|ag|bat|batcat|cat|cd|cmp|diff|echo|[ef]?grep|false|find|git|head|jq|ls|md5sum|nl|printf|pwd"
    r"|realpath|rg|sed|sha1sum|sha256sum|sort|stat|supervisor|tail|test|tree|true|wc"
)
"""Commands that write nothing unless their arguments say so."""
WRITING: Final = {
    "sed": re.compile(
        r"--in-place.*|-[a-zA-Z]*i.*|.*\bw\s.*|(?:.*[\s;/|,#\dgpi$}])?w\s*[^\s;]*(?:rubric|\.supervisor|\.reflection).*"
        r"|(?:.*[\s;\d$}])?e\s.*",
        re.DOTALL,
    ),
    "rg": re.compile(r"--pre.*", re.DOTALL),
    "sort": re.compile(r"-[a-zA-Z]*o.*|--output.*", re.DOTALL),
    "tree": re.compile(r"-o.*", re.DOTALL),
    "find": re.compile(r"-(?:exec|execdir|ok|okdir|delete|fprint.*|fls)", re.DOTALL),
}
"""Arguments that make writers of readers."""
GIT_READS: Final = re.compile(
    r"add|blame|branch|cat-file|commit|describe|diff|fetch|grep|log|ls-files|ls-tree|push|reflog|remote|rev-parse"
    r"|shortlog|show|status|tag|whatchanged"
)
GIT_MOVES: Final = re.compile(
    r"am|apply|checkout|checkout-index|cherry-pick|clean|merge|mv|pull|read-tree|rebase|reset|restore|revert|rm"
    r"|stash|switch"
)
"""What git does that may write any file of the work tree."""
UNPACKERS: Final = frozenset({"patch", "tar", "bsdtar", "unzip", "7z", "cpio", "rsync"})

_TARGET: Final = re.compile(r">[>|&]?\s*([^\s;|&<>]*)")
_OPEN: Final = re.compile(r"[$`*?\[({~]")
_QUOTING: Final = re.compile(r"[\"'\\]")
_WILD: Final = frozenset("*?[")


def may_have_written(writes: Writes, files: Sequence[Path], project: str) -> bool:
    """Whether one of `files` may have been made, changed or removed by what the agent did."""
    if writes.unseen:
        return True
    wanted = {form for file in files for form in _forms(str(file), project)}
    if any(form in wanted for path in writes.paths for form in _forms(path, project)):
        return True
    targets = sorted({os.path.basename(form) for form in wanted} - {"rubric.md"})  # noqa: PTH119 - text
    inside = [file for file in files if file.is_relative_to(project)]
    return any(_writes(line, (*STEMS, *targets), inside, project) for line in writes.lines)


def _forms(path: str, project: str) -> set[str]:
    """A path as it is written and as it resolves; in small letters, for some systems know no others."""
    try:
        whole = os.path.normpath(os.path.join(project, path))  # noqa: PTH118 - text, never touched
        return {whole.casefold(), os.path.realpath(whole).casefold()}
    except (OSError, ValueError):
        return set()


def _writes(line: str, names: Sequence[str], inside: Sequence[Path], project: str) -> bool:
    said = _QUOTING.sub("", line).casefold()
    named = any(name in said for name in names) or _wild(line, inside, project)
    if named:
        targets = _TARGET.findall(said)
        elsewhere = not any(_OPEN.search(each) or any(name in each for name in names) for each in targets)
        return not (elsewhere and _only_reads(line))
    return bool(inside) and any(_moves_any(peeled(run.argv) or run.argv) for run in runs(line))


def _wild(line: str, inside: Sequence[Path], project: str) -> bool:
    """Whether a pattern of the line stands for a file or the folder it is in."""
    patterns = [word.removeprefix("./").split("/") for word in line.split() if _WILD & set(word)]
    if not patterns:
        return False
    ours = [part for file in inside for part in (file, file.parent)]
    names = [each.parts for each in ours] + [each.relative_to(project).parts for each in ours]
    return any(_fits(name, pattern) for name in names for pattern in patterns)


def _fits(name: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether the shell would take the pattern for the name: it passes hidden ones over."""
    return len(name) == len(pattern) and all(
        fnmatchcase(part, wanted) and (wanted[:1] == "." or part[:1] != ".")
        for part, wanted in zip(name, pattern, strict=True)
    )


def _only_reads(line: str) -> bool:
    """Whether each command of it is known to only read, but for what it is redirected to."""
    found = runs(line)
    return bool(found) and all(
        run.fate is not Fate.UNKNOWN and not run.shadowed and _reads(peeled(run.argv) or run.argv)
        for run in found
    )


def _reads(argv: Sequence[str]) -> bool:
    name = base(argv[0])
    if name == "git":
        reads = GIT_READS.fullmatch(_git_verb(argv)) is not None
        return reads and not any(word.startswith("--output") for word in argv)
    if name == "supervisor":
        return not {"accept", "init"}.intersection(argv)
    writing = WRITING.get(name)
    writes = writing is not None and any(writing.fullmatch(word) for word in argv[1:])
    return READERS.fullmatch(name) is not None and not writes


def _moves_any(argv: Sequence[str]) -> bool:
    name = base(argv[0])
    if name == "git":
        verb = _git_verb(argv)
        return GIT_MOVES.fullmatch(verb) is not None and not (
            verb == "stash" and {"list", "show"} & set(argv)
        )
    return name in UNPACKERS


def _git_verb(argv: Sequence[str]) -> str:
    """The subcommand, behind git's own options."""
    words = iter(argv[1:])
    for word in words:
        if word in {"-C", "-c", "--git-dir", "--work-tree", "--namespace"}:
            next(words, "")
        elif not word.startswith("-"):
            return word
    return ""
