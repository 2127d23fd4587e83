"""Who gave an order: the table "Who may change what" of the design.

- Below the process of a host whose agent works: the agent's. It is refused, whatever its environment says.
- From a terminal that was there before any agent went to work, or while none works: the user's.
- Anything else is carried out, and told with what undoes it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from sidecar.kernel.orders import Ancestry, Giver, Order, Origin, Process
from sidecar.kernel.session import Session
from sidecar.kernel.settings import Settings

DEFAULT_BUDGET: Final = Settings().max_attempts
START_PRECISION_S: Final = 2.0
"""Seconds by which the system's account of when a process began may be late."""
NAMES_SHOWN: Final = 4
"""Processes that a description names."""
CONDITION_SHOWN: Final = 80
"""Characters of a condition in an undo."""


def judge_origin(
    chain: Ancestry, leader: Process | None, hosts_at_work: Collection[int], work_since: float | None
) -> Origin:
    """Say who gave an order.

    `chain`: its process and those above. `leader`: the leader of its session, None where that is gone.
    `hosts_at_work`: the process ids of hosts whose agents work. `work_since`: when the first of these agents
    went to work, None where none does.
    """
    seen = describe_processes(chain, at_work=work_since is not None)
    if is_below(chain, hosts_at_work):
        return Origin(Giver.AGENT, seen)
    terminal = bool(chain) and chain[0].terminal and leader is not None
    before = (
        terminal
        and leader is not None
        and (work_since is None or leader.started < work_since - START_PRECISION_S)
    )
    return Origin(Giver.USER if before else Giver.UNSURE, seen)


def is_below(chain: Ancestry, hosts: Collection[int]) -> bool:
    """Whether a process is below one of these, and not one of them itself."""
    return any(process.pid in hosts for process in chain[1:])


def describe_processes(chain: Ancestry, *, at_work: bool) -> str:
    """Name the processes in a few words."""
    if not chain:
        return "a process that is gone"
    names = " < ".join(process.name for process in chain[:NAMES_SHOWN])
    where = "in a terminal" if chain[0].terminal else "without a terminal"
    return f"{names}, {where}{', while the agent worked' if at_work else ''}"


def refusal_of_agents(origin: Origin) -> str:
    """Say why an order from below a host at work is not carried out."""
    return f"only the user may do this, and it came from below the agent's own process ({origin.seen})"


def order_message(order: Order, origin: Origin, before: Session | None) -> str:
    """Return one line for the user about an order to a session that nobody knows to be theirs."""
    return _order_message(f"{order.name} {order.text}", origin, _undo_order(order, before))


def general_order_message(name: str, about: str, origin: Origin) -> str:
    """Return the same about an order that is no session's. `about`: what it names, as a folder."""
    if name in SWITCH_BACK:
        back = SWITCH_BACK[name]
        undo = f"Type in {about}: {back} --project" if about else f"Type in a shell: {back}"
    else:
        undo = UNDO.get(name, "Type in a shell: supervisor status")
    return _order_message(f"{name} {about}", origin, undo)


def _order_message(said: str, origin: Origin, undo: str) -> str:
    said = " ".join(said.split())[:CONDITION_SHOWN]
    return f"Supervisor: `{said}` was ordered by {origin.seen}. Not you? {undo}"


def _undo_order(order: Order, before: Session | None) -> str:
    """Say what to type to undo an order."""
    goal = before.goal if before is not None else None
    if order.name == "retry":
        return f"Type /supervisor:retry {(before and before.retry) or DEFAULT_BUDGET}"
    if order.name != "goal":
        return UNDO.get(order.name, "Type in a shell: supervisor status")
    if order.word in TURN_BACK:
        return f"Type /supervisor:goal {TURN_BACK[order.word]}"
    return f"Type /supervisor:goal {' '.join(goal.condition.split()) if goal else 'clear'}"


TURN_BACK: Final = {"pause": "resume", "resume": "pause"}
"""What undoes a word of /supervisor:goal."""


SWITCH_BACK: Final = {"off": "supervisor on", "on": "supervisor off"}
"""What undoes a switch, for a project with `--project`."""
UNDO: Final = {
    "accept": "Take the edit back",
    "trust": "Type in a shell: supervisor trust --revoke",
    "forget": "What it removed cannot be brought back",
    "stop": "It starts again by itself",
}
"""What undoes an order that is no session's."""
