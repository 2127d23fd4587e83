"""What is wrong with a rubric that somebody is writing."""

from __future__ import annotations

from msgspec import Struct


class Flaw(Struct, frozen=True):
    """One reason why a text cannot serve as a rubric, in the words of the judge's reader.

    `code` is short and stays ("missing-section"). It is about the characters from `begin` to before `end`,
    counted in code points from the start of the text, its line ends and its byte order mark among them.
    """

    code: str
    why: str
    begin: int
    end: int
