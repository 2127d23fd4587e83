"""Every feature of the language server of rubrics, with the capabilities of real editors.

VS Code of that version is told what is wrong; Neovim asks for it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

EDITORS = ["visual-studio-code", "neovim"]
GOOD = """\
# Ours

## Patterns

### Handlers are tested

Severity: should
Applies to: `src/**`, `*.md`
Evidence: gate:tests, rule:false-complete, diff

Every handler has a test that fails without it.

## Antipatterns

- **Permission-seeking**: it asks for what it can do itself.
- **No print**: a print statement is left in the code. {#print}
"""
CONFIG = ClientServerConfig(
    server_command=[sys.executable, "-Im", "sidecar", "lsp"],
    server_env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"},
)
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_lsp.fixture(params=EDITORS, scope="module", config=CONFIG)  # type: ignore[untyped-decorator]
async def client(request: pytest.FixtureRequest, lsp_client: LanguageClient) -> AsyncIterator[None]:
    able = client_capabilities(request.param)
    await lsp_client.initialize_session(types.InitializeParams(capabilities=able))
    yield
    await lsp_client.shutdown_session()


class Doc:
    """A rubric that is open in a client."""

    def __init__(self, client: LanguageClient, file: Path) -> None:
        self.client = client
        self.uri = file.as_uri()
        self.id = types.TextDocumentIdentifier(self.uri)
        self.text = ""
        self.version = 0

    def open(self, text: str) -> None:
        self.text = text
        document = types.TextDocumentItem(self.uri, types.LanguageKind.Markdown, self.version, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(document))

    def change(self, text: str) -> None:
        self.text, self.version = text, self.version + 1
        document = types.VersionedTextDocumentIdentifier(self.version, self.uri)
        whole = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [whole]))

    async def wrong(self) -> list[types.Diagnostic]:
        """What the editor shows by now."""
        report = await self.client.text_document_diagnostic_async(types.DocumentDiagnosticParams(self.id))
        assert isinstance(report, types.RelatedFullDocumentDiagnosticReport)
        if self.uri in self.client.diagnostics:  # a client that does not ask is told the same
            while list(self.client.diagnostics[self.uri]) != list(report.items):
                await self.client.wait_for_notification("textDocument/publishDiagnostics")
        return list(report.items)

    def at(self, words: str, after: int = 0) -> types.Position:
        place = self.text.index(words) + after
        above = self.text[:place]
        return types.Position(above.count("\n"), place - above.rfind("\n") - 1)

    async def hover(self, words: str, after: int = 1) -> str:
        found = await self.client.text_document_hover_async(types.HoverParams(self.id, self.at(words, after)))
        return found.contents.value if found and isinstance(found.contents, types.MarkupContent) else ""

    async def completions(self, words: str) -> list[types.CompletionItem]:
        params = types.CompletionParams(self.id, self.at(words, len(words)))
        found = await self.client.text_document_completion_async(params)
        assert not isinstance(found, types.CompletionList)
        return list(found or ())

    async def actions(self, *only: str) -> list[types.CodeAction]:
        begin = types.Position(0, 0)
        context = types.CodeActionContext([], only=list(only) or None)
        params = types.CodeActionParams(self.id, types.Range(begin, begin), context)
        found = await self.client.text_document_code_action_async(params)
        return [each for each in found or () if isinstance(each, types.CodeAction)]

    def edited(self, edits: Any) -> str:
        """The text with edits, as an editor makes them."""
        rows = self.text.split("\n")
        starts = [len("\n".join(rows[:number])) + (number > 0) for number in range(len(rows))]
        text = self.text
        for edit in sorted(edits, key=lambda each: (each.range.start.line, each.range.start.character))[::-1]:
            begin, end = (starts[at.line] + at.character for at in (edit.range.start, edit.range.end))
            text = text[:begin] + edit.new_text + text[end:]
        return text

    def done(self, action: types.CodeAction) -> str:
        edit = action.edit
        assert edit is not None
        if edit.changes is not None:
            return self.edited(edit.changes[self.uri])
        assert edit.document_changes is not None
        (change,) = edit.document_changes
        assert isinstance(change, types.TextDocumentEdit)
        assert (change.text_document.uri, change.text_document.version) == (self.uri, self.version)
        return self.edited(change.edits)


@pytest.fixture
def doc(client: LanguageClient, tmp_path: Path) -> Doc:
    """The rubric of a project with three files."""
    for name in ("src/shop.py", "src/a/deep.py", "README.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    file = tmp_path / ".supervisor" / "rubric.md"
    file.parent.mkdir()
    return Doc(client, file)


@pytest.mark.process
async def test_a_missing_section_is_shown_and_its_fix_mends_it(doc: Doc) -> None:
    doc.open("## Patterns\n- **A**: b\n")
    (found,) = await doc.wrong()
    assert (found.code, found.severity, found.source) == (
        "missing-section",
        types.DiagnosticSeverity.Error,
        "supervisor-rubric",
    )
    fixes = [each for each in await doc.actions("quickfix") if each.is_preferred]
    assert [fix.title for fix in fixes] == ["Put in `## Antipatterns`"]
    assert [each.code for each in fixes[0].diagnostics or ()] == ["missing-section"]
    doc.change(doc.done(fixes[0]))
    assert [each for each in await doc.wrong() if each.severity == types.DiagnosticSeverity.Error] == []


@pytest.mark.parametrize("text", ["", "Just words.\n", "# Title\n\n## Notes\n\n- one\n"])
async def test_where_nothing_of_a_rubric_is_there_the_default_is_on_offer(doc: Doc, text: str) -> None:
    doc.open(text)
    (start,) = [each for each in await doc.actions() if each.title == "Start from the default rubric"]
    assert len(start.diagnostics or ()) == 2
    doc.change(doc.done(start))
    assert not [each for each in await doc.wrong() if each.severity != types.DiagnosticSeverity.Hint]
    assert "### DONE-AS-ASKED" in doc.text
    assert doc.text.startswith("# What done looks like in ")
    assert "copy it to" not in doc.text, "that is what the default says of itself"
    assert "Start from the default rubric" not in [each.title for each in await doc.actions()]


async def test_all_slips_of_the_pen_are_mended_at_once_and_only_where_it_is_asked_for(doc: Doc) -> None:
    doc.open(GOOD.replace("## Antipatterns", "## Anti-patterns"))
    assert [each.title for each in await doc.actions("source.organizeImports")] == []
    (action,) = await doc.actions("source.fixAll")
    assert action.kind == types.CodeActionKind.SourceFixAll
    doc.change(doc.done(action))
    assert "## Antipatterns" in doc.text
    assert await doc.actions("source.fixAll") == []


async def test_a_hover_says_what_decides_a_criterion_and_what_it_weighs(doc: Doc) -> None:
    doc.open(GOOD)
    tested = await doc.hover("Handlers are tested")
    assert "`handlers-are-tested`" in tested
    assert "Decided by the gate `tests`" in tested
    assert "the changed files" in tested
    assert "Severity should" in tested
    seeking = await doc.hover("Permission-seeking")
    assert "Decided by the judge" in seeking
    assert "of its findings were right when it was measured" in seeking
    assert "for each of these" in await doc.hover("Patterns")
    assert await doc.hover("Every handler") == ""


async def test_a_hover_on_a_glob_counts_the_projects_files(doc: Doc) -> None:
    doc.open(GOOD)
    await known(doc)
    assert await doc.hover("src/**") == "`src/**` (2 files of the project)"
    assert "(1 file of the project)" in await doc.hover("*.md")


async def known(doc: Doc) -> None:
    """Wait until the project was looked at: until then a glob has no number."""
    for _ in range(1000):
        if "project" in await doc.hover("src/**"):
            return
    pytest.fail("the project was never looked at")


async def test_completion_offers_what_fits(doc: Doc) -> None:
    doc.open(GOOD)
    await known(doc)
    labels = {
        "## Legi": "## Legitimate stops",
        "### X\n\nSev": "When",
        "### X\n\nSeverity: ": "note",
        "### X\n\nEvidence: di": "rule:narration",
        "### X\n\nApplies to: ": "src/**",
        "### X\n\nApplies to: `": "*.py",
    }
    for typed, wanted in labels.items():
        doc.change(f"{GOOD}\n{typed}")
        assert wanted in [each.label for each in await doc.completions(typed)], typed
    doc.change(f"{GOOD}\n```\nSeverity: ")
    assert await doc.completions("```\nSeverity: ") == []


async def test_a_completion_replaces_what_was_typed_of_it(doc: Doc) -> None:
    doc.open(f"{GOOD}\n### X\n\nEvidence: diff, mes")
    (item,) = [each for each in await doc.completions("diff, mes") if each.label == "message"]
    assert isinstance(item.text_edit, types.TextEdit)
    assert doc.edited([item.text_edit]).endswith("Evidence: diff, message")


async def test_the_outline_is_sections_with_their_criteria(doc: Doc) -> None:
    doc.open(GOOD)
    found = await doc.client.text_document_document_symbol_async(types.DocumentSymbolParams(doc.id))
    assert found is not None
    sections = [each for each in found if isinstance(each, types.DocumentSymbol)]
    assert [each.name for each in sections] == ["Patterns", "Antipatterns"]
    criteria = [one for each in sections for one in each.children or ()]
    assert [(one.name, one.detail) for one in criteria] == [
        ("Handlers are tested", "handlers-are-tested"),
        ("Permission-seeking", "permission-seeking"),
        ("No print", "print"),
    ]
    assert criteria[0].selection_range.start == doc.at("Handlers")


async def test_sections_and_criteria_of_several_lines_fold(doc: Doc) -> None:
    doc.open(GOOD)
    found = await doc.client.text_document_folding_range_async(types.FoldingRangeParams(doc.id))
    assert [(each.start_line, each.end_line) for each in found or ()] == [(2, 10), (4, 10), (12, 15)]


async def test_ids_that_are_not_in_the_text_stand_behind_the_names(doc: Doc) -> None:
    doc.open(GOOD)
    whole = types.Range(types.Position(0, 0), types.Position(99, 0))
    found = await doc.client.text_document_inlay_hint_async(types.InlayHintParams(doc.id, whole))
    assert [each.label for each in found or ()] == ["handlers-are-tested", "permission-seeking"]
    part = types.Range(types.Position(0, 0), types.Position(6, 0))
    found = await doc.client.text_document_inlay_hint_async(types.InlayHintParams(doc.id, part))
    assert [each.position for each in found or ()] == [doc.at("Handlers are tested", 19)]


async def test_formatting_gives_the_usual_form_once(doc: Doc) -> None:
    doc.open("## Patterns\n* **A**: b  \n  __severity__ : SHOULD\n<!-- why  -->\n## Antipatterns\n- c")
    options = types.FormattingOptions(tab_size=4, insert_spaces=True)
    params = types.DocumentFormattingParams(doc.id, options)
    edits = await doc.client.text_document_formatting_async(params)
    doc.change(doc.edited(edits))
    assert doc.text == (
        "## Patterns\n\n- **A**: b\n  Severity: should\n<!-- why  -->\n\n## Antipatterns\n\n- c\n"
    )
    assert not await doc.client.text_document_formatting_async(params)


async def test_nothing_is_kept_so_there_is_nothing_to_replay(doc: Doc) -> None:
    doc.open(GOOD)
    assert not await doc.client.text_document_code_lens_async(types.CodeLensParams(doc.id))


async def test_a_question_about_what_is_known_is_answered_with_unchanged(doc: Doc) -> None:
    doc.open("## Patterns\n- **A**: b\n")

    async def ask(known: str | None) -> Any:
        params = types.DocumentDiagnosticParams(doc.id, previous_result_id=known)
        return await doc.client.text_document_diagnostic_async(params)

    first = await ask(None)
    assert len(first.items) == 1
    again = await ask(first.result_id)
    assert (again.kind, again.result_id) == ("unchanged", first.result_id)
    doc.change("## Patterns\n- **A**: c\n")
    assert (await ask(first.result_id)).kind == "full"


async def test_of_other_files_nothing_is_known(doc: Doc, tmp_path: Path) -> None:
    other = Doc(doc.client, tmp_path / "notes" / "rubric.md")
    other.open("## Patterns\n* **A**: b  \n")
    assert await other.wrong() == []
    assert await other.hover("Patterns") == ""
    assert await other.actions() == []
    assert await other.client.text_document_code_lens_async(types.CodeLensParams(other.id)) is None
    assert other.uri not in doc.client.diagnostics
