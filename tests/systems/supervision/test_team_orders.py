"""What a person orders from another machine of the team."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sidecar.kernel.errors import BadInputError
from sidecar.kernel.goal import GoalStatus
from sidecar.kernel.log import EventFilter, OrderGiven
from sidecar.platform.team.ports import TeamOrder
from sidecar.systems.governance.ports import PhaseCaller
from sidecar.systems.supervision.people import CommandLineService
from sidecar.wiring.team import TeamOrders
from support.cases import KEY, PROJECT, with_goal
from support.fakes import Fakes


class Governance:
    """Takes answers; there is one lock, `l1`."""

    stage = "review"

    def __init__(self) -> None:
        self.answered: list[tuple[str, str, bool, str]] = []

    def answer(self, lock: str, caller: PhaseCaller, *, yes: bool, text: str = "") -> Governance:
        if lock != "l1":
            raise BadInputError(f"there is no lock {lock}")
        self.answered.append((lock, caller.origin, yes, text))
        return self


@pytest.fixture
def fakes() -> Fakes:
    fakes = Fakes()
    fakes.store.save(replace(with_goal(), project=PROJECT))
    return fakes


async def obey(fakes: Fakes, text: str, governance: Governance | None = None) -> tuple[str, ...]:
    """Order it; return what the session's user is told."""
    people = CommandLineService(fakes.services, fakes.supervisor)
    orders = TeamOrders(people, fakes.services, lambda: governance or Governance())  # type: ignore[arg-type, return-value] # a part of it
    await orders.obey(TeamOrder(machine="m1", session=KEY.id, text=text, person="eve"))
    return fakes.services.incidents.take(KEY)


async def test_an_order_is_carried_out_as_if_it_was_typed_and_told_with_its_origin(fakes: Fakes) -> None:
    (line,) = await obey(fakes, "goal pause")
    assert line == "Supervisor: `goal pause` was ordered by eve (team). Not you? Type /supervisor:goal resume"
    assert fakes.goal().status is GoalStatus.PAUSED
    (order,) = fakes.log.read(EventFilter(session=KEY, kinds=("order-given",)))
    assert order.origin == "eve (team)"


async def test_an_answer_to_governed_phases_is_written_down(fakes: Fakes) -> None:
    governance = Governance()
    (line,) = await obey(fakes, "governance answer l1 yes go on", governance)
    assert governance.answered == [("l1", "eve (team)", True, "go on")]
    assert "the work is review now" in line


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("trust", "only this can be ordered"),
        ("accept", "only this can be ordered"),
        ("l1 yes", "only this can be ordered"),
        ("rm -rf /", "only this can be ordered"),
        ("governance answer l1 perhaps", "only this can be ordered"),
        ("governance answer l2 yes", "there is no lock l2"),
        ("retry 0", "whole number"),
    ],
)
async def test_what_cannot_be_ordered_is_told_and_logged(fakes: Fakes, text: str, why: str) -> None:
    (line,) = await obey(fakes, text)
    assert why in line
    (order,) = fakes.log.read(EventFilter(kinds=("order-given",)))
    assert isinstance(order.data, OrderGiven)
    assert (order.data.decided, order.origin) == ("refused", "eve (team)")


async def test_a_secret_in_an_order_reaches_neither_the_log_nor_the_line(fakes: Fakes) -> None:
    token = "ghp_" + "q8Xz" * 9
    told = await obey(fakes, token)
    assert token[:30] not in f"{told}{fakes.log.read(EventFilter())}"
