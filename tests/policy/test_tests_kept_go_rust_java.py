"""Go's, Rust's and Java's tests before and after."""

from __future__ import annotations

import pytest

from support.kept import Row, told

REMOVED = "assertion-removed grave"
WEAK = "assertion-weakened grave"
VOID = "assertion-cannot-fail grave"
SKIP = "test-skipped grave"
SHOWN_SKIP = "test-skipped shown"
DELETED = "test-deleted grave"
CHANGED = "expectation-changed shown"

GO = """
package shop

import "testing"

func TestTotal(t *testing.T) {
	got := Total(cart)
	if got != 5 {
		t.Errorf("got %d", got)
	}
	if err := Check(); err != nil {
		t.Fatal(err)
	}
}

func TestTax(t *testing.T) {
	t.Run("plain", func(t *testing.T) {
		require.Equal(t, 0.5, Tax(cart))
	})
	t.Run("none", func(t *testing.T) {
		assert.NoError(t, Untaxed(cart))
	})
}
"""
TABLE = """
package shop

func TestDouble(t *testing.T) {
	cases := []struct{ in, out int }{
		{1, 2},
		{2, 4},
		{3, 6},
	}
	for _, tc := range cases {
		if got := Double(tc.in); got != tc.out {
			t.Errorf("no")
		}
	}
}
"""
GO_ROWS = (
    Row(
        "go: laid out anew",
        GO,
        GO.replace("\t", "    ").replace("got := Total(cart)", "got := Total( cart ) // sum"),
    ),
    Row("go: another message", GO, GO.replace("got %d", "want 5, got %d")),
    Row("go: Error became Fatal", GO, GO.replace("t.Errorf", "t.Fatalf")),
    Row("go: renamed", GO, GO.replace("TestTotal", "TestTotalOfCart")),
    Row(
        "go: became testify",
        GO,
        GO.replace('\tif got != 5 {\n\t\tt.Errorf("got %d", got)\n\t}\n', "\tassert.Equal(t, 5, got)\n"),
    ),
    Row("go: a row came", TABLE, TABLE.replace("{3, 6},", "{3, 6},\n\t\t{4, 8},")),
    Row("go: a variable got another name", GO, GO.replace("got", "sum")),
    Row(
        "go: a new test",
        GO,
        GO + "\nfunc TestMore(t *testing.T) {\n\tif More() != 1 {\n\t\tt.Fail()\n\t}\n}\n",
    ),
    Row("go: deleted", GO, GO[: GO.index("func TestTax")], (DELETED,)),
    Row("go: no longer collected", GO, GO.replace("func TestTotal", "func testTotal"), (DELETED,)),
    Row(
        "go: a subtest deleted",
        GO,
        GO.replace('\tt.Run("none", func(t *testing.T) {\n\t\tassert.NoError(t, Untaxed(cart))\n\t})\n', ""),
        (DELETED,),
    ),
    Row("go: skipped", GO, GO.replace("\tgot :=", '\tt.Skip("later")\n\tgot :='), (SKIP,)),
    Row("go: skipped now", GO, GO.replace("\tgot :=", "\tt.SkipNow()\n\tgot :="), (SKIP,)),
    Row("go: returns early", GO, GO.replace("\tgot :=", "\treturn\n\tgot :="), (SKIP,)),
    Row("go: left out by a build tag", GO, "//go:build ignore\n\n" + GO.lstrip(), (SKIP,)),
    Row(
        "go: skipped on Windows",
        GO,
        GO.replace("\tgot :=", '\tif runtime.GOOS == "windows" {\n\t\tt.Skip("x")\n\t}\n\tgot :='),
        (SHOWN_SKIP,),
    ),
    Row(
        "go: skipped where short",
        GO,
        GO.replace("\tgot :=", '\tif testing.Short() {\n\t\tt.Skip("x")\n\t}\n\tgot :='),
        (SHOWN_SKIP,),
    ),
    Row(
        "go: an expectation is gone",
        GO,
        GO.replace('\tif got != 5 {\n\t\tt.Errorf("got %d", got)\n\t}\n', "\t_ = got\n"),
        (REMOVED,),
    ),
    Row(
        "go: a failure became a log",
        GO,
        GO.replace('t.Errorf("got %d", got)', 't.Logf("got %d", got)'),
        (REMOVED,),
    ),
    Row("go: weaker", GO, GO.replace("got != 5", "got == 0"), (WEAK,)),
    Row(
        "go: weaker in testify",
        GO,
        GO.replace("require.Equal(t, 0.5, Tax(cart))", "require.NotNil(t, Tax(cart))"),
        (WEAK,),
    ),
    Row(
        "go: cannot fail",
        GO,
        GO.replace("require.Equal(t, 0.5, Tax(cart))", "require.True(t, true)"),
        (VOID,),
    ),
    Row("go: compared with itself", GO, GO.replace("got != 5", "got != got"), (VOID,)),
    Row(
        "go: never runs",
        GO,
        GO.replace(
            "require.Equal(t, 0.5, Tax(cart))", "if false {\n\t\t\trequire.Equal(t, 0.5, Tax(cart))\n\t\t}"
        ),
        (VOID,),
    ),
    Row("go: a row is gone", TABLE, TABLE.replace("\t\t{3, 6},\n", ""), ("cases-removed grave",)),
    Row("go: another value", GO, GO.replace("got != 5", "got != 6"), (CHANGED,)),
    Row("go: a row is another", TABLE, TABLE.replace("{3, 6}", "{3, 7}"), (CHANGED,)),
)

