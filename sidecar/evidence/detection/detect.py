"""Detects the gates (checks) of all package roots of a project, each with the sign that explains why.

Rules of this module:

- It executes nothing and raises nothing, and it limits how much it reads (see `package_roots` and `folder`).
- It lists a tool that the project is set up for even if the tool is not installed, and never a tool that the
  project does not mention.
- If a command of a package root covers the package roots below it, it is not repeated for them.
- A weak sign, or a recipe of make, just or task, counts only where there is no better sign.
- Every ID is unique and can be written in a configuration file.
"""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import chain, count, islice
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sidecar.evidence.commands.kinds import command
from sidecar.evidence.detection import javascript, languages, python, recipes
from sidecar.evidence.detection.folder import (
    DetectedGate,
    FileBudget,
    PackageRoot,
    is_skipped_folder,
    list_folder_entries,
)
from sidecar.evidence.detection.started import (
    StartedCommand,
    list_ci_steps,
    list_started_commands,
    scripts_called_here,
)
from sidecar.kernel.gate import Gate, GateOrigin, Kind
from sidecar.platform.shell.line import parse_simple_commands
from sidecar.platform.tools import find_tool

# --- package roots: the project itself, then the folders below it with their own manifest -------------------
# A folder with its own Git repository is not part of the project. Links to folders are not followed, so the
# search cannot loop.


ROOT_DEPTH: Final = 4
"""How many levels below the project package roots are searched for."""
ROOT_LIMIT: Final = 40
"""Maximum number of package roots, including the project itself; those nearest to it come first."""
FOLDER_LIMIT: Final = 2_000
"""Maximum number of folders that the search reads."""
MANIFEST_NAMES: Final = frozenset(
    (
        *("Cargo.toml", "Gemfile", "composer.json", "go.mod", "mix.exs", "package.json"),
        *("build.gradle", "build.gradle.kts", "pom.xml"),
        *("Pipfile", "manage.py", "pyproject.toml", "pytest.ini", "requirements.txt"),
        *("setup.cfg", "setup.py", "tox.ini"),
    )
)
MANIFEST_PATTERNS: Final = ("*.sln", "*.slnx", "*.csproj", "*.fsproj", "*.vbproj")


def package_roots(project: Path, search: str = "", *, deep: bool = True) -> tuple[PackageRoot, ...]:
    """Return the project and, if `deep`, the roots below it: shallow first, then by name. `search`: PATH."""
    files = FileBudget()
    root = PackageRoot(project, "", (), files, search)
    roots = {"": root}
    for name in _package_folders(project, files) if deep else ():
        if len(roots) == ROOT_LIMIT:
            break
        above = tuple(roots[parent] for parent in _parent_paths(name) if parent in roots)
        roots[name] = PackageRoot(project / name, name, above, files, search)
        for parent in above:
            parent.members.add(f"{roots[name].below(parent)}/")
    return tuple(roots.values())


def _package_folders(project: Path, budget: FileBudget) -> Iterator[str]:
    """Yield the paths, relative to the project, of the folders with a manifest or with tests of their own."""
    waiting = deque([""])
    for _ in range(FOLDER_LIMIT):
        if not waiting:
            return
        name = waiting.popleft()
        files, folders = list_folder_entries(project / name)
        if name and (".git" in files or ".git" in folders):
            continue
        if name and (
            any(map(_is_manifest, files))
            or python.REQUIREMENTS_FOLDER in folders
            or python.tests_own_modules(PackageRoot(project / name, name, (), budget, ""))
        ):
            yield name
        if len(_parent_paths(name)) < ROOT_DEPTH:
            sound = (f"{name}/{below}" if name else below for below in folders if _may_hold_package(below))
            waiting.extend(islice(sound, FOLDER_LIMIT - len(waiting)))


def _is_manifest(name: str) -> bool:
    return name in MANIFEST_NAMES or any(fnmatchcase(name, pattern) for pattern in MANIFEST_PATTERNS)


