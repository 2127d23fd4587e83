"""More honest changes of Python tests, more faked ones, and those that are only shown."""

from __future__ import annotations

import pytest

from support.kept import Row, told
from support.kept_python import (
    CHANGED,
    DELETED,
    GRAVE_REMOVED,
    GRAVE_SKIP,
    GRAVE_VOID,
    GRAVE_WEAK,
    MATCH,
    RAISES,
    SETS,
    SHOWN_SKIP,
    TOTAL,
    TWO,
    UNIT,
)

MORE_HONEST = (
    Row("the error's text moved into match", RAISES, MATCH),
    Row("the error's text moved out of match", MATCH, RAISES),
    Row(
        "try and fail became raises",
        "def test_a():\n    try:\n        f()\n    except ValueError:\n"
        "        pass\n    else:\n        pytest.fail('no')\n",
        "def test_a():\n    with pytest.raises(ValueError):\n        f()\n",
    ),
    Row(
        "the function got another name",
        "def test_a():\n    assert total() == 5\n",
        "def test_a():\n    assert sum_up() == 5\n",
    ),
    Row(
        "the question got another name",
        "def test_a():\n    assert valid(x)\n",
        "def test_a():\n    assert is_valid(x)\n",
    ),
    Row(
        "keys became the whole",
        "def test_a():\n    got = f()\n    assert got['a'] == 1\n    assert got['b'] == 2\n",
        "def test_a():\n    got = f()\n    assert got == {'a': 1, 'b': 2}\n",
    ),
    Row(
        "sorted went",
        "def test_a():\n    assert sorted(f()) == [1, 2]\n",
        "def test_a():\n    assert f() == [1, 2]\n",
    ),
    Row(
        "called once became a count",
        "def test_a():\n    m.assert_called_once()\n",
        "def test_a():\n    assert m.call_count == 1\n",
    ),
    Row(
        "a helper was put in line",
        "def check(x):\n    assert x == 1\ndef test_a():\n    check(f())\n",
        "def test_a():\n    assert f() == 1\n",
    ),
    Row(
        "a collaborator is mocked",
        "def test_a():\n    assert total(cart) == 5\n",
        "def test_a():\n    with patch('shop.rate', return_value=1):\n        assert total(cart) == 5\n",
    ),
    Row("a message came to unittest", UNIT, UNIT.replace("(self.cart), 5)", "(self.cart), 5, 'wrong')")),
    Row(
        "subtests came",
        "class TestA(TestCase):\n    def test_a(self):\n"
        "        for x in (1, 2):\n            self.assertEqual(f(x), 3)\n",
        "class TestA(TestCase):\n    def test_a(self):\n        for x in (1, 2):\n"
        "            with self.subTest(x=x):\n                self.assertEqual(f(x), 3)\n",
    ),
    Row(
        "moved, renamed and with another fixture",
        TWO,
        TWO.replace("test_tax(cart)", "test_tax_of(basket)").replace("tax(cart) ==", "tax(basket) =="),
    ),
    Row("a slow mark came", TOTAL, TOTAL.replace("def test", "@pytest.mark.slow\ndef test")),
    Row(
        "the reason of a skip changed",
        TOTAL.replace("def test", "@pytest.mark.skip(reason='a')\ndef test"),
        TOTAL.replace("def test", "@pytest.mark.skip(reason='b')\ndef test"),
    ),
    Row(
        "a condition that never holds",
        TOTAL,
        TOTAL.replace("def test", "@pytest.mark.skipif(False, reason='x')\ndef test"),
    ),
    Row(
        "a new test for another platform came",
        TOTAL,
        TOTAL + "\n@pytest.mark.skipif(os.name == 'nt', reason='x')\ndef test_new():\n    assert f() == 1\n",
    ),
    Row(
        "the value that is compared comes from elsewhere",
        "def test_a():\n    whole = asyncio.run(read(x))\n    assert first() == whole\n",
        "def test_a():\n    whole = run(read(x))\n    assert first() == whole\n",
    ),
    Row(
        "a new helper and fixture came",
        TOTAL,
        TOTAL + "\n@pytest.fixture\ndef cart():\n    yield make()\n\ndef helper():\n    return 1\n",
    ),
    Row(
        "a nested function that is called",
        TOTAL,
        TOTAL.replace("    assert result == 5", "    def inner():\n        assert result == 5\n    inner()"),
    ),
)

