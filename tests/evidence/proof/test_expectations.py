"""Expectations of tests are found and turned wrong, by language; what is not surely one is left alone."""

from __future__ import annotations

import pytest

from sidecar.evidence.proof.expectations import expectation_at, falsify, find_expectations, find_places


@pytest.mark.parametrize(
    ("path", "text", "wrong"),
    [
        ("a.py", "assert minus(3, 2) == 1", "assert minus(3, 2) == 2"),
        (
            "a.py",
            "assert f([1], x=3) == 90, 'no == 4'  # == 5",
            "assert f([1], x=3) == 91, 'no == 4'  # == 5",
        ),
        ("a.py", "self.assertEqual(90, total(3))", "self.assertEqual(91, total(3))"),
        ("a.py", "assert f(x) is None", "assert f(x) is 0"),
        ("a.py", "assert ok(x), 'm'", "assert not (ok(x)), 'm'"),
        ("a.py", "assert a == 3 or b == 4", "assert not (a == 3 or b == 4)"),
        ("a.py", "assert f() == pytest.approx(0.5)", "assert f() == pytest.approx(1.5)"),
        ("a.py", "assert f() == Money(90, 'EUR')", "assert f() == Money(91, 'EUR')"),
        ("a.py", "assert f(1) == g(2)", "assert not (f(1) == g(2))"),
        ("a.py", 'assert x == """a\nb"""', 'assert x == """a\nb!"""'),
        ("a.py", "def test_assert_x():", None),
        ("a.js", "assert.equal(minus(3, 2), 1, 'm 2');", "assert.equal(minus(3, 2), 2, 'm 2');"),
        ("a.js", "expect(minus(3,2)).toBe(1);", "expect(minus(3,2)).toBe(2);"),
        ("a.js", "assert.deepEqual(f(), { a: 1 });", "assert.deepEqual(f(), { a: 2 });"),
        ("a.ts", "assert.strictEqual(f(), true)", "assert.strictEqual(f(), false)"),
        ("a.js", "if (f() !== 90) throw new Error('x');", "if (f() !== 91) throw new Error('x');"),
        ("a.js", "expect(f()).not.toBe(1); assert.notEqual(f(), 3)", None),
        ("t.c", "assert(minus(3, 2) == 1);", "assert(minus(3, 2) == 2);"),
        ("t.c", 'CHECK(strcmp(f(), "x") == 0);', 'CHECK(strcmp(f(), "x") == 1);'),
        ("t.c", "ASSERT_EQ(f(2), 3);", "ASSERT_EQ(f(2), 4);"),
        ("t.c", "if (f() == 3) return 0;", None),
        ("t.c", "static void check(int a) { }", None),
        ("a.rs", 'assert_eq!(f(1), Some("a".into()), "m");', 'assert_eq!(f(1), Some("a!".into()), "m");'),
        ("a.t", "is f(1), 90, 'n';", "is f(1), 91, 'n';"),
        ("a.t", "ok(f(1) == 2, 'n');", "ok(f(1) == 3, 'n');"),
        ("a.sh", '[ "$(f "x")" = "90" ] || exit 1', '[ "$(f "x")" = "90!" ] || exit 1'),
        ("a.sh", 'test "$x" -eq 3 || exit 1', 'test "$x" -eq 4 || exit 1'),
        ("a.txt", "assert a == 1", None),
    ],
)
def test_an_expectation_is_turned_wrong(path: str, text: str, wrong: str | None) -> None:
    found = list(find_expectations(path, text))
    assert (falsify(text, found) if found else None) == wrong


def test_the_expectation_of_a_line_is_found_on_each_of_its_lines() -> None:
    text = "a = 1\nassert (\n    f(2)\n    == 3\n)\nassert f() == 4\n"
    assert [bool(expectation_at("a.py", text, line)) for line in range(1, 7)] == [False, *[True] * 5]


def test_places_are_read_in_the_forms_of_several_runners() -> None:
    said = 't.c:44: x\n  File "a/test_x.py", line 5, in\n# at t/a.t line 6.\n at file://a.test.js:5:10\n'
    assert [*find_places(said)] == [("t.c", 44), ("a/test_x.py", 5), ("t/a.t", 6), ("a.test.js", 5)]
