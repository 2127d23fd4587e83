"""Tests merged, split or laid out as tables are no accusation; values that are gone are."""

from __future__ import annotations

import pytest

from support.kept import Row, found, said, told

APART = """
from shop import total
def test_nothing():
    assert total([]) == 0
def test_some():
    assert total([(10, 3), (5, 2)]) == 40
def test_many():
    assert total([(1, 1)]) == 1
"""
MERGED = """
import pytest
from shop import total
@pytest.mark.parametrize(
    ("lines", "expected"), [([], 0), ([(10, 3), (5, 2)], 40), ([(1, 1)], 1)]
)
def test_totals(lines, expected):
    assert total(lines) == expected
"""
LOOP = """
from shop import total
CASES = [([], 0), ([(10, 3), (5, 2)], 40), ([(1, 1)], 1)]
def test_totals():
    for lines, expected in CASES:
        assert total(lines) == expected
"""
LOST = "([(10, 3), (5, 2)], 40), "
BENT = "([(10, 3), (5, 2)], 40)", "([(10, 3), (5, 2)], 41)"
ROW_WITH_MORE = MERGED.replace("([], 0), ([(10, 3), (5, 2)], 40), ", "")
NAMED = """
from shop import total
def test_nothing():
    lines = []
    expected = 0
    result = total(lines)
    assert result == expected
def test_some():
    lines = [(10, 3), (5, 2)]
    assert total(lines) == 40
def test_many():
    assert total([(1, 1)]) == 1
"""
CASE = """
import unittest
from slugs import slug
class SlugTest(unittest.TestCase):
    def test_words(self):
        self.assertEqual(slug("a b"), "a-b")
    def test_limit(self):
        self.assertEqual(slug("a b c", limit=3), "a-b")
"""
BASE = """
import unittest
from slugs import slug
class SlugCase(unittest.TestCase):
    def assertSlug(self, title, expected, **options):
        self.assertEqual(slug(title, **options), expected)
class SlugTest(SlugCase):
    def test_words(self):
        self.assertSlug("a b", "a-b")
    def test_limit(self):
        self.assertSlug("a b c", "a-b", limit=3)
"""
ONE_PLAIN = ROW_WITH_MORE + APART.split("from shop import total")[1].split("def test_many", maxsplit=1)[0]

ROWS = (
    Row("merged into parameters", APART, MERGED),
    Row("merged into a loop", APART, LOOP),
    Row("parameters into a loop", MERGED, LOOP),
    Row("a loop into parameters", LOOP, MERGED),
    Row("parameters into single tests", MERGED, APART),
    Row("a loop into single tests", LOOP, APART),
    Row("two merged into parameters that were there", ONE_PLAIN, MERGED),
    Row("values got names", APART, NAMED),
    Row("named values were put in place", NAMED, APART),
    Row("a base class with a helper", CASE, BASE),
    Row("merged but for one", APART, MERGED.replace(LOST, ""), ("test-deleted grave",)),
    Row("merged into a loop but for one", APART, LOOP.replace(LOST, ""), ("test-deleted grave",)),
    Row("merged, one with another value", APART, MERGED.replace(*BENT), ("test-deleted grave",)),
    Row("two merged but for one", ONE_PLAIN, MERGED.replace(LOST, ""), ("test-deleted grave",)),
    Row(
        "a base class whose helper expects nothing",
        CASE,
        BASE.replace("self.assertEqual(slug(title, **options), expected)", "slug(title, **options)"),
        ("assertion-removed grave",),
    ),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.says)
def test_what_is_laid_out_otherwise_is_told_for_what_it_is(row: Row) -> None:
    assert told("tests/test_shop.py", row) == set(row.finds)


HIGH = """package limits
import "testing"
func TestHigh(t *testing.T) {
	if got := Clamp(9, 0, 5); got != 5 {
		t.Errorf("got %d", got)
	}
}
func TestLow(t *testing.T) {
	if got := Clamp(-3, 0, 5); got != 0 {
		t.Errorf("got %d", got)
	}
}
"""
TABLE = """package limits
import "testing"
func TestClamp(t *testing.T) {
	tests := []struct {
		name string
		value, want int
	}{
		{"high", 9, 5},
		{"low", -3, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := Clamp(test.value, 0, 5); got != test.want {
				t.Errorf("got %d", got)
			}
		})
	}
}
"""
SHORT = TABLE.replace('\t\t{"low", -3, 0},\n', "")
OTHER = TABLE.replace("-3, 0}", "-3, -3}")


@pytest.mark.parametrize(
    ("after", "finds"),
    [
        pytest.param(TABLE, set[str](), id="all rows"),
        pytest.param(SHORT, {"test-deleted grave"}, id="a row is missing"),
        pytest.param(OTHER, {"test-deleted grave"}, id="a row expects another value"),
    ],
)
def test_a_go_table_holds_the_tests_whose_values_it_has(after: str, finds: set[str]) -> None:
    assert said(found({"limits_test.go": HIGH}, {"limits_test.go": after})) == finds