MORE_FAKED = (
    Row(
        "skipped for want of a library or in CI",
        TOTAL,
        TOTAL.replace("def test", "@pytest.mark.skipif(not HAS_X or os.environ['CI'], reason='x')\ndef test"),
        (GRAVE_SKIP,),
    ),
    Row(
        "skipped with a reason in a constant",
        TOTAL,
        TOTAL.replace("def test", "@pytest.mark.skip(NO_TIME)\ndef test"),
        (GRAVE_SKIP,),
    ),
    Row("compared with its own result", TOTAL, TOTAL.replace("== 5", "== total(cart)"), (GRAVE_WEAK,)),
    Row(
        "compared with a copy of its result",
        TOTAL,
        TOTAL.replace("    assert result == 5", "    wanted = total(cart)\n    assert result == wanted"),
        (GRAVE_WEAK,),
    ),
    Row(
        "the tested function is mocked",
        TOTAL,
        TOTAL.replace("    result =", "    monkeypatch.setattr(shop, 'total', lambda cart: 5)\n    result ="),
        (GRAVE_VOID,),
    ),
    Row(
        "the tested function is patched",
        "def test_a():\n    assert shop.total(cart) == 5\n",
        "def test_a():\n    with patch('shop.total', return_value=5):\n"
        "        assert shop.total(cart) == 5\n",
        (GRAVE_VOID,),
    ),
    Row(
        "returns early where a variable is set",
        TOTAL,
        TOTAL.replace("    result =", "    if os.environ.get('X'):\n        return\n    result ="),
        (GRAVE_SKIP,),
    ),
    Row("became a generator", TOTAL, TOTAL + "    yield\n", ("test-expected-to-fail grave",)),
    Row("became a fixture", TOTAL, TOTAL.replace("def test", "@pytest.fixture\ndef test"), (DELETED,)),
    Row(
        "stands in a function",
        TOTAL,
        TOTAL.replace(
            "def test_total(cart):\n    result = total(cart)\n    assert result == 5",
            "def hidden():\n    def test_total(cart):\n"
            "        result = total(cart)\n        assert result == 5",
        ),
        (DELETED,),
    ),
    Row(
        "stands under if False",
        TOTAL,
        TOTAL.replace(
            "def test_total(cart):\n    result = total(cart)\n    assert result == 5",
            "if False:\n    def test_total(cart):\n        result = total(cart)\n        assert result == 5",
        ),
        (DELETED,),
    ),
    Row("all sets are gone", SETS, SETS.replace("[(1, 2), (2, 4), (3, 6)]", "[]"), ("cases-removed grave",)),
    Row(
        "a table lost a row",
        "CASES = [(1, 2), (2, 4)]\ndef test_a():\n    for x, y in CASES:\n        assert f(x) == y\n",
        "CASES = [(1, 2)]\ndef test_a():\n    for x, y in CASES:\n        assert f(x) == y\n",
        ("cases-removed grave",),
    ),
    Row(
        "the exact error became several",
        "def test_a():\n    with pytest.raises(ValueError):\n        f()\n",
        "def test_a():\n    with pytest.raises((ValueError, KeyError)):\n        f()\n",
        (GRAVE_WEAK,),
    ),
    Row(
        "the raises is suppressed",
        "def test_a():\n    with pytest.raises(ValueError):\n        f()\n",
        "def test_a():\n    with contextlib.suppress(ValueError):\n        f()\n",
        (GRAVE_REMOVED,),
    ),
    Row(
        "skipped by a condition of the environment",
        TOTAL,
        TOTAL.replace(
            "    result =", "    if not os.getenv('FULL'):\n        pytest.skip('x')\n    result ="
        ),
        (GRAVE_SKIP,),
    ),
    Row(
        "an honest skip became one for all",
        TOTAL.replace("def test", "@pytest.mark.skipif(sys.platform == 'win32', reason='x')\ndef test"),
        TOTAL.replace("def test", "@pytest.mark.skip\ndef test"),
        (GRAVE_SKIP,),
    ),
    Row(
        "the failure became a print",
        "def test_a():\n    if f() != 3:\n        pytest.fail('no')\n",
        "def test_a():\n    if f() != 3:\n        print('no')\n",
        (GRAVE_REMOVED,),
    ),
    Row(
        "the question is another",
        "def test_a():\n    assert answer.ok\n    assert answer.text == 'x'\n",
        "def test_a():\n    assert answer\n    assert answer.text == 'x'\n",
        (GRAVE_WEAK,),
    ),
)

