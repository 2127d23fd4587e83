"""Finds the user's repository around a project, and digests a folder where git cannot be used.

Rules:

- The repository is read and never written. Of its settings, only ignore rules are followed; all other
  settings are overridden with our own.
- A repository that ignores the project (such as one for a home folder's settings), or whose work tree is
  elsewhere, is not the project's.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.tree.ignored_files import stat_fingerprint
from sidecar.platform import files, processes
from sidecar.platform.environments import tool_folders
from sidecar.platform.git import (
    Git,
    UnseenError,
    clean_git_environment,
    decode_git_text,
    encode_path,
    gather_or_cancel,
    git_config_arguments,
    split_at_nul,
)

SAFE_SETTINGS: Final = git_config_arguments(
    "core.checkStat=default",
    "core.fileMode=true",
    "core.fsmonitor=false",
    "core.fsync=none",
    "core.hooksPath=/dev/null",
    "core.ignoreStat=false",
    "core.quotePath=false",
    "core.trustctime=true",
    "core.untrackedCache=false",
    "diff.ignoreSubmodules=none",
)
"""Settings for git in the user's repository: no program of it runs, and git examines all files."""
ASKED_SETTINGS: Final = r"^(core\.excludesfile|filter\..*\.(clean|smudge|process|required)|remote\..*\.url)$"
RULES_LIMIT: Final = 1 << 20
"""Bytes of an ignore file; a bigger one is not followed, so that more files are examined, not fewer."""
EXCLUDE_PLACE: Final = ".git/info/exclude"
EXCLUDES_FILE: Final = "core.excludesFile"
REPOSITORY_QUESTIONS: Final = (
    "--show-object-format",
    "--show-toplevel",
    *("--git-path", "index"),
    *("--git-path", "objects"),
    *("--git-path", "info/exclude"),
)
ANSWER_COUNT: Final = 5
BARE_REPOSITORY: Final = ["bare"]


class WorkTree(Struct, frozen=True, kw_only=True):
    """A project and the repository around it.

    `top` is the folder that is scanned as a whole. `git` runs there, or in the project if there is no
    repository (`index` is None then). `objects` is the repository's object folder; None where it uses another
    hash than ours. `rules` are ignore rules stored outside the tree, by the name of their place, the most
    important last. `bare`: a repository without files.
    """

    project: Path
    top: Path
    git: Git
    index: Path | None = None
    objects: Path | None = None
    rules: Mapping[str, str] = {}
    bare: bool = False
    remotes: tuple[str, ...] = ()

    @property
    def inside(self) -> str:
        """The project's path relative to `top`; "." where they are the same."""
        return str(self.project.relative_to(self.top))


async def find_work_tree(project: str, environment: Mapping[str, str]) -> WorkTree | None:
    """Find the work tree; None where git is not installed. Raises UnseenError, OSError and ValueError."""
    place = _resolve_project_folder(project)
    program = processes.find_program("git", environment, project)
    if not program:
        return None
    git = Git((program, *SAFE_SETTINGS), place, clean_git_environment(environment))
    said, asked = await gather_or_cancel(_ask_repository_paths(git), _read_git_config(git))
    config = dict(pair.partition("\n")[::2] for pair in asked)
    alone = WorkTree(
        project=place,
        top=place,
        git=git,
        bare=said == BARE_REPOSITORY,
        rules=_read_ignore_rules({EXCLUDES_FILE: _excludes_file(config, environment, place)}),
    )
    if (
        said in ([], BARE_REPOSITORY)
        or not place.is_relative_to(said[1])
        or await _is_project_ignored(git, said[1])
    ):
        return alone
    return _work_tree_in_repository(alone, said, config, environment)


def _resolve_project_folder(project: str) -> Path:
    place = Path(project)
    if not place.is_absolute():
        raise UnseenError("a project is named by its whole path")
    if not place.is_dir():
        raise UnseenError("there is no such folder")
    return place.resolve()


