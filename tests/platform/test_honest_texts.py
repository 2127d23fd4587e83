"""What is no secret stays, and no text takes long to mask."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

from sidecar.platform.secrets import SecretForms, SecretRule, compile_rule, load_rules
from support.table import over_table

CHECKOUT: Final = Path(__file__).parents[2]
MASK: Final = SecretForms().masker({})
HONEST: Final = ("docs/**/*.md", "tests/endings/**/*.txt", "tests/judge/**/*.txt", "tests/judge/**/*.json")
WORDS_PER_MASK: Final = 10_000
"""Measured: 2 made-up secrets, and nothing else, are masked in 298,000 words."""
LONG: Final = 100_000
"""Characters of a hostile line."""
MEASURABLE: Final = 0.1
"""Seconds of the processor; less is no trouble."""
SHAPES: Final = ("{0}", "{0}-", '{0}="')
"""What such a line repeats; {0} is a keyword."""


@over_table("texts", HONEST)
def test_honest_texts_are_left_as_they_are(texts: str) -> None:
    whole = "\n".join(path.read_text(encoding="utf-8") for path in sorted(CHECKOUT.glob(texts)))
    masks = MASK(whole).count("[masked]") - whole.count("[masked]")
    words = len(whole.split())
    assert words > WORDS_PER_MASK
    assert masks * WORDS_PER_MASK <= words


def seconds(rule: SecretRule, line: str) -> float:
    begun = time.process_time()
    for _ in compile_rule(rule).finditer(line):
        pass
    return time.process_time() - begun


@over_table("rule", [rule for rules in load_rules() for rule in rules], ids=lambda rule: rule.id)
def test_no_rule_takes_more_than_linear_time(rule: SecretRule) -> None:
    """Eight times the text takes eight times as long, not sixty-four."""
    keyword = rule.keywords[0]
    for shape in SHAPES:
        line = (shape.format(keyword.upper() if keyword.upper() in rule.pattern else keyword) * LONG)[:LONG]
        if (took := seconds(rule, line)) > MEASURABLE:
            assert took < 24 * seconds(rule, line[: LONG // 8]), line[:40]
