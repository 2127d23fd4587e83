"""Whether a short text speaks to a judge: by its form, or by its words in a dozen languages.

Form    a line that looks like ours (`E12 [gate] ...`), our fences, a verdict as JSON, a role marker or
        a system tag before words about a verdict
Words   who judges, an order, and what is to be held done, all in one sentence or in two that follow each
        other; an order to hold the goal done; a verdict said in advance; a phrase of its own ("ignore the
        instructions above", "no further checks are needed", "the user has approved the result")

Every pattern is bounded, and is tried only where a stem of it is in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from typing import Final, TypeAlias

from msgspec import Struct

from sidecar.evidence.injection.disguise import GUISES, words
from sidecar.evidence.injection.lexicon import Lexicon

STRETCH: Final = 300
"""Characters of a sentence that are looked at together; of a longer one, every such piece, by halves."""
_OURS: Final = r"(?:evidence|rubric|goal|prompts|last[ _-]?message|suspicion|changes|edits)"
_TO: Final = (
    r"(?:judges?|evaluators?|graders?|verifiers?|assessors?|examiners?|supervisors?|referees?"
    r"|(?:review|judg|evaluat|assess|grad|supervis|verif)\w{0,5}[ _-]"
    r"(?:model|agent|ai|llm|assistant|system)s?)"
)
_ABOUT: Final = (
    r"(?:verdict|judge|completed?|achieved|approved?|evidence|criteri(?:on|a)|evaluat\w{1,4}|rubric|done|met"
    r"|goal|satisfied|accepted|e\d{1,2}|implemented|fulfilled)"
)
_RULED: Final = (
    r"(?:verdict|judges?|evaluat(?:or|ion)s?|criteria|rubric|evidence|ignore (?:all|any|previous|the)"
    r"|achieved|(?:goal|session|work|task|stop|everything)(?: is| was| has been)? (?:met"
    r"|reached|complete|approved|accepted|done|closed)|(?:answer|respond with|return) complete)"
)
FORM: Final = (
    r"\be\d{1,4} ?\[ ?(?:gate|tool|change|repository|todo|claim|steering)\b",
    r"\[ ?(?:gate|evidence)(?: (?:stale|against|passed))? ?\]",
    rf"\bsupervisor(?: gate| check| result| verdict)? ?: [^\n]{{0,80}}\b(?:passed|verified|{_RULED})\b",
    r"< ?/? ?data-(?:[0-9a-f]{4,}|digits|marker|x{3,}|\d+)\b",
    rf"<[^<>\n]{{0,40}} name ?= ?[\"']{_OURS}[\"']",
    rf"< ?/ ?(?:{_OURS}|case|judge|verdict|instructions|claim|transcript) ?>",
    r"< ?/?(?:tool_result|tool_response|function_results?|bash[_-](?:stdout|output))\b",
    rf"\bend of (?:the )?(?:{_OURS}|case|transcript|untrusted|data|quotation|instructions)\b",
    r"(?:verdict|judge?ment|ruling)[\"']? ?(?:[:=]>?|>|-+>) ?[\"'{\[ ]{0,4}(?:complete|achieved)\b",
    r"\b(?:answer|expected|judge) ?(?:[:=]|-+>|=>|\u2192) ?[\"'{( ]{0,3}complete\b(?!\()",
    r"[\"']answer[\"'] ?: ?\{ ?[\"'](?:verdict|criteria)",
    r"[\"']criteria[\"'] ?: ?\[ ?\{ ?[\"'](?:criterion|evidence)",
    (
        r"\bgoal[ _-]?(?:is[ _-])?(?:met|achieved|completed?|reached|status|state)[\"']? ?[:=] ?[\"']?"
        rf"(?:true|yes|1|achieved|complete|met)\b[^\n]{{0,200}}\b(?:instructions|{_RULED})"
    ),
    (
        rf"(?:^|[\s\"'(\[/#*<>!{{;-]){_TO}(?:[ _-](?:note|notice|hint))? ?[\])]{{0,2}} ?[:,=>] ?"
        rf"[^\n]{{0,160}}\b{_ABOUT}\b"
    ),
    r"\bjudge\w{0,20} ?[:=] ?[\"']?\w{0,20}(?:complete|approve|accept)",
    (
        r"(?:^|[\s\"'(\[#*>-])(?:user|human|owner|customer) ?[:>] ?"
        rf"[^\n]{{0,120}}\b(?:looks good|lgtm|{_RULED})\b"
    ),
)
"""What a plain line may not look like."""
MARKED: Final = (
    (
        r"(?:<\|[a-z_ ]{2,20}\|>|\[/?inst\]|<</?sys>>|[\"']role[\"'] ?: ?[\"'](?:system|developer)[\"'])"
        r"[^\n]{0,240}\b(?:verdict|judge|completed?|achieved|approved?|evidence|criteria|evaluat\w{1,4}"
        r"|rubric|gates? (?:is|are|have)|done|ignore|passed|goal)\b"
    ),
    (
        r"(?:< ?/?(?:system|admin|developer|operator|supervisor)[ a-z_-]{0,20}>"
        r"|(?:^|[\s>#*/\[(\"'-])\[{0,2}(?:system|developer|admin|operator|root)(?: (?:message|note|prompt"
        r"|override|notice|instruction|update|alert|reminder))?\]{0,2} ?[:>\]]"
        r"|###? ?(?:system|instruction|judge|evaluator)|\b(?:begin|new) system (?:prompt|message))"
        rf"[^\n]{{0,240}}\b{_RULED}\b"
    ),
)
"""A role marker or system tag, and words about a verdict after it."""
SUFFIX: Final = r"\w{0,8}"


class Sign(Struct, frozen=True):
    """Patterns that must all be found in one stretch of `sentences` sentences; see Phrase for `stems`.

    `weak`: it only speaks of a judge or a verdict, which is odd where the user's own words do not.
    """

    stems: tuple[str, ...]
    patterns: tuple[str, ...]
    sentences: int = 1
    weak: bool = False


ByStem: TypeAlias = tuple[tuple[str, tuple[Sign, ...]], ...]
"""Stems, each with the signs that may be there where it is."""
Wanted: TypeAlias = tuple[Callable[[str], str], ByStem]
"""A guise of `disguise`, and what is looked for in it."""


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, made at its first use: few sessions need more than a few."""
    return re.compile(pattern)


