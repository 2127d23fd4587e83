"""JavaScript's and TypeScript's tests before and after."""

from __future__ import annotations

import pytest

from support.kept import Row, told

REMOVED = "assertion-removed grave"
WEAK = "assertion-weakened grave"
VOID = "assertion-cannot-fail grave"
SKIP = "test-skipped grave"
FOCUS = "other-tests-left-out grave"
DELETED = "test-deleted grave"
CHANGED = "expectation-changed shown"

CART = """
import { total, tax } from './shop';
describe('cart', () => {
  it('adds up', () => {
    const result = total(cart);
    expect(result).toBe(5);
    expect(result.items).toHaveLength(2);
  });
  test('knows tax', async () => {
    expect(await tax(cart)).toEqual({ rate: 0.5 });
  });
});
"""
NODE = """
const test = require('node:test');
const assert = require('node:assert');
test('adds up', () => {
  assert.strictEqual(total(cart), 5);
  assert.throws(() => total(null), TypeError);
});
"""
CHAI = """
describe('cart', function () {
  it('adds up', function () {
    expect(total(cart)).to.equal(5);
    expect(total(cart)).to.not.be.null;
    cart.open.should.be.true;
  });
});
"""
EACH = """
it.each([[1, 2], [2, 4], [3, 6]])('doubles %i', (given, wanted) => {
  expect(double(given)).toBe(wanted);
});
"""


def one(body: str) -> str:
    return f"test('a', () => {{ {body} }});\n"


