"""Which checks a project offers: the gates of all its package roots, each with the sign that says why.

The laws of this file:

- Nothing is executed, nothing raises, and what is read is bounded (see `folder` and `roots`).
- A tool that the project is set up for is listed whether or not it is installed; one that it does not know,
  never.
- A command of a package root that goes through the package roots below it is not repeated for them.
- A weak sign, and a recipe of make, just or task, say something only where nothing better does.
- IDs are such as a configuration file can name, and no two are the same.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from sidecar.adapters.detection import (
    dotnet,
    elixir,
    go,
    javascript,
    jvm,
    make,
    php,
    python,
    ruby,
    rust,
)
from sidecar.adapters.detection.found import Found
from sidecar.adapters.detection.roots import package_roots
from sidecar.model.gate import Gate, Kind, Origin

if TYPE_CHECKING:
    from sidecar.adapters.detection.folder import Folder

NO_ID: Final = re.compile(r"[^a-z0-9:_./-]")
ID_LIMIT: Final = 64
"""Characters of an id that a configuration file can name."""
DIGEST: Final = 8
"""Characters of a digest that tells long ids apart."""
ALONE: Final = frozenset((Kind.TESTS, Kind.BUILD, Kind.COVERAGE))
"""Kinds that write into the project, or take all of the machine."""


class _Ecosystem(Struct, frozen=True):
    """What a package root offers, and whether one of its commands goes through another root below it."""

    find: Callable[[Folder], Iterable[Found]]
    spans: Callable[[Folder, Folder, Found], bool]


ECOSYSTEMS: Final = (
    _Ecosystem(go.find, go.spans),
    _Ecosystem(javascript.find, javascript.spans),
    _Ecosystem(python.find, python.spans),
    _Ecosystem(rust.find, rust.spans),
    _Ecosystem(ruby.find, ruby.spans),
    _Ecosystem(elixir.find, elixir.spans),
    _Ecosystem(jvm.find, jvm.spans),
    _Ecosystem(dotnet.find, dotnet.spans),
    _Ecosystem(php.find, php.spans),
    _Ecosystem(make.find, make.spans),
)
"""In the order in which they are asked: the first check of a kind gets the plain id."""
RECIPES: Final = ECOSYSTEMS[-1]

INTO: Final = r"(?:\bcd|(?<!\S)(?:-C|-w|--prefix|--cwd|--dir|--filter|--workspace))[ =](?:\./)?"
"""How a script or recipe goes into a folder whose name follows."""


class _Offer(Struct, frozen=True):
    """A check with the ecosystem that found it."""

    ecosystem: _Ecosystem
    found: Found


Offers = Mapping[str, Sequence[_Offer]]
"""By the name of the package root."""


def detect(project: Path, environment: Mapping[str, str]) -> tuple[Gate, ...]:
    """The gates of the project, those of the project's own folder first, in the order of ECOSYSTEMS.

    A project that is the user's home, or holds it, has no package roots below it.
    """
    offers: dict[str, Sequence[_Offer]] = {}
    for root in package_roots(project, deep=not _holds(project, environment.get("HOME", ""))):
        offers[root.name] = [offer for offer in _offered(root) if not _repeated(root, offer, offers)]
    return tuple(_gates(offers))


def _offered(root: Folder) -> Iterator[_Offer]:
    """What a root offers, without recipes for what is there already."""
    kinds: set[Kind] = set()
    for ecosystem in ECOSYSTEMS:
        for found in ecosystem.find(root):
            if ecosystem is not RECIPES or found.kind not in kinds:
                yield _Offer(ecosystem, found)
                kinds.update(() if found.weak else (found.kind,))


def _repeated(root: Folder, offer: _Offer, offers: Offers) -> bool:
    """Whether a root above does this as well: its command spans this one, or its script goes into it."""
    kind = offer.found.kind
    pairs = ((above, known) for above in root.above for known in offers[above.name])
    return any(
        (known.ecosystem is offer.ecosystem and known.ecosystem.spans(above, root, known.found))
        or _goes_into(known.found.behind, root.below(above))
        for above, known in pairs
        if known.found.kind is kind
    )


def _goes_into(script: str, folder: str) -> bool:
    return bool(re.search(rf"{INTO}{re.escape(folder)}(?![\w-])", script))


def _gates(offers: Offers) -> Iterator[Gate]:
    taken: set[str] = set()
    for name, offered in offers.items():
        strong = [offer for offer in offered if not (offer.found.weak and _outdone(offer, name, offers))]
        kinds: set[Kind] = set()
        for found in (offer.found for offer in strong):
            parts = (found.kind, *filter(None, (name, found.tool if found.kind in kinds else "")))
            gate_id = _free(_sayable(":".join(parts)), taken)
            taken.add(gate_id)
            kinds.add(found.kind)
            yield _gate(gate_id, found, name)


def _outdone(weak: _Offer, name: str, offers: Offers) -> bool:
    """Whether something better than a weak sign is there: asked before it, a recipe, or in a root below."""
    kind, own = weak.found.kind, offers[name]
    before = own[: own.index(weak)]
    recipes = [offer for offer in own if offer.ecosystem is RECIPES]
    inside = f"{name}/" if name else ""
    below = [
        offer for root, other in offers.items() if root != name and root.startswith(inside) for offer in other
    ]
    return any(offer.found.kind is kind and not offer.found.weak for offer in (*before, *recipes, *below))


def _gate(gate_id: str, found: Found, folder: str) -> Gate:
    return Gate(
        id=gate_id,
        command=found.command,
        why=found.why,
        kind=found.kind,
        origin=Origin.DETECTED,
        folder=folder,
        counts=found.kind is Kind.TESTS,
        alone=found.kind in ALONE,
        least=found.least,
        behind=found.behind,
    )


def _sayable(gate_id: str) -> str:
    """An id in the letters that a configuration file can name; a long one ends in a digest of all of it."""
    said = NO_ID.sub("-", gate_id.lower())
    if len(said) <= ID_LIMIT:
        return said
    digest = hashlib.sha256(gate_id.encode()).hexdigest()[:DIGEST]
    return f"{said[: ID_LIMIT - DIGEST - 1]}-{digest}"


def _free(gate_id: str, taken: Container[str]) -> str:
    """The id, or the first of its kind with a number that nobody has yet."""
    numbered = (f"{gate_id[: ID_LIMIT - 4]}:{number}" for number in count(2))
    return next(name for name in chain((gate_id,), numbered) if name not in taken)


def _holds(project: Path, home: str) -> bool:
    try:
        return bool(home) and Path(home).resolve().is_relative_to(project.resolve())
    except (OSError, RuntimeError, ValueError):
        return False
