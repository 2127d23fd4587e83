"""What a project looks like at a stop."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from sidecar.app.bases import NOTHING_KEPT, Bases
from sidecar.app.house import House
from sidecar.model.events import NO_RUBRIC, Stopped, Surveyed
from sidecar.model.finding import Finding
from sidecar.model.goal import Goal
from sidecar.model.inspection import Base, Changes, Edit, Reading
from sidecar.policy.claims.ledger import claimed_files
from sidecar.ports import Mask


class Surveyor:
    """Looks at files, gates and git, compares with what was when the work began, and changes nothing."""

    def __init__(self, house: House, bases: Bases) -> None:
        """Live in `house`; compare with `bases`."""
        self._house = house
        self._bases = bases

    async def look(self, stop: Stopped, goal: Goal | None, message: str) -> Surveyed:
        """Survey the project of this stop, but for its rubric.

        `goal`: the active one; `message`: the agent's last.
        """
        house, at = self._house, (stop.project, stop.environment)
        base = goal.base if goal is not None else await self._bases.of_turn(stop.key)
        changes, catalog, repository = await asyncio.gather(
            self._changes(base, stop), house.catalog.list(*at), house.workspace.repository(base, *at)
        )
        tree = changes.tree or await house.workspace.fingerprint(*at)
        reading = await house.inspector.read(changes)
        mask = house.secrets.masker(stop.environment)
        found, edits = await asyncio.gather(  # seconds for a large change
            asyncio.to_thread(_weighed, reading), asyncio.to_thread(_edits, changes, mask)
        )
        return Surveyed(
            tree=tree,
            rubric=NO_RUBRIC,
            catalog=catalog,
            changed=_paths(changes),
            unseen=reading.unseen,
            findings=tuple(_masked(finding, mask) for finding in found),
            repository=repository,
            edits=edits,
            absent=self._absent(stop.project, message, _paths(changes)),
        )

    def _absent(self, project: str, message: str, changed: tuple[str, ...] | None) -> tuple[str, ...]:
        """The files that are said to be made and are not there; a bare name may stand in any folder."""
        missing = self._house.workspace.absent(project, claimed_files(message))
        known = changed or ()
        return tuple(
            path
            for path in missing
            if "/" in path or (changed is not None and not any(one.endswith(f"/{path}") for one in known))
        )

    async def _changes(self, base: Base, stop: Stopped) -> Changes:
        if not base.snapshot:
            return Changes(unseen=base.unseen or NOTHING_KEPT)
        return await self._house.workspace.since(base, stop.project, stop.environment)


def _weighed(reading: Reading) -> tuple[Finding, ...]:
    from sidecar.policy.kept.every import findings  # noqa: PLC0415 - a cold start does without these rules

    return findings(reading)


def _edits(changes: Changes, mask: Mask) -> tuple[Edit, ...]:
    from sidecar.policy.diffs import edits  # noqa: PLC0415 - a cold start does without differences

    return tuple(
        replace(
            edit, path=printable(edit.path), old_path=printable(edit.old_path), hunks=printable(edit.hunks)
        )
        for edit in edits(changes, mask)
    )


def _paths(changes: Changes) -> tuple[str, ...] | None:
    """The changed paths, None where they are not all known."""
    if changes.unseen:
        return None
    return tuple(printable(path) for file in changes.files for path in (file.path, file.old_path) if path)


def _masked(finding: Finding, mask: Mask) -> Finding:
    before, after = mask(printable(finding.before)), mask(printable(finding.after))
    return replace(finding, file=printable(finding.file), before=before, after=after)


def printable(text: str) -> str:
    """A text that can be written down: bytes of a file's name that are no UTF-8 stand as their number."""
    return text.encode("utf-8", "backslashreplace").decode()
