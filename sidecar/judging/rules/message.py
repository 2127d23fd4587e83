"""Splits the last message into paragraphs and sentences, without code blocks and quotations.

The meaning of the wording is not interpreted here. A message is read from its end, up to a fixed length.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import Final

from msgspec import Struct

from sidecar.evidence.claims.wording import BLOCKS

MESSAGE_READ_LIMIT: Final = 12_000
"""Characters of a message that are read, from its end."""
LONGEST_PARAGRAPH: Final = 600
"""Characters of a paragraph or a sentence that are used, from its end."""
SENTENCE_BREAK: Final = r"(?<=[.!?\u2026])\s|(?<=[\u3002!?])(?=[^\x00-\x7f])|\n"
PLAIN_CHARACTERS: Final = str.maketrans(
    {"\u2019": "'", "\u2018": "'", "\uff1f": "?", "\uff1a": ":", "\u2026": "...", "\u00a0": " "}
)
"""Equivalent characters mapped to one, so that patterns need only that one."""
BACKTICK_NAME: Final = r"`[^`\s]{1,200}`"
LETTER_PATTERN: Final = r"[^\W_]"
SMILEY: Final = r":-?[()]\W*$"
END_DECORATION: Final = " \t\r\n*_~#>`)]\ufe0f"


class LastMessage(Struct, frozen=True):
    """The end of a last message.

    `text`: what the agent itself says, without quotations. `paragraphs`: the last four that contain letters.
    `sentences`: those of the last two paragraphs, in order. `code_last`: the message ends in a code block.
    `colon_last`: it ends at a colon, with nothing after it that is left out here.
    """

    text: str
    paragraphs: tuple[str, ...]
    sentences: tuple[str, ...]
    code_last: bool
    colon_last: bool

    @property
    def last(self) -> str:
        """The last sentence, "" if there is none."""
        return self.sentences[-1] if self.sentences else ""

    @property
    def paragraph(self) -> str:
        """The last paragraph, "" if there is none."""
        return self.paragraphs[-1] if self.paragraphs else ""

    @property
    def end(self) -> str:
        """The last three paragraphs."""
        return "\n".join(self.paragraphs[-3:])


def read_last_message(raw: str) -> LastMessage:
    """Read a last message."""
    cut = raw[-MESSAGE_READ_LIMIT:].translate(PLAIN_CHARACTERS)
    text = BLOCKS.sub(" ", cut).strip()
    paragraphs = _last_paragraphs(text)
    parts = (part.strip() for each in paragraphs[-2:] for part in re.split(SENTENCE_BREAK, each))
    return LastMessage(
        text=text,
        paragraphs=paragraphs,
        sentences=tuple(part[-LONGEST_PARAGRAPH:] for part in parts if re.search(LETTER_PATTERN, part))[-12:],
        code_last=cut.rstrip().endswith("```"),
        colon_last=strip_end_decoration(cut).endswith(":") and not re.search(SMILEY, cut),
    )


def strip_end_decoration(sentence: str) -> str:
    """Remove markup and blanks from the end of a sentence."""
    return sentence.rstrip(END_DECORATION)


def ends_in_question(sentence: str) -> bool:
    """Whether a sentence ends in a question mark, ignoring markup after it."""
    return strip_end_decoration(sentence).rstrip("\"')").endswith("?")


def drop_backtick_names(text: str) -> str:
    """Remove names in backticks; a shell line in backticks contains a space and stays."""
    return re.sub(BACKTICK_NAME, "``", text)


def _last_paragraphs(text: str) -> tuple[str, ...]:
    """The last four, split at blank lines; a regex would be slow on a text of blanks."""
    groups = groupby(text.split("\n"), key=lambda line: bool(line.strip()))
    whole = ("\n".join(lines)[-LONGEST_PARAGRAPH:] for filled, lines in groups if filled)
    return tuple(each for each in whole if re.search(LETTER_PATTERN, each))[-4:]
