"""A report of the work under a lock, in Markdown, from its audit alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from sidecar.kernel.audit import AuditEntry
from sidecar.kernel.governance import FORMS, Phase
from sidecar.kernel.text import quote_as_code_block
from sidecar.systems.governance.policy.work import ANSWER_TOOL, PHASE_TOOL


def write_report(lock: str, entries: Iterable[AuditEntry]) -> str:
    """Return the report: each phase with its result, what was asked, and what was delivered."""
    lines = [f"# Governed change {lock}", ""]
    for entry in entries:
        lines += _lines(entry)
    return "\n".join(lines).rstrip() + "\n"


def _lines(entry: AuditEntry) -> Iterator[str]:
    if entry.tool == ANSWER_TOOL:
        yield f"A person answered {entry.result}."
        yield ""
    if not entry.tool.startswith(PHASE_TOOL):
        return
    phase = Phase(entry.tool.removeprefix(PHASE_TOOL))
    shown = msgspec.json.decode(entry.output, type=dict[str, Any])
    seconds = entry.duration_ms / 1000
    yield f"## {FORMS[phase].section} {entry.result}"
    yield ""
    yield f"Iteration {entry.iteration}, {entry.agent}, {seconds:.1f} s, audit entry {entry.number}."
    yield ""
    if phase is Phase.ANALYZE:
        yield from (msgspec.json.decode(entry.input, type=dict[str, Any]).get("problem_statement", ""), "")
    if error := shown.get("error"):
        yield from (f"{error['type']} ({error['action']}): {error['message']}", "")
    yield from _payload(shown.get("payload"))


def _payload(payload: Any, name: str = "") -> Iterator[str]:  # noqa: ANN401 - any JSON
    """Yield a payload: texts of several lines as code, lists as points, the rest as `name: value`."""
    match payload:
        case dict():
            for key, value in payload.items():
                yield from _payload(value, key)
        case list() if payload:
            yield f"{name}:"
            yield ""
            yield from (f"- {_point(one)}" for one in payload)
            yield ""
        case str() if "\n" in payload:
            yield from (f"{name}:", "", quote_as_code_block(payload), "")
        case None | "" | []:
            return
        case _:
            yield from (f"{name}: {payload}", "")


def _point(value: Any) -> str:  # noqa: ANN401 - any JSON
    if isinstance(value, dict):
        return "; ".join(f"{key}: {one}" for key, one in value.items() if one not in (None, "", []))
    return " then ".join(map(str, value)) if isinstance(value, list) else str(value)
