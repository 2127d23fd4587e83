"""Takes disguises off a text, so that one set of patterns reads all of them. Nothing here decides anything.

plain      one line without colours, invisible characters, entities, escapes, accents and odd alphabets
words      its words alone, with a bar between sentences
guises     the same words in other readings: look-alike letters, digits for letters, letters set apart,
           rot13, backwards
decoded    what runs of base64 and hex digits say, one level deep

Every function is linear in its text, and cuts what a text may grow to.
"""

from __future__ import annotations

import binascii
import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final

GROWTH: Final = 4
"""How many times longer a text may become: one ligature stands for up to 18 characters."""
RUNS: Final = 20
"""Encoded runs of one text that are decoded, each of at most RUN characters."""
RUN: Final = 8_000
READABLE: Final = 0.9
"""The share of a decoded run's characters that must be ones that people write."""

LAST: Final = 0x10FFFF
SURROGATES: Final = range(0xD800, 0xE000)
"""The last code point, and those that stand for no character."""

_CYRILLIC: Final = (
    "\u0430\u0432\u0435\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0456\u0458\u0455"
)
_ROUND: Final = (
    "\u0501\u051b\u051d\u04bb\u04cf\u0261\u03b1\u03b2\u03b5\u03b9\u03ba\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7"
)
_OTHER: Final = (
    "\u0131\u0142\u00f8\u0111\u0585\u057d\u0570\u0578"
    "\u1d00\u0299\u1d04\u1d05\u1d07\u0262\u029c\u026a\u1d0a\u1d0b"
)
_SMALL: Final = "\u029f\u1d0d\u0274\u1d0f\u1d18\u0280\u1d1b\u1d1c\u1d20\u1d21\u028f"
LOOKALIKES: Final = str.maketrans(
    f"{_CYRILLIC}{_ROUND}{_OTHER}{_SMALL}",
    "abekmhopctyxijsdqwhlgabeikvoptuxilodouhnabcdeghijklmnoprtuvwy",
)
"""Letters of other scripts, small capitals, letters with strokes, and the Latin ones they look like."""
U_FOR_Y: Final = {0x443: "u", 0x3C5: "u"}
LEET: Final = str.maketrans("013457@$", "oleastas")
ROT13: Final = str.maketrans("abcdefghijklmnopqrstuvwxyz", "nopqrstuvwxyzabcdefghijklm")
_CODES: Final = (
    ".- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- .-- -..- "
    "-.-- --.."
)
TURNED: Final = str.maketrans(
    "\u0250\u0254\u01dd\u025f\u0183\u0265\u1d09\u027e\u029e\u026f\u0279\u0287\u028c\u028d\u028eqpunbd",
    "acefghijkmrtvwybdnuqp",
)
"""Letters upside down; a text of them is read from its end."""
TAGS: Final = {0xE0000 + number: number for number in range(0x20, 0x7F)}
BADGES: Final = {
    start + number: ord("a") + number for start in (0x1F150, 0x1F170, 0x1F1E6) for number in range(26)
}
"""Letters that no reader sees, and white letters in black circles and squares."""


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


_ANSI: Final = r"\x1b(?:\[[0-?]{0,40}[ -/]{0,8}[@-~]|\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)?|.)|[^\x08]\x08"
_INVISIBLE: Final = (
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e001f\U000e007f-\U000e01ef\x00-\x08\x0e-\x1f\x7f]"
)
_ESCAPED: Final = r"\\u\{?([0-9a-fA-F]{4,5})\}?|\\x([0-9a-fA-F]{2})|%([0-9a-fA-F]{2})"
_ACCENTS: Final = "([a-z])[\u0300-\u036f\u0489]+"
_ARABIC: Final = "[\u064b-\u0652\u0640\u093c]"
_SENTENCE: Final = "[.!?;](?=\\s|$)|[\u3002\u0964\u061f\u061b\u2026]"
_POINTS: Final = "[^\\w|\u0300-\u036f\u0900-\u0963\u0966-\u097f\u3099\u309a]+"
_GAP: Final = "(?<=[\u3041-\u9fff])\\s+(?=[\u3041-\u9fff])"
_LONG_NAME: Final = r"[^\W_]{1,40}(?:_[^\W_]{1,40}){5,60}"
_SPREAD: Final = r"(?<!\S)(?:\w ){2,40}\w(?=  |$)"
_APART: Final = r"(?<!\w)(?:\w[ ]){4,}\w(?!\w)"
_CAMEL: Final = r"(?<=[a-z0-9])(?=[A-Z])|_"
_BASE64: Final = r"[A-Za-z0-9+/_-]{20,}={0,2}(?:\n[ \t>#+-]{0,4}[A-Za-z0-9+/_-]{8,}={0,2}){0,40}"
_BASE32: Final = r"\b[A-Z2-7]{24,}={0,6}"
_BASE32_DIGITS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_MORSE: Final = r"(?:[.\u00b7-]{1,5}[ /]{1,3}){8,}[.\u00b7-]{0,5}"
_BINARY: Final = r"(?:[01]{8}[ ,]?){8,}"
_DECIMAL: Final = r"(?:(?:&#)?\d{2,3}[ ,;]{1,2}){8,}\d{0,3}"
_JOINED: Final = r"[\"'] ?[+.] ?[\"']|(?<=[a-z])- (?=[a-z])"
_HEX: Final = r"(?:(?:0x|\\x)?[0-9a-fA-F]{2}[ ,:]?){16,}"
_ALEPH: Final = str.maketrans("\u0623\u0625\u0622\u0649\u0629\u0451", "\u0627\u0627\u0627\u064a\u0647\u0435")


