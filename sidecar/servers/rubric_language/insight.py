"""What is shown beside a rubric's text, and offered while it is typed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from lsprotocol import types

from sidecar.model.outline import Located, Section, Span
from sidecar.policy.editing.completion import Kind, Offer, complete
from sidecar.policy.editing.hover import Past, hover
from sidecar.policy.editing.shape import folds, unsaid_ids
from sidecar.servers.rubric_language.view import View

KINDS: Final = {
    Kind.SECTION: types.CompletionItemKind.Module,
    Kind.KEY: types.CompletionItemKind.Property,
    Kind.VALUE: types.CompletionItemKind.EnumMember,
    Kind.SOURCE: types.CompletionItemKind.Reference,
    Kind.GLOB: types.CompletionItemKind.File,
}
SECTION: Final = types.SymbolKind.Namespace
CRITERION: Final = types.SymbolKind.Key
NAMELESS: Final = "(without a name)"
"""The protocol wants a name for every symbol."""


def hovered(view: View, position: types.Position) -> types.Hover | None:
    """What is known of the place under the cursor."""
    if view.outline is None:
        return None
    past = Past(lambda criterion: view.desk.history(view.path, criterion), _day)
    told = hover(view.outline, view.page.place(position), view.desk.around(view.path), past)
    if told is None:
        return None
    kind, text = types.MarkupKind.Markdown, told.text
    if not view.able.markdown:
        kind, text = types.MarkupKind.PlainText, text.replace("**", "").replace("`", "")
    return types.Hover(types.MarkupContent(kind, text), view.page.range(told.place))


def completed(view: View, position: types.Position) -> list[types.CompletionItem]:
    """What could be typed; the client leaves out what does not go with what is there."""
    if view.outline is None:
        return []
    offers = complete(view.outline, view.page.place(position), view.desk.around(view.path))
    return [_item(view, offer, number) for number, offer in enumerate(offers)]


def symbols(view: View) -> list[types.DocumentSymbol] | list[types.SymbolInformation]:
    """The sections with their criteria; one after the other for a client that knows no nesting."""
    sections = view.outline.sections if view.outline else ()
    if view.able.nested_symbols:
        return [_section(view, section) for section in sections]
    return [each for section in sections for each in _flat(view, section)]


def folded(view: View) -> list[types.FoldingRange]:
    """What has more than one line. The protocol's limit is the client's to tell."""
    ranges = [view.page.range(span) for span in folds(view.outline)] if view.outline else []
    found = [
        types.FoldingRange(each.start.line, each.end.line)
        for each in ranges
        if each.end.line > each.start.line
    ]
    return found[: view.able.folds]


def hinted(view: View, asked: types.Range) -> list[types.InlayHint]:
    """The ids that are made of names, behind the names."""
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
        for one, name in unsaid_ids(view.outline)
        if one.name.end in wanted
    ]


def _item(view: View, offer: Offer, number: int) -> types.CompletionItem:
    return types.CompletionItem(
        label=offer.label,
        kind=KINDS[offer.kind],
        detail=offer.about,
        sort_text=f"{number:04}",
        filter_text=offer.label,
        text_edit=types.TextEdit(view.page.range(offer.place), offer.text),
    )


def _section(view: View, section: Section) -> types.DocumentSymbol:
    return types.DocumentSymbol(
        section.name or NAMELESS,
        SECTION,
        view.page.range(section.whole),
        view.page.range(_within(section.title, section.whole)),
        children=[_criterion(view, one) for one in section.criteria],
    )


def _criterion(view: View, one: Located) -> types.DocumentSymbol:
    return types.DocumentSymbol(
        one.criterion.name or NAMELESS,
        CRITERION,
        view.page.range(one.whole),
        view.page.range(_within(one.name, one.whole)),
        detail=one.criterion.id,
    )


def _flat(view: View, section: Section) -> Iterator[types.SymbolInformation]:
    name = section.name or NAMELESS
    yield types.SymbolInformation(types.Location(view.uri, view.page.range(section.whole)), name, SECTION)
    for one in section.criteria:
        place = types.Location(view.uri, view.page.range(one.whole))
        yield types.SymbolInformation(place, one.criterion.name or NAMELESS, CRITERION, container_name=name)


def _within(part: Span, whole: Span) -> Span:
    """The protocol wants what is selected to lie in what is shown."""
    begin = min(max(part.begin, whole.begin), whole.end)
    return Span(begin, max(begin, min(part.end, whole.end)))


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()
