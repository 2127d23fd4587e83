"""Builds what keeps a machine in step with its team, and carries out the orders that come from there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from sidecar.kernel.errors import BadInputError, ToolRuleError
from sidecar.kernel.log import OrderGiven
from sidecar.kernel.orders import CommandName, Giver, Origin, parse_order
from sidecar.platform.paths import user_paths
from sidecar.platform.services import PlatformServices, note_event
from sidecar.platform.team.exchange import TeamExchange
from sidecar.platform.team.sync import TEAM, TeamSync
from sidecar.systems.governance.ports import PhaseCaller
from sidecar.systems.supervision.people import CommandLineService, OrderRequest, SessionSelector

if TYPE_CHECKING:
    from sidecar.platform.team.ports import TeamOrder
    from sidecar.systems.governance.service import Governance
    from sidecar.wiring.supervision import Supervision

BuildGovernance = Callable[[], "Governance"]
COMMANDS: Final[tuple[CommandName, ...]] = ("goal", "retry")
"""What may be ordered from another machine; what approves something is typed where it is seen."""
ANSWER: Final = "governance answer"
FORMS: Final = f"goal ..., retry N, {ANSWER} LOCK yes|no [TEXT]"


def require_order(text: str) -> None:
    """Raise BadInputError where a machine would refuse the text of an order, whatever session it is for."""
    if text.partition(" ")[0] not in COMMANDS and not text.startswith(ANSWER):
        raise BadInputError(f"from another machine only this can be ordered: {FORMS}")


async def keep_in_step(built: Supervision, governance: BuildGovernance) -> None:
    """Exchange with the team that this machine joined, or joins next, until cancelled."""
    state, services = user_paths().state, built.services
    orders = TeamOrders(built.people, services, governance)
    sync = TeamSync(TeamExchange(state, services).exchange, services, orders.obey)
    built.people.team_link = sync.link
    await sync.run()


class TeamOrders:
    """Carries out what people order from other machines."""

    def __init__(
        self, people: CommandLineService, services: PlatformServices, governance: BuildGovernance
    ) -> None:
        self._people, self._services, self._governance = people, services, governance

    async def obey(self, order: TeamOrder) -> None:
        """Carry out an order; tell the user of its session what was done, or why not. Never raises."""
        session = self._people.find(SessionSelector(session=order.session))
        key = session.key if session else None
        mask = self._services.secrets.masker({})
        origin = Origin(Giver.UNSURE, f"{order.person} (team)")  # nothing on this machine shows who it is
        try:
            said = await self._carry_out(order, origin)
        except (BadInputError, ToolRuleError, OSError) as error:
            said = f"refused: {error}"
            refused = OrderGiven(name=mask(order.text)[:40], decided="refused", detail=mask(str(error))[:300])
            note_event(self._services.log, self._services.clock, TEAM, refused, key, origin=origin.seen)
        if said:
            line = mask(f"Supervisor: {origin.seen} ordered `{order.text}`: {said}")
            self._services.incidents.report(line, key)

    async def _carry_out(self, order: TeamOrder, origin: Origin) -> str:
        """Return what is still to be told. Raises BadInputError, ToolRuleError, OSError."""
        name, _, rest = order.text.partition(" ")
        if command := next((one for one in COMMANDS if one == name), None):
            asked = OrderRequest(who=SessionSelector(session=order.session), order=parse_order(command, rest))
            reply = await self._people.carry_out(asked, origin)
            return f"refused: {reply.headline}" if reply.refused else ""
        require_order(order.text)
        lock, _, said = order.text.removeprefix(ANSWER).strip().partition(" ")
        word, _, text = said.partition(" ")
        if word not in ("yes", "no"):
            raise BadInputError(f"from another machine only this can be ordered: {FORMS}")
        caller = PhaseCaller(project="", environment={}, origin=origin.seen)
        work = self._governance().answer(lock, caller, yes=word == "yes", text=text)
        return f"the work is {work.stage} now"
