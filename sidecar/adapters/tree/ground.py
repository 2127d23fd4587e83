"""Where a project lies: the repository of the user's around it, or none.

The laws of this file:

- The repository is read and never written, and what its settings say is believed in one point only: which
  files are to be ignored. Everything else is asked for with our own settings.
- A repository that ignores the project (such as one that holds a home's settings) is none of the project's,
  and neither is one whose work tree is elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.adapters import files, processes
from sidecar.adapters.tree.git import Git, UnseenError, own, parts, settings, text, together

SAFE: Final = settings(
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
"""Settings for calls in the user's repository: nothing of it runs, and git looks at what there is to see."""
ASKED: Final = r"^(core\.excludesfile|filter\..*\.(clean|smudge|process|required)|remote\..*\.url)$"
RULES_LIMIT: Final = 1 << 20
"""Bytes of a file of ignore rules; a bigger one does not count, so that more is looked at."""
EXCLUDE: Final = ".git/info/exclude"
EXCLUDES_FILE: Final = "core.excludesFile"
QUESTIONS: Final = (
    "--show-object-format",
    "--show-toplevel",
    *("--git-path", "index"),
    *("--git-path", "objects"),
    *("--git-path", "info/exclude"),
)
ANSWERS: Final = 5
BARE: Final = ["bare"]


class Ground(Struct, frozen=True, kw_only=True):
    """A project and its surroundings.

    `top` is the folder that is looked at whole. `git` works there, or in the project where `top` has no
    repository (`index` is None then). `objects` are those of the repository, None where they are of another
    kind than ours. `rules` are texts of ignore rules that are no part of the tree, by the name of their
    place, those that count most last. `bare`: a repository that has no files.
    """

    project: Path
    top: Path
    git: Git
    index: Path | None = None
    objects: Path | None = None
    rules: Mapping[str, str] = {}
    bare: bool = False
    remote: bool = False

    @property
    def inside(self) -> str:
        """The project's path in `top`, "." where they are the same."""
        return str(self.project.relative_to(self.top))


async def ground(project: str, environment: Mapping[str, str]) -> Ground | None:
    """Look around; None where there is no git program. Raises UnseenError, OSError and ValueError."""
    place = _folder(project)
    program = processes.find("git", environment, project)
    if not program:
        return None
    git = Git((program, *SAFE), place, own(environment))
    said, asked = await together(_places(git), _config(git))
    config = dict(pair.partition("\n")[::2] for pair in asked)
    alone = Ground(
        project=place,
        top=place,
        git=git,
        bare=said == BARE,
        rules=_rules({EXCLUDES_FILE: _excludes_file(config, environment, place)}),
    )
    if said in ([], BARE) or not place.is_relative_to(said[1]) or await _ignored(git, said[1]):
        return alone
    return _in_repository(alone, said, config, environment)


def _folder(project: str) -> Path:
    place = Path(project)
    if not place.is_absolute():
        raise UnseenError("a project is named by its whole path")
    if not place.is_dir():
        raise UnseenError("there is no such folder")
    return place.resolve()


def _in_repository(
    alone: Ground, said: list[str], config: Mapping[str, str], environment: Mapping[str, str]
) -> Ground:
    hash_kind, inner, index, objects, exclude = said
    top, place = Path(inner), alone.project
    excludes_file = _excludes_file(config, environment, top)
    return replace(
        alone,
        top=top,
        git=replace(alone.git, folder=top, environment={**alone.git.environment, **_filters_off(config)}),
        index=place / index,
        objects=None if hash_kind == "sha256" else place / objects,
        rules=_rules({EXCLUDES_FILE: excludes_file, EXCLUDE: place / exclude}),
        remote=any(name.startswith("remote.") for name in config),
    )


async def _places(git: Git) -> list[str]:
    """Git's answers to `QUESTIONS`; `BARE` for a repository without files; [] where there is none."""
    said = await git.ask("rev-parse", *QUESTIONS)
    if said.exit_code == 0:
        lines = text(said.output).removesuffix("\n").split("\n")
        if len(lines) != ANSWERS:
            raise UnseenError("a path with a line break in it")
        return lines
    bare = await git.ask("rev-parse", "--is-bare-repository", "--is-inside-git-dir")
    return BARE if b"true" in bare.output.split() else []


async def _config(git: Git) -> list[str]:
    """What the settings say of `ASKED`, each as name, line break, value; nothing where they are damaged."""
    return parts((await git.ask("config", "-z", "--get-regexp", ASKED)).output)


async def _ignored(git: Git, top: str) -> bool:
    """Whether the repository around the project ignores it."""
    if git.folder == Path(top):
        return False
    return (await git.ask("check-ignore", "--quiet", ".")).exit_code == 0


def _filters_off(config: Mapping[str, str]) -> dict[str, str]:
    """Variables that switch every filter off: a repository may choose their programs, and they may write."""
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


def _rules(places: Mapping[str, Path]) -> dict[str, str]:
    """The texts that hold a rule."""
    texts = {name: _text(place) for name, place in places.items()}
    return {name: said for name, said in texts.items() if _says_something(said)}


def _text(place: Path) -> str:
    try:
        return text(files.read_whole(place, RULES_LIMIT, follow=True))
    except (OSError, ValueError, files.UnfitError):
        return ""


def _says_something(rules: str) -> bool:
    return any(line and not line.isspace() and line[0] != "#" for line in rules.split("\n"))
