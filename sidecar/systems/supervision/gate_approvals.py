"""Answers /supervisor:trust: shows the commands of the project that are not approved, and approves them.

What was shown is what can be approved, as `supervisor trust` does in a shell (law 12): a gate
that was changed in between must be looked at again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Final

from sidecar.kernel.effects import CommandReply
from sidecar.kernel.errors import BadInputError
from sidecar.kernel.events import CommandTyped
from sidecar.kernel.gate import Gate
from sidecar.kernel.text import escape_unprintable
from sidecar.systems.supervision.policy.commands import refusal
from sidecar.systems.supervision.ports import Services

ALL: Final = ("yes",)
"""What is typed to approve all that was shown."""
PROJECTS_REMEMBERED: Final = 64
SHOWN_LENGTH: Final = 3000
"""Characters that a host shows of an answer; commands beyond them are for `supervisor trust`."""


class GateApprovals:
    """Remembers for each project what was shown last."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._shown: OrderedDict[str, tuple[Gate, ...]] = OrderedDict()

    async def obey(self, event: CommandTyped) -> CommandReply:
        """Show what is not approved, or approve what was shown."""
        catalog = await self._services.catalog.list(event.project, event.environment)
        new = tuple(gate for gate in catalog.approvable if not gate.approved)
        wanted = event.order.gates
        if not wanted or not new:
            return self._show(event.project, new)
        shown = self._shown.get(event.project, ())
        chosen = shown if wanted == ALL else tuple(gate for gate in shown if gate.id in wanted)
        if not chosen or (wanted != ALL and len(chosen) < len(set(wanted))):
            return self._refuse("approve what was shown, by `yes` or by name.", event.project, new)
        if changed := [gate.id for gate in chosen if gate not in new]:
            said = f"changed since it was shown: {', '.join(changed)}; nothing was approved."
            return self._refuse(said, event.project, new)
        try:
            self._services.catalog.approve(event.project, chosen)
        except (BadInputError, OSError) as error:
            return refusal(f"nothing was approved: {error}")
        return CommandReply(headline=f"approved: {', '.join(f'`{gate.command}`' for gate in chosen)}.")

    def _refuse(self, why: str, project: str, gates: Sequence[Gate]) -> CommandReply:
        return CommandReply(headline=why, details=self._show(project, gates).lines, refused=True)

    def _show(self, project: str, gates: Sequence[Gate]) -> CommandReply:
        """Describe gates as far as a host shows them; these can be approved by the next command."""
        shown, lines, room = list[Gate](), list[str](), SHOWN_LENGTH
        for gate in gates:
            text = "\n".join(_describe_gate(gate))
            room -= len(text)
            if room > 0:
                shown.append(gate)
                lines.append(text)
        self._shown[project] = tuple(shown)
        self._shown.move_to_end(project)
        while len(self._shown) > PROJECTS_REMEMBERED:
            self._shown.popitem(last=False)
        if not gates:
            return CommandReply(headline="every command that was found here is approved.")
        if len(shown) < len(gates):
            lines.append(
                f"{len(gates) - len(shown)} more are too long for here: supervisor trust, in a shell"
            )
        names = " ".join(gate.id for gate in shown[:2])
        lines.append(f"To approve: /supervisor:trust yes, or some of them: /supervisor:trust {names}")
        return CommandReply(headline="not approved, so not run:", details=tuple(lines))


def _describe_gate(gate: Gate) -> Iterator[str]:
    """Say everything that an approval covers."""
    where = f" in {gate.folder}" if gate.folder else ""
    python = f" with {gate.python}" if gate.python else ""
    yield escape_unprintable(f"- {gate.id}: `{gate.command}`{where}{python} ({gate.why})")
    if gate.behind:
        yield f"  which runs: {escape_unprintable(gate.behind)}"
