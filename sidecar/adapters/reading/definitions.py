"""The names of the functions and types that a source file defines, read line by line in any language.

It serves one question, whether the code of a deleted test went with it, so a name too many does little harm.
"""

from __future__ import annotations

import re
from typing import Final

MOST: Final = 2_000
"""Names of one file that are kept."""
LINE: Final = 400
"""Characters of a line that are read."""
DEFINED: Final = re.compile(
    r"\s{0,40}(?:(?:export|default|public|private|protected|internal|static|abstract|final|async"
    r"|pub(?:\([\w: ]+\))?|open|override|suspend|virtual|sealed|data|unsafe|const|extern|declare)\s+){0,6}"
    r"(?:def|defp|defmodule|class|function\*?|func|fun|fn|struct|interface|enum|trait|type|record|object|module"
    r"|const|let|var)\s+(?:\([^()]{0,100}\)\s*)?(?:self\.)?(?P<name>[^\W\d]\w*)"
)
METHOD: Final = re.compile(
    r"\s{1,40}(?:(?:public|private|protected|internal|static|final|async|override|virtual)\s+){0,5}"
    r"(?:[\w<>\[\],.?]{1,80}\s+)?(?P<name>[^\W\d]\w*)\s?\([^;]{0,200}\)[^;]{0,80}\{\s*$"
)
"""A method of Java, C#, JavaScript or TypeScript, which no word announces."""
WORDS: Final = frozenset(("if", "for", "while", "switch", "catch", "return", "function", "using", "lock"))


def defined_names(text: str) -> tuple[str, ...]:
    """What a source defines, each name once, in order."""
    names = dict[str, None]()
    for line in text.split("\n"):
        found = DEFINED.match(line[:LINE]) or METHOD.match(line[:LINE])
        if found and found["name"] not in WORDS:
            names[found["name"]] = None
        if len(names) >= MOST:
            break
    return tuple(names)
