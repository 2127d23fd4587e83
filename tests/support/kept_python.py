"""Python tests from which the changes in tests of tests begin, and what is found of them, in short."""

from __future__ import annotations

GRAVE_REMOVED = "assertion-removed grave"
GRAVE_WEAK = "assertion-weakened grave"
GRAVE_VOID = "assertion-cannot-fail grave"
GRAVE_SKIP = "test-skipped grave"
SHOWN_SKIP = "test-skipped shown"
CHANGED = "expectation-changed shown"
DELETED = "test-deleted grave"
TOTAL = """
import pytest
from shop import total

def test_total(cart):
    result = total(cart)
    assert result == 5
"""
TWO = """
from shop import total, tax

def test_total(cart):
    assert total(cart) == 5
    assert total(cart).currency == "EUR"

def test_tax(cart):
    assert tax(cart) == 0.5
"""
UNIT = """
import unittest
from shop import total, tax

class TestCart(unittest.TestCase):
    def setUp(self):
        self.cart = make_cart()

    def test_total(self):
        self.assertEqual(total(self.cart), 5)
        self.assertIsNone(tax(self.cart))
        self.assertTrue(self.cart.open)
        with self.assertRaises(ValueError):
            total(None)
"""
SETS = """
import pytest

@pytest.mark.parametrize("given, wanted", [(1, 2), (2, 4), (3, 6)])
def test_double(given, wanted):
    assert double(given) == wanted
"""
RAISES = """
def test_a():
    with pytest.raises(ValueError) as error:
        f()
    assert "too big" in str(error.value)
"""
MATCH = """
def test_a():
    with pytest.raises(ValueError, match="too big"):
        f()
"""
