"""Sources that want to hang, crash or fill: each ends in tests or in a ValueError."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.adapters.reading import tests as reader
from sidecar.model.inspection import TestCase

PATHS = (
    "test_a.py",
    "a.test.ts",
    "a.test.tsx",
    "a.test.js",
    "a_test.go",
    "tests/a.rs",
    "ATest.java",
    "a_spec.rb",
    "ATests.cs",
    "a.bats",
)
NESTED = 10_000
HOSTILE = (
    "(" * NESTED,
    "[" * NESTED + "]" * NESTED,
    "-" * NESTED + "1",
    "not " * NESTED + "x",
    "!" * NESTED + "x",
    "a." * NESTED + "b",
    "assert " + "a and " * NESTED + "b",
    "def test_a():\n    assert " + "f(" * 90 + ")" * 90,
    "def test_a():\n    assert " + "x or " * 1_500 + "y",
    "test('a', () => { " + "expect(x).toBe(1); " * 1_500 + "})",
    "test('a', () => { expect(" + "!" * 1_500 + "x).toBe(1) })",
    "test('a', () => { expect(x)" + ".not" * 1_500 + ".toBe(1) })",
    "test('a', () => { assert(" + "a && " * 1_500 + "b) })",
    "describe('a', () => {" * 600,
    "package a\nfunc TestA(t *testing.T) {\n" + 't.Run("a", func(t *testing.T) {\n' * 600,
    "package a\nfunc TestA(t *testing.T) {\nif " + "a || " * 1_500 + "b {\nt.Fail()\n}\n}",
    "#[test]\nfn a() { assert!(" + "a && " * 1_500 + "b); }",
    "mod a {" * 1_000,
    "class A {" * 1_000,
    "class A { @Test void a() { assertThat(x)" + ".isEqualTo(1)" * 1_000 + "; } }",
    "it 'a' do\n" * 1_500,
    "@Test\n" + "fun " * 5_000,
    "@Test\nvoid " + "x" * 200_000,
    "\0" * 1_000,
    "\udcff\ud800 def test_a(): pass",
    "\n" * 20_000,
    "def test_a():\n" + "    h()\n" * 1_500 + "def h():\n" + "    assert g()\n" * 500,
)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_a_hostile_source_ends_in_tests_or_in_a_value_error(path: str, number: int) -> None:
    _read(path, HOSTILE[number])


@given(st.sampled_from(PATHS), st.text(alphabet="(){}[]'\"`=!.,:;@#\n\t atest_fiobexpc0", max_size=200))
@settings(max_examples=80, deadline=None)
def test_any_text_ends_in_tests_or_in_a_value_error(path: str, text: str) -> None:
    _read(path, text)


@pytest.mark.parametrize("path", PATHS)
def test_a_source_that_is_too_long_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="at most"):
        reader.tests_of(path, "x" * (reader.LONGEST + 1))


@pytest.mark.parametrize("path", PATHS)
def test_an_empty_source_has_no_tests(path: str) -> None:
    assert reader.tests_of(path, "") == ()


def test_what_is_kept_of_a_test_is_bounded() -> None:
    text = "def test_a():\n" + "".join(f"    assert f({n}) == '{'x' * 400}'\n" for n in range(1_000))

    (one,) = reader.tests_of("test_a.py", text)

    assert len(one.assertions) <= 400
    assert all(len(found.text) <= 300 and len(found.expected) <= 300 for found in one.assertions)


def _read(path: str, text: str) -> None:
    for read in (reader.tests_of, reader.tests_leniently):
        try:
            found = read(path, text)
        except ValueError:
            continue
        assert all(isinstance(one, TestCase) for one in found)
