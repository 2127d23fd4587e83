"""What a client can do; one that cannot gets the most of what it can."""

from __future__ import annotations

from lsprotocol import types
from msgspec import Struct


class Abilities(Struct, frozen=True, kw_only=True):
    """Each is off where the client does not speak of it.

    `asks`: it asks for diagnostics, and is not told unasked, for editors show both.
    """

    asks: bool = False
    asks_again: bool = False
    """It asks for diagnostics again when it is told to."""
    related: bool = False
    data: bool = False
    markdown: bool = False
    nested_symbols: bool = False
    literal_actions: bool = False
    versioned_edits: bool = False
    lenses_again: bool = False
    folds: int | None = None
    """Folding ranges it wants at most."""


def abilities(client: types.ClientCapabilities) -> Abilities:
    """What a client said at its beginning."""
    text = client.text_document or types.TextDocumentClientCapabilities()
    space = client.workspace or types.WorkspaceClientCapabilities()
    shown = text.diagnostic or text.publish_diagnostics
    formats = text.hover.content_format if text.hover else None
    return Abilities(
        asks=text.diagnostic is not None,
        asks_again=bool(space.diagnostics and space.diagnostics.refresh_support),
        related=bool(shown and shown.related_information),
        data=bool(shown and shown.data_support),
        markdown=types.MarkupKind.Markdown in (formats or ()),
        nested_symbols=bool(
            text.document_symbol and text.document_symbol.hierarchical_document_symbol_support
        ),
        literal_actions=bool(text.code_action and text.code_action.code_action_literal_support),
        versioned_edits=bool(space.workspace_edit and space.workspace_edit.document_changes),
        lenses_again=bool(space.code_lens and space.code_lens.refresh_support),
        folds=text.folding_range.range_limit if text.folding_range else None,
    )
