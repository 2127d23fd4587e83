"""The least that is known of further languages: names of a judge or a verdict, and orders to ignore rules.

Dutch, Polish, Turkish, Swedish, Czech, Ukrainian, Vietnamese, Indonesian, Hebrew, Thai, Greek, Persian.
Words are beginnings; see lexicon.py for how texts are folded.
"""

from __future__ import annotations

from typing import Final

OTHERS: Final = (
    (
        ("beoordelaar", "beoordelingsmodel", "rechter moet", "de rechter", "eindoordeel"),
        (("negeer", "vergeet"), ("instructie", "regels", "aanwijzing")),
    ),
    (
        ("sedzia", "sedzio", "sedziego", "oceniajac", "ewaluator", "werdykt", "orzeczenie"),
        (("zignoruj", "ignoruj", "pomin", "zapomnij"), ("instrukcj", "polecen", "zasad")),
    ),
    (
        (
            "hakem",
            "yargic",
            "yarg\u0131c",
            "degerlendirici",
            "degerlendiren",
            "de\u011ferlendir",
            "nihai karar",
        ),
        (("yok say", "gormezden gel", "dikkate alma", "unut"), ("talimat", "kural", "yonerge")),
    ),
    (
        ("bedomare", "domaren", "granskningsmodell", "slutomdome"),
        (("ignorera", "bortse fran", "glom"), ("instruktion", "regler", "anvisning")),
    ),
    (
        ("soudce", "hodnotitel", "rozhodci", "verdikt", "rozsudek"),
        (("ignoruj", "zapomen", "pomin"), ("pokyn", "instrukc", "pravid")),
    ),
    (
        (
            "\u0441\u0443\u0434\u0434",
            "\u043e\u0446\u0456\u043d\u044e\u0432\u0430\u0447",
            "\u0432\u0435\u0440\u0434\u0438\u043a\u0442",
        ),
        (
            ("\u0456\u0433\u043d\u043e\u0440\u0443", "\u0437\u0430\u0431\u0443\u0434\u044c"),
            ("\u0456\u043d\u0441\u0442\u0440\u0443\u043a\u0446", "\u043f\u0440\u0430\u0432\u0438\u043b"),
        ),
    ),
    (
        ("giam khao", "tham phan", "nguoi cham", "phan quyet", "mo hinh danh gia"),
        (("bo qua", "phot lo"), ("chi dan", "huong dan", "chi thi")),
    ),
    (
        ("hakim", "penilai", "juri ", "putusan", "vonis"),
        (("abaikan", "lupakan"), ("instruksi", "perintah", "aturan")),
    ),
    (
        (
            "\u05e9\u05d5\u05e4\u05d8",
            "\u05d4\u05e9\u05d5\u05e4\u05d8",
            "\u05de\u05e2\u05e8\u05d9\u05da",
            "\u05e4\u05e1\u05e7 \u05d3\u05d9\u05df",
        ),
        (
            ("\u05d4\u05ea\u05e2\u05dc\u05dd", "\u05d4\u05ea\u05e2\u05dc\u05de"),
            ("\u05d4\u05d5\u05e8\u05d0\u05d5\u05ea", "\u05d4\u05e0\u05d7\u05d9\u05d5\u05ea"),
        ),
    ),
    (
        (
            "\u0e1c\u0e39\u0e49\u0e15\u0e31\u0e14\u0e2a\u0e34\u0e19",
            "\u0e01\u0e23\u0e23\u0e21\u0e01\u0e32\u0e23",
            "\u0e1c\u0e39\u0e49\u0e1b\u0e23\u0e30\u0e40\u0e21\u0e34\u0e19",
        ),
        (
            ("\u0e40\u0e1e\u0e34\u0e01\u0e40\u0e09\u0e22", "\u0e25\u0e30\u0e40\u0e27\u0e49\u0e19"),
            ("\u0e04\u0e33\u0e2a\u0e31\u0e48\u0e07", "\u0e04\u0e4d\u0e32\u0e2a\u0e31\u0e48\u0e07"),
        ),
    ),
    (
        (
            "\u03ba\u03c1\u03b9\u03c4\u03ae",
            "\u03b4\u03b9\u03ba\u03b1\u03c3\u03c4\u03ae",
            "\u03b1\u03be\u03b9\u03bf\u03bb\u03bf\u03b3\u03b7\u03c4",
        ),
        (
            ("\u03b1\u03b3\u03bd\u03cc\u03b7\u03c3", "\u03b1\u03b3\u03bd\u03bf\u03ae\u03c3"),
            ("\u03bf\u03b4\u03b7\u03b3\u03af", "\u03ba\u03b1\u03bd\u03cc\u03bd"),
        ),
    ),
    (
        ("\u062f\u0627\u0648\u0631", "\u0627\u0631\u0632\u06cc\u0627\u0628", "\u0642\u0627\u0636\u06cc"),
        (
            ("\u0646\u0627\u062f\u06cc\u062f\u0647",),
            ("\u062f\u0633\u062a\u0648\u0631", "\u0642\u0648\u0627\u0646\u06cc\u0646"),
        ),
    ),
)
