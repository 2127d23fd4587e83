"""What the phases gave, for a person: a report of the work under a lock in Markdown, and its parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from sidecar.kernel.audit import AuditEntry
from sidecar.kernel.governance import FORMS, GovernedPhase
from sidecar.kernel.text import quote_as_code_block
from sidecar.systems.governance.policy.work import ANSWER_TOOL, PHASE_TOOL


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
