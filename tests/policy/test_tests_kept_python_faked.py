"""Changes that make Python tests find less are told."""

from __future__ import annotations

import pytest

from support.kept import Row, told
from support.kept_python import (
    DELETED,
    GRAVE_REMOVED,
    GRAVE_SKIP,
    GRAVE_VOID,
    GRAVE_WEAK,
    SETS,
    TOTAL,
    TWO,
    UNIT,
)

FAKED = (
    Row("the test is gone", TWO, TWO[: TWO.index("def test_tax")], (DELETED,)),
    Row(
        "the test is commented out",
        TWO,
        TWO.replace(
            "def test_tax(cart):\n    assert tax(cart) == 0.5",
            "# def test_tax(cart):\n#     assert tax(cart) == 0.5",
        ),
        (DELETED,),
    ),
    Row("the test is no longer collected", TWO, TWO.replace("test_tax", "_test_tax"), (DELETED,)),
    Row("the test became a check", TWO, TWO.replace("test_tax", "check_tax"), (DELETED,)),
    Row(
        "the class is no longer collected",
        "class TestA:\n    def test_a(self):\n        assert f() == 1\n",
        "class ATests:\n    def test_a(self):\n        assert f() == 1\n",
        (DELETED,),
    ),
    Row(
        "the class got a constructor",
        "class TestA:\n    def test_a(self):\n        assert f() == 1\n",
        "class TestA:\n    def __init__(self): pass\n    def test_a(self):\n        assert f() == 1\n",
        (DELETED,),
    ),
    Row("a later test hides it", TOTAL, TOTAL + "\ndef test_total():\n    pass\n", (GRAVE_REMOVED,)),
    Row("skipped", TOTAL, TOTAL.replace("def test", "@pytest.mark.skip\ndef test"), (GRAVE_SKIP,)),
    Row(
        "skipped with a reason that names a platform",
        TOTAL,
        TOTAL.replace("def test", "@pytest.mark.skip(reason='if windows')\ndef test"),
        (GRAVE_SKIP,),
    ),
    Row(
        "skipped with mark from pytest",
        TOTAL,
        TOTAL.replace("import pytest", "from pytest import mark").replace(
            "def test", "@mark.skip('x')\ndef test"
        ),
        (GRAVE_SKIP,),
    ),
    Row(
        "skipped by a named mark",
        TOTAL,
        TOTAL.replace("def test", "later = pytest.mark.skip(reason='x')\n@later\ndef test"),
        (GRAVE_SKIP,),
    ),
    Row(
        "skipped where true",
        TOTAL,
        TOTAL.replace("def test", "@pytest.mark.skipif(True, reason='x')\ndef test"),
        (GRAVE_SKIP,),
    ),
    Row(
        "skipped where this machine is",
        TOTAL,
        TOTAL.replace("def test", "@pytest.mark.skipif(sys.platform != 'win32', reason='x')\ndef test"),
        (GRAVE_SKIP,),
    ),
    Row(
        "skipped in CI",
        TOTAL,
        TOTAL.replace("def test", "@pytest.mark.skipif(os.environ.get('CI') is None, reason='x')\ndef test"),
        (GRAVE_SKIP,),
    ),
    Row(
        "skipped for the module",
        TOTAL,
        TOTAL.replace("def test", "pytestmark = pytest.mark.skip\ndef test"),
        (GRAVE_SKIP,),
    ),
    Row(
        "skipped at module level",
        TOTAL,
        TOTAL.replace("def test", "pytest.skip('x', allow_module_level=True)\ndef test"),
        (GRAVE_SKIP,),
    ),
    Row(
        "skipped in the body",
        TOTAL,
        TOTAL.replace("    result =", "    pytest.skip('x')\n    result ="),
        (GRAVE_SKIP,),
    ),
    Row(
        "skipped by raising",
        TOTAL,
        TOTAL.replace("    result =", "    raise unittest.SkipTest('x')\n    result ="),
        (GRAVE_SKIP,),
    ),
    Row(
        "skipped in unittest",
        UNIT,
        UNIT.replace("    def test_total", "    @unittest.skip('x')\n    def test_total"),
        (GRAVE_SKIP,),
    ),
    Row(
        "skipped in setUp",
        UNIT,
        UNIT.replace("        self.cart =", "        self.skipTest('x')\n        self.cart ="),
        (GRAVE_SKIP,),
    ),
    Row(
        "skipped by an autouse fixture",
        TOTAL,
        TOTAL + "\n@pytest.fixture(autouse=True)\ndef stop():\n    pytest.skip('x')\n",
        (GRAVE_SKIP,),
    ),
    Row(
        "switched off by __test__",
        UNIT,
        UNIT.replace("    def setUp", "    __test__ = False\n    def setUp"),
        (GRAVE_SKIP,),
    ),
    Row("deleted by name", TOTAL, TOTAL + "\ndel test_total\n", (GRAVE_SKIP,)),
    Row("set to None", TOTAL, TOTAL + "\ntest_total = None\n", (GRAVE_SKIP,)),
    Row("returns early", TOTAL, TOTAL.replace("    result =", "    return\n    result ="), (GRAVE_SKIP,)),
    Row(
        "expected to fail",
        TOTAL,
        TOTAL.replace("def test", "@pytest.mark.xfail\ndef test"),
        ("test-expected-to-fail grave",),
    ),
    Row(
        "expected to fail in the body",
        TOTAL,
        TOTAL.replace("    result =", "    pytest.xfail('x')\n    result ="),
        ("test-expected-to-fail grave",),
    ),
    Row(
        "expected to fail in unittest",
        UNIT,
        UNIT.replace("    def test_total", "    @unittest.expectedFailure\n    def test_total"),
        ("test-expected-to-fail grave",),
    ),
    Row("the assert is gone", TOTAL, TOTAL.replace("    assert result == 5\n", ""), (GRAVE_REMOVED,)),
    Row(
        "one of two asserts is gone",
        TWO,
        TWO.replace('    assert total(cart).currency == "EUR"\n', ""),
        (GRAVE_REMOVED,),
    ),
    Row(
        "the assert became a print",
        TOTAL,
        TOTAL.replace("assert result == 5", "print(result)"),
        (GRAVE_REMOVED,),
    ),
    Row(
        "the raises is gone",
        UNIT,
        UNIT.replace("        with self.assertRaises(ValueError):\n            total(None)\n", ""),
        (GRAVE_REMOVED,),
    ),
    *(
        Row(f"== became {weaker}", TOTAL, TOTAL.replace("assert result == 5", weaker), (GRAVE_WEAK,))
        for weaker in (
            "assert result",
            "assert result is not None",
            "assert result != 4",
            "assert result >= 0",
            "assert isinstance(result, int)",
            "assert result in (4, 5)",
            "assert result == 5 or result == 4",
        )
    ),
    Row(
        "the whole became a truth of its root",
        TWO,
        TWO.replace('total(cart).currency == "EUR"', "total(cart)"),
        (GRAVE_WEAK,),
    ),
    *(
        Row(f"the assert became {void}", TOTAL, TOTAL.replace("assert result == 5", void), (GRAVE_VOID,))
        for void in (
            "assert True",
            "assert 1 == 1",
            "assert result == result",
            "assert result == 5 or True",
            "assert (result == 5, 'no')",
            "assert 'result'",
            "assert result == mock.ANY",
            "assert isinstance(result, object)",
            "assert len(result) >= 0",
            "assert not False",
            "assert 5 == 5",
            "assert result is result",
            "assert [1]",
        )
    ),
    *(
        Row(f"the assert stands {how}", TOTAL, TOTAL.replace("    assert result == 5", body), (GRAVE_VOID,))
        for how, body in (
            ("under if False", "    if False:\n        assert result == 5"),
            ("under if 0", "    if 0:\n        assert result == 5"),
            ("in a loop that never runs", "    while False:\n        assert result == 5"),
            ("in a loop over nothing", "    for _ in []:\n        assert result == 5"),
            (
                "in a try that swallows",
                "    try:\n        assert result == 5\n    except AssertionError:\n        pass",
            ),
            (
                "in a try that swallows all",
                "    try:\n        assert result == 5\n    except Exception:\n        print('x')",
            ),
            ("in a bare try", "    try:\n        assert result == 5\n    except:\n        pass"),
            ("in suppress", "    with contextlib.suppress(AssertionError):\n        assert result == 5"),
            ("in a function that nobody calls", "    def inner():\n        assert result == 5"),
        )
    ),
    Row("the result became a literal", TOTAL, TOTAL.replace("= total(cart)", "= 5"), (GRAVE_VOID,)),
    Row(
        "the exact error became any",
        "def test_a():\n    with pytest.raises(ValueError):\n        f()\n",
        "def test_a():\n    with pytest.raises(Exception):\n        f()\n",
        (GRAVE_WEAK,),
    ),
    Row(
        "the error's text does not count any more",
        "def test_a():\n    with pytest.raises(ValueError, match='too big'):\n        f()\n",
        "def test_a():\n    with pytest.raises(ValueError):\n        f()\n",
        (GRAVE_WEAK,),
    ),
    Row(
        "the pattern takes all",
        "def test_a():\n    with pytest.raises(ValueError, match='too big'):\n        f()\n",
        "def test_a():\n    with pytest.raises(ValueError, match='.*'):\n        f()\n",
        (GRAVE_WEAK,),
    ),
    Row(
        "the tolerance is wider",
        "def test_a():\n    assert f() == pytest.approx(1.5)\n",
        "def test_a():\n    assert f() == pytest.approx(1.5, rel=0.5)\n",
        (GRAVE_WEAK,),
    ),
    Row(
        "exact became about",
        "def test_a():\n    assert f() == 1.5\n",
        "def test_a():\n    assert f() == pytest.approx(1.5, abs=10)\n",
        (GRAVE_WEAK,),
    ),
    Row(
        "places became fewer",
        "class TestA(TestCase):\n    def test_a(self):\n        self.assertAlmostEqual(f(), 1.5, places=7)\n",
        "class TestA(TestCase):\n    def test_a(self):\n        self.assertAlmostEqual(f(), 1.5, places=1)\n",
        (GRAVE_WEAK,),
    ),
    Row(
        "called with became called",
        "def test_a():\n    m.assert_called_with(1)\n",
        "def test_a():\n    m.assert_called()\n",
        (GRAVE_WEAK,),
    ),
    Row(
        "equal text became a part of it",
        "def test_a():\n    assert out() == 'hello world'\n",
        "def test_a():\n    assert 'hello' in out()\n",
        (GRAVE_WEAK,),
    ),
    Row(
        "equal text became its beginning",
        "def test_a():\n    assert out() == 'hello world'\n",
        "def test_a():\n    assert out().startswith('hello')\n",
        (GRAVE_WEAK,),
    ),
    Row("a set is gone", SETS, SETS.replace(", (3, 6)", ""), ("cases-removed grave",)),
    Row(
        "a set is skipped",
        SETS,
        SETS.replace("(3, 6)", "pytest.param(3, 6, marks=pytest.mark.skip)"),
        ("cases-removed grave",),
    ),
    Row(
        "all sets but one are gone",
        SETS,
        "def test_double():\n    given, wanted = 1, 2\n    assert double(given) == wanted\n",
        ("cases-removed grave",),
    ),
    Row(
        "the helper was emptied",
        "def check_it(x):\n    assert x == 1\ndef test_a():\n    check_it(f())\n",
        "def check_it(x):\n    pass\ndef test_a():\n    check_it(f())\n",
        (GRAVE_REMOVED,),
    ),
    Row("a new test that cannot fail", TOTAL, TOTAL + "\ndef test_new():\n    assert True\n", (GRAVE_VOID,)),
    Row(
        "renamed and emptied",
        TWO,
        TWO.replace("test_total", "test_sum").replace('    assert total(cart).currency == "EUR"\n', ""),
        (GRAVE_REMOVED,),
    ),
)


@pytest.mark.parametrize("row", [*FAKED], ids=lambda row: row.says)
def test_a_faked_change_of_python_tests_is_told(row: Row) -> None:
    assert told("tests/test_shop.py", row) == set(row.finds)