def plain(line: str) -> str:
    """One line as a reader takes it in, in small letters."""
    limit = GROWTH * len(line) + 16
    if not line.isascii():
        line = line.translate(TAGS).translate(BADGES)
    if "\x1b" in line or "\x08" in line:
        line = _compiled(_ANSI).sub("", line)
    if "&" in line:
        import html  # noqa: PLC0415 - its table of entities is big, and few lines need it

        line = html.unescape(line)
    if "\\" in line or "%" in line:
        line = _compiled(_ESCAPED).sub(_unescaped, line)
    if not line.isascii():
        line = unicodedata.normalize("NFKD", _compiled(_INVISIBLE).sub("", line))[:limit].casefold()
        line = unicodedata.normalize("NFC", _compiled(_ACCENTS).sub(r"\1", line))
        return _compiled(_ARABIC).sub("", line).translate(_ALEPH)[:limit]
    return _compiled(_INVISIBLE).sub("", line).casefold()


def _unescaped(found: re.Match[str]) -> str:
    number = int(found[1] or found[2] or found[3], 16)
    return chr(number) if number <= LAST and number not in SURROGATES else found[0]


def words(text: str) -> str:
    """The words of a plain text, one space between them and a bar between sentences."""
    text = _compiled(_JOINED).sub("", text.replace("|", " "))
    text = _compiled(_SENTENCE).sub(" | ", text)
    if "  " in text:
        text = _compiled(_SPREAD).sub(lambda found: found[0].replace(" ", ""), text)
    if "_" in text:
        text = _compiled(_LONG_NAME).sub(lambda found: found[0].replace("_", " "), text)
    text = _compiled(_POINTS).sub(" ", text)
    return _compiled(_GAP).sub("", " ".join(text.split()))


def split_name(name: str) -> str:
    """A path or a name with its words set apart."""
    return _compiled(_CAMEL).sub(" ", name)


def _together(said: str) -> str:
    return _compiled(_APART).sub(lambda found: found[0].replace(" ", ""), said)


def _latin(said: str) -> str:
    return _together(said).translate(LOOKALIKES)


def _latin_with_u(said: str) -> str:
    return _together(said).translate(U_FOR_Y).translate(LOOKALIKES)


def _upright(said: str) -> str:
    return said.translate(TURNED)[::-1] if "\u01dd" in said else said


def _letters(said: str) -> str:
    return _latin(said).translate(LEET)


def _rot13(said: str) -> str:
    return said.translate(ROT13)


def _backwards(said: str) -> str:
    return said[::-1]


GUISES: Final[tuple[Callable[[str], str], ...]] = (
    str,
    _together,
    _latin,
    _latin_with_u,
    _upright,
    _letters,
    _rot13,
    _backwards,
)
"""Readings of some words; the first is the words as they are."""


def decoded(text: str) -> Iterator[tuple[int, int, str]]:
    """What encoded runs of a text say, with their places in it."""
    left = RUNS
    for pattern, decode in ENCODINGS:
        for found in _compiled(pattern).finditer(text):
            if left and (said := decode(found[0][:RUN])):
                yield found.start(), found.end(), said
            left -= 1
            if left <= 0:
                return


def _of_base64(run: str) -> str:
    run = re.sub(r"\n[ \t>#+-]{0,4}|=", "", run).replace("-", "+").replace("_", "/")
    run = run[: len(run) - (len(run) % 4 == 1)]
    try:
        return _readable(binascii.a2b_base64(run + "=" * (-len(run) % 4)))
    except (binascii.Error, ValueError):
        return ""


def _of_hex(run: str) -> str:
    digits = re.sub(r"0x|\\x|[ ,:]", "", run)
    return _readable(bytes.fromhex(digits[: len(digits) // 2 * 2]))


def _of_base32(run: str) -> str:
    bits = "".join(f"{_BASE32_DIGITS.index(each):05b}" for each in run.rstrip("="))
    return _readable(bytes(int(bits[at : at + 8], 2) for at in range(0, len(bits) - 7, 8)))


def _of_morse(run: str) -> str:
    letters = {code: chr(ord("a") + number) for number, code in enumerate(_CODES.split())}
    spaced = re.sub(r" {2,}|/", " / ", run.replace("\u00b7", "."))
    return "".join(" " if code == "/" else letters.get(code, "") for code in spaced.split())


def _of_binary(run: str) -> str:
    return _readable(bytes(int(each, 2) for each in re.findall("[01]{8}", run)))


def _of_decimal(run: str) -> str:
    numbers = [int(each) for each in re.findall(r"\d{2,3}", run)]
    return _readable(bytes(number for number in numbers if number < 256))  # noqa: PLR2004 - a byte


def _readable(raw: bytes) -> str:
    """What bytes say; "" where it is no text that people write."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as fault:
        if fault.start < READABLE * len(raw):
            return ""
        text = raw[: fault.start].decode("utf-8", "ignore")
    good = sum(char.isprintable() or char in "\n\t\r" for char in text)
    return text if text and good >= READABLE * len(text) else ""


ENCODINGS: Final = (
    (_BASE64, _of_base64),
    (_HEX, _of_hex),
    (_BASE32, _of_base32),
    (_MORSE, _of_morse),
    (_BINARY, _of_binary),
    (_DECIMAL, _of_decimal),
)
