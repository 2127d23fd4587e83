"""The form of what is known of one language: how text speaks to a judge.

The words are those of `disguise.words`: small letters, no accents in Latin letters, single spaces, a bar
between sentences. In a list, `*` stands for up to eight more letters.
"""

from __future__ import annotations

from msgspec import Struct


class Phrase(Struct, frozen=True):
    """A pattern within one sentence, and stems of which one must be there before it is tried.

    `also` must be in the same sentence.
    """

    stems: tuple[str, ...]
    pattern: str
    also: str = ""


class Lexicon(Struct, frozen=True, kw_only=True):
    """One language.

    `judge` names who judges, `judging` is a pattern for more names and `judging_stems` its stems. `mark`
    orders that something be held to be done, `ask` only asks or obliges. `done` is what it is to be held to
    be, `goal` what is to be held so, `verdict` the judge's answer. `answer` names an answer that may be meant
    where the English word "complete" stands beside it. `bare` is a pattern for the mere mention of a judge
    or a verdict, and `bare_stems` its stems, where `judge` and `verdict` are too wide for that. `loose`: an
    order to a judge about the goal or the verdict is enough. `apart`: its words stand apart, with spaces
    between them. `script` is the range of letters without which a text is not in it.
    """

    judge: tuple[str, ...]
    mark: tuple[str, ...]
    ask: tuple[str, ...]
    done: tuple[str, ...]
    goal: tuple[str, ...]
    verdict: tuple[str, ...]
    phrases: tuple[Phrase, ...]
    answer: tuple[str, ...] = ()
    judging: str = ""
    judging_stems: tuple[str, ...] = ()
    loose: bool = True
    apart: bool = True
    script: str = ""
    bare: str = ""
    bare_stems: tuple[str, ...] = ()


def listed(names: str) -> tuple[str, ...]:
    """Names that are written in one string, with commas."""
    return tuple(names.split(", "))