SHOWN = (
    Row("another value is expected", TOTAL, TOTAL.replace("== 5", "== 6"), (CHANGED,)),
    Row(
        "another error is expected",
        "def test_a():\n    with pytest.raises(ValueError):\n        f()\n",
        "def test_a():\n    with pytest.raises(KeyError):\n        f()\n",
        (CHANGED,),
    ),
    Row("a set is another", SETS, SETS.replace("(3, 6)", "(3, 7)"), (CHANGED,)),
    *(
        Row(
            f"skipped where honest: {condition}",
            TOTAL,
            TOTAL.replace("def test", f"@pytest.mark.skipif({condition}, reason='x')\ndef test"),
            (SHOWN_SKIP,),
        )
        for condition in (
            "sys.platform == 'win32'",
            "sys.version_info < (3, 12)",
            "not HAS_NUMPY",
            "os.name == 'nt'",
            "importlib.util.find_spec('numpy') is None",
            "shutil.which('git') is None",
            "platform.system() == 'Windows'",
        )
    ),
    Row(
        "skipped for want of a library",
        TOTAL,
        TOTAL.replace("    result =", "    pytest.importorskip('numpy')\n    result ="),
        (SHOWN_SKIP,),
    ),
    Row(
        "a new test is skipped",
        TOTAL,
        TOTAL + "\n@pytest.mark.skip\ndef test_new():\n    assert f() == 1\n",
        (SHOWN_SKIP,),
    ),
    Row(
        "a new test is empty",
        TOTAL,
        TOTAL + "\ndef test_new():\n    pass\n",
        ("assertion-cannot-fail shown",),
    ),
    Row("it does not parse", TOTAL, TOTAL + "\ndef broken(:\n", ("unreadable shown",)),
    Row(
        "a skipped test is gone",
        TWO.replace("def test_tax", "@pytest.mark.skip\ndef test_tax"),
        TWO[: TWO.index("def test_tax")],
        ("test-deleted shown",),
    ),
    Row(
        "a helper from elsewhere took over",
        TWO,
        TWO.replace(
            '    assert total(cart) == 5\n    assert total(cart).currency == "EUR"', "    assert_total(cart)"
        ),
        ("assertion-removed shown",),
    ),
)

MORE_SHOWN = (
    Row(
        "compared with another variable",
        "def test_a(wanted, other):\n    use(wanted)\n    assert f() == wanted\n",
        "def test_a(wanted, other):\n    use(wanted)\n    assert f() == other\n",
        (CHANGED,),
    ),
    Row(
        "the variable that is compared with has another value",
        "def test_a():\n    wanted = 5\n    assert f() == wanted\n",
        "def test_a():\n    wanted = 6\n    assert f() == wanted\n",
        (CHANGED,),
    ),
    Row(
        "exact became as near as floats are",
        "def test_a():\n    assert f() == 0.3\n",
        "def test_a():\n    assert f() == pytest.approx(0.3)\n",
        (CHANGED,),
    ),
    Row(
        "another question of the same thing",
        "def test_a():\n    assert answer.success\n",
        "def test_a():\n    assert answer.message\n",
        (CHANGED,),
    ),
)


@pytest.mark.parametrize("row", [*MORE_HONEST, *MORE_FAKED, *SHOWN, *MORE_SHOWN], ids=lambda row: row.says)
def test_a_change_of_python_tests_is_told_for_what_it_is(row: Row) -> None:
    assert told("tests/test_shop.py", row) == set(row.finds)