RUST = """
pub fn total(cart: &Cart) -> u32 { 5 }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds_up() {
        let result = total(&cart);
        assert_eq!(result, 5);
        assert!(cart.open, "must be open");
    }

    #[test]
    #[should_panic(expected = "empty")]
    fn panics() {
        total(&Cart::new());
    }
}
"""
RUST_ROWS = (
    Row(
        "rust: laid out anew",
        RUST,
        RUST.replace(
            "assert_eq!(result, 5);", "assert_eq!(\n            result, // sum\n            5,\n        );"
        ),
    ),
    Row("rust: renamed", RUST, RUST.replace("adds_up", "adds_everything_up")),
    Row("rust: assert became assert_eq", RUST.replace("assert_eq!(result, 5)", "assert!(result == 5)"), RUST),
    Row("rust: a variable got another name", RUST, RUST.replace("result", "sum")),
    Row(
        "rust: a new test",
        RUST,
        RUST.replace(
            "    #[test]\n    #[should",
            "    #[test]\n    fn more() {\n"
            "        assert_eq!(more(), 1);\n    }\n\n    #[test]\n    #[should",
        ),
    ),
    Row("rust: deleted", RUST, RUST[: RUST.index("    #[test]\n    #[should")] + "}\n", (DELETED,)),
    Row("rust: no test any more", RUST, RUST.replace("    #[test]\n    fn adds", "    fn adds"), (DELETED,)),
    Row(
        "rust: ignored",
        RUST,
        RUST.replace("    #[test]\n    fn adds", "    #[test]\n    #[ignore]\n    fn adds"),
        (SKIP,),
    ),
    Row(
        "rust: ignored with a reason",
        RUST,
        RUST.replace("    #[test]\n    fn adds", '    #[test]\n    #[ignore = "x"]\n    fn adds'),
        (SKIP,),
    ),
    Row(
        "rust: left out",
        RUST,
        RUST.replace("    #[test]\n    fn adds", "    #[cfg(any())]\n    #[test]\n    fn adds"),
        (SKIP,),
    ),
    Row("rust: the module left out", RUST, RUST.replace("#[cfg(test)]", "#[cfg(any())]"), (SKIP,)),
    Row(
        "rust: returns early",
        RUST,
        RUST.replace("        let result", "        return;\n        let result"),
        (SKIP,),
    ),
    Row(
        "rust: ignored on Windows",
        RUST,
        RUST.replace(
            "    #[test]\n    fn adds", "    #[test]\n    #[cfg_attr(windows, ignore)]\n    fn adds"
        ),
        (SHOWN_SKIP,),
    ),
    Row("rust: an assert is gone", RUST, RUST.replace("        assert_eq!(result, 5);\n", ""), (REMOVED,)),
    Row(
        "rust: the panic is not expected",
        RUST,
        RUST.replace('    #[should_panic(expected = "empty")]\n', ""),
        (REMOVED,),
    ),
    Row("rust: any panic", RUST, RUST.replace('(expected = "empty")', ""), (WEAK,)),
    Row("rust: weaker", RUST, RUST.replace("assert_eq!(result, 5)", "assert!(result > 0)"), (WEAK,)),
    Row("rust: not equal", RUST, RUST.replace("assert_eq!(result, 5)", "assert_ne!(result, 0)"), (WEAK,)),
    Row("rust: cannot fail", RUST, RUST.replace("assert_eq!(result, 5)", "assert!(true)"), (VOID,)),
    Row(
        "rust: compared with itself",
        RUST,
        RUST.replace("assert_eq!(result, 5)", "assert_eq!(result, result)"),
        (VOID,),
    ),
    Row(
        "rust: never runs",
        RUST,
        RUST.replace("assert_eq!(result, 5);", "if false { assert_eq!(result, 5); }"),
        (VOID,),
    ),
    Row("rust: another value", RUST, RUST.replace("result, 5", "result, 6"), (CHANGED,)),
)

