"""Conducts all phases for a person, one after the other, and reports on what they gave."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from sidecar.kernel.governance import FORMS, GovernedPhase
from sidecar.kernel.log import AuditEntry
from sidecar.kernel.settings import Mode
from sidecar.kernel.text import quote_as_code_block
from sidecar.systems.governance.policy.table import MAY_CALL, Stage
from sidecar.systems.governance.policy.work import ANSWER_TOOL, PHASE_TOOL, Question, Work
from sidecar.systems.governance.ports import PhaseCaller, Tell
from sidecar.systems.governance.service import NEW, Governance, PhaseOutcome, PhaseRequest

ATTEMPTS: Final = 3
"""Times in a row that a phase is tried that leaves the stage as it is."""


class Assignment(Struct, frozen=True, kw_only=True):
    """What is to be conducted: what phases are given, where results of earlier ones in the audit do not do.

    `lock` "new" begins; `mode` None means the default one, or the lock's.
    """

    given: Mapping[GovernedPhase, Struct]
    lock: str = NEW
    mode: Mode | None = None


async def conduct(  # noqa: PLR0913 - the work, and whom to tell, to show and to ask
    governance: Governance,
    caller: PhaseCaller,
    wish: Assignment,
    *,
    tell: Tell,
    show: Callable[[PhaseOutcome], None],
    ask: Callable[[Question], tuple[bool, str] | None],
) -> Work:
    """Go on until the work is over, a person must answer who is not there, or a phase keeps failing.

    `show` is given each outcome. `ask` asks the person: yes or no with a text, None where nobody is there.
    Raises as `Governance.run`.
    """
    lock, failed = wish.lock, 0
    work = governance.work(lock) if lock != NEW else Work(lock=NEW)
    while True:
        if work.question is not None:
            if (said := ask(work.question)) is None:
                return work
            work = governance.answer(lock, caller, yes=said[0], text=said[1])
            continue
        if not (allowed := MAY_CALL[work.stage]) or failed == ATTEMPTS:
            return work
        phase, before = allowed[0], work
        given = wish.given.get(phase) or FORMS[phase].given()
        request = PhaseRequest(phase=phase, lock=lock, given=given, mode=wish.mode)
        outcome = await governance.run(request, caller, tell)
        show(outcome)
        lock = outcome.context_lock_id
        work = governance.work(lock)
        again = work.stage is before.stage and work.question is None and work.stage is not Stage.NEW
        failed = failed + 1 if again else 0


# --- the report, from the audit alone -----------------------------------------------------------------------


def write_report(lock: str, entries: Iterable[AuditEntry]) -> str:
    """Return the report, from the audit alone: each phase with its result, what was asked and delivered."""
    blocks = [f"# Governed change {lock}"]
    for entry in entries:
        if entry.tool == ANSWER_TOOL:
            blocks.append(f"A person answered {entry.result}.")
        if entry.tool.startswith(PHASE_TOOL):
            blocks += _phase_blocks(entry)
    return "\n\n".join(blocks) + "\n"


def _phase_blocks(entry: AuditEntry) -> Iterator[str]:
    phase = GovernedPhase(entry.tool.removeprefix(PHASE_TOOL))
    given, shown = (msgspec.json.decode(part, type=dict[str, Any]) for part in (entry.input, entry.output))
    seconds = entry.duration_ms / 1000
    yield f"## {FORMS[phase].section} {entry.result}"
    yield f"Iteration {entry.iteration}, {entry.agent}, {seconds:.1f} s, audit entry {entry.number}."
    if phase is GovernedPhase.ANALYZE:
        yield given["problem_statement"]
    if error := shown.get("error"):
        yield f"{error['type']} ({error['action']}): {error['message']}"
    yield from payload_blocks(shown.get("payload"), quote=quote_as_code_block)


def payload_blocks(payload: Any, name: str = "", *, quote: Callable[[str], str] = str) -> Iterator[str]:  # noqa: ANN401 - any JSON
    """Yield a payload: lists as points, texts of several lines by `quote`, the rest as `name: value`."""
    match payload:
        case dict():
            for key, value in payload.items():
                yield from payload_blocks(value, key, quote=quote)
        case None | "" | []:
            return
        case list():
            yield f"{name}:"
            yield "\n".join(f"{number}. {_point(one)}" for number, one in enumerate(payload, 1))
        case str() if "\n" in payload:
            yield f"{name}:"
            yield quote(payload)
        case _:
            yield f"{name}: {payload}"


def _point(value: Any) -> str:  # noqa: ANN401 - any JSON
    if isinstance(value, dict):
        return "; ".join(f"{key}: {one}" for key, one in value.items() if one not in (None, "", []))
    return " then ".join(map(str, value)) if isinstance(value, list) else str(value)