def _may_hold_package(name: str) -> bool:
    """Return whether to search a folder: its name is valid Unicode and not one of the skipped ones."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return not is_skipped_folder(name)


def _parent_paths(name: str) -> list[str]:
    """Return the paths of the folders above, nearest first, ending with the project; none for the project."""
    parts = name.split("/") if name else []
    return ["/".join(parts[:length]) for length in range(len(parts) - 1, -1, -1)]


# --- gates --------------------------------------------------------------------------------------------------


INVALID_ID_CHARACTER: Final = re.compile(r"[^a-z0-9:_./-]")
ID_LIMIT: Final = 64
"""Maximum length in characters of an ID in a configuration file."""
DIGEST_LENGTH: Final = 8
"""Characters of the digest that keeps shortened IDs distinct."""
EXCLUSIVE_KINDS: Final = frozenset((Kind.TESTS, Kind.BUILD, Kind.COVERAGE))
"""Kinds that write into the project or use the whole machine, so that they run alone."""


class _Ecosystem(Struct, frozen=True):
    """Finds gates in a package root (`find`); `spans` says if a gate also covers a given root below it."""

    find: Callable[[PackageRoot], Iterable[DetectedGate]]
    spans: Callable[[PackageRoot, PackageRoot, DetectedGate], bool] = lambda *_: False


ECOSYSTEMS: Final = (
    _Ecosystem(languages.find_go_gates, languages.covers_go_member),
    _Ecosystem(javascript.find_javascript_gates, javascript.covers_javascript_member),
    _Ecosystem(python.find_python_gates, python.covers_python_member),
    _Ecosystem(languages.find_rust_gates, languages.covers_rust_member),
    _Ecosystem(languages.find_ruby_gates, languages.covers_ruby_member),
    _Ecosystem(languages.find_elixir_gates, languages.covers_elixir_member),
    _Ecosystem(languages.find_jvm_gates, languages.covers_jvm_member),
    _Ecosystem(languages.find_dotnet_gates, languages.covers_dotnet_member),
    _Ecosystem(languages.find_php_gates),
    _Ecosystem(recipes.find_runner_gates),
    _Ecosystem(recipes.find_script_gates),
    _Ecosystem(recipes.find_recipe_gates),
)
"""In the order of detection: the first check of a kind gets the plain ID."""
RECIPE_ECOSYSTEM: Final = ECOSYSTEMS[-1]

ENTERS_FOLDER: Final = r"(?:\bcd|(?<!\S)(?:-C|-w|--prefix|--cwd|--dir|--filter|--workspace))[ =](?:\./)?"
"""Matches how a script or recipe enters a folder; the folder's name follows."""


class _Offer(Struct, frozen=True):
    """A detected gate and the ecosystem that found it. `covered`: a command above runs it, too."""

    ecosystem: _Ecosystem
    found: DetectedGate
    covered: bool = False


OffersByRoot = Mapping[str, Sequence[_Offer]]
"""Maps the name of a package root to its offers."""


def detect_gates(project: Path, environment: Mapping[str, str]) -> tuple[Gate, ...]:
    """Return the gates of the project: those of its top folder first, in the order of ECOSYSTEMS.

    If the project is the user's home folder or contains it, package roots below it are not searched for.
    """
    offers: dict[str, Sequence[_Offer]] = {}
    deep = not _contains_home(project, environment.get("HOME", ""))
    roots = package_roots(project, environment.get("PATH", ""), deep=deep)
    for root in roots:
        found = (replace(one, covered=_is_repeated_above(root, one, offers)) for one in _find_offers(root))
        offers[root.name] = [one for one in found if not one.covered or one.found.kind is Kind.TESTS]
    gates, ran = tuple(_build_gates(offers)), _kinds_in_ci(roots[0])
    if not ran <= {gate.kind for gate in gates}:
        return gates
    return tuple(replace(gate, ci=gate.kind in ran) for gate in gates)


def _kinds_in_ci(root: PackageRoot) -> frozenset[Kind]:
    """Return the kinds of checks that the CI files run; none where they run programs that nobody knows."""
    files = (*root.search(".github/workflows", "*.yml", "*.yaml"), ".gitlab-ci.yml")
    texts = filter(None, map(root.text, files))
    direct = tuple(chain.from_iterable(map(_commands_in_ci, texts)))
    behind = (one for each in direct if not each.place for one in list_commands_behind(each.text, root))
    started = (*direct, *behind)
    if any(one.program and find_tool(one.name.partition(" ")[0]) is None for one in started):
        return frozenset()
    return frozenset[Kind]().union(*(one.kinds for one in started))


@lru_cache(maxsize=32)
def _commands_in_ci(text: str) -> tuple[StartedCommand, ...]:
    """Return what a CI file starts. It seldom changes, and every stop detects anew."""
    return tuple(list_started_commands(step for step, _ in list_ci_steps(text)))


def _find_offers(root: PackageRoot) -> list[_Offer]:
    """Return the offers of a root, without tests that a script or recipe runs together with others.

    A recipe that runs no more is left out if its kind already has an offer that is not weak.
    """
    offers = [_Offer(ecosystem, found) for ecosystem in ECOSYSTEMS for found in ecosystem.find(root)]
    tests = [offer.found for offer in offers if offer.found.kind is Kind.TESTS]
    narrow = [one for one in tests if any(_tests_more_than(one, other, root) for other in tests)]
    kinds: set[Kind] = set()
    kept = []
    for offer in offers:
        recipe = offer.ecosystem is RECIPE_ECOSYSTEM
        if offer.found not in narrow and not (recipe and offer.found.kind in kinds):
            kept.append(offer)
            kinds.update(() if offer.found.weak else (offer.found.kind,))
    return kept