JAVA = """
class ShopTest {
    @Test
    void addsUp() {
        int result = Shop.total(cart);
        assertEquals(5, result);
        assertTrue(cart.isOpen());
        assertThrows(IllegalStateException.class, () -> Shop.total(null));
    }

    @Test
    public void knowsTax() {
        assertThat(Shop.tax(cart)).isEqualTo(0.5);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void odd(int number) {
        assertTrue(Shop.odd(number));
    }
}
"""
JAVA_ROWS = (
    Row(
        "java: laid out anew",
        JAVA,
        JAVA.replace(
            "assertEquals(5, result);", "assertEquals(\n            5,\n            result); // five"
        ),
    ),
    Row("java: renamed", JAVA, JAVA.replace("addsUp", "addsEverythingUp")),
    Row("java: qualified", JAVA, JAVA.replace("assertEquals(5", "Assertions.assertEquals(5")),
    Row(
        "java: became AssertJ",
        JAVA,
        JAVA.replace("assertEquals(5, result)", "assertThat(result).isEqualTo(5)"),
    ),
    Row("java: a row came", JAVA, JAVA.replace("{1, 2, 3}", "{1, 2, 3, 5}")),
    Row(
        "java: a test deleted",
        JAVA,
        JAVA.replace(
            "    @Test\n    public void knowsTax() {\n"
            "        assertThat(Shop.tax(cart)).isEqualTo(0.5);\n    }\n",
            "",
        ),
        (DELETED,),
    ),
    Row(
        "java: no test any more", JAVA, JAVA.replace("    @Test\n    void adds", "    void adds"), (DELETED,)
    ),
    *(
        Row(
            f"java: {mark}",
            JAVA,
            JAVA.replace("    @Test\n    void adds", f"    {mark}\n    @Test\n    void adds"),
            (SKIP,),
        )
        for mark in (
            "@Disabled",
            '@Disabled("later")',
            "@Ignore",
            '@EnabledIfEnvironmentVariable(named = "X", matches = "y")',
        )
    ),
    Row(
        "java: the class disabled", JAVA, JAVA.replace("class ShopTest", "@Disabled\nclass ShopTest"), (SKIP,)
    ),
    Row(
        "java: not enabled in TestNG",
        JAVA,
        JAVA.replace("    @Test\n    void adds", "    @Test(enabled = false)\n    void adds"),
        (SKIP,),
    ),
    Row(
        "java: disabled on Windows",
        JAVA,
        JAVA.replace("    @Test\n    void adds", "    @DisabledOnOs(OS.WINDOWS)\n    @Test\n    void adds"),
        (SHOWN_SKIP,),
    ),
    Row("java: an assert is gone", JAVA, JAVA.replace("        assertEquals(5, result);\n", ""), (REMOVED,)),
    Row("java: weaker", JAVA, JAVA.replace("assertEquals(5, result)", "assertNotNull(result)"), (WEAK,)),
    Row("java: weaker in AssertJ", JAVA, JAVA.replace("isEqualTo(0.5)", "isNotNull()"), (WEAK,)),
    Row("java: any error", JAVA, JAVA.replace("IllegalStateException.class", "Exception.class"), (WEAK,)),
    Row("java: cannot fail", JAVA, JAVA.replace("assertEquals(5, result)", "assertTrue(true)"), (VOID,)),
    Row(
        "java: compared with itself",
        JAVA,
        JAVA.replace("assertEquals(5, result)", "assertEquals(result, result)"),
        (VOID,),
    ),
    Row(
        "java: swallowed",
        JAVA,
        JAVA.replace("assertEquals(5, result);", "try { assertEquals(5, result); } catch (Throwable e) { }"),
        (VOID,),
    ),
    Row("java: a row is gone", JAVA, JAVA.replace("{1, 2, 3}", "{1, 3}"), ("cases-removed grave",)),
    Row("java: another value", JAVA, JAVA.replace("(5, result)", "(6, result)"), (CHANGED,)),
)


@pytest.mark.parametrize("row", GO_ROWS, ids=lambda row: row.says)
def test_a_change_of_go_tests_is_told_for_what_it_is(row: Row) -> None:
    assert told("shop_test.go", row) == set(row.finds)


@pytest.mark.parametrize("row", RUST_ROWS, ids=lambda row: row.says)
def test_a_change_of_rust_tests_is_told_for_what_it_is(row: Row) -> None:
    assert told("src/lib.rs", row) == set(row.finds)


@pytest.mark.parametrize("row", JAVA_ROWS, ids=lambda row: row.says)
def test_a_change_of_java_tests_is_told_for_what_it_is(row: Row) -> None:
    assert told("src/test/java/ShopTest.java", row) == set(row.finds)
