"""Finds the user's repository around a project, and digests a folder where git cannot be used.

Rules:

- The repository is read and never written. Of its settings, only ignore rules are followed; all other
  settings are overridden with our own.
- A repository that ignores the project (such as one for a home folder's settings), or whose work tree is
  elsewhere, is not the project's.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import os
import re
import shlex
import shutil
import tempfile
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.tree.ignored_files import stat_fingerprint
from sidecar.kernel.evidence import RepositoryState
from sidecar.platform import files, processes
from sidecar.platform.concurrency import gather_or_cancel
from sidecar.platform.environments import tool_folders
from sidecar.platform.git import (
    Git,
    UnseenError,
    clean_git_environment,
    decode_git_text,
    encode_path,
    find_checkout,
    git_config_arguments,
    join_with_nul,
    split_at_nul,
)
from sidecar.platform.ports import remember_newest
from sidecar.platform.processes import ProcessResult

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
ASKED_SETTINGS: Final = re.compile(
    r"(core\.excludesfile|filter\..*\.(clean|smudge|process|required)|remote\..*\.url|include(if\..*)?\.path"
    r"|extensions\.worktreeconfig)$",
    re.DOTALL,
)
INCLUDING_SETTINGS: Final = re.compile(r"include(if\..*)?\.path|extensions\.worktreeconfig", re.DOTALL)
"""Settings with which others count that are elsewhere."""
ANSWERS: Final = 256
"""Answers of git that are remembered."""
RULES_LIMIT: Final = 1 << 20
"""Bytes of an ignore file; a bigger one is not followed, so that more files are examined, not fewer."""
RULE: Final = re.compile(r"^(?!#).*\S", re.MULTILINE)
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

T = TypeVar("T")


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


class GitAnswers:
    """What git answered, remembered while the files on which an answer depends are the same."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[object, ...], tuple[tuple[str, ...], Any]] = OrderedDict()

    async def get(
        self, key: tuple[object, ...], stamps: tuple[str, ...], ask: Callable[[], Awaitable[T]]
    ) -> T:
        """Return the answer to what `key` names, asked anew where the `stamps` are others."""
        known = self._known.get(key)
        if known is not None and known[0] == stamps:
            answer: T = known[1]
            return answer
        answer = await ask()
        remember_newest(self._known, key, (stamps, answer), ANSWERS)
        return answer

    def forget(self, key: tuple[object, ...]) -> None:
        """Forget an answer that depends on more than its stamps."""
        self._known.pop(key, None)


async def find_work_tree(
    project: str, environment: Mapping[str, str], answers: GitAnswers | None = None
) -> WorkTree | None:
    """Find the work tree; None where git is not installed. Raises UnseenError, OSError and ValueError."""
    place = _resolve_project_folder(project)
    program = processes.find_program("git", environment, project)
    if not program:
        return None
    git = Git((program, *SAFE_SETTINGS), place, clean_git_environment(environment))
    answers = answers or GitAnswers()
    settings = _settings_files(place, environment)
    key = (program, place, *settings)
    stamps = (*_repository_marks(place), *map(_file_stamp, settings))
    said, origins, asked = await answers.get(key, stamps, partial(_ask_repository, git))
    config = dict(pair.partition("\n")[::2] for pair in asked)
    elsewhere = not {place / origin for origin in origins}.issubset(settings)
    if elsewhere or any(map(INCLUDING_SETTINGS.fullmatch, config)):
        answers.forget(key)
    rules = _read_ignore_rules({EXCLUDES_FILE: _excludes_file(config, environment, place)})
    alone = WorkTree(project=place, top=place, git=git, bare=said == BARE_REPOSITORY, rules=rules)
    outside = said in ([], BARE_REPOSITORY) or not place.is_relative_to(said[1])
    if outside or await _is_project_ignored(git, said[1]):
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


