"""The functions that made-up projects compute, in several languages; `functions` says how to read them."""

from __future__ import annotations

from random import Random
from typing import Final

from endings.functions import Arguments, Spec

STOCK: Final = (
    "amber",
    "birch",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "heron",
    "inlet",
    "jetty",
    "knoll",
)


def _words(rng: Random, least: int, most: int) -> str:
    return " ".join(rng.choice(STOCK) for _ in range(rng.randint(least, most)))


def _mixed(rng: Random) -> str:
    text = _words(rng, 1, 3)
    return "".join(rng.choice((letter, letter.upper())) for letter in text)


def _numbers(rng: Random, least: int = 0, most: int = 6) -> list[int]:
    return [rng.randint(1, 60) for _ in range(rng.randint(least, most))]


def _around(rng: Random, *edges: int) -> list[Arguments]:
    near = [(edge + shift,) for edge in edges for shift in (-2, -1, 0, 1, 2)]
    return [*near, *((rng.randint(1, max(edges) * 2),) for _ in range(3))]


SPECS: Final = (
    Spec(
        ("grade", "letter_for", "rate"),
        (("score", "int"),),
        "str",
        "Letter of a score",
        lambda rng: {"A": rng.randint(80, 95), "B": rng.randint(40, 70)},
        lambda rng, c: _around(rng, c["A"], c["B"]),
        {
            "python": 'if score ⟦>=¦>⟧ @A@:\n    return "A"\nif score ⟦>=¦>⟧ @B@:\n'
            '    return "B"\nreturn "C"',
            "node": 'if (score ⟦>=¦>⟧ @A@) {\n  return "A";\n}\nif (score ⟦>=¦>⟧ @B@) {\n'
            '  return "B";\n}\nreturn "C";',
            "go": 'if score ⟦>=¦>⟧ @A@ {\n\treturn "A"\n}\nif score ⟦>=¦>⟧ @B@ {\n'
            '\treturn "B"\n}\nreturn "C"',
            "rust": 'if score ⟦>=¦>⟧ @A@ {\n    return "A".to_string();\n}\nif score ⟦>=¦>⟧ @B@ {\n'
            '    return "B".to_string();\n}\n"C".to_string()',
            "java": 'if (score ⟦>=¦>⟧ @A@) {\n    return "A";\n}\nreturn score ⟦>=¦>⟧ @B@ ? "B" : "C";',
        },
    ),
    Spec(
        ("shipping", "postage", "freight"),
        (("weight", "int"),),
        "int",
        "Price of sending a weight in grams, in cents",
        lambda rng: {"A": rng.randint(3, 9) * 100, "B": rng.randint(200, 500), "C": rng.randint(1, 4)},
        lambda rng, c: _around(rng, c["A"], c["A"] // 2),
        {
            "python": "if weight ⟦<=¦<⟧ @A@:\n    return @B@\nreturn @B@ + (weight - @A@) * @C@⟦¦ + 1⟧",
            "node": "if (weight ⟦<=¦<⟧ @A@) {\n  return @B@;\n}\nreturn @B@ + (weight - @A@) * @C@⟦¦ + 1⟧;",
            "go": "if weight ⟦<=¦<⟧ @A@ {\n\treturn @B@\n}\nreturn @B@ + (weight-@A@)*@C@⟦¦ + 1⟧",
            "rust": "if weight ⟦<=¦<⟧ @A@ {\n    return @B@;\n}\n@B@ + (weight - @A@) * @C@⟦¦ + 1⟧",
            "java": "if (weight ⟦<=¦<⟧ @A@) {\n    return @B@;\n}\nreturn @B@ + (weight - @A@) * @C@⟦¦ + 1⟧;",
        },
    ),
    Spec(
        ("clamp", "limited", "within"),
        (("value", "int"),),
        "int",
        "The value, kept within its limits",
        lambda rng: {"A": rng.randint(1, 20), "B": rng.randint(50, 99)},
        lambda rng, c: [*_around(rng, c["A"], c["B"]), (0,), (-rng.randint(1, 9),)],
        {
            "python": "if value > @B@:\n    return @B@\n⟦return max(value, @A@)¦return value⟧",
            "node": "if (value > @B@) {\n  return @B@;\n}\nreturn ⟦Math.max(value, @A@)¦value⟧;",
            "go": "if value > @B@ {\n\treturn @B@\n}\n⟦if value < @A@ {\n\treturn @A@\n}\n¦⟧return value",
            "rust": "if value > @B@ {\n    return @B@;\n}\n⟦value.max(@A@)¦value⟧",
            "java": "if (value > @B@) {\n    return @B@;\n}\nreturn ⟦Math.max(value, @A@)¦value⟧;",
        },
    ),
    Spec(
        ("pages", "boxes_for", "rounds"),
        (("count", "int"),),
        "int",
        "How many are needed to hold so many things",
        lambda rng: {"A": rng.randint(4, 12)},
        lambda rng, c: [(c["A"] * k + s,) for k in (1, 2, rng.randint(3, 9)) for s in (-1, 0, 1)],
        {
            "python": "return ⟦-(-count // @A@)¦count // @A@⟧",
            "node": "return ⟦Math.ceil¦Math.floor⟧(count / @A@);",
            "go": "return ⟦(count + @A@ - 1)¦count⟧ / @A@",
            "rust": "⟦(count + @A@ - 1)¦count⟧ / @A@",
            "java": "return ⟦(count + @A@ - 1)¦count⟧ / @A@;",
        },
    ),
    Spec(
        ("leap", "is_leap", "long_year"),
        (("year", "int"),),
        "bool",
        "Whether the year has 366 days",
        lambda _: {},
        lambda rng, _: [(y,) for y in (1900, 2100, 2000, 2400, 1800, *rng.sample(range(1901, 2099), 4))],
        {
            "python": "return year % 4 == 0⟦ and (year % 100 != 0 or year % 400 == 0)¦⟧",
            "node": "return year % 4 === 0⟦ && (year % 100 !== 0 || year % 400 === 0)¦⟧;",
            "go": "return year%4 == 0⟦ && (year%100 != 0 || year%400 == 0)¦⟧",
            "rust": "year % 4 == 0⟦ && (year % 100 != 0 || year % 400 == 0)¦⟧",
            "java": "return year % 4 == 0⟦ && (year % 100 != 0 || year % 400 == 0)¦⟧;",
        },
    ),
    Spec(
        ("label", "tag_of", "caption"),
        (("number", "int"),),
        "str",
        "A short label of a number",
        lambda rng: {"A": rng.choice((3, 4, 6)), "B": rng.choice((5, 7, 11))},
        lambda rng, c: [(c["A"] * c["B"] * k,) for k in (1, 2)] + _around(rng, c["A"], c["B"]),
        {
            "python": '⟦if number % (@A@ * @B@) == 0:\n    return "both"\n¦⟧if number % @A@ == 0:\n'
            '    return "left"\nreturn "⟦¦no. ⟧" + str(number)',
            "node": '⟦if (number % (@A@ * @B@) === 0) {\n  return "both";\n}\n¦⟧if (number % @A@ === 0) {\n'
            '  return "left";\n}\nreturn "⟦¦no. ⟧" + String(number);',
        },
    ),
    Spec(
        ("initials", "monogram", "short_name"),
        (("name", "str"),),
        "str",
        "First letters of a name",
        lambda _: {},
        lambda rng, _: (
            [(_words(rng, 1, 4),) for _ in range(5)]
            + [(_words(rng, 2, 3).title(),) for _ in range(3)]
            + [("",)]
        ),
        {
            "python": 'return "".join(word[0]⟦.upper()¦⟧ for word in name.split())',
            "node": 'const words = name.split(" ").filter(Boolean);\n'
            'return words.map((word) => word[0]⟦.toUpperCase()¦⟧).join("");',
        },
    ),
    Spec(
        ("vowels", "count_vowels", "vowel_count"),
        (("text", "str"),),
        "int",
        "Number of vowels",
        lambda _: {},
        lambda rng, _: (
            [(_mixed(rng),) for _ in range(6)] + [(_words(rng, 1, 3),) for _ in range(3)] + [("",)]
        ),
        {
            "python": 'return sum(letter in "aeiou" for letter in text⟦.lower()¦⟧)',
            "node": 'return [...text⟦.toLowerCase()¦⟧].filter((letter) => "aeiou".includes(letter)).length;',
        },
    ),
    Spec(
        ("backwards", "reverse_words", "turned"),
        (("text", "str"),),
        "str",
        "The words in reverse order",
        lambda _: {},
        lambda rng, _: (
            [(_words(rng, 2, 4),) for _ in range(4)] + [(_words(rng, 1, 1),) for _ in range(3)] + [("",)]
        ),
        {
            "python": 'return ⟦" ".join(reversed(text.split()))¦text⟧',
            "node": 'return text.split(" ")⟦.reverse()¦⟧.join(" ");',
        },
    ),
    Spec(
        ("total", "sum_up", "bill"),
        (("prices", "ints"), ("discount", "int")),
        "int",
        "Sum of the prices less a discount in percent, in whole cents",
        lambda rng: {"A": rng.randint(60, 90)},
        lambda rng, _: [(_numbers(rng), rng.choice((0, 0, 10, 20, 50))) for _ in range(8)] + [([], 0)],
        {
            "python": "amount = sum(prices)\nreturn ⟦amount * (100 - min(discount, @A@)) // 100¦amount⟧",
            "node": "const amount = prices.reduce((sum, price) => sum + price, 0);\n"
            "return ⟦Math.floor((amount * (100 - Math.min(discount, @A@))) / 100)¦amount⟧;",
        },
    ),
    Spec(
        ("gap", "widest_gap", "largest_step"),
        (("values", "ints"),),
        "int",
        "Largest difference between neighbours",
        lambda _: {},
        lambda rng, _: (
            [(_numbers(rng, 2, 6),) for _ in range(6)]
            + [(sorted(_numbers(rng, 2, 5)),) for _ in range(4)]
            + [([],)]
        ),
        {
            "python": "steps = [⟦abs(b - a)¦b - a⟧ for a, b in zip(values, values[1:])]\n"
            "return max(steps, default=0)",
            "node": "let widest = ⟦0¦values.length > 1 ? -Infinity : 0⟧;\n"
            "for (let at = 1; at < values.length; at += 1) {\n"
            "  const step = values[at] - values[at - 1];\n"
            "  widest = Math.max(widest, ⟦Math.abs(step)¦step⟧);\n}\n"
            "return widest;",
        },
    ),
    Spec(
        ("above", "count_above", "over_limit"),
        (("values", "ints"), ("limit", "int")),
        "int",
        "How many values are above a limit",
        lambda _: {},
        lambda rng, _: (
            [(v := _numbers(rng, 2, 6), rng.choice(v)) for _ in range(5)]
            + [(_numbers(rng, 0, 4), 61) for _ in range(3)]
        ),
        {
            "python": "return len([value for value in values if value ⟦>¦>=⟧ limit])",
            "node": "return values.filter((value) => value ⟦>¦>=⟧ limit).length;",
        },
    ),
    Spec(
        ("clock", "as_clock", "duration"),
        (("minutes", "int"),),
        "str",
        "Hours and minutes of a number of minutes",
        lambda rng: {"A": rng.choice((60, 60, 45, 50))},
        lambda rng, _: (
            [(rng.randint(0, 9) + rng.randint(1, 9) * 60,) for _ in range(5)]
            + [(rng.randint(10, 40),) for _ in range(4)]
        ),
        {
            "python": 'return str(minutes // @A@) + ":" + str(minutes % @A@)⟦.zfill(2)¦⟧',
            "node": 'return `${Math.floor(minutes / @A@)}:${String(minutes % @A@)⟦.padStart(2, "0")¦⟧}`;',
        },
    ),
    Spec(
        ("mask", "hidden", "redact"),
        (("secret", "str"),),
        "str",
        "The last letters, with stars before them",
        lambda rng: {"A": rng.randint(2, 4)},
        lambda rng, _: (
            [(_words(rng, 1, 2),) for _ in range(5)] + [("x" * rng.randint(1, 2),), ("",), ("ab",)]
        ),
        {
            "python": 'return "*" * max(⟦0¦1⟧, len(secret) - @A@) + secret[-@A@:]',
            "node": 'return "*".repeat(Math.max(⟦0¦1⟧, secret.length - @A@)) + secret.slice(-@A@);',
        },
    ),
)


TYPED: Final = tuple(spec for spec in SPECS if "go" in spec.bodies)
"""Those that are written in Go, Rust and Java too."""