def speaks(text: str, wanted: tuple[Wanted, ...], forms: tuple[str, ...]) -> bool:
    """Whether a plain text speaks to a judge by one of these signs, or has one of these forms."""
    if any(compiled(form).search(text) for form in forms):
        return True
    return any(_says(view, by_stem) for view, by_stem in _views(text, wanted))


def active(text: str, *, weak: bool) -> tuple[Wanted, ...]:
    """The stems that are in this plain text, by the guise they are in; those of weak signs only if wanted."""
    said = words(text)
    found: list[Wanted] = []
    for number, guise in enumerate(GUISES):
        view = guise(said)
        if number and view == said:
            continue
        by_stem = tuple((stem, signs) for stem, signs in _by_stem(said, weak=weak) if stem in view)
        if by_stem:
            found.append((guise, by_stem))
    return tuple(found)


def has_stem(text: str, wanted: tuple[Wanted, ...]) -> bool:
    """Whether a plain text holds any of the stems that are looked for."""
    return any(stem in view for view, by_stem in _views(text, wanted) for stem, _ in by_stem)


def _views(text: str, wanted: tuple[Wanted, ...]) -> Iterator[tuple[str, ByStem]]:
    """The words of a text in every guise in which something is looked for, and which changes them."""
    said = words(text) if wanted else ""
    for guise, by_stem in wanted:
        view = guise(said)
        if guise is GUISES[0] or view != said:
            yield view, by_stem


def forms_in(text: str) -> tuple[str, ...]:
    """The forms that this plain text may have somewhere."""
    if not any(sign in text for sign in "[<:=>"):
        return ()
    return tuple(form for form in (*FORM, *MARKED) if compiled(form).search(text))


def _says(said: str, by_stem: ByStem) -> bool:
    here = {id(sign): sign for stem, signs in by_stem if stem in said for sign in signs}
    if not here:
        return False
    return any(
        sentences <= sign.sentences and all(compiled(one).search(stretch) for one in sign.patterns)
        for stretch, sentences in _stretches(said)
        for sign in here.values()
    )


