"""The shape of a rubric: what can be folded, and which ids are not to be read in the text."""

from __future__ import annotations

from collections.abc import Iterator

from sidecar.model.outline import Located, Outline, Span


def folds(outline: Outline) -> Iterator[Span]:
    """Each section and each criterion; those of one line are among them."""
    for section in outline.sections:
        yield section.whole
        yield from (one.whole for one in section.criteria)


def unsaid_ids(outline: Outline) -> Iterator[tuple[Located, str]]:
    """Each criterion whose id its author did not choose with `{#id}`, and that id."""
    for one in outline.criteria:
        if not says_id(outline, one):
            yield one, one.criterion.id


def says_id(outline: Outline, one: Located) -> bool:
    """Whether the id of a criterion stands behind its name."""
    return f"{{#{one.criterion.id}}}" in outline.text[one.name.end : one.whole.end].partition("\n")[0]