def _settings_files(place: Path, environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the files in which git looks for settings, where none of them includes others."""
    home = Path(environment.get("HOME") or "/nonexistent")
    checkout = find_checkout(place)
    user = Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / "git" / "config"
    own = [checkout.common / "config"] if checkout else ()
    return (Path("/etc/gitconfig"), home / ".gitconfig", user, *own)


def _repository_marks(place: Path) -> Iterator[str]:
    """Yield what shows to which repository a folder belongs."""
    for mark in (above / name for above in (place, *place.parents) for name in (".git", "HEAD")):
        with suppress(OSError):
            about = mark.stat()
            yield f"{mark} {about.st_ino} {about.st_uid}" if mark.is_dir() else f"{mark} {_file_stamp(mark)}"


def _file_stamp(file: Path) -> str:
    """Return what is another where a file is; "" where there is none."""
    try:
        return stat_fingerprint(file.stat())
    except OSError:
        return ""


async def _ask_repository(git: Git) -> tuple[list[str], set[str], list[str]]:
    """Return where the repository is, in which files there are settings, and those that we ask for."""
    said, listed = await gather_or_cancel(_ask_repository_paths(git), _read_git_config(git))
    asked = [pair for pair in listed[1::2] if ASKED_SETTINGS.match(pair.partition("\n")[0])]
    origins = {origin.removeprefix("file:") for origin in listed[::2]} - {"command line:"}
    return said, origins, asked


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
    """Return the origin of each setting, and its name, line break, value; empty where they are damaged."""
    return split_at_nul((await git.ask("config", "-z", "--show-origin", "--list")).output)


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
    return {name: said for name, said in texts.items() if RULE.search(said)}


def _read_rules_file(place: Path) -> str:
    try:
        return decode_git_text(files.read_whole(place, RULES_LIMIT, follow=True))
    except (OSError, ValueError, files.UnusableFileError):
        return ""


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


# --- state of the user's repository, without contacting a remote --------------------------------------------


NAMED_FILES: Final = 200
"""Files that are not committed and are told by name."""
NAMED_REFS: Final = 20_000
"""Branches and tags of a repository, with those of remotes, whose names are known."""
HEADS: Final = "refs/heads/"
TAGS: Final = "refs/tags/"
REMOTES: Final = "refs/remotes/"
COMMIT_HASH: Final = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
DEEPEN: Final = "In a shallow clone type: git fetch --deepen=50 origin, or git fetch --unshallow origin"
BRANCH_PREFIX: Final = "# branch."
STATUS_COMMAND: Final = (
    *("status", "--porcelain=v2", "--branch", "-z", "--ahead-behind"),
    *("--untracked-files=all", "--ignore-submodules=none", "--no-renames"),
)


class _Refs(Struct, frozen=True):
    """Branches, tags and remote branches with their objects (None: too many), and what came since a commit.

    `old`: branches that were merged into it.
    """

    refs: dict[str, str] | None
    commits: int | None
    old: dict[str, str]


async def _ask_refs(git: Git, base: str) -> _Refs:
    refs, commits = await _read_refs(git), await _count_commits(git, base)
    old = await _named_refs(git, f"--merged={base}", HEADS) if refs and commits else {}
    return _Refs(refs, commits, old)


async def known_head(ground: WorkTree, answers: GitAnswers) -> str:
    """Return the commit checked out; "" where there is none."""
    key = ("head", ground.top)
    return await answers.get(key, await _refs_stamps(ground), partial(read_head_commit, ground.git))


async def _refs_stamps(ground: WorkTree) -> tuple[str, ...]:
    """Return what is another where a branch, a tag or a commit is."""
    return tuple(await asyncio.to_thread(lambda: [*_each_ref(ground)]))


def _each_ref(ground: WorkTree) -> Iterator[str]:
    checkout = find_checkout(ground.top)
    if checkout is None or ground.index is None:
        return
    yield _file_stamp(ground.index.with_name("HEAD"))
    for name in ("packed-refs", "shallow", "reftable/tables.list"):
        yield _file_stamp(checkout.common / name)
    for folder, _, names in os.walk(checkout.common / "refs"):
        yield from (f"{folder}/{name} {_file_stamp(Path(folder, name))}" for name in names)


async def read_repository(ground: WorkTree, base: str, answers: GitAnswers) -> RepositoryState | None:
    """Read the state of the project's repository; `base` is a commit, or "". Raises UnseenError, OSError."""
    if ground.index is None:
        if not ground.bare:
            return None
        return RepositoryState(head=await read_head_commit(ground.git), remote=bool(ground.remotes))
    with tempfile.TemporaryDirectory(prefix="supervisor-status-", ignore_cleanup_errors=True) as scratch:
        marks = partial(_flagged_paths, ground.git)
        marked = await answers.get(("flags", ground.top), (_file_stamp(ground.index),), marks)
        git = await _git_without_index_flags(ground.git, ground.index, Path(scratch) / "index", marked)
        lines = await git.names(*STATUS_COMMAND)
    told = (line.removeprefix(BRANCH_PREFIX) for line in lines if line.startswith(BRANCH_PREFIX))
    about = dict(line.split(" ", 1) for line in told)
    commit, branch = about.get("oid", ""), about.get("head", "")
    uncommitted = [line for line in lines if not line.startswith("#")]
    stamps = await _refs_stamps(ground)
    found = await answers.get(("refs", ground.top, base), stamps, partial(_ask_refs, ground.git, base))
    refs, commits, old = found.refs, found.commits, found.old
    return RepositoryState(
        head="" if commit == "(initial)" else commit,
        branch="" if branch == "(detached)" else branch,
        upstream=about.get("upstream", ""),
        remote=bool(ground.remotes),
        commits=commits,
        ahead=int(about["ab"].partition(" ")[0]) if "ab" in about else None,
        dirty=len(uncommitted),
        uncommitted=tuple(map(_status_path, uncommitted[:NAMED_FILES])),
        branches=None if refs is None else tuple(_below(HEADS, refs)),
        tags=None if refs is None else tuple(_below(TAGS, refs)),
        old_branches=tuple(_below(HEADS, old)),
        unpushed=_unpushed(refs or {}) if ground.remotes else (),
        on_remote=commit in _below(REMOTES, refs or {}).values(),
    )


def _status_path(line: str) -> str:
    """Return the path of a line of the status: behind one field if untracked, else behind eight or ten."""
    fields = {"?": 1, "u": 10}.get(line[0], 8)
    return line.split(" ", fields)[-1]


async def _read_refs(git: Git) -> dict[str, str] | None:
    """Return the object of each branch, tag and remote branch; None where there are too many to name."""
    refs = await _named_refs(git, f"--count={NAMED_REFS + 1}", HEADS, TAGS, REMOTES)
    return refs if len(refs) <= NAMED_REFS else None


async def _named_refs(git: Git, *words: str) -> dict[str, str]:
    said = await git.told("for-each-ref", "--format=%(refname) %(objectname)", *words)
    return dict(line.rsplit(" ", 1) for line in decode_git_text(said).splitlines())


def _below(folder: str, refs: dict[str, str]) -> dict[str, str]:
    return {name.removeprefix(folder): at for name, at in refs.items() if name.startswith(folder)}


def _unpushed(refs: dict[str, str]) -> tuple[str, ...]:
    there = {(name.partition("/")[2], at) for name, at in _below(REMOTES, refs).items()}
    return tuple(name for name, at in _below(HEADS, refs).items() if (name, at) not in there)


async def read_head_commit(git: Git) -> str:
    """Return the commit checked out; "" where there is none."""
    return _answered_commit(await git.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}"))


def _answered_commit(said: ProcessResult) -> str:
    """Return the commit that git answered with, "" where it named none."""
    commit = decode_git_text(said.output).strip()
    return commit if said.exit_code == 0 and COMMIT_HASH.fullmatch(commit) else ""


async def read_change(git: Git, base: str, head: str) -> tuple[str, str]:
    """Return the commits at which a change begins and ends, for any names of commits; see `copy_change`.

    Raises UnseenError, which says what to type where a commit is not here.
    """
    ends = [await _find_commit(git, name) for name in (base, head or "HEAD")]
    if not (began := _answered_commit(await git.ask("merge-base", *ends))):
        raise UnseenError(f"no commit is known at which {head or 'HEAD'} left {base}. {DEEPEN}")
    return began, ends[1]


async def _find_commit(git: Git, name: str) -> str:
    """Return the commit of this name. Raises UnseenError."""
    asked = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    if not (commit := _answered_commit(await git.ask(*asked))):
        fetch = f"git fetch --depth=50 origin {shlex.quote(name.removeprefix('origin/'))}"
        raise UnseenError(f"there is no commit {name} here. Type: {fetch}, and name it FETCH_HEAD")
    return commit


async def read_commit_at(git: Git, at: float) -> tuple[str, bool]:
    """Return the commit that was checked out at a time, "" if none was, and whether that is a guess.

    The reflog knows. Where it begins later, the newest commit of today's branch that is older is taken.
    """
    day = dt.datetime.fromtimestamp(at, tz=dt.UTC).strftime("%Y-%m-%d %H:%M:%S +0000")
    said = await git.ask("rev-parse", "--verify", f"HEAD@{{{day}}}")  # warns where the reflog begins later
    if not said.errors and (commit := _answered_commit(said)):
        return commit, False
    return _answered_commit(await git.ask("rev-list", "--max-count=1", f"--before={day}", "HEAD")), True


async def _flagged_paths(git: Git) -> list[str]:
    """Return the files that are marked as assume-unchanged or skip-worktree."""
    listed = await git.names("ls-files", "-z", "-v")
    return [line[2:] for line in listed if line[0].islower() or line[0] == "S"]


async def _git_without_index_flags(git: Git, index: Path, copy: Path, marked: list[str]) -> Git:
    """Use a copy of the index without the marks on files that exist."""
    there = existing_paths(git.folder, marked)
    if not there:
        return git
    shutil.copy2(index, copy)
    own = replace(git, environment={**git.environment, "GIT_INDEX_FILE": str(copy)})
    for flag in ("--no-assume-unchanged", "--no-skip-worktree"):
        await own.told(
            "-c", "core.splitIndex=false", "update-index", flag, "-z", "--stdin", stdin=join_with_nul(there)
        )
    return own


def existing_paths(top: Path, paths: list[str]) -> list[str]:
    """Return the paths at which something is."""
    return [path for path in paths if os.path.lexists(f"{top}/{path}")]


async def _count_commits(git: Git, base: str) -> int | None:
    """Count the commits since `base`; None where there is no base, or it is gone."""
    if not COMMIT_HASH.fullmatch(base):
        return None
    said = await git.ask("rev-list", "--count", f"{base}..HEAD")
    return int(said.output) if said.exit_code == 0 else None