def _tests_more_than(found: DetectedGate, other: DetectedGate, root: PackageRoot) -> bool:
    """Return whether the script of another gate runs all test runners that this one runs, and more."""
    commands = tuple(list_started_commands((found.command,)))
    own = {("", one.name) for one in commands}
    wanted = _test_runners(found.starts or commands, root, whole=True)
    wider, whole = (_test_runners(other.starts, root, whole=each) for each in (False, True))
    runs = _test_runners(found.starts, root)
    return wanted <= whole and ((runs < wider - own) if runs else (own < wider))


def _test_runners(
    starts: Iterable[StartedCommand], root: PackageRoot, *, whole: bool = False
) -> frozenset[tuple[str, str]]:
    """Return the runners among commands and behind those that call a script, by place and name.

    `whole`: those that run all of their tests.
    """
    starts = tuple(starts)
    behind = (list_commands_behind(one.text, root) for one in starts if not one.place)
    found = (one for one in chain(starts, *behind) if Kind.TESTS in one.kinds)
    return frozenset((one.place, one.name) for one in found if not (whole and one.part))


def list_commands_behind(line: str, root: PackageRoot) -> list[StartedCommand]:
    """Return what a simple command starts by way of the scripts or recipes of this folder."""
    runs = parse_simple_commands(line)
    argv = command(runs[0]) if len(runs) == 1 else ()
    if not argv:
        return []
    if targets := scripts_called_here(argv, "targets"):
        return recipes.list_recipe_commands(root, argv[0], targets)
    scripts = javascript.package_scripts(root)
    called = [name for name in scripts_called_here(argv, "scripts") if name in scripts]
    return [one for name in called for one in javascript.list_script_commands(scripts, name)]


def _is_repeated_above(root: PackageRoot, offer: _Offer, offers: OffersByRoot) -> bool:
    """Return whether a root above runs this check: its command spans this root, or its script enters it."""
    kind = offer.found.kind
    pairs = ((above, known) for above in root.above for known in offers[above.name])
    return any(
        (known.ecosystem is offer.ecosystem and known.ecosystem.spans(above, root, known.found))
        or re.search(rf"{ENTERS_FOLDER}{re.escape(root.below(above))}(?![\w-])", known.found.behind)
        for above, known in pairs
        if known.found.kind is kind and not known.found.weak
    )


def _build_gates(offers: OffersByRoot) -> Iterator[Gate]:
    taken: set[str] = set()
    for name, offered in offers.items():
        strong = [
            offer for offer in offered if not (offer.found.weak and _has_better_gate(offer, name, offers))
        ]
        covered = [offer.found for offer in strong if offer.covered]
        kinds: set[Kind] = set()
        for found in (offer.found for offer in strong):
            parts = (found.kind, *filter(None, (name, found.tool if found.kind in kinds else "")))
            gate_id = _unused_gate_id(_valid_gate_id(":".join(parts)), taken)
            taken.add(gate_id)
            kinds.add(found.kind)
            yield Gate(
                id=gate_id,
                command=found.command,
                why=found.why,
                kind=found.kind,
                origin=GateOrigin.DETECTED,
                folder=name,
                counts=found.kind is Kind.TESTS,
                alone=found.kind in EXCLUSIVE_KINDS,
                least=found.least,
                behind=found.behind,
                covered=found in covered,
            )


def _has_better_gate(weak: _Offer, name: str, offers: OffersByRoot) -> bool:
    """Return whether a stronger gate of this kind exists: found earlier, a recipe, or in a root below."""
    kind, own = weak.found.kind, offers[name]
    before = own[: own.index(weak)]
    recipes = [offer for offer in own if offer.ecosystem is RECIPE_ECOSYSTEM]
    inside = f"{name}/" if name else ""
    others = (other for root, other in offers.items() if root != name and root.startswith(inside))
    below = [offer for other in others for offer in other if not offer.covered]
    return any(offer.found.kind is kind and not offer.found.weak for offer in (*before, *recipes, *below))


def _valid_gate_id(gate_id: str) -> str:
    """Return the ID with only valid characters; a long one is cut and ends in a digest of the whole ID."""
    said = INVALID_ID_CHARACTER.sub("-", gate_id.lower())
    if len(said) <= ID_LIMIT:
        return said
    digest = hashlib.sha256(gate_id.encode()).hexdigest()[:DIGEST_LENGTH]
    return f"{said[: ID_LIMIT - DIGEST_LENGTH - 1]}-{digest}"


def _unused_gate_id(gate_id: str, taken: Container[str]) -> str:
    """Return the ID, with the lowest free number appended if it is already taken."""
    numbered = (f"{gate_id[: ID_LIMIT - 4]}:{number}" for number in count(2))
    return next(name for name in chain((gate_id,), numbered) if name not in taken)


def _contains_home(project: Path, home: str) -> bool:
    try:
        return bool(home) and Path(home).resolve().is_relative_to(project.resolve())
    except (OSError, RuntimeError, ValueError):
        return False
