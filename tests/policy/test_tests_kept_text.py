"""Tests of languages that are read as text: the clear cases are told, the vague ones are never grave."""

from __future__ import annotations

import pytest

from support.kept import Row, found, told

SKIP = "test-skipped grave"
FOCUS = "other-tests-left-out grave"
DELETED = "test-deleted grave"
REMOVED = "assertion-removed shown"
CHANGED = "expectation-changed shown"
VOID = "assertion-cannot-fail shown"

RUBY = """
describe Cart do
  it "adds up" do
    expect(cart.total).to eq(5)
    expect(cart).to be_open
  end

  it "knows tax" do
    expect(cart.tax).to eq(0.5)
  end
end
"""
MINITEST = """
class CartTest < Minitest::Test
  def test_total
    assert_equal 5, cart.total
  end

  def test_tax
    assert_equal 0.5, cart.tax
  end
end
"""
ELIXIR = """
defmodule CartTest do
  use ExUnit.Case

  test "adds up" do
    assert Cart.total(cart) == 5
  end

  describe "tax" do
    test "is known" do
      assert Cart.tax(cart) == 0.5
    end
  end
end
"""
PHP = """
<?php
class CartTest extends TestCase
{
    public function testTotal(): void
    {
        $this->assertSame(5, $cart->total());
    }

    #[Test]
    public function knowsTax(): void
    {
        $this->assertSame(0.5, $cart->tax());
    }
}
"""
CSHARP = """
public class CartTests
{
    [Fact]
    public void AddsUp()
    {
        Assert.Equal(5, cart.Total());
    }

    [Fact]
    public async Task KnowsTax()
    {
        Assert.Equal(0.5, cart.Tax());
    }
}
"""
KOTLIN = """
class CartTest {
    @Test
    fun `adds up`() {
        assertEquals(5, cart.total())
    }

    @Test
    fun knowsTax() {
        assertEquals(0.5, cart.tax())
    }
}
"""
SWIFT = """
final class CartTests: XCTestCase {
    func testTotal() {
        XCTAssertEqual(cart.total, 5)
    }
    func testTax() throws {
        XCTAssertEqual(cart.tax, 0.5)
    }
}
"""

