"""Honest changes of Python tests give no finding."""

from __future__ import annotations

import pytest

from support.kept import Row, told
from support.kept_python import SETS, TOTAL, TWO, UNIT

HONEST = (
    Row("nothing changed but a comment", TOTAL, TOTAL + "# more\n"),
    Row("laid out anew", TOTAL, TOTAL.replace("result == 5", "(\n        result\n        == 5\n    )")),
    Row(
        "the variable is inlined",
        TOTAL,
        "from shop import total\ndef test_total(cart):\n    assert total(cart) == 5\n",
    ),
    Row("the variable got another name", TOTAL, TOTAL.replace("result", "outcome")),
    Row("the fixture got another name", TWO, TWO.replace("cart", "basket")),
    Row("an annotation came", TOTAL, TOTAL.replace("(cart)", "(cart: Cart) -> None", 1)),
    Row(
        "a docstring and a message came",
        TOTAL,
        TOTAL.replace("== 5", "== 5, 'wrong'").replace("    result =", "    '''Says.'''\n    result ="),
    ),
    Row("quotes changed", TWO, TWO.replace('"EUR"', "'EUR'")),
    Row("the test got another name", TOTAL, TOTAL.replace("test_total", "test_total_of_cart")),
    Row(
        "the test moved into a class",
        TWO,
        TWO.replace(
            "def test_tax(cart):\n    assert", "class TestTax:\n    def test_tax(self, cart):\n        assert"
        ),
    ),
    Row(
        "tests changed places",
        TWO,
        """
        from shop import total, tax
        def test_tax(cart):
            assert tax(cart) == 0.5
        def test_total(cart):
            assert total(cart) == 5
            assert total(cart).currency == "EUR"
        """,
    ),
    Row(
        "a test was split in two",
        TWO,
        """
        def test_total(cart):
            assert total(cart) == 5
        def test_currency(cart):
            assert total(cart).currency == "EUR"
        def test_tax(cart):
            assert tax(cart) == 0.5
        """,
    ),
    Row(
        "two tests were merged",
        TWO,
        """
        def test_total_and_tax(cart):
            assert total(cart) == 5
            assert total(cart).currency == "EUR"
            assert tax(cart) == 0.5
        """,
    ),
    Row(
        "a helper was extracted",
        TWO,
        """
        def assert_total(cart, value, currency):
            assert total(cart) == value
            assert total(cart).currency == currency
        def test_total(cart):
            assert_total(cart, 5, "EUR")
        def test_tax(cart):
            assert tax(cart) == 0.5
        """,
    ),
    Row(
        "a helper that says check was extracted",
        UNIT,
        UNIT.replace("self.assertEqual(total(self.cart), 5)\n", "self.check(5)\n")
        + """
    def check(self, value):
        self.assertEqual(total(self.cart), value)
""",
    ),
    Row(
        "unittest became pytest",
        UNIT,
        """
        import pytest
        @pytest.fixture
        def cart():
            return make_cart()
        def test_total(cart):
            assert total(cart) == 5
            assert tax(cart) is None
            assert cart.open
            with pytest.raises(ValueError):
                total(None)
        """,
    ),
    Row(
        "pytest's class became unittest's",
        TWO,
        """
        import unittest
        class TestShop(unittest.TestCase):
            def test_total(self):
                self.assertEqual(total(cart), 5)
                self.assertEqual(total(cart).currency, "EUR")
            def test_tax(self):
                self.assertEqual(tax(cart), 0.5)
        """,
    ),
    Row(
        "copies became parameters",
        """
        def test_one():
            assert double(1) == 2
        def test_two():
            assert double(2) == 4
        """,
        """
        @pytest.mark.parametrize("given, wanted", [(1, 2), (2, 4)])
        def test_double(given, wanted):
            assert double(given) == wanted
        """,
    ),
    Row(
        "parameters became copies",
        SETS,
        """
        def test_double_1():
            assert double(1) == 2
        def test_double_2():
            assert double(2) == 4
        def test_double_3():
            assert double(3) == 6
        """,
    ),
    Row("sets got ids", SETS, SETS.replace("(1, 2)", "pytest.param(1, 2, id='one')")),
    Row("sets changed places", SETS, SETS.replace("(1, 2), (2, 4)", "(2, 4), (1, 2)")),
    Row("a set came", SETS, SETS.replace("(3, 6)", "(3, 6), (4, 8)")),
    Row(
        "sets were split over two tests",
        SETS,
        """
        @pytest.mark.parametrize("given, wanted", [(1, 2), (2, 4)])
        def test_double(given, wanted):
            assert double(given) == wanted
        @pytest.mark.parametrize("given, wanted", [(3, 6)])
        def test_double_odd(given, wanted):
            assert double(given) == wanted
        """,
    ),
    Row(
        "sets moved to a constant",
        SETS,
        """
        CASES = [(1, 2), (2, 4), (3, 6)]
        @pytest.mark.parametrize("given, wanted", CASES)
        def test_double(given, wanted):
            assert double(given) == wanted
        """,
    ),
    Row(
        "a loop became parameters",
        """
        def test_double():
            for given, wanted in [(1, 2), (2, 4), (3, 6)]:
                assert double(given) == wanted
        """,
        SETS,
    ),
    Row("the expectation is stronger", TOTAL.replace("== 5", "is not None"), TOTAL),
    Row(
        "parts became the whole",
        """
        def test_user():
            user = load(1)
            assert user.name == "A"
            assert user.age == 3
        """,
        """
        def test_user():
            user = load(1)
            assert user == User(name="A", age=3)
        """,
    ),
    Row(
        "asserts became one of tuples",
        """
        def test_user():
            assert user.name == "A"
            assert user.age == 3
        """,
        """
        def test_user():
            assert (user.name, user.age) == ("A", 3)
        """,
    ),
    Row(
        "one assert became two",
        "def test_a():\n    assert x == 1 and y == 2\n",
        "def test_a():\n    assert x == 1\n    assert y == 2\n",
    ),
    Row(
        "is True became plain",
        "def test_a():\n    assert ok(1) is True\n    assert ok(2) == False\n",
        "def test_a():\n    assert ok(1)\n    assert not ok(2)\n",
    ),
    Row(
        "length became the list",
        "def test_a():\n    assert len(items) == 2\n",
        "def test_a():\n    assert items == [1, 2]\n",
    ),
    Row(
        "the sides changed places",
        "def test_a():\n    assert 5 == total(x)\n",
        "def test_a():\n    assert total(x) == 5\n",
    ),
    Row(
        "a skip went",
        "import pytest\n@pytest.mark.skip\ndef test_a():\n    assert f() == 1\n",
        "def test_a():\n    assert f() == 1\n",
    ),
    Row("a new test came", TOTAL, TOTAL + "\ndef test_more():\n    assert more() == 2\n"),
    Row("a new test without an assert came", TOTAL, TOTAL + "\ndef test_does_not_raise():\n    more()\n"),
    Row(
        "the broader error became the exact one",
        "def test_a():\n    with pytest.raises(Exception):\n        f()\n",
        "def test_a():\n    with pytest.raises(KeyError, match='x'):\n        f()\n",
    ),
    Row(
        "the tolerance is tighter",
        "def test_a():\n    assert f() == pytest.approx(1, abs=0.1)\n",
        "def test_a():\n    assert f() == pytest.approx(1, abs=0.01)\n",
    ),
    Row(
        "a call compared with itself may fail",
        "def test_a():\n    pass\n",
        "def test_a():\n    assert f(1) == f(1)\n",
    ),
    Row(
        "the argument changed",
        "def test_a():\n    assert total(cart, 1) == 5\n",
        "def test_a():\n    assert total(cart, tax=1) == 5\n",
    ),
    Row(
        "the literal became a constant",
        "def test_a():\n    assert f() == 5\n",
        "LIMIT = 5\ndef test_a():\n    assert f() == LIMIT\n",
    ),
    Row(
        "a try that passes its failure on",
        "def test_a():\n    assert f() == 1\n",
        "def test_a():\n    try:\n        assert f() == 1\n"
        "    except Exception as error:\n        pytest.fail(str(error))\n",
    ),
    Row(
        "a try around it for clean up",
        "def test_a():\n    assert f() == 1\n",
        "def test_a():\n    try:\n        assert f() == 1\n    finally:\n        close()\n",
    ),
    Row(
        "if and fail became assert",
        "def test_a():\n    if f() != 3:\n        pytest.fail('no')\n",
        "def test_a():\n    assert f() == 3\n",
    ),
    Row(
        "a mock's question is the same in other words",
        "def test_a():\n    m.assert_called_once_with(1)\n",
        "def test_a():\n    m.assert_called_with(1)\n",
    ),
    Row("async came", TOTAL, TOTAL.replace("def test", "async def test").replace("= total", "= await total")),
)


@pytest.mark.parametrize("row", [*HONEST], ids=lambda row: row.says)
def test_an_honest_change_of_python_tests_is_not_told(row: Row) -> None:
    assert told("tests/test_shop.py", row) == set(row.finds)
