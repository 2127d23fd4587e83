"""Finds wording in a text, in the languages that the text seems to be in.

Laws. A language is loaded, and a pattern compiled, when it is first looked for. A Latin text is read as the
language whose small words it has most of, and as English besides, since agents mix it in. A text that shows
no language is read in all that use its letters.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import islice
from typing import Final, TypeAlias

from sidecar.judging.wording.form import Words

Tongues: TypeAlias = tuple[str, ...]
"""Codes of the languages that a text is read in."""
LATIN: Final = ("en", "de", "fr", "es", "pt")
SAMPLE: Final = 4_000
"""Characters from which a language is told."""
SCRIPTS: Final = (
    ("ko", r"[\uac00-\ud7a3]"),
    ("ja", r"[\u3040-\u30ff]"),
    ("zh", r"[\u4e00-\u9fff]"),
    ("ru", r"[\u0400-\u04ff]"),
)
"""Letters that one language alone of ours uses; Han stands after kana, for Japanese has both."""
ACCENTS: Final = (
    ("de", r"[äöüß]"),
    ("fr", r"[àâçèéêëîïôùûœ]"),
    ("es", r"[áéíñóú¿¡]"),
    ("pt", r"[áâãàçéêíóôõú]"),
)
"""Letters that English does without; those of two languages leave it to the small words."""
SURE: Final = 2
"""Signs of a language with which a text needs no other to tell it."""
MOST: Final = 2
"""So many accents count, each as a small word."""
FEW_KANA: Final = 2
"""Of kana fewer tell, for a short Japanese text has Han besides."""
FEW: Final = 4
"""So many letters of a script are a text in it; fewer are a name or a sign."""


FINDS: Final = 40
"""Wordings of one kind that are compared."""


@cache
def words(tongue: str) -> Words:  # noqa: PLR0911 - one case per language, each loaded by itself
    """The wording of a language."""
    # ruff: noqa: PLC0415 - a session speaks one or two of these languages; the others are not loaded
    match tongue:
        case "de":
            from sidecar.judging.wording import de

            return de.WORDS
        case "fr":
            from sidecar.judging.wording import fr

            return fr.WORDS
        case "es":
            from sidecar.judging.wording import es

            return es.WORDS
        case "pt":
            from sidecar.judging.wording import pt

            return pt.WORDS
        case "zh":
            from sidecar.judging.wording import zh

            return zh.WORDS
        case "ja":
            from sidecar.judging.wording import ja

            return ja.WORDS
        case "ko":
            from sidecar.judging.wording import ko

            return ko.WORDS
        case "ru":
            from sidecar.judging.wording import ru

            return ru.WORDS
        case _:
            from sidecar.judging.wording import en

            return en.WORDS


def tongues(text: str, other: str = "") -> Tongues:
    """Which languages a text is to be read in, its own first; that of `other` where it shows none."""
    sample = text[-SAMPLE:]
    for tongue, letters in SCRIPTS:
        if len(re.findall(letters, sample)) >= (FEW_KANA if tongue == "ja" else FEW):
            return (tongue, "en")
    small = re.findall(r"\b[^\W\d_]{1,5}\b", sample.lower())
    counted = {tongue: sum(word in _common(tongue) for word in small) for tongue in LATIN}
    for tongue, letters in ACCENTS:
        counted[tongue] += min(len(re.findall(letters, sample, re.IGNORECASE)), MOST)
    best = max(LATIN, key=lambda tongue: counted[tongue])
    if counted[best] < SURE and other:
        told = tongues(other)
        return tuple(dict.fromkeys((*told, best, "en"))) if counted[best] else told
    if not counted[best]:
        return LATIN
    return (best,) if best == "en" else (best, "en")


@cache
def _common(tongue: str) -> frozenset[str]:
    return frozenset(words(tongue).common.split())


@cache
def stops(tongue: str) -> frozenset[str]:
    """Words that say nothing about what is asked for."""
    return frozenset(words(tongue).stop.split())


@cache
def pattern(tongue: str, *fields: str) -> re.Pattern[str]:
    """Any of these fields of a language, compiled; what never matches where it has none of them."""
    source = "|".join(filter(None, (alternatives(tongue, field) for field in fields)))
    boundary = r"(?<!\w)" if words(tongue).spaced else ""
    return re.compile(f"{boundary}(?:{source})" if source else r"(?!)", re.IGNORECASE)


@cache
def opening(tongue: str, field: str) -> re.Pattern[str]:
    """A sentence that opens with this field, after what may lead up to it."""
    source, lead = alternatives(tongue, field), alternatives(tongue, "lead")
    led = rf"(?:(?:{lead})[\W_]{{0,3}}){{0,3}}" if lead else ""
    return re.compile(rf"[\W_]{{0,8}}{led}(?:{source})" if source else r"(?!)", re.IGNORECASE)


def alternatives(tongue: str, field: str) -> str:
    """The lines of a field as one expression; a line that ends in a backslash goes on in the next."""
    text = re.sub(r"\\\n[ ]*", "", str(getattr(words(tongue), field)))
    return "|".join(line.strip() for line in text.splitlines() if line.strip())


def has(text: str, spoken: Tongues, *fields: str) -> bool:
    """Whether a text has any of these fields' wording."""
    return any(pattern(tongue, *fields).search(text) for tongue in spoken)


def find(text: str, spoken: Tongues, *fields: str) -> re.Match[str] | None:
    """The first such wording in a text."""
    hits = (pattern(tongue, *fields).search(text) for tongue in spoken)
    return next((hit for hit in hits if hit), None)


def finds(text: str, spoken: Tongues, *fields: str) -> list[str]:
    """All such wording in a text, at most FINDS of each language, in small letters."""
    hits = (islice(pattern(tongue, *fields).finditer(text), FINDS) for tongue in spoken)
    return [hit[0].lower() for of_tongue in hits for hit in of_tongue]


@cache
def unfinished(tongue: str) -> re.Pattern[str]:
    """A text whose last word ends no sentence in this language."""
    listed = "|".join(map(re.escape, words(tongue).cut.split()))
    before = r"(?<!\w)" if words(tongue).spaced else ""
    return re.compile(rf"{before}(?:{listed})\Z" if listed else r"(?!)", re.IGNORECASE)


def opens(text: str, spoken: Tongues, field: str) -> re.Match[str] | None:
    """The wording with which a sentence opens."""
    hits = (opening(tongue, field).match(text) for tongue in spoken)
    return next((hit for hit in hits if hit), None)


def without(text: str, spoken: Tongues, field: str) -> str:
    """A text without such wording."""
    for tongue in spoken:
        text = pattern(tongue, field).sub(" ", text)
    return text