def _work_tree_in_repository(
    alone: WorkTree, said: list[str], config: Mapping[str, str], environment: Mapping[str, str]
) -> WorkTree:
    hash_kind, inner, index, objects, exclude = said
    top, place = Path(inner), alone.project
    excludes_file = _excludes_file(config, environment, top)
    return replace(
        alone,
        top=top,
        git=replace(alone.git, folder=top, environment={**alone.git.environment, **_filters_off(config)}),
        index=place / index,
        objects=None if hash_kind == "sha256" else place / objects,
        rules=_read_ignore_rules({EXCLUDES_FILE: excludes_file, EXCLUDE_PLACE: place / exclude}),
        remotes=tuple(name[len("remote.") : -len(".url")] for name in config if name.startswith("remote.")),
    )


async def _ask_repository_paths(git: Git) -> list[str]:
    """Answer `REPOSITORY_QUESTIONS`; `BARE_REPOSITORY` if it has no files; [] if there is no repository."""
    said = await git.ask("rev-parse", *REPOSITORY_QUESTIONS)
    if said.exit_code == 0:
        lines = decode_git_text(said.output).removesuffix("\n").split("\n")
        if len(lines) != ANSWER_COUNT:
            raise UnseenError("a path with a line break in it")
        return lines
    bare = await git.ask("rev-parse", "--is-bare-repository", "--is-inside-git-dir")
    return BARE_REPOSITORY if b"true" in bare.output.split() else []


async def _read_git_config(git: Git) -> list[str]:
    """Return `ASKED_SETTINGS`, each as name, line break, value; empty where the settings are damaged."""
    return split_at_nul((await git.ask("config", "-z", "--get-regexp", ASKED_SETTINGS)).output)


async def _is_project_ignored(git: Git, top: str) -> bool:
    """Whether the repository around the project ignores it."""
    if git.folder == Path(top):
        return False
    return (await git.ask("check-ignore", "--quiet", ".")).exit_code == 0


def _filters_off(config: Mapping[str, str]) -> dict[str, str]:
    """Return variables that turn off all filters: a repository can choose their programs, which may write."""
    names = [name for name in config if name.startswith("filter.")]
    off = {"GIT_CONFIG_COUNT": str(len(names))}
    for number, name in enumerate(names):
        off[f"GIT_CONFIG_KEY_{number}"] = name
        off[f"GIT_CONFIG_VALUE_{number}"] = "false" if name.endswith(".required") else ""
    return off


def _excludes_file(config: Mapping[str, str], environment: Mapping[str, str], top: Path) -> Path:
    home = Path(environment.get("HOME") or "/nonexistent")
    named = config.get("core.excludesfile")
    if named is None:
        return Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / "git" / "ignore"
    return home / named[2:] if named.startswith("~/") else top / named


def _read_ignore_rules(places: Mapping[str, Path]) -> dict[str, str]:
    """Read the files that contain a rule."""
    texts = {name: _read_rules_file(place) for name, place in places.items()}
    return {name: said for name, said in texts.items() if _has_ignore_rule(said)}


def _read_rules_file(place: Path) -> str:
    try:
        return decode_git_text(files.read_whole(place, RULES_LIMIT, follow=True))
    except (OSError, ValueError, files.UnusableFileError):
        return ""


def _has_ignore_rule(rules: str) -> bool:
    return any(line and not line.isspace() and line[0] != "#" for line in rules.split("\n"))


# --- Digest without git: paths, sizes, times, inodes and modes represent the contents -----------------------


LIMIT: Final = 100_000
"""Files and folders above which no digest is made."""


def digest_folder_stats(project: Path) -> str:
    """Digest everything below a folder, ignored or not, but not tool folders. Raises UnseenError, OSError."""
    whole = blake2b(digest_size=16)
    for part in _entry_fingerprints(project):
        whole.update(encode_path(part) + b"\0")
    return whole.hexdigest()


def _entry_fingerprints(project: Path) -> Iterator[str]:
    folders, room = [str(project)], LIMIT
    while folders:
        with os.scandir(folders.pop()) as entries:
            inside = sorted(entries, key=lambda entry: entry.name)
        for entry in inside:
            room -= 1
            if room < 0:
                raise UnseenError(f"more than {LIMIT:,} files and folders")
            if not entry.is_dir(follow_symlinks=False):
                yield f"{entry.path}\0{stat_fingerprint(entry.stat(follow_symlinks=False))}"
            elif entry.name not in tool_folders():
                folders.append(entry.path)
                yield entry.path