HONEST = (
    Row("quotes and semicolons changed", CART, CART.replace("'", '"').replace(";", "")),
    Row(
        "laid out anew", CART, CART.replace("expect(result).toBe(5)", "expect(\n      result,\n    ).toBe(5)")
    ),
    Row("a comment came", CART, CART.replace("    expect(result)", "    // five\n    expect(result)")),
    Row(
        "types came",
        CART,
        CART.replace("const result", "const result: Total").replace("total(cart)", "total(cart as Cart)"),
    ),
    Row("the variable got another name", CART, CART.replace("result", "outcome")),
    Row("the fixture got another name", CART, CART.replace("(cart)", "(basket)")),
    Row("the test got another name", CART, CART.replace("adds up", "adds everything up")),
    Row("the block got another name", CART, CART.replace("'cart'", "'the cart'")),
    Row("it became test", CART, CART.replace("it('adds", "test('adds")),
    Row("toBe became toStrictEqual", CART, CART.replace("toBe(5)", "toStrictEqual(5)")),
    Row("functions became arrows", CHAI, CHAI.replace("function ()", "() =>")),
    Row(
        "chai became jest",
        CHAI,
        CHAI.replace(".to.equal(5)", ".toBe(5)")
        .replace(".to.not.be.null", ".not.toBeNull()")
        .replace("cart.open.should.be.true", "expect(cart.open).toBe(true)"),
    ),
    Row(
        "node became jest",
        NODE,
        "test('adds up', () => {\n  expect(total(cart)).toBe(5);\n"
        "  expect(() => total(null)).toThrow(TypeError);\n});\n",
    ),
    Row(
        "a helper was drawn out",
        "test('a', () => { assert.equal(f(1), 2); });\n",
        "function same(a, b) { assert.equal(a, b); }\ntest('a', () => { same(f(1), 2); });\n",
        ("assertion-removed shown",),
    ),
    Row("a new test came", CART, CART + one("expect(f()).toBe(1)")),
    Row("a skip went", CART.replace("it(", "it.skip("), CART),
    Row("only went", CART.replace("it(", "it.only("), CART),
    Row(
        "a test was split",
        CART,
        CART.replace(
            "    expect(result.items)",
            "  });\n  it('has two', () => {\n    const result = total(cart);\n    expect(result.items)",
        ),
    ),
    Row("the row is stronger", one("expect(f()).toBeDefined()"), one("expect(f()).toBe(3)")),
    Row("a row came", EACH, EACH.replace("[3, 6]", "[3, 6], [4, 8]")),
    Row(
        "copies became rows",
        "test('a', () => { expect(double(1)).toBe(2); });\n"
        "test('b', () => { expect(double(2)).toBe(4); });\n",
        EACH,
    ),
    Row("true became truthy", one("expect(ok()).toBe(true)"), one("expect(ok()).toBeTruthy()")),
)
FAKED = (
    Row("the test is gone", CART, CART[: CART.index("  test('knows")] + "});\n", (DELETED,)),
    Row("the test is commented out", NODE, "/*" + NODE + "*/", (DELETED,)),
    *(
        Row(f"skipped by {word}", CART, CART.replace("it('adds", f"{word}('adds"), (SKIP,))
        for word in (
            "it.skip",
            "xit",
            "test.skip",
            "it.todo",
            "xtest",
            "test.fixme",
            "it.skipIf(true)",
            "test.runIf(false)",
        )
    ),
    Row("the block is skipped", CART, CART.replace("describe(", "describe.skip("), (SKIP,)),
    Row("the block is crossed out", CART, CART.replace("describe(", "xdescribe("), (SKIP,)),
    Row("skipped by an option", NODE, NODE.replace("'adds up', ", "'adds up', { skip: true }, "), (SKIP,)),
    Row("todo by an option", NODE, NODE.replace("'adds up', ", "'adds up', { todo: 'later' }, "), (SKIP,)),
    Row(
        "skipped from inside",
        NODE,
        NODE.replace("'adds up', () => {", "'adds up', (t) => {\n  t.skip();"),
        (SKIP,),
    ),
    Row(
        "skipped from inside by mocha",
        CHAI,
        CHAI.replace(
            "    expect(total(cart)).to.equal", "    this.skip();\n    expect(total(cart)).to.equal"
        ),
        (SKIP,),
    ),
    Row(
        "returns early",
        CHAI,
        CHAI.replace("    expect(total(cart)).to.equal", "    return;\n    expect(total(cart)).to.equal"),
        (SKIP,),
    ),
    Row("the body is gone", one("expect(f()).toBe(1)"), "test('a');\n", (SKIP,)),
    Row("only", CART, CART.replace("it(", "it.only("), (FOCUS,)),
    Row("the block only", CART, CART.replace("describe(", "describe.only("), (FOCUS,)),
    Row("fit", CART, CART.replace("it(", "fit("), (FOCUS,)),
    Row(
        "expected to fail",
        CART,
        CART.replace("it('adds", "it.failing('adds"),
        ("test-expected-to-fail grave",),
    ),
    Row("an expectation is gone", CART, CART.replace("    expect(result).toBe(5);\n", ""), (REMOVED,)),
    Row("an assert is gone", NODE, NODE.replace("  assert.strictEqual(total(cart), 5);\n", ""), (REMOVED,)),
    Row("a chai expectation is gone", CHAI, CHAI.replace("    cart.open.should.be.true;\n", ""), (REMOVED,)),
    *(
        Row(f"became {weak}", CART, CART.replace("toBe(5)", weak), (WEAK,))
        for weak in (
            "toBeDefined()",
            "toBeTruthy()",
            "not.toBeNull()",
            "toBeGreaterThan(0)",
            "not.toBe(4)",
            "toEqual(expect.anything())",
        )
    ),
    Row(
        "equal became ok",
        NODE,
        NODE.replace("assert.strictEqual(total(cart), 5)", "assert.ok(total(cart))"),
        (WEAK,),
    ),
    Row(
        "chai's equal became exist",
        CHAI.replace("    expect(total(cart)).to.not.be.null;\n", ""),
        CHAI.replace("to.equal(5)", "to.exist").replace("    expect(total(cart)).to.not.be.null;\n", ""),
        (WEAK,),
    ),
    Row(
        "the object became a part", CART, CART.replace("toEqual({ rate: 0.5 })", "toMatchObject({})"), (WEAK,)
    ),
    Row(
        "the error's name does not count",
        one("expect(() => f()).toThrow('too big')"),
        one("expect(() => f()).toThrow()"),
        (WEAK,),
    ),
    Row(
        "close became less close",
        one("expect(f()).toBeCloseTo(1.5, 5)"),
        one("expect(f()).toBeCloseTo(1.5, 0)"),
        (WEAK,),
    ),
    *(
        Row(f"became {void}", CART, CART.replace("expect(result).toBe(5)", void), (VOID,))
        for void in (
            "expect(true).toBe(true)",
            "expect(result).toBe(result)",
            "expect(1).toBe(1)",
            "expect(true).toBeTruthy()",
            "assert(true)",
            "assert.equal(1, 1)",
            "expect(result)",
        )
    ),
    Row(
        "a promise that is never read",
        CART,
        CART.replace("expect(result).toBe(5)", "if (false) expect(result).toBe(5)"),
        (VOID,),
    ),
    Row(
        "swallowed",
        CART,
        CART.replace("expect(result).toBe(5);", "try { expect(result).toBe(5); } catch (e) {}"),
        (VOID,),
    ),
    Row(
        "the result became a literal",
        CART.replace("    expect(result.items).toHaveLength(2);\n", ""),
        CART.replace("    expect(result.items).toHaveLength(2);\n", "").replace("= total(cart)", "= 5"),
        (VOID,),
    ),
    Row("a row is gone", EACH, EACH.replace(", [3, 6]", ""), ("cases-removed grave",)),
    Row("a new test that cannot fail", CART, CART + one("expect(true).toBe(true)"), (VOID,)),
)
SHOWN = (
    Row("another value", CART, CART.replace("toBe(5)", "toBe(6)"), (CHANGED,)),
    Row("a row is another", EACH, EACH.replace("[3, 6]", "[3, 7]"), (CHANGED,)),
    Row(
        "skipped on Windows",
        CART,
        CART.replace("it('adds", "it.skipIf(process.platform === 'win32')('adds"),
        ("test-skipped shown",),
    ),
    Row("a new test is a todo", CART, CART + "test.todo('more');\n", ("test-skipped shown",)),
    Row(
        "an inline snapshot",
        one("expect(f()).toMatchInlineSnapshot(`a`)"),
        one("expect(f()).toMatchInlineSnapshot(`b`)"),
        ("snapshot-regenerated shown",),
    ),
    Row("it does not parse", CART, CART + "it('x', (", ("unreadable shown",)),
)


@pytest.mark.parametrize("row", [*HONEST, *FAKED, *SHOWN], ids=lambda row: row.says)
def test_a_change_of_javascript_tests_is_told_for_what_it_is(row: Row) -> None:
    assert told("src/shop.test.ts", row) == set(row.finds)