RUBY_ROWS = (
    Row(
        "a comment and a blank line",
        RUBY,
        RUBY.replace("    expect(cart).to", "\n    # open\n    expect(cart).to"),
    ),
    Row("renamed", RUBY, RUBY.replace("adds up", "adds all up")),
    Row(
        "a new one",
        RUBY,
        RUBY.replace('  it "knows', '  it "more" do\n    expect(more).to eq(1)\n  end\n\n  it "knows'),
    ),
    Row("deleted", RUBY, RUBY[: RUBY.index('  it "knows')] + "end\n", (DELETED,)),
    Row(
        "commented out",
        RUBY,
        RUBY.replace(
            '  it "knows tax" do\n    expect(cart.tax).to eq(0.5)\n  end',
            '  # it "knows tax" do\n  #   expect(cart.tax).to eq(0.5)\n  # end',
        ),
        (DELETED,),
    ),
    Row("xit", RUBY, RUBY.replace('it "adds', 'xit "adds'), (SKIP,)),
    Row("pending", RUBY, RUBY.replace('it "adds', 'pending "adds'), (SKIP,)),
    Row(
        "skip inside",
        RUBY,
        RUBY.replace("    expect(cart.total)", "    skip 'later'\n    expect(cart.total)"),
        (SKIP,),
    ),
    Row("skip by metadata", RUBY, RUBY.replace('"adds up" do', '"adds up", skip: true do'), (SKIP,)),
    Row("xdescribe", RUBY, RUBY.replace("describe Cart", "xdescribe Cart"), (SKIP,)),
    Row("fit", RUBY, RUBY.replace('it "adds', 'fit "adds'), (FOCUS,)),
    Row("focus by metadata", RUBY, RUBY.replace('"adds up" do', '"adds up", focus: true do'), (FOCUS,)),
    Row("an expectation is gone", RUBY, RUBY.replace("    expect(cart).to be_open\n", ""), (REMOVED,)),
    Row("another value", RUBY, RUBY.replace("eq(5)", "eq(6)"), (CHANGED,)),
    Row(
        "cannot fail",
        RUBY,
        RUBY.replace("    expect(cart.total).to eq(5)", "    expect(true).to eq(true)"),
        (VOID,),
    ),
)
OTHER_ROWS = (
    (
        "test/cart_test.rb",
        Row(
            "minitest: deleted", MINITEST, MINITEST[: MINITEST.index("  def test_tax")] + "end\n", (DELETED,)
        ),
    ),
    (
        "test/cart_test.rb",
        Row(
            "minitest: skipped",
            MINITEST,
            MINITEST.replace("    assert_equal 5", "    skip\n    assert_equal 5"),
            (SKIP,),
        ),
    ),
    ("test/cart_test.rb", Row("minitest: renamed", MINITEST, MINITEST.replace("test_total", "test_sum"))),
    (
        "test/cart_test.rb",
        Row(
            "minitest: no longer collected",
            MINITEST,
            MINITEST.replace("def test_total", "def xtest_total"),
            (DELETED,),
        ),
    ),
    (
        "test/cart_test.exs",
        Row(
            "elixir: deleted",
            ELIXIR,
            ELIXIR.replace('  test "adds up" do\n    assert Cart.total(cart) == 5\n  end\n', ""),
            (DELETED,),
        ),
    ),
    (
        "test/cart_test.exs",
        Row("elixir: tagged", ELIXIR, ELIXIR.replace('  test "adds', '  @tag :skip\n  test "adds'), (SKIP,)),
    ),
    ("test/cart_test.exs", Row("elixir: another value", ELIXIR, ELIXIR.replace("== 5", "== 6"), (CHANGED,))),
    ("tests/CartTest.php", Row("php: deleted", PHP, PHP.replace("    #[Test]\n", ""), (DELETED,))),
    (
        "tests/CartTest.php",
        Row(
            "php: skipped",
            PHP,
            PHP.replace(
                "        $this->assertSame(5",
                "        $this->markTestSkipped('x');\n        $this->assertSame(5",
            ),
            (SKIP,),
        ),
    ),
    ("tests/CartTest.php", Row("php: renamed", PHP, PHP.replace("testTotal", "testSum"))),
    (
        "CartTests.cs",
        Row(
            "c#: deleted",
            CSHARP,
            CSHARP.replace("    [Fact]\n    public void", "    public void"),
            (DELETED,),
        ),
    ),
    (
        "CartTests.cs",
        Row(
            "c#: skipped",
            CSHARP,
            CSHARP.replace("[Fact]\n    public void", '[Fact(Skip = "later")]\n    public void'),
            (SKIP,),
        ),
    ),
    (
        "CartTests.cs",
        Row(
            "c#: ignored",
            CSHARP,
            CSHARP.replace("    [Fact]\n    public void", '    [Ignore("x")]\n    [Fact]\n    public void'),
            (SKIP,),
        ),
    ),
    (
        "CartTests.cs",
        Row(
            "c#: an assert is gone",
            CSHARP,
            CSHARP.replace("        Assert.Equal(5, cart.Total());\n", ""),
            (REMOVED,),
        ),
    ),
    (
        "src/test/kotlin/CartTest.kt",
        Row(
            "kotlin: disabled",
            KOTLIN,
            KOTLIN.replace("    @Test\n    fun `", "    @Test\n    @Disabled\n    fun `"),
            (SKIP,),
        ),
    ),
    (
        "src/test/kotlin/CartTest.kt",
        Row("kotlin: class ignored", KOTLIN, KOTLIN.replace("class Cart", "@Ignore\nclass Cart"), (SKIP,)),
    ),
    (
        "src/test/kotlin/CartTest.kt",
        Row(
            "kotlin: deleted", KOTLIN, KOTLIN.replace("    @Test\n    fun knows", "    fun knows"), (DELETED,)
        ),
    ),
    (
        "CartTests.swift",
        Row(
            "swift: skipped",
            SWIFT,
            SWIFT.replace(
                "        XCTAssertEqual(cart.tax",
                '        throw XCTSkip("x")\n        XCTAssertEqual(cart.tax',
            ),
            (SKIP,),
        ),
    ),
    (
        "CartTests.swift",
        Row("swift: no longer collected", SWIFT, SWIFT.replace("func testTax", "func noTestTax"), (DELETED,)),
    ),
)


@pytest.mark.parametrize("row", RUBY_ROWS, ids=lambda row: row.says)
def test_a_change_of_ruby_tests_is_told_for_what_it_is(row: Row) -> None:
    assert told("spec/cart_spec.rb", row) == set(row.finds)


@pytest.mark.parametrize(
    ("path", "row"), OTHER_ROWS, ids=lambda one: one.says if isinstance(one, Row) else ""
)
def test_a_change_of_tests_in_other_languages_is_told_for_what_it_is(path: str, row: Row) -> None:
    assert told(path, row) == set(row.finds)


def test_what_is_read_as_text_is_said_to_be_weak() -> None:
    gone = found({"spec/cart_spec.rb": RUBY}, {"spec/cart_spec.rb": ""})

    assert gone
    assert all(one.weak for one in gone)