def _stretches(said: str) -> Iterator[tuple[str, int]]:
    """Every sentence, cut where it is long, and every two that follow each other; how many each is."""
    pieces: list[str] = []
    for sentence in map(str.strip, said.split("|")):
        if len(sentence) <= STRETCH:
            pieces.append(sentence)
        else:
            pieces += [sentence[at : at + STRETCH] for at in range(0, len(sentence), STRETCH // 2)]
    yield from ((piece, 1) for piece in pieces)
    yield from ((f"{one} | {other}", 2) for one, other in pairwise(pieces))


def _by_stem(said: str, *, weak: bool) -> ByStem:
    scripts = tuple(lexicon.script for lexicon, _ in _signs_of_wide())
    return _table(tuple(one for one in scripts if compiled(f"[{one}]").search(said)), weak=weak)


@cache
def _table(scripts: tuple[str, ...], *, weak: bool) -> ByStem:
    """Every sign that may be in a text with letters of these scripts, by each of its stems."""
    wide = (sign for lexicon, signs in _signs_of_wide() if lexicon.script in scripts for sign in signs)
    table: dict[str, list[Sign]] = {}
    for sign in (*_signs_of_latin(), *_signs_of_others(), *wide):
        if weak or not sign.weak:
            for stem in sign.stems:
                table.setdefault(stem, []).append(sign)
    return tuple((stem, tuple(signs)) for stem, signs in table.items())


@cache
def _signs_of_latin() -> tuple[Sign, ...]:
    from sidecar.evidence.injection.english import ENGLISH  # noqa: PLC0415 - not at a cold start
    from sidecar.evidence.injection.latin import LATIN  # noqa: PLC0415 - the same

    return tuple(sign for lexicon in (ENGLISH, *LATIN) for sign in _of(lexicon))


@cache
def _signs_of_wide() -> tuple[tuple[Lexicon, tuple[Sign, ...]], ...]:
    from sidecar.evidence.injection.wide import WIDE  # noqa: PLC0415 - not at a cold start

    return tuple((lexicon, tuple(_of(lexicon))) for lexicon in WIDE)


@cache
def _signs_of_others() -> tuple[Sign, ...]:
    from sidecar.evidence.injection.wide import OTHERS  # noqa: PLC0415 - not at a cold start

    signs = list[Sign]()
    for bare, ignore in OTHERS:
        signs.append(Sign(bare, (f"(?<!\\w)(?:{'|'.join(bare)})",), weak=True))
        signs.append(Sign(ignore[0], (f"(?:{'|'.join(ignore[0])})[^|]{{0,40}}(?:{'|'.join(ignore[1])})",)))
        signs.append(Sign(ignore[0], (f"(?:{'|'.join(ignore[1])})[^|]{{0,40}}(?:{'|'.join(ignore[0])})",)))
    return tuple(signs)


def _of(lexicon: Lexicon) -> Iterator[Sign]:
    judge, mark, done = (_any(lexicon, each) for each in (lexicon.judge, lexicon.mark, lexicon.done))
    order = _any(lexicon, (*lexicon.mark, *lexicon.ask))
    stems = (*_stems(lexicon.judge), *lexicon.judging_stems)
    if lexicon.judging:
        judge = f"{judge}|{lexicon.judging}"
    held = _any(lexicon, (*lexicon.done, *lexicon.goal, *lexicon.verdict)) if lexicon.loose else done
    yield Sign(stems, (judge, order, held))
    yield Sign(stems, (judge, mark, done), 2)
    foreign = tuple(name for name in (*lexicon.judge, *lexicon.verdict) if name != "judge")
    bare = lexicon.bare or _any(lexicon, foreign)
    yield Sign((*stems, *_stems(lexicon.verdict), *lexicon.bare_stems), (bare,), weak=True)
    if lexicon.goal:
        yield Sign(_stems(lexicon.done), (_any(lexicon, lexicon.goal), mark, done))
    yield Sign(_stems(lexicon.verdict), (f"(?:{_any(lexicon, lexicon.verdict)})[^|]{{0,25}}?(?:{done})",))
    if lexicon.answer:
        said = (*lexicon.answer, *(lexicon.judge if lexicon.script else ()), *lexicon.verdict)
        yield Sign(("complete",), (_any(lexicon, said), r"(?<![a-z])complete(?![a-z])"))
    for phrase in lexicon.phrases:
        yield Sign(phrase.stems, (phrase.pattern, phrase.also) if phrase.also else (phrase.pattern,))


def _stems(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.removesuffix("*") for name in names)


def _any(lexicon: Lexicon, names: tuple[str, ...]) -> str:
    """A pattern for any of these words."""
    each = "|".join(
        re.escape(name.removesuffix("*")) + (SUFFIX if name.endswith("*") else "")
        for name in sorted(names, key=len, reverse=True)
    )
    return rf"(?<!\w)(?:{each})(?!\w)" if lexicon.apart else f"(?:{each})"
