"""The one reader of last messages: paragraphs, sentences and clauses, without code blocks and quotations.

The meaning of the wording is not interpreted here. A message is read from its end, up to a fixed length.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import Final

from msgspec import Struct

MESSAGE_READ_LIMIT: Final = 12_000
"""Characters of a message that are read, from its end."""
LONGEST_PARAGRAPH: Final = 600
"""Characters of a paragraph or a sentence that are used, from its end."""
QUOTED: Final = re.compile(
    r"```.*?(?:```|\Z)|^[ \t]*>[^\n]*|`[^`\n]*`|\"[^\"\n]*\"|\u201c[^\u201d\n]*\u201d",
    re.DOTALL | re.MULTILINE,
)
"""What a message repeats is not what it says."""
BLOCKS: Final = re.compile(
    r"```.*?(?:```|\Z)|^[ \t]*>[^\n]*|\"[^\"\n]*\"|\u201c[^\u201d\n]*\u201d", re.DOTALL | re.MULTILINE
)
"""The same without what stands between single backticks, where a path or a command is named."""
CLAUSE: Final = re.compile(r"(?:,| \u2014| \u2013| -) (?:and|so|but) |; | \u2014 | \u2013 ")
"""Between clauses of which each says something for itself."""
EMPHASIS: Final = re.compile(r"\*\*|(?<![\w/`])__(?=\w)|(?<=\w)__(?![\w.(`])")
"""Not the underscores of a name such as `__init__.py`."""
HEADING: Final = re.compile(r"#{1,6} |[^\n]{2,60}:\s*$")
"""A line that stands above what follows it, by its mark or by the colon at its end."""
OPEN_ITEM: Final = re.compile(r"\W*(?:\[ \]|\u2b1c|\u2610|\U0001f532)")
"""A point of a list that is marked as open."""
BACKTICKED: Final = re.compile(r"`[^`\n]*`")
JOINT: Final = "\ue000"
"""Stands for a space in backticks while a text is cut into sentences; no language uses it."""
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


def split_sentences(text: str) -> list[str]:
    """Split a text into sentences; what stands in backticks stays whole."""
    joined = BACKTICKED.sub(lambda name: name[0].replace(" ", JOINT), text)
    return [each.replace(JOINT, " ") for each in re.split(SENTENCE_BREAK, joined) if each.strip()]


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
