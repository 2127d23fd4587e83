"""The features of the language server of rubrics, with the capabilities of real editors.

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

import sidecar

EDITORS = ["visual-studio-code", "neovim"]
GOOD = """\
# Ours

## Patterns

### Handlers are tested

Severity: should
Applies to: `src/**`, `*.md`
Evidence: gate:tests, rule:permission-seeking, diff

Every handler has a test that fails without it.

## Antipatterns

- **Permission-seeking**: it asks for what it can do itself.
- **No print**: a print statement is left in the code. {#print}
"""
CONFIG = ClientServerConfig(
    server_command=[sys.executable, "-m", "sidecar", "lsp"],
    server_env={
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "PYTHONPATH": str(Path(sidecar.__file__).parents[1]),
    },
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

    async def actions(self, *only: str, at: str = "") -> list[types.CodeAction]:
        begin = self.at(at)
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
        assert edit.changes is not None
        return self.edited(edit.changes[self.uri])


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


async def test_a_hover_says_what_decides_a_criterion_and_what_it_weighs(doc: Doc) -> None:
    doc.open(GOOD)
    tested = await doc.hover("Handlers are tested")
    assert "(handlers-are-tested)" in tested
    assert "Decided by the check tests" in tested
    assert "the changed files" in tested
    assert "Severity should" in tested
    seeking = await doc.hover("Permission-seeking")
    assert "Decided by the judge" in seeking
    assert "The rule permission-seeking (" in seeking
    assert "for each of these" in await doc.hover("Patterns")
    assert await doc.hover("Every handler") == ""


async def test_a_completion_replaces_what_was_typed_of_it(doc: Doc) -> None:
    doc.open(f"{GOOD}\n### X\n\nEvidence: diff, mes")
    (item,) = [each for each in await doc.completions("diff, mes") if each.label == "message"]
    assert isinstance(item.text_edit, types.TextEdit)
    assert doc.edited([item.text_edit]).endswith("Evidence: diff, message")
