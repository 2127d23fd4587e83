"""What a goal names and nothing touches, and what a new function takes and never reads."""

from __future__ import annotations

from typing import Final

import pytest

from sidecar.evidence.proof.untouched import find_unread_inputs, find_untouched
from sidecar.kernel.evidence import FileChange

CLASS: Final = """
class Cart:
    def total(self):
        # sum
        return {}

    def size(self):
        return 1
"""
CART: Final = FileChange(
    path="shop/cart.py", before=CLASS.format("sum(self.items)"), after=CLASS.format("round(sum(self.items))")
)
C_FILE: Final = FileChange(
    path="src/a.c",
    before="int rate_of(int a)\n{\n  return 1;\n}\n",
    after="int rate_of(int a)\n{\n  return 2;\n}\n",
)
OPTION: Final = FileChange(path="cli.py", before="", after="def main(dry_run: bool):\n    print(dry_run)\n")
GONE: Final = FileChange(path="old/api.py", before="def old_api():\n    return 1\n")

UNTOUCHED: Final = {
    "an identifier": ("fix total() and add apply_discount", (CART,), ("apply_discount",)),
    "camel case": ("add applyDiscount to the cart", (CART,), ("applyDiscount",)),
    "a call, by its last name": ("merge(a, b) and Cart.size() must work", (CART,), ("merge", "Cart.size")),
    "an option": ("`total` rounds, and the command takes --json", (CART,), ("--json",)),
    "a file": ("describe it in docs/usage.md", (CART,), ("docs/usage.md",)),
    "in backticks": ("export `Basket` and `shop.vat`", (CART,), ("Basket", "shop.vat")),
    "a quoted name": ("""a status "cancelled" and 'held'""", (CART,), ("cancelled", "held")),
    "a tag": ("release it as v1.2.0", (CART,), ("v1.2.0",)),
    "a file that is only context is told": (
        "as shop/tax.py does it, round total()",
        (CART,),
        ("shop/tax.py",),
    ),
}
TOUCHED: Final = {
    "by a changed line": ("use `round` for total()", (CART,)),
    "by the function around the line": ("make Cart.total() exact", (CART,)),
    "by the class around the line": ("mend `Cart`", (CART,)),
    "by a function whose brace has a line of its own": ("rate_of(1) is 2", (C_FILE,)),
    "by its path": ("repair shop/cart.py and `cart.py`", (CART,)),
    "by a path of a module": ("`shop.cart` is wrong", (CART,)),
    "an option by its variable": ("add --dry-run", (OPTION,)),
    "by lines that are gone": ("remove old_api() and old/api.py", (GONE,)),
    "a tag that is there": ("tag v1.0", (CART,)),
    "a check in backticks": ("`pytest -q tests/test_x.py --strict-markers` passes", (CART,)),
    "a check that is known": ("./check.sh --all-features passes", (CART,)),
    "a test by its name": ("test_total_rounds in tests/test_cart.py passes; so does cart.test.ts", (CART,)),
    "prose": (
        "Fix the failing test(s), e.g. on Node.js and GitHub, see https://x.io/a_b.py, i.e. don't 'break it'",
        (CART,),
    ),
}


@pytest.mark.parametrize(("goal", "files", "parts"), UNTOUCHED.values(), ids=UNTOUCHED)
def test_a_part_that_nothing_touches_is_named(
    goal: str, files: tuple[FileChange, ...], parts: tuple[str, ...]
) -> None:
    assert find_untouched(goal, files) == parts


@pytest.mark.parametrize(("goal", "files"), TOUCHED.values(), ids=TOUCHED)
def test_what_is_touched_or_no_part_is_not(goal: str, files: tuple[FileChange, ...]) -> None:
    assert find_untouched(goal, files, ("./check.sh --all-features",), ("v1.0", "main")) == ()


def python(after: str, before: str = "", path: str = "shop/a.py") -> tuple[FileChange, ...]:
    return (FileChange(path=path, before=before, after=after),)


UNREAD: Final = {
    "a function": (python("def load(path, verbose):\n    return open(path)\n"), ("load(verbose)",)),
    "a method": (
        python("class Shop:\n    def sell(self, item, *, gift=False):\n        return item\n"),
        ("Shop.sell(gift)",),
    ),
    "only written": (python("def load(limit):\n    limit = 3\n    return 0\n"), ("load(limit)",)),
    "one that answers always the same": (python("def rate(country):\n    return 19\n"), ("rate(country)",)),
}
READ: Final = {
    "all read": python(
        "def load(path, verbose):\n    def show():\n        print(verbose)\n    return path, show\n"
    ),
    "it was there before": python("def f(a):\n    return 2\n", before="def f(a):\n    return 1\n"),
    "marked as unused": python("def f(_event):\n    return 1\n"),
    "without a body": python('def f(a):\n    """Later."""\n    raise NotImplementedError\n'),
    "passed on by name": python("def f(signum, frame):\n    return 1\n\n\nsignal.signal(2, f)\n"),
    "decorated": python("@route('/')\ndef f(request):\n    return 1\n"),
    "of a class with a base": python("class A(B):\n    def emit(self, record):\n        return 1\n"),
    "called by Python": python(
        "class A:\n    def __exit__(self, kind, error, trace):\n        self.close()\n"
    ),
    "all locals are read": python("def f(a):\n    return locals()\n"),
    "a test": python("def test_f(tmp_path):\n    assert True\n", path="tests/test_f.py"),
    "another language": python("function f(a) { return 1 }\n", path="a.js"),
    "no Python that can be read": python("def f(a:\n"),
}


@pytest.mark.parametrize(("files", "inputs"), UNREAD.values(), ids=UNREAD)
def test_an_input_of_a_new_function_that_nothing_reads_is_named(
    files: tuple[FileChange, ...], inputs: tuple[str, ...]
) -> None:
    assert find_unread_inputs(files) == inputs


@pytest.mark.parametrize("files", READ.values(), ids=READ)
def test_inputs_that_are_read_or_must_be_taken_are_not(files: tuple[FileChange, ...]) -> None:
    assert find_unread_inputs(files) == ()
