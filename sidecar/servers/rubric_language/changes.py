"""What can be changed in a rubric: code actions, and its usual form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from lsprotocol import types

from sidecar.model.flaw import Edit
from sidecar.policy.editing.choosing import afresh, safe_edits, touched
from sidecar.policy.editing.formatting import change, formatted, same
from sidecar.servers.rubric_language.diagnostics import diagnostic
from sidecar.servers.rubric_language.view import View

FIX: Final = types.CodeActionKind.QuickFix
FIX_ALL: Final = types.CodeActionKind.SourceFixAll
MISSING: Final = "missing-section"


def actions(view: View, asked: types.CodeActionParams) -> list[types.CodeAction]:
    """What helps in the range that is asked about; nothing for a client that knows commands only."""
    if not view.able.literal_actions:
        return []
    only = asked.context.only
    found = []
    if _wanted(FIX, only):
        found += [*_quick(view, asked), *_afresh(view)]
    if _wanted(FIX_ALL, only) and (edits := safe_edits(view.flaws)):
        found.append(types.CodeAction("Mend all slips of the pen", FIX_ALL, edit=_edit(view, edits)))
    return _each_once(found)


def form(view: View) -> list[types.TextEdit]:
    """The edits that give a rubric its usual form; none where the judge would read something else in it."""
    if view.outline is None:
        return []
    text = formatted(view.outline)
    edit = change(view.page.text, text)
    after = view.desk.outline(view.path, text) if edit else None
    return [_text_edit(view, edit)] if edit and after and same(view.outline, after) else []


def _quick(view: View, asked: types.CodeActionParams) -> Iterator[types.CodeAction]:
    for flaw in touched(view.flaws, view.page.span(asked.range)):
        for fix in flaw.fixes:
            yield types.CodeAction(
                fix.title,
                FIX,
                diagnostics=[diagnostic(view, flaw)],
                is_preferred=True if len(flaw.fixes) == 1 else None,
                edit=_edit(view, fix.edits),
            )


def _afresh(view: View) -> Iterator[types.CodeAction]:
    """Where nothing of a rubric is there yet, wherever the cursor is."""
    empty = view.outline and not any(section.role for section in view.outline.sections)
    if view.outline and empty and (fix := afresh(view.outline, view.desk.beginning(view.path))):
        mended = [diagnostic(view, flaw) for flaw in view.flaws if flaw.code == MISSING]
        yield types.CodeAction(fix.title, FIX, diagnostics=mended, edit=_edit(view, fix.edits))


def _each_once(found: Iterable[types.CodeAction]) -> list[types.CodeAction]:
    """Two flaws may be mended by the same edit."""
    return list({(action.title, str(action.edit)): action for action in reversed(list(found))}.values())[::-1]


def _wanted(kind: str, only: Iterable[str] | None) -> bool:
    return only is None or any(kind == one or kind.startswith(f"{one}.") for one in only)


def _edit(view: View, edits: Iterable[Edit]) -> types.WorkspaceEdit:
    found = [_text_edit(view, edit) for edit in edits]
    if not view.able.versioned_edits:
        return types.WorkspaceEdit(changes={view.uri: found})
    document = types.OptionalVersionedTextDocumentIdentifier(view.uri, view.version)
    return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(document, found)])


def _text_edit(view: View, edit: Edit) -> types.TextEdit:
    return types.TextEdit(view.page.range(edit.place), edit.text)
