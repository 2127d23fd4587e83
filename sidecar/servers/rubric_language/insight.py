"""Hovers, completions, symbols, folding and inlay hints of an open rubric, in types of the protocol."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from typing import Final, NamedTuple

from lsprotocol import types

from sidecar.kernel.rubric import Flaw, LocatedCriterion, RubricOutline, RubricSection, TextSpan
from sidecar.servers.rubric_language.desk import RubricAnalysis
from sidecar.servers.rubric_language.editing.completion import (
    CompletionKind,
    CompletionOffer,
    find_completions,
)
from sidecar.servers.rubric_language.editing.formatting import foldable_spans, implicit_ids, split_rows
from sidecar.servers.rubric_language.editing.hover import HistoryLookup, find_hover_text
from sidecar.servers.rubric_language.reading import ClientFeatures

# --- conversion between places in a text and positions (line, column in units of an encoding) ---------------


COLUMN_UNITS: Final = {
    types.PositionEncodingKind.Utf8: ("utf-8", 1),
    types.PositionEncodingKind.Utf16: ("utf-16-le", 2),
    types.PositionEncodingKind.Utf32: ("utf-32-le", 4),
}
"""The encoding whose units a column counts, and the bytes of one unit."""


class DocumentText:
    """A text in an editor. Lines end with LF, CRLF or a single CR."""

    def __init__(self, text: str, encoding: types.PositionEncodingKind) -> None:
        self.text = text
        self._encoding, self._size = COLUMN_UNITS[encoding]

    def position(self, place: int) -> types.Position:
        text = self.text
        line = text.count("\n", 0, place)
        if "\r" in text:
            line += text.count("\r", 0, place) - text.count("\r\n", 0, place)
        begin = max(text.rfind("\n", 0, place), text.rfind("\r", 0, place)) + 1
        return types.Position(line, self._width(text[begin:place]))

    def range(self, span: TextSpan) -> types.Range:
        return types.Range(self.position(span.begin), self.position(span.end))

    def place(self, position: types.Position) -> int:
        """Return the place nearest to a position, which may be after the end of its line or of the text."""
        row = next(islice(split_rows(self.text), position.line, None), None)
        if row is None:
            return len(self.text)
        return row.begin + self._length(self.text[row.begin : row.end], position.character)

    def span(self, found: types.Range) -> TextSpan:
        return TextSpan(self.place(found.start), self.place(found.end))

    def _width(self, part: str) -> int:
        if part.isascii():
            return len(part)
        return len(part.encode(self._encoding, "surrogatepass")) // self._size

    def _length(self, row: str, units: int) -> int:
        """Return how many characters of a row fit into `units`; incomplete characters do not count."""
        if row.isascii():
            return min(len(row), units)
        raw = row.encode(self._encoding, "surrogatepass")[: units * self._size]
        return len(raw.decode(self._encoding, "ignore"))


# --- snapshot of an open rubric -----------------------------------------------------------------------------


TOO_BIG: Final = "too-big"
"""Code of the flaw of a text that is not parsed; nothing else is reported until it is shorter."""


class DocumentIdentity(NamedTuple):
    """The file and the version of its text. `path` is that of `uri`."""

    uri: str
    path: str
    version: int | None


class RubricView:
    """The data for an answer; computed only as far as needed."""

    def __init__(
        self, document: DocumentIdentity, page: DocumentText, able: ClientFeatures, desk: RubricAnalysis
    ) -> None:
        self.uri, self.path, self.version = document
        self.page = page
        self.able = able
        self.desk = desk

    @cached_property
    def flaws(self) -> tuple[Flaw, ...]:
        return self.desk.flaws(self.path, self.page.text) or ()

    @cached_property
    def outline(self) -> RubricOutline | None:
        """The parsed text, None if the text is too big."""
        read = self.desk.outline(self.path, self.page.text)
        if read and not read.sections and any(flaw.code == TOO_BIG for flaw in self.flaws):
            return None
        return read


# --- answers ------------------------------------------------------------------------------------------------


COMPLETION_KINDS: Final = {
    CompletionKind.SECTION: types.CompletionItemKind.Module,
    CompletionKind.KEY: types.CompletionItemKind.Property,
    CompletionKind.VALUE: types.CompletionItemKind.EnumMember,
    CompletionKind.SOURCE: types.CompletionItemKind.Reference,
    CompletionKind.GLOB: types.CompletionItemKind.File,
}
SECTION_SYMBOL: Final = types.SymbolKind.Namespace
CRITERION_SYMBOL: Final = types.SymbolKind.Key
NAMELESS: Final = "(without a name)"
"""The protocol requires a name for every symbol."""


def hover_information(view: RubricView, position: types.Position) -> types.Hover | None:
    """Return what is known about the place under the cursor."""
    if view.outline is None:
        return None
    past = HistoryLookup(lambda criterion: view.desk.history(view.path, criterion), _format_day)
    told = find_hover_text(view.outline, view.page.place(position), view.desk.around(view.path), past)
    if told is None:
        return None
    kind, text = types.MarkupKind.Markdown, told.text
    if not view.able.markdown:
        kind, text = types.MarkupKind.PlainText, text.replace("**", "").replace("`", "")
    return types.Hover(types.MarkupContent(kind, text), view.page.range(told.place))


def completion_items(view: RubricView, position: types.Position) -> list[types.CompletionItem]:
    """Return what could be typed; the client filters by what has been typed."""
    if view.outline is None:
        return []
    offers = find_completions(view.outline, view.page.place(position), view.desk.around(view.path))
    return [_completion_item(view, offer, number) for number, offer in enumerate(offers)]


def document_symbols(view: RubricView) -> list[types.DocumentSymbol] | list[types.SymbolInformation]:
    """Return the sections with their criteria; as a flat list for a client without nested symbols."""
    sections = view.outline.sections if view.outline else ()
    if view.able.nested_symbols:
        return [_section_symbol(view, section) for section in sections]
    return [each for section in sections for each in _flat_symbols(view, section)]


def folding_ranges(view: RubricView) -> list[types.FoldingRange]:
    """Return everything longer than one line, up to the limit that the client sets."""
    ranges = [view.page.range(span) for span in foldable_spans(view.outline)] if view.outline else []
    found = [
        types.FoldingRange(each.start.line, each.end.line)
        for each in ranges
        if each.end.line > each.start.line
    ]
    return found[: view.able.folds]


def inlay_hints(view: RubricView, asked: types.Range) -> list[types.InlayHint]:
    """Return the IDs that are derived from names, to be shown after the names."""
    if view.outline is None:
        return []
    wanted = view.page.span(asked)
    return [
        types.InlayHint(
            view.page.position(one.name.end),
            name,
            tooltip="The id by which a verdict names it; {#id} at the end of the line sets another.",
            padding_left=True,
        )
        for one, name in implicit_ids(view.outline)
        if one.name.end in wanted
    ]


def _completion_item(view: RubricView, offer: CompletionOffer, number: int) -> types.CompletionItem:
    return types.CompletionItem(
        label=offer.label,
        kind=COMPLETION_KINDS[offer.kind],
        detail=offer.about,
        sort_text=f"{number:04}",
        filter_text=offer.label,
        text_edit=types.TextEdit(view.page.range(offer.place), offer.text),
    )


def _section_symbol(view: RubricView, section: RubricSection) -> types.DocumentSymbol:
    return types.DocumentSymbol(
        section.name or NAMELESS,
        SECTION_SYMBOL,
        view.page.range(section.whole),
        view.page.range(_clamp_span(section.title, section.whole)),
        children=[_criterion_symbol(view, one) for one in section.criteria],
    )


def _criterion_symbol(view: RubricView, one: LocatedCriterion) -> types.DocumentSymbol:
    return types.DocumentSymbol(
        one.criterion.name or NAMELESS,
        CRITERION_SYMBOL,
        view.page.range(one.whole),
        view.page.range(_clamp_span(one.name, one.whole)),
        detail=one.criterion.id,
    )


def _flat_symbols(view: RubricView, section: RubricSection) -> Iterator[types.SymbolInformation]:
    name = section.name or NAMELESS
    yield types.SymbolInformation(
        types.Location(view.uri, view.page.range(section.whole)), name, SECTION_SYMBOL
    )
    for one in section.criteria:
        place = types.Location(view.uri, view.page.range(one.whole))
        yield types.SymbolInformation(
            place, one.criterion.name or NAMELESS, CRITERION_SYMBOL, container_name=name
        )


def _clamp_span(part: TextSpan, whole: TextSpan) -> TextSpan:
    """Clamp `part` to `whole`: the protocol requires that the selected range lies within the full one."""
    begin = min(max(part.begin, whole.begin), whole.end)
    return TextSpan(begin, max(begin, min(part.end, whole.end)))


def _format_day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()
