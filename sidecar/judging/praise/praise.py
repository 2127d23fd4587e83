"""Takes the worker's praise of its own work out of its last message (law 2), sentence by sentence.

What only says that all is well is replaced by MARK; where a sentence also says what was changed, only the
words of praise are. A sentence that asks, takes back, restricts or tells of a failure or of what is open
stays word for word, and so do code, quotations and tables: those are what the judge must see. In doubt a
sentence stays: praise that is read costs little, a failure that is hidden costs the verdict.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple, TypeAlias

MARK: Final = "[a claim, see the evidence]"
Words: TypeAlias = tuple[str, ...]
SENTENCE_LIMIT: Final = 1_000
"""Characters; what is longer is no sentence."""


def without_praise(message: str) -> str:
    """The message, with MARK for each run of sentences that only praise."""
    parts = (part if _kept(part) else _sentences(part) for part in _blocks().split(message) if part)
    text = "".join(parts)
    return _again().sub(MARK, text) if MARK in text else text


def _sentences(text: str) -> str:
    return "".join(map(_weighed, _ends().split(text)))


def _kept(part: str) -> bool:
    return part.startswith(("```", "~~~", ">", "|"))


def _weighed(sentence: str) -> str:
    """One sentence as it goes on: whole, with marks in it, or a mark alone."""
    if not sentence.strip() or len(sentence) > SENTENCE_LIMIT:
        return sentence
    book, bare = _book(sentence), _badges().sub("", sentence)
    hidden = book.praise.sub(_hidden, bare)
    if hidden == bare:
        return sentence if book.careful.search(bare) else bare
    rest = hidden.replace(MARK, " ")
    if book.careful.search(rest) or _partial(sentence):
        return sentence
    if book.fillers.sub("", rest):
        return hidden
    lead, end = _lead().match(bare), bare[len(bare.rstrip()) :]
    return f"{lead[0] if lead else ''}{MARK}{end}"


def _hidden(found: re.Match[str]) -> str:
    return found[0] if found["quoted"] else MARK


def _partial(sentence: str) -> bool:
    """Whether it counts some of all: "38 of 41"."""
    return any(some != whole for some, whole in _counts().findall(sentence))


@cache
def _blocks() -> re.Pattern[str]:
    """Code, quotations and rows of tables, which are kept."""
    return re.compile(
        r"(^[ \t]*```.*?(?:^[ \t]*```[ \t]*$|\Z)|^[ \t]*~~~.*?(?:^[ \t]*~~~[ \t]*$|\Z)|^>[^\n]*$|^\|[^\n]*$)",
        re.DOTALL | re.MULTILINE,
    )


@cache
def _ends() -> re.Pattern[str]:
    """Where a sentence ends; what stands between two goes with the first."""
    return re.compile(
        r"(?<=[.!?\u2026][\s*_)\"])(?=\S)|(?<=[.!?]\*\*[\s])(?=\S)|(?<=[\u3002\uff01\uff1f])|(?<=\n)"
    )


@cache
def _badges() -> re.Pattern[str]:
    """Signs that say "well done" without words, and the space behind."""
    return re.compile(
        "[\u2705\u2714\u2713\u2611\u2728\u2b50\U0001f389\U0001f38a\U0001f680\U0001f4af\U0001f3c6\U0001f44d\U0001f44f"
        "\U0001f64c\U0001f973\U0001f947\U0001f31f\U0001f4aa\U0001f7e2\U0001f197]\ufe0f?[ \t]?"
    )


class _Book(NamedTuple):
    praise: re.Pattern[str]
    careful: re.Pattern[str]
    fillers: re.Pattern[str]


def _book(text: str) -> _Book:
    return _all_letters() if _wide().search(text) else _latin()


@cache
def _wide() -> re.Pattern[str]:
    """Letters of Russian, Chinese, Japanese and Korean."""
    return re.compile("[\u0400-\u04ff\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3]")


@cache
def _latin() -> _Book:
    from sidecar.judging.praise import words  # noqa: PLC0415 - most stops ask no judge

    return _compiled(words.PRAISE, words.CAREFUL, words.FILLERS)


@cache
def _all_letters() -> _Book:
    from sidecar.judging.praise import words as latin  # noqa: PLC0415 - most stops ask no judge
    from sidecar.judging.praise import words_wide as wide  # noqa: PLC0415 - and most of these are English

    return _compiled(
        (*wide.PRAISE, *latin.PRAISE), (*wide.CAREFUL, *latin.CAREFUL), (*wide.FILLERS, *latin.FILLERS)
    )


def _compiled(praise: Words, careful: Words, fillers: Words) -> _Book:
    """`praise` passes over what is quoted; `fillers` take in what is no letter."""
    return _Book(
        re.compile(rf"(?P<quoted>`[^`\n]{{0,300}}`|\"[^\"\n]{{0,300}}\")|{'|'.join(praise)}", re.IGNORECASE),
        re.compile("|".join(careful), re.IGNORECASE),
        re.compile("|".join((*fillers, r"[\W_\d]+")), re.IGNORECASE),
    )


@cache
def _lead() -> re.Pattern[str]:
    """The mark of a list item or heading."""
    return re.compile(r"[ \t]*(?:#{1,6}[ \t]+|[-*+][ \t]+|\d{1,3}[.)][ \t]+)?")


@cache
def _counts() -> re.Pattern[str]:
    return re.compile(r"\b(\d+)\s{0,2}(?:/|of|out of|von|sur|de|из)\s{0,2}(\d+)\b", re.IGNORECASE)


@cache
def _again() -> re.Pattern[str]:
    mark = re.escape(MARK)
    return re.compile(rf"{mark}(?:[ \t.!,;]{{1,3}}{mark})+")
