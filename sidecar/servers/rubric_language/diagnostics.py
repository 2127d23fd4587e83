"""What is wrong with a rubric, in words of the protocol."""

from __future__ import annotations

from typing import Final

from lsprotocol import types

from sidecar.model.flaw import Flaw, Weight
from sidecar.model.outline import Span
from sidecar.servers.rubric_language.view import View

SOURCE: Final = "supervisor-rubric"
SEVERITIES: Final = {
    Weight.ERROR: types.DiagnosticSeverity.Error,
    Weight.WARNING: types.DiagnosticSeverity.Warning,
    Weight.HINT: types.DiagnosticSeverity.Hint,
}


def diagnostics(view: View) -> list[types.Diagnostic]:
    """All of them, in the order in which they were found."""
    return [diagnostic(view, flaw) for flaw in view.flaws]


def diagnostic(view: View, flaw: Flaw) -> types.Diagnostic:
    """One flaw. `data` names its fixes, for a client that keeps it."""
    return types.Diagnostic(
        range=view.page.range(Span(flaw.begin, flaw.end)),
        message=f"{flaw.why}\n{flaw.help}" if flaw.help else flaw.why,
        severity=SEVERITIES[flaw.weight],
        code=flaw.code,
        source=SOURCE,
        related_information=_related(view, flaw) if view.able.related and flaw.also else None,
        data={"fixes": [fix.title for fix in flaw.fixes]} if view.able.data and flaw.fixes else None,
    )


def answer(view: View | None, known: str | None) -> types.DocumentDiagnosticReport:
    """The report for a client that asks. `known`: the id of what it was told last."""
    if view is None:
        return types.RelatedFullDocumentDiagnosticReport([])
    told = f"{hash((view.page.text, view.flaws)) & (2**64 - 1):016x}"
    if told == known:
        return types.RelatedUnchangedDocumentDiagnosticReport(told)
    return types.RelatedFullDocumentDiagnosticReport(diagnostics(view), result_id=told)


def _related(view: View, flaw: Flaw) -> list[types.DiagnosticRelatedInformation]:
    return [
        types.DiagnosticRelatedInformation(types.Location(view.uri, view.page.range(span)), word)
        for span, word in flaw.also
    ]
