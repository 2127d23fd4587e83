"""How a last message is read: its end, sentence by sentence, without what it quotes.

What the wording means is not known here. A message is read from its end, so many characters and no more.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from sidecar.policy.claims.wording import BLOCKS
from sidecar.policy.rules.words.book import Tongues, tongues

READ: Final = 12_000
"""Characters of a message that are read, its end."""
LONGEST: Final = 600
"""Characters of a paragraph or a sentence that are looked at, its end."""
SENTENCE: Final = r"(?<=[.!?\u2026])\s|(?<=[\u3002!?])(?=[^\x00-\x7f])|\n"
PLAIN: Final = str.maketrans(
    {
        "\u2019": "'",
        "\u2018": "'",
        "\uff1f": "?",
        "\uff01": "!",
        "\uff1a": ":",
        "\uff0c": ",",
        "\u2026": "...",
        "\u00a0": " ",
        "\u202f": " ",
    }
)
"""Signs that stand for the same, so that patterns name one."""
NAME: Final = r"`[^`\s]{1,200}`"
LETTERS: Final = r"[^\W_]"
DECORATION: Final = " \t\r\n*_~#>`)]\ufe0f"


class Message(Struct, frozen=True):
    """A last message.

    `text` is what it says itself, its end. `paragraphs` are the last four with letters in them, `sentences`
    those of the last two, in order, `lines` all lines. `code_last`: it ends in a block of code. `spoken`: the
    languages to read it in.
    """

    text: str
    paragraphs: tuple[str, ...]
    sentences: tuple[str, ...]
    lines: tuple[str, ...]
    code_last: bool
    spoken: Tongues

    @property
    def last(self) -> str:
        """The last sentence, "" where there is none."""
        return self.sentences[-1] if self.sentences else ""

    @property
    def paragraph(self) -> str:
        """The last paragraph."""
        return self.paragraphs[-1] if self.paragraphs else ""

    @property
    def end(self) -> str:
        """The last three paragraphs."""
        return "\n".join(self.paragraphs[-3:])


def message(raw: str, prompt: str = "") -> Message:
    """Read a last message; `prompt` tells the language where it does not."""
    cut = raw[-READ:].translate(PLAIN)
    text = BLOCKS.sub(" ", cut).strip()
    lines = tuple(line for line in text.split("\n") if re.search(LETTERS, line))
    paragraphs = _paragraphs(text)
    parts = (part.strip() for each in paragraphs[-2:] for part in re.split(SENTENCE, each))
    return Message(
        text=text,
        paragraphs=paragraphs,
        sentences=tuple(part[-LONGEST:] for part in parts if re.search(LETTERS, part))[-12:],
        lines=lines,
        code_last=cut.rstrip().endswith("```"),
        spoken=tongues(text, prompt),
    )


def bare(sentence: str) -> str:
    """A sentence without the signs that only dress its end."""
    return sentence.rstrip(DECORATION)


def asks(sentence: str) -> bool:
    """Whether a sentence ends in a question mark, whatever dresses it."""
    return bare(sentence).rstrip("\"')").endswith("?")


def plain(text: str) -> str:
    """A text without the names that stand in backticks; a line of shell there has a space, and stays."""
    return re.sub(NAME, "``", text)


def _paragraphs(text: str) -> tuple[str, ...]:
    """The last four, split at blank lines; a pattern for that would be slow on a text of blanks."""
    found: list[list[str]] = [[]]
    for line in text.split("\n"):
        if line.strip():
            found[-1].append(line)
        elif found[-1]:
            found.append([])
    whole = ("\n".join(each)[-LONGEST:] for each in found if any(re.search(LETTERS, line) for line in each))
    return tuple(whole)[-4:]
