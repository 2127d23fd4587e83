"""The state of a project at a stop: its files, gates and git, compared with the baseline."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from sidecar.evidence.claims.ledger import claimed_files
from sidecar.evidence.proof.check_files import changes_dependencies, may_bear_on_checks
from sidecar.kernel.changes import FileBaseline, FileDiff, ProjectChanges
from sidecar.kernel.events import NO_RUBRIC, AgentStopped, ProjectState
from sidecar.kernel.evidence import IntegrityFinding
from sidecar.kernel.goal import Goal
from sidecar.kernel.masking import SecretMask
from sidecar.systems.supervision.baselines import NO_BASELINE, Baselines
from sidecar.systems.supervision.ports import Services


class ProjectStateReader:
    """Reads files, gates and git, and compares them with the baseline; changes nothing."""

    def __init__(self, services: Services, bases: Baselines) -> None:
        """Compare with these baselines."""
        self._services = services
        self._bases = bases

    async def look(
        self, stop: AgentStopped, goal: Goal | None, message: str, prompt: str = ""
    ) -> ProjectState:
        """Read the state of this stop's project, except for its rubric.

        `goal`: the active one; `message`: the agent's last; `prompt`: what the user asked for.
        """
        services, at = self._services, (stop.project, stop.environment)
        base = goal.base if goal is not None else await self._bases.of_turn(stop.key)
        changes, catalog, repository = await asyncio.gather(
            self._changes(base, stop), services.catalog.list(*at), services.workspace.repository(base, *at)
        )
        named, changed = claimed_files(message, prompt), _changed_paths(changes)
        nowhere = services.workspace.absent(stop.project, named)
        followed = await services.workspace.followed(*at, named)
        missing = [path for path in nowhere if path not in followed]
        tree = changes.tree or await services.workspace.fingerprint(*at)
        mask = services.secrets.masker(stop.environment)
        found, edits = await asyncio.gather(  # seconds for a large change
            asyncio.to_thread(_product_findings, changes), asyncio.to_thread(_masked_edits, changes, mask)
        )
        return ProjectState(
            tree=tree,
            rubric=NO_RUBRIC,
            catalog=catalog,
            changed=changed,
            since_prompt=goal is None,
            checks_changed=may_bear_on_checks(changes.files),
            dependencies_changed=changes_dependencies(changes.files),
            unseen=changes.unseen,
            findings=tuple(_mask_finding(finding, mask) for finding in found),
            repository=repository,
            edits=edits,
            absent=tuple(path for path in missing if _is_surely_absent(path, changed)),
            unchanged=tuple(path for path in followed if repository and _is_surely_unchanged(path, changed)),
            present=tuple(path for path in named if path not in missing and not path.startswith(("/", ".."))),
        )

    async def _changes(self, base: FileBaseline, stop: AgentStopped) -> ProjectChanges:
        if not base.snapshot:
            return ProjectChanges(unseen=base.unseen or NO_BASELINE)
        return await self._services.workspace.since(base, stop.project, stop.environment)


def _is_surely_absent(path: str, changed: tuple[str, ...] | None) -> bool:
    """Whether a file that is not there is not anywhere else either: a bare name may be in any folder."""
    return "/" in path or (changed is not None and not any(one.endswith(f"/{path}") for one in changed))


def _is_surely_unchanged(path: str, changed: tuple[str, ...] | None) -> bool:
    return changed is not None and not any(f"/{one}".endswith(f"/{path}") for one in changed)


def _product_findings(changes: ProjectChanges) -> tuple[IntegrityFinding, ...]:
    from sidecar.evidence.proof.check_files import find_product_marks  # noqa: PLC0415 - a cold start does without

    return find_product_marks(changes.files)


def _masked_edits(changes: ProjectChanges, mask: SecretMask) -> tuple[FileDiff, ...]:
    from sidecar.evidence.diffs import build_file_diffs  # noqa: PLC0415 - a cold start does without differences

    return tuple(
        replace(
            edit,
            path=escape_undecodable(edit.path),
            old_path=escape_undecodable(edit.old_path),
            hunks=escape_undecodable(edit.hunks),
        )
        for edit in build_file_diffs(changes, mask)
    )


def _changed_paths(changes: ProjectChanges) -> tuple[str, ...] | None:
    """Return the changed paths, None where not all are known."""
    if changes.unseen:
        return None
    return tuple(
        escape_undecodable(path) for file in changes.files for path in (file.path, file.old_path) if path
    )


def _mask_finding(finding: IntegrityFinding, mask: SecretMask) -> IntegrityFinding:
    texts = (finding.file, finding.before, finding.after)
    file, before, after = (mask(escape_undecodable(text)) for text in texts)
    return replace(finding, file=file, before=before, after=after)


def escape_undecodable(text: str) -> str:
    """Make a text encodable: bytes of a file name that are not UTF-8 are written as escapes."""
    return text.encode("utf-8", "backslashreplace").decode()
