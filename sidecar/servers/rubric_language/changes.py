"""Diagnostics, code actions and formatting of a rubric, in types of the protocol."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from lsprotocol import types

from sidecar.kernel.rubric import Flaw, FlawSeverity, TextEdit, TextSpan
from sidecar.kernel.text import clean_text
from sidecar.servers.rubric_language.editing.formatting import (
    edit_between_texts,
    find_touched_flaws,
    format_rubric,
    is_same_for_judge,
    new_rubric_fix,
    safe_edits,
)
from sidecar.servers.rubric_language.insight import RubricView

# --- diagnostics --------------------------------------------------------------------------------------------


DIAGNOSTIC_SOURCE: Final = "supervisor-rubric"
SEVERITIES: Final = {
    FlawSeverity.ERROR: types.DiagnosticSeverity.Error,
    FlawSeverity.WARNING: types.DiagnosticSeverity.Warning,
    FlawSeverity.HINT: types.DiagnosticSeverity.Hint,
}


def list_diagnostics(view: RubricView) -> list[types.Diagnostic]:
    """Return all diagnostics, in the order in which the flaws were found."""
    return [flaw_diagnostic(view, flaw) for flaw in view.flaws]


def flaw_diagnostic(view: RubricView, flaw: Flaw) -> types.Diagnostic:
    """Return the diagnostic of a flaw. `data` lists its fixes, for clients that support it."""
    return types.Diagnostic(
        range=view.page.range(TextSpan(flaw.begin, flaw.end)),
        message=clean_text(f"{flaw.why}\n{flaw.help}" if flaw.help else flaw.why),
        severity=SEVERITIES[flaw.weight],
        code=flaw.code,
        source=DIAGNOSTIC_SOURCE,
        related_information=_related_locations(view, flaw) if view.able.related and flaw.also else None,
        data={"fixes": [fix.title for fix in flaw.fixes]} if view.able.data and flaw.fixes else None,
    )


def diagnostic_report(view: RubricView | None, known: str | None) -> types.DocumentDiagnosticReport:
    """Return the report for a client that asks. `known` is the ID of the last report that it has."""
    if view is None:
        return types.RelatedFullDocumentDiagnosticReport([])
    told = f"{hash((view.page.text, view.flaws)) & (2**64 - 1):016x}"
    if told == known:
        return types.RelatedUnchangedDocumentDiagnosticReport(told)
    return types.RelatedFullDocumentDiagnosticReport(list_diagnostics(view), result_id=told)


def _related_locations(view: RubricView, flaw: Flaw) -> list[types.DiagnosticRelatedInformation]:
    return [
        types.DiagnosticRelatedInformation(types.Location(view.uri, view.page.range(span)), word)
        for span, word in flaw.also
    ]


# --- code actions and formatting ----------------------------------------------------------------------------


QUICK_FIX: Final = types.CodeActionKind.QuickFix
FIX_ALL: Final = types.CodeActionKind.SourceFixAll
MISSING_SECTION: Final = "missing-section"


def code_actions(view: RubricView, asked: types.CodeActionParams) -> list[types.CodeAction]:
    """Return the actions for the requested range; none for a client that supports only commands."""
    if not view.able.literal_actions:
        return []
    only = asked.context.only
    found = []
    if _is_wanted_kind(QUICK_FIX, only):
        found += [*_quick_fixes(view, asked), *_starting_fix(view)]
    if _is_wanted_kind(FIX_ALL, only) and (edits := safe_edits(view.flaws)):
        found.append(
            types.CodeAction("Mend all slips of the pen", FIX_ALL, edit=_workspace_edit(view, edits))
        )
    return _unique_actions(found)


def formatting_edits(view: RubricView) -> list[types.TextEdit]:
    """Return the edits that format a rubric; none if they would change what the judge reads."""
    if view.outline is None:
        return []
    text = format_rubric(view.outline)
    edit = edit_between_texts(view.page.text, text)
    after = view.desk.outline(view.path, text) if edit else None
    return [_text_edit(view, edit)] if edit and after and is_same_for_judge(view.outline, after) else []


def _quick_fixes(view: RubricView, asked: types.CodeActionParams) -> Iterator[types.CodeAction]:
    for flaw in find_touched_flaws(view.flaws, view.page.span(asked.range)):
        for fix in flaw.fixes:
            yield types.CodeAction(
                fix.title,
                QUICK_FIX,
                diagnostics=[flaw_diagnostic(view, flaw)],
                is_preferred=True if len(flaw.fixes) == 1 else None,
                edit=_workspace_edit(view, fix.edits),
            )


def _starting_fix(view: RubricView) -> Iterator[types.CodeAction]:
    """Offer to insert a new rubric if no section exists yet, wherever the cursor is."""
    empty = view.outline and not any(section.role for section in view.outline.sections)
    if view.outline and empty and (fix := new_rubric_fix(view.outline, view.desk.beginning(view.path))):
        mended = [flaw_diagnostic(view, flaw) for flaw in view.flaws if flaw.code == MISSING_SECTION]
        yield types.CodeAction(
            fix.title, QUICK_FIX, diagnostics=mended, edit=_workspace_edit(view, fix.edits)
        )


def _unique_actions(found: Iterable[types.CodeAction]) -> list[types.CodeAction]:
    """Drop duplicates, as the same edit may fix two flaws."""
    return list({(action.title, str(action.edit)): action for action in reversed(list(found))}.values())[::-1]


def _is_wanted_kind(kind: str, only: Iterable[str] | None) -> bool:
    return only is None or any(kind == one or kind.startswith(f"{one}.") for one in only)


def _workspace_edit(view: RubricView, edits: Iterable[TextEdit]) -> types.WorkspaceEdit:
    found = [_text_edit(view, edit) for edit in edits]
    if not view.able.versioned_edits:
        return types.WorkspaceEdit(changes={view.uri: found})
    document = types.OptionalVersionedTextDocumentIdentifier(view.uri, view.version)
    return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(document, found)])


def _text_edit(view: RubricView, edit: TextEdit) -> types.TextEdit:
    return types.TextEdit(view.page.range(edit.place), edit.text)
